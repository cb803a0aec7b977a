"""How images lie on surfaces: the sentences of ISO/IEC 14772-1 about each geometry."""

from math import pi

import numpy as np
import pytest
from each_case import all_cases

from hrp_model.geometry import (
    Attribute,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Material,
    Mesh,
    Shape,
    Sphere,
    Texture,
)
from hrp_model.shapes.meshing import elevation_grid, extrusion
from hrp_model.shapes.tessellate import mesh_of, shape_mesh, with_tex_coords

PRIMITIVES = [Box((1, 2, 3)), Sphere(2.0), Cylinder(1.0, 3.0), Cone(1.0, 3.0), Capsule(1.0, 2.0)]
PAINTED = Material(texture=Texture(image=np.zeros((1, 1, 3), np.uint8)))
SQUARE = [(1, 1), (1, -1), (-1, -1), (-1, 1), (1, 1)]  # (x, z), from +x to +z about +Y


def corners(geometry, divisions=20):
    """Positions and texture coordinates of all corners, shapes (m, 3, 3) and (m, 3, 2)."""
    mesh = mesh_of(geometry, divisions, textured=True)
    return mesh.vertices[mesh.triangles], mesh.tex_coords.values[mesh.tex_coords.indices]


def faces_towards(geometry, direction):
    """Corners of the triangles that look in a direction, as rows."""
    points, st = corners(geometry)
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    facing = normals @ np.array(direction, float) > 0.999
    assert facing.any()
    return points[facing].reshape(-1, 3), st[facing].reshape(-1, 2)


@all_cases(
    ("outside", "right", "up"),
    [
        ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
        ((0, 0, -1), (-1, 0, 0), (0, 1, 0)),
        ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
        ((-1, 0, 0), (0, 0, 1), (0, 1, 0)),
        ((0, 1, 0), (1, 0, 0), (0, 0, -1)),
        ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
    ],
)
def test_each_face_of_a_box_shows_the_whole_image_upright(outside, right, up):
    size = np.array([1.0, 2.0, 3.0])
    points, st = faces_towards(Box(size), outside)
    halves = points / (size / 2)  # -1 and 1
    np.testing.assert_allclose(st, 0.5 + 0.5 * np.c_[halves @ right, halves @ up])


@all_cases("geometry", PRIMITIVES)
@all_cases("divisions", [5, 20])
def test_no_image_is_mirrored_or_torn(geometry, divisions):
    _, st = corners(geometry, divisions)
    a, b = st[:, 1] - st[:, 0], st[:, 2] - st[:, 0]
    assert (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] > 0.0).all()  # counter-clockwise, like the face
    if not isinstance(geometry, Box):
        assert np.ptp(st[:, :, 0], axis=1).max() <= 1.0 + 1e-12
    assert np.isfinite(st).all()


@pytest.mark.parametrize(
    "geometry",
    [Sphere(2.0), Cylinder(1.0, 3.0, top=False, bottom=False), Cone(1.0, 3.0, bottom=False)],
    ids=lambda g: type(g).__name__,
)
def test_an_image_goes_round_from_the_back_over_the_left(geometry):
    points, st = corners(geometry)
    points, st = points.reshape(-1, 3), st.reshape(-1, 2)
    # Counter-clockwise seen from above, 0 at -Z.
    turn = (np.arctan2(-points[:, 0], -points[:, 2]) / (2 * pi)) % 1.0
    off_axis = np.hypot(points[:, 0], points[:, 2]) > 1e-9
    difference = (st[:, 0] - turn + 0.5) % 1.0 - 0.5
    np.testing.assert_allclose(difference[off_axis], 0.0, atol=1e-9)
    assert (st.min(), st.max()) == (0.0, pytest.approx(1.0, abs=1e-12))


def test_an_image_goes_up_a_sphere_by_its_latitude():
    points, st = corners(Sphere(2.0))
    latitude = np.arcsin(points[..., 1] / 2.0)
    np.testing.assert_allclose(st[..., 1], 0.5 + latitude / pi, atol=1e-12)


@pytest.mark.parametrize("geometry", [Cylinder(2.0, 3.0), Cone(2.0, 3.0)])
def test_a_circle_is_cut_out_for_caps(geometry):
    for y, up in ((1.0, -1.0), (-1.0, 1.0)):
        if y > 0.0 and isinstance(geometry, Cone):
            continue
        points, st = faces_towards(geometry, (0, y, 0))
        expected = 0.5 + np.c_[points[:, 0], up * points[:, 2]] / 4.0
        np.testing.assert_allclose(st, expected, atol=1e-12)


@pytest.mark.parametrize("ccw", [True, False])
def test_an_extrusion_is_measured_along_its_curves(ccw):
    spine = [(0, 0, 0), (0, 1, 0), (0, 4, 0)]
    mesh = with_tex_coords(extrusion(SQUARE, spine, ccw=ccw))
    points = mesh.vertices[mesh.triangles].reshape(-1, 3)
    st = mesh.tex_coords.values[mesh.tex_coords.indices].reshape(-1, 2)
    sides = slice(0, 4 * 2 * 2 * 3)
    np.testing.assert_allclose(st[sides, 1], points[sides, 1] / 4.0)
    # The first corner of the section is its last, too: s is 0 or 1 there.
    at = [np.flatnonzero((np.array(SQUARE)[:4] == p[[0, 2]]).all(axis=1))[0] for p in points[sides]]
    np.testing.assert_allclose(st[sides, 0] % 1.0, np.array(at) / 4.0)
    assert st[sides, 0].max() == 1.0
    caps = slice(4 * 2 * 2 * 3, None)
    np.testing.assert_allclose(st[caps], points[caps][:, (0, 2)] / 2.0 + 0.5)


def test_a_cap_keeps_the_proportions_of_its_section():
    mesh = with_tex_coords(extrusion([(0, 0), (4, 0), (4, -1)], [(0, 0, 0), (0, 1, 0)]))
    st = mesh.tex_coords.values[mesh.tex_coords.indices[-1]]
    assert np.ptp(st, axis=0).tolist() == [1.0, 0.25]


def test_a_closed_extrusion_ends_where_it_began():
    ring = [(3 * np.cos(a), 0, 3 * np.sin(a)) for a in np.linspace(0, 2 * pi, 9)]
    mesh = with_tex_coords(extrusion(np.array(SQUARE) * 0.1, ring))
    st = mesh.tex_coords.values[mesh.tex_coords.indices]
    assert (st.min(), st.max()) == (0.0, 1.0)
    assert np.ptp(st[:, :, 1], axis=1).max() == pytest.approx(1 / 8)


def test_an_elevation_grid_shows_the_image_once():
    mesh = with_tex_coords(elevation_grid(3, 2, 0.5, 2.0, [0, 1, 2, 3, 4, 5]))
    expected = [(0, 0), (0.5, 0), (1, 0), (0, 1), (0.5, 1), (1, 1)]
    np.testing.assert_allclose(mesh.tex_coords.values, expected)
    assert mesh.tex_coords.indices.tolist() == mesh.triangles.tolist()


def test_other_meshes_are_laid_under_the_image_by_their_largest_sides():
    mesh = Mesh([(0, 0, 1), (1, 0, 1), (1, 4, 1)], [(0, 1, 2)])
    assert with_tex_coords(mesh).tex_coords.values.tolist() == [[0, 0], [0, 0.25], [1, 0.25]]


def test_coordinates_of_its_own_come_first():
    own = Attribute(np.array([[0.5, 0.5]]), np.zeros((1, 3), np.int32))
    mesh = Mesh(np.eye(3), [(0, 1, 2)], tex_coords=own)
    assert shape_mesh(Shape(mesh, material=PAINTED)).tex_coords is own


@all_cases("geometry", PRIMITIVES)
def test_only_what_is_painted_has_coordinates_and_placing_keeps_them(geometry):
    T = np.diag([2.0, 3.0, 4.0, 1.0])
    assert shape_mesh(Shape(geometry, T)).tex_coords is None
    assert shape_mesh(Shape(geometry, T, PAINTED), solid=True).tex_coords is None
    placed = shape_mesh(Shape(geometry, T, PAINTED)).tex_coords
    np.testing.assert_array_equal(placed.values, mesh_of(geometry, textured=True).tex_coords.values)


def test_a_mesh_without_extent_has_coordinates_too():
    for points in (np.zeros((3, 3)), np.empty((0, 3))):
        triangles = [(0, 1, 2)] if len(points) else np.empty((0, 3))
        mesh = shape_mesh(Shape(Mesh(points, triangles), material=PAINTED))
        assert mesh.tex_coords is None or np.isfinite(mesh.tex_coords.values).all()
