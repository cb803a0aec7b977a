"""Bounding boxes, against those of the triangles of the same shapes."""

from __future__ import annotations

import numpy as np
from each_case import all_cases

from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Sphere
from hrp_model.rigid import rpy_matrix
from hrp_model.shapes.measure import BoundingBox, bounding_box, boxes_overlap, geometry_box, union
from hrp_model.shapes.tessellate import mesh_of, transformed

TETRAHEDRON = Mesh([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], [[0, 2, 1], [0, 1, 3], [1, 2, 3]])
GEOMETRIES = [
    Box([1, 2, 3]), Sphere(0.5), Cylinder(0.5, 2.0), Capsule(0.5, 2.0), Cone(0.5, 2.0), TETRAHEDRON,
]  # fmt: skip


@all_cases("geometry", GEOMETRIES)
def test_the_box_of_a_geometry_is_that_of_its_triangles(geometry):
    np.testing.assert_allclose(
        geometry_box(geometry), bounding_box(mesh_of(geometry, 64)), rtol=0, atol=1e-12
    )


@all_cases("geometry", GEOMETRIES)
def test_a_transformed_box_contains_the_transformed_geometry(geometry):
    T = np.eye(4)
    T[:3, :3] = rpy_matrix(0.3, -0.7, 1.9) @ np.diag([1.0, -2.0, 0.5])
    T[:3, 3] = [3.0, -4.0, 5.0]
    outer = geometry_box(geometry).transformed(T)
    inner = bounding_box(transformed(mesh_of(geometry, 64), T))
    assert (outer.low <= inner.low + 1e-12).all()
    assert (outer.high >= inner.high - 1e-12).all()
    if isinstance(geometry, Box):
        np.testing.assert_allclose(outer, inner, rtol=0, atol=1e-12)


def test_only_vertices_that_triangles_use_and_that_exist_count():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]], [[0, 1, 2], [0, 1, 7]])
    np.testing.assert_array_equal(bounding_box(mesh), [[0, 0, 0], [1, 1, 0]])
    assert geometry_box(Mesh([[0, 0, 0]], np.zeros((0, 3)))) is None
    assert geometry_box(Mesh(np.zeros((0, 3)), [[0, 1, 2]])) is None


def test_a_union_contains_its_boxes():
    a, b = BoundingBox(np.zeros(3), np.ones(3)), BoundingBox(np.full(3, -2.0), np.full(3, 0.5))
    np.testing.assert_array_equal(union([a, b]), [[-2.0] * 3, [1.0] * 3])
    assert union([]) is None


def test_boxes_that_touch_meet_if_that_counts():
    a = np.zeros(3), np.ones(3)
    low = np.array([[1.0, 0.0, 0.0], [0.9, 0.0, 0.0], [1.1, 0.0, 0.0]])
    assert boxes_overlap(*a, low, low + 1.0).tolist() == [True, True, False]
    assert boxes_overlap(*a, low, low + 1.0, touching=False).tolist() == [False, True, False]
