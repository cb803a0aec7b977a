"""Primitives as triangles, against the formulas of solid geometry."""

from math import cos, pi, sin

import numpy as np
import pytest
import trimesh
from each_case import all_cases

from hrp_model.geometry import Attribute, Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_model.shapes.measure import area, bounding_box, signed_volume
from hrp_model.shapes.meshing import corner_normals
from hrp_model.shapes.tessellate import mesh_of, shape_mesh, solid_mesh

PRIMITIVES = (Box([1, 2, 3]), Sphere(0.5), Cylinder(0.5, 2), Cone(0.5, 2), Capsule(0.5, 2))
EXTENTS = {
    "Box": (1, 2, 3),
    "Sphere": (1, 1, 1),
    "Cylinder": (1, 2, 1),
    "Cone": (1, 2, 1),
    "Capsule": (1, 3, 1),
}
VOLUMES = {
    "Box": 6.0,
    "Sphere": pi / 6.0,
    "Cylinder": pi / 2.0,
    "Cone": pi / 6.0,
    "Capsule": pi / 6.0 + pi / 2.0,
}


def kind(geometry):
    return type(geometry).__name__


def face_normals(mesh):
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    n = np.cross(b - a, c - a)
    return n / np.linalg.norm(n, axis=1, keepdims=True)


@all_cases("divisions", [3, 4, 5, 20, 21])
@all_cases("geometry", PRIMITIVES)
def test_primitives_are_closed_and_face_outward(geometry, divisions):
    mesh = mesh_of(geometry, divisions)
    peer = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
    assert peer.is_watertight
    assert peer.is_winding_consistent
    assert signed_volume(mesh) > 0.0
    assert signed_volume(mesh) == pytest.approx(peer.volume)
    assert area(mesh) == pytest.approx(peer.area)


@all_cases("geometry", PRIMITIVES)
def test_primitives_have_their_extents(geometry):
    lower, upper = bounding_box(mesh_of(geometry, 20))
    np.testing.assert_allclose(upper - lower, EXTENTS[kind(geometry)], atol=1e-12)
    np.testing.assert_allclose(upper + lower, 0.0, atol=1e-12)


@all_cases("geometry", PRIMITIVES)
def test_volume_converges_to_the_formula_from_below(geometry):
    coarse, fine = (signed_volume(mesh_of(geometry, n)) for n in (20, 200))
    exact = VOLUMES[kind(geometry)]
    assert coarse <= fine <= exact * (1 + 1e-12)
    assert fine == pytest.approx(exact, rel=1e-3)


def test_rings_start_at_x_and_turn_towards_z():
    ring = mesh_of(Cylinder(0.5, 2, top=False, bottom=False), 6).vertices
    expected = [(0.5 * cos(a), -1, 0.5 * sin(a)) for a in (2 * pi * i / 6 for i in range(6))]
    np.testing.assert_allclose(ring[:6], expected, atol=1e-15)


def test_a_cone_has_its_apex_at_plus_y():
    vertices = mesh_of(Cone(0.5, 2), 8).vertices
    assert np.count_nonzero(vertices[:, 1] == 1.0) == 1
    assert vertices[:, 1].min() == -1.0


def test_faces_left_out_are_drawn_open_but_touched_solid():
    open_tube = Cylinder(0.5, 2, top=False, bottom=False)
    assert area(mesh_of(open_tube)) < area(mesh_of(Cylinder(0.5, 2)))
    assert signed_volume(solid_mesh(open_tube)) == signed_volume(mesh_of(Cylinder(0.5, 2)))
    only_base = mesh_of(Cone(0.5, 2, side=False))
    np.testing.assert_allclose(only_base.vertices[:, 1], -1.0)
    np.testing.assert_allclose(face_normals(only_base), [[0, -1, 0]] * len(only_base.triangles))
    assert len(mesh_of(Cylinder(0.5, 2, top=False, bottom=False, side=False)).triangles) == 0


@pytest.mark.parametrize("geometry", [Sphere(0.0), Cylinder(0.0, 1), Cone(0.0, 1), Capsule(0.0, 1)])
def test_shapes_without_extent_do_no_harm(geometry):
    mesh = mesh_of(geometry)
    assert area(mesh) == 0.0
    assert np.isfinite(corner_normals(mesh)).all()


def test_normals_of_curved_sides_are_those_of_the_true_surface():
    sphere = mesh_of(Sphere(2.0), 12)
    corners = sphere.vertices[sphere.triangles]
    off_poles = np.abs(corners[..., 1]) < 1.999
    expected = corners[off_poles] / 2.0
    np.testing.assert_allclose(corner_normals(sphere)[off_poles], expected, atol=1e-12)
    tube = mesh_of(Cylinder(0.5, 2, top=False, bottom=False), 12)
    radial = tube.vertices[tube.triangles] * [2, 0, 2]
    np.testing.assert_allclose(corner_normals(tube), radial, atol=1e-12)


def test_rims_stay_sharp():
    normals = corner_normals(mesh_of(Cylinder(0.5, 2), 12))
    assert set(np.round(np.abs(normals[..., 1]).ravel(), 12)) == {0.0, 1.0}


def test_a_cones_normals_stand_on_its_side():
    cone = mesh_of(Cone(0.5, 2, bottom=False), 24)
    assert np.all(np.einsum("fci,fi->fc", corner_normals(cone), face_normals(cone)) > 0.99)


def test_mirroring_keeps_the_outside_outside():
    T = np.diag([-1.0, 2.0, 1.0, 1.0])
    mesh = shape_mesh(Shape(Cone(0.5, 2), T))
    assert signed_volume(mesh) == pytest.approx(2 * signed_volume(mesh_of(Cone(0.5, 2))))
    assert np.all(np.einsum("fci,fi->fc", corner_normals(mesh), face_normals(mesh)) > 0.95)


def test_mirroring_turns_every_attribute_with_its_corner():
    triangle = Mesh(
        np.eye(3),
        [[0, 1, 2]],
        colors=Attribute(np.eye(3), np.array([[0, 1, 2]])),
        tex_coords=Attribute(np.eye(3)[:, :2], np.array([[0, 1, 2]])),
    )
    mesh = shape_mesh(Shape(triangle, np.diag([-1.0, 1.0, 1.0, 1.0])))
    for attribute in (mesh.colors, mesh.tex_coords):
        assert attribute.indices.tolist() == mesh.triangles.tolist() == [[2, 1, 0]]


def test_placement_moves_points_and_turns_normals():
    T = np.eye(4)
    T[:3, :3] = axis_angle_matrix([0.6, 0.0, 0.8], 1.1) @ np.diag([1.0, 3.0, 0.5])
    T[:3, 3] = [1, 2, 3]
    mesh = shape_mesh(Shape(Box([1, 1, 1]), T))
    np.testing.assert_allclose(mesh.vertices.mean(axis=0), [1, 2, 3])
    assert signed_volume(mesh) == pytest.approx(1.5)
    expected = np.repeat(face_normals(mesh)[:, None], 3, axis=1)
    np.testing.assert_allclose(corner_normals(mesh), expected, atol=1e-12)


def test_a_flattened_shape_keeps_finite_normals():
    flat = shape_mesh(Shape(Sphere(1.0), np.diag([1.0, 1.0, 0.0, 1.0])))
    assert np.isfinite(corner_normals(flat)).all()


ROOF = Mesh(
    [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1], [2, 0, 0], [2, 1, 0]],
    [[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]],
)


@pytest.mark.parametrize(("crease", "smooth"), [(0.0, False), (1.5, False), (1.6, True)])
def test_an_edge_is_smooth_up_to_the_crease_angle(crease, smooth):
    """The two sides of the roof meet at pi / 2."""
    mesh = Mesh(ROOF.vertices, ROOF.triangles, crease_angle=crease)
    ridge = corner_normals(mesh)[np.isin(mesh.triangles, [2, 3])]
    s = np.sqrt(0.5)
    if smooth:
        # Each ridge point has unlike angles on its two sides, so the mean leans a little.
        assert np.all(ridge[:, 2] > 0.9)
    else:
        np.testing.assert_allclose(np.abs(ridge[:, 0]), s)


def test_normals_without_direction_are_worked_out():
    broken = Attribute(np.array([[np.nan] * 3, [0, 0, 0], [0, 0, 2]]), np.array([[0, 1, 2]]))
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], normals=broken)
    np.testing.assert_allclose(corner_normals(mesh), [[[0, 0, 1]] * 3])


def test_degenerate_triangles_have_finite_normals():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2], [0, 0, 0]], crease_angle=1.0)
    assert np.isfinite(corner_normals(mesh)).all()


def test_an_empty_mesh_has_no_extent():
    empty = Mesh(np.empty((0, 3)), np.empty((0, 3)))
    assert bounding_box(empty) is None
    assert area(empty) == signed_volume(empty) == 0.0
    assert corner_normals(empty).shape == (0, 3, 3)


def test_vertices_that_nothing_uses_do_not_count():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]], [[0, 1, 2]])
    assert bounding_box(mesh)[1].tolist() == [1, 1, 0]


def test_a_circle_needs_three_corners():
    with pytest.raises(ValueError, match="at least 3"):
        mesh_of(Sphere(1.0), 2)
