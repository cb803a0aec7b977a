"""Triangles from polygons, extrusions and height fields, against areas and volumes by hand."""

import numpy as np
import pytest

from hrp_model.geometry import Attribute, Mesh
from hrp_model.shapes.measure import area, bounding_box, signed_volume
from hrp_model.shapes.meshing import (
    corner_normals,
    elevation_grid,
    extrusion,
    face_set,
    planar_tex_coords,
)
from hrp_model.shapes.triangulate import (
    MAX_CONCAVE_CORNERS,
    oversized_polygon,
    polygons_to_triangles,
)

SQUARE = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], dtype=float)
SECTION = [1, 1, -1, 1, -1, -1, 1, -1, 1, 1]  # turns from +x to +z


def star(rng, corners):
    """Return a polygon in the XY plane around the origin, and its area (shoelace formula)."""
    angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, corners))
    radius = rng.uniform(0.2, 1.0, corners)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    shoelace = 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))
    widest = np.diff(np.append(angle, angle[0] + 2.0 * np.pi)).max()
    return np.column_stack((x, y, np.zeros(corners))), shoelace, widest < np.pi


def rotation(rng):
    return np.linalg.qr(rng.normal(size=(3, 3)))[0]


def test_concave_polygons_keep_their_area_in_any_plane():
    rng = np.random.default_rng(1)
    for _ in range(200):
        points, exact, simple = star(rng, int(rng.integers(4, 40)))
        if not simple:
            continue
        triangles, _, _ = polygons_to_triangles(points @ rotation(rng).T, np.arange(len(points)))
        assert len(triangles) == len(points) - 2
        assert area(Mesh(points, triangles)) == pytest.approx(exact, abs=1e-12)


def test_triangles_keep_the_winding_of_their_polygon():
    points = np.array([(0, 0, 1), (2, 0, 1), (2, 1, 1), (1, 1, 1), (1, 2, 1), (0, 2, 1)], float)
    for order, sign in ((range(6), 1.0), (range(5, -1, -1), -1.0)):
        triangles, _, _ = polygons_to_triangles(points, list(order))
        # The cone from the origin over a plane at z = 1 has a third of the area as volume.
        assert signed_volume(Mesh(points, triangles)) == pytest.approx(sign * 3.0 / 3.0)


def test_a_corner_without_a_turn_gives_no_flat_triangle():
    points = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 1, 0), (0, 1, 0)]
    triangles, _, _ = polygons_to_triangles(points, range(5))
    for triangle in triangles:
        assert area(Mesh(points, triangle)) > 0.1


def test_a_hole_joined_by_a_bridge_stays_a_hole():
    outer = [(0, 0), (4, 0), (4, 4), (0, 4)]
    inner = [(1, 1), (1, 3), (3, 3), (3, 1)]
    points = np.array([(*p, 0) for p in [*outer, outer[0], inner[0], *inner[1:], inner[0]]], float)
    order = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    triangles, _, _ = polygons_to_triangles(points[order], range(10))
    assert area(Mesh(points, triangles)) == pytest.approx(16.0 - 4.0)


@pytest.mark.slow
def test_a_large_polygon_that_crosses_itself_is_cut_up_in_reasonable_time():
    corners = np.random.default_rng(2).normal(size=(MAX_CONCAVE_CORNERS, 3))
    triangles, _, _ = polygons_to_triangles(corners, np.arange(len(corners)))
    # A cubic search would run into the time limit of the suite.
    assert len(triangles) == len(corners) - 2
    assert len(np.unique(triangles)) == len(corners)


def test_a_polygon_that_crosses_itself_keeps_its_edges_so_that_the_surface_stays_closed():
    bow_tie = np.array([(0, 0, 0), (3, 0, 0), (0.5, 1, 0), (2, 1, 0)])
    triangles, _, _ = polygons_to_triangles(bow_tie, [0, 1, 2, 3])
    a, b, c = bow_tie[triangles].transpose(1, 0, 2)
    folded = np.cross(b - a, c - a)[:, 2] / 2.0
    x, y, _ = bow_tie.T
    assert folded.sum() == pytest.approx((x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2.0)
    assert np.abs(folded).sum() == pytest.approx(2.25)  # over the other diagonal it is larger


def test_a_polygon_beyond_all_bounds_becomes_a_fan():
    corners = np.random.default_rng(2).normal(size=(50 * MAX_CONCAVE_CORNERS, 3))
    triangles, _, _ = polygons_to_triangles(corners, np.arange(len(corners)))
    assert len(triangles) == len(corners) - 2
    assert (triangles[:, 2] == len(corners) - 1).all()


def test_a_polygon_too_large_to_be_cut_is_found_wherever_it_stands():
    large = [*range(MAX_CONCAVE_CORNERS + 1)]
    for index in ([0, 1, 2, -1, *large, -1, 0, 1, 2], [*large], [0, -1, *large]):
        assert oversized_polygon(np.array(index)) == len(large)
    assert oversized_polygon(np.array([*large[:-1], -1, *large[:-1]])) == 0
    assert oversized_polygon(np.array([], dtype=np.int32)) == 0


def test_a_face_that_is_not_flat_folds_between_its_second_and_last_corner():
    raised = SQUARE.copy()
    raised[2, 2] = 1.0
    triangles, _, _ = polygons_to_triangles(raised, [0, 1, 2, 3, -1])
    # Half the square stays flat; the other half rises by 1 with the third corner.
    assert area(Mesh(raised, triangles)) == pytest.approx(0.5 + 0.5 * np.sqrt(3.0))


@pytest.mark.parametrize("crease_angle", [0.0, 1.0, 3.0])
def test_three_points_in_a_line_stay_a_triangle_and_spoil_no_normal(crease_angle):
    line = np.array([(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0)], dtype=float)
    mesh = face_set(line, [0, 1, 2, -1, 0, 1, 3, -1], crease_angle=crease_angle)
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 1, 3]]
    normals = corner_normals(mesh)
    np.testing.assert_allclose(normals[1], [[0, 0, 1]] * 3, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=2), 1.0)


def test_the_last_polygon_needs_no_end():
    triangles, positions, polygons = polygons_to_triangles(SQUARE, [0, 1, 2, 3, -1, 0, 1, 2])
    assert triangles.tolist() == [[0, 1, 3], [1, 2, 3], [0, 1, 2]]
    assert positions.tolist() == [[0, 1, 3], [1, 2, 3], [5, 6, 7]]
    assert polygons.tolist() == [0, 0, 1]


def test_useless_polygons_are_left_out_but_counted():
    lists = [0, 1, -1, 0, 1, 1, 0, -1, 0, 1, 9, -1, -1, 0, 1, 2, -1]
    triangles, _, polygons = polygons_to_triangles(SQUARE, lists)
    assert triangles.tolist() == [[0, 1, 2]]
    assert polygons.tolist() == [4]


def test_a_triangle_without_an_area_is_still_counted():
    triangles, _, polygons = polygons_to_triangles(SQUARE, [0, 0, 0, -1, 1, 2, 1])
    assert triangles.tolist() == [[0, 0, 0], [1, 2, 1]]
    assert polygons.tolist() == [0, 1]


def test_what_is_given_per_corner_follows_the_corners():
    values = np.array([(float(i), 0.0) for i in range(4)])
    per_corner = Attribute(values, np.array([0, 1, 2, 3, -1]))
    per_face = Attribute(np.eye(3), np.array([2]))
    mesh = face_set(SQUARE, [0, 1, 2, 3, -1], tex_coords=per_corner, colors=per_face, ccw=False)
    assert mesh.triangles.tolist() == [[3, 1, 0], [3, 2, 1]]
    assert mesh.tex_coords.indices.tolist() == mesh.triangles.tolist()
    assert mesh.colors.indices.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_what_does_not_cover_all_corners_is_left_out():
    short = Attribute(np.zeros((2, 3)), np.array([0, 1, 2, 3]))
    assert face_set(SQUARE, [0, 1, 2, 3], normals=short).normals is None


def test_default_texture_coordinates_run_along_the_largest_sides():
    mesh = face_set(SQUARE * [4.0, 1.0, 1.0] + [7.0, 5.0, 0.0], [0, 1, 2, 3])
    assert planar_tex_coords(mesh).values.tolist() == [[0, 0], [1, 0], [1, 0.25], [0, 0.25]]


@pytest.mark.parametrize("end", [(0, 1, 0), (1, 0, 0), (1, 2, 3), (-1, 0, 1)])
def test_a_straight_spine_gives_a_prism(end):
    mesh = extrusion(SECTION, [(0, 0, 0), end])
    assert signed_volume(mesh) == pytest.approx(4.0 * np.linalg.norm(end))
    assert area(mesh) == pytest.approx(8.0 + 8.0 * np.linalg.norm(end))
    assert len(mesh.vertices) == 8


@pytest.mark.parametrize("end_scale", [1.0, 0.5])
def test_caps_of_a_comb_close_the_prism_exactly(end_scale):
    teeth, depth = 50, 2.0
    x = np.repeat(np.arange(2.0 * teeth), 2)[::-1]
    z = np.tile([0.0, depth, depth, 0.0], teeth)  # four corners a tooth, on a spine 1 wide
    comb = np.concatenate((np.column_stack((x, z)), [(0, -1), (2 * teeth - 1, -1), (x[0], 0)]))
    A = teeth * depth + (2 * teeth - 1)
    scale = [(1, 1), (end_scale, end_scale)]
    mesh = extrusion(comb, [(0, 0, 0), (0, 3, 0)], scale)
    sides = extrusion(comb, [(0, 0, 0), (0, 3, 0)], scale, begin_cap=False, end_cap=False)
    assert area(mesh) - area(sides) == pytest.approx(A * (1.0 + end_scale**2))
    frustum = A * 3.0 * (1.0 + end_scale + end_scale**2) / 3.0
    assert abs(signed_volume(mesh)) == pytest.approx(frustum)


def test_a_spine_straight_down_reflects_the_section_in_its_point():
    mesh = extrusion([0, 0, 2, 0, 0, 1, 0, 0], [(0, 7, 0), (0, 5, 0)])
    np.testing.assert_allclose(bounding_box(mesh), [(-2, 5, -1), (0, 7, 0)], atol=1e-12)
    assert signed_volume(mesh) == pytest.approx(-2.0)


def test_a_spine_along_y_leaves_the_section_as_it_is():
    low, high = bounding_box(extrusion([0, 0, 2, 0, 0, 1, 0, 0], [(0, 5, 0), (0, 7, 0)]))
    np.testing.assert_allclose((low, high), [(0, 5, 0), (2, 7, 1)], atol=1e-12)


def test_scales_and_turns_follow_the_spine_and_the_last_serves_the_rest():
    spine = [(0, 0, 0), (0, 1, 0), (0, 3, 0)]
    mesh = extrusion(SECTION, spine, scale=[(1, 1), (0.5, 0.5)])
    frustum = (4.0 + 1.0 + 2.0) / 3.0
    assert signed_volume(mesh) == pytest.approx(frustum + 2.0)
    turned = extrusion([2, 1, -2, 1, -2, -1, 2, -1, 2, 1], spine, orientation=(0, 1, 0, np.pi / 2))
    np.testing.assert_allclose(bounding_box(turned)[1], (1, 3, 2), atol=1e-12)


def test_a_bent_spine_is_mitred():
    mesh = extrusion(SECTION, [(0, 0, 0), (0, 4, 0), (4, 4, 0)])
    # Both legs end on the plane that halves the right angle between them.
    corner = mesh.vertices[4:8] - (0, 4, 0)
    np.testing.assert_allclose(corner @ (1, 1, 0), 0.0, atol=1e-12)


def test_a_ring_is_closed_without_caps():
    angle = np.linspace(0.0, 2.0 * np.pi, 65)
    spine = np.column_stack((3.0 * np.cos(angle), 3.0 * np.sin(angle), 0.0 * angle))
    spine[-1] = spine[0]
    mesh = extrusion(np.array(SECTION) * 0.5, spine)
    assert len(mesh.triangles) == 64 * 8
    # Pappus: the area of the section times the way of its centre.
    assert signed_volume(mesh) == pytest.approx(6.0 * np.pi, rel=5e-3)


def test_caps_can_be_left_out_and_the_surface_turned():
    spine = [(0, 0, 0), (0, 1, 0)]
    assert area(extrusion(SECTION, spine, begin_cap=False, end_cap=False)) == pytest.approx(8.0)
    assert signed_volume(extrusion(SECTION, spine, ccw=False)) == pytest.approx(-4.0)


@pytest.mark.parametrize("spine", [[], [0, 0, 0], [0, 0, 0, 0, 0, 0], [1, 1, 1] * 3])
def test_a_spine_without_length_crashes_nothing(spine):
    assert np.isfinite(extrusion(SECTION, spine).vertices).all()


def test_a_height_field_faces_upward():
    mesh = elevation_grid(3, 2, 2.0, 5.0, [0, 0, 0, 0, 0, 0])
    assert area(mesh) == pytest.approx(4.0 * 5.0)
    a, b, c = mesh.vertices[mesh.triangles].transpose(1, 0, 2)
    assert (np.cross(b - a, c - a)[:, 1] > 0).all()
    assert mesh.vertices[4].tolist() == [2.0, 0.0, 5.0]


def test_a_height_field_needs_all_its_heights():
    with pytest.raises(ValueError, match="3 x 2 heights are needed, but there are 1"):
        elevation_grid(3, 2, 1.0, 1.0, [0.0])
