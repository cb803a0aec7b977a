"""Overlap of solids, against geometry and an independent collision library."""

import numpy as np
import pytest
from each_case import all_cases
from urdf_tools import random_pose

from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Sphere
from hrp_model.shapes.measure import encloses, overlap
from hrp_model.shapes.tessellate import solid_mesh, transformed


def box(size=(1.0, 1.0, 1.0), at=(0.0, 0.0, 0.0)):
    T = np.eye(4)
    T[:3, 3] = at
    return transformed(solid_mesh(Box(np.array(size))), T)


@all_cases(
    ("at", "expected"),
    [
        ((0.0, 0.0, 0.0), True),
        ((0.9, 0.3, 0.2), True),
        ((1.1, 0.3, 0.2), False),
        ((1.1, 0.0, 0.0), False),
        ((0.9, 0.9, 0.9), True),
        ((0.9, 0.9, 1.01), False),
    ],
)
def test_boxes_overlap_where_their_extents_do(at, expected):
    assert overlap([box()], [box(at=at)]) is expected
    assert overlap([box(at=at)], [box()]) is expected


def test_what_lies_inside_overlaps():
    inner = box((0.2, 0.2, 0.2), (0.3, 0.0, 0.0))
    assert overlap([box()], [inner])
    assert overlap([inner], [box()])


def test_edges_that_cross_overlap_though_no_corner_lies_inside():
    assert overlap([box((4.0, 0.1, 0.1))], [box((0.1, 4.0, 0.1))])


def test_any_of_several_meshes_counts():
    far, near = box(at=(5.0, 0.0, 0.0)), box(at=(0.5, 0.2, 0.1))
    assert overlap([far, near], [box()])
    assert not overlap([far], [box()])
    assert not overlap([], [box()])


def test_a_mesh_without_triangles_touches_nothing():
    empty = Mesh(np.zeros((3, 3)), np.zeros((0, 3)))
    assert not overlap([empty], [box()])


def test_a_ring_does_not_enclose_what_lies_in_its_hole():
    """A square frame of four beams: its bounding box holds the pin, its solid does not."""
    beams = [box((3.0, 1.0, 1.0), (0.0, y, 0.0)) for y in (-1.5, 1.5)]
    beams += [box((1.0, 3.0, 1.0), (x, 0.0, 0.0)) for x in (-1.5, 1.5)]
    vertices = np.concatenate([b.vertices for b in beams])
    triangles = np.concatenate([b.triangles + 8 * i for i, b in enumerate(beams)])
    pin = box((0.5, 0.5, 4.0))
    assert not overlap([Mesh(vertices, triangles)], [pin])


@pytest.mark.parametrize("turned", [False, True])
def test_the_inside_of_a_sphere_is_within_its_radius(turned):
    ball = solid_mesh(Sphere(1.0), 60)
    if turned:  # which way the faces look makes no difference
        ball = Mesh(ball.vertices, ball.triangles[:, ::-1])
    rng = np.random.default_rng(1)
    for direction in rng.normal(size=(50, 3)):
        direction /= np.linalg.norm(direction)
        assert encloses(ball, 0.98 * direction)
        assert not encloses(ball, 1.02 * direction)


def test_large_meshes_are_compared_everywhere():
    """Two balls of 20,000 triangles that touch nowhere but at a spot."""
    ball = solid_mesh(Sphere(1.0), 140)
    T = np.eye(4)
    T[:3, 3] = 1.999 * np.array([0.6, 0.64, 0.48])
    assert overlap([ball], [transformed(ball, T)])
    T[:3, 3] *= 2.01 / 1.999
    assert not overlap([ball], [transformed(ball, T)])


def test_random_solids_agree_with_an_independent_library():
    coal = pytest.importorskip("coal", reason="coal, which comes with pinocchio, is missing")
    rng = np.random.default_rng(7)
    solids = [Box(np.array([1.0, 0.6, 0.3])), Cylinder(0.3, 1.0), Cone(0.5, 0.8)]
    solids += [Sphere(0.4), Capsule(0.2, 0.5)]
    hits = 0
    for _ in range(120):
        meshes, objects = [], []
        for pick in rng.integers(len(solids), size=2):
            pose = random_pose(rng)
            X = pose.matrix()
            X[:3, 3] *= 0.4
            mesh = transformed(solid_mesh(solids[pick]), X)
            meshes.append(mesh)
            objects.append(_convex(coal, mesh))
        distance = coal.distance(
            objects[0], coal.Transform3s(), objects[1], coal.Transform3s(),
            coal.DistanceRequest(), coal.DistanceResult(),
        )  # fmt: skip
        if abs(distance) < 1e-6:
            continue  # either answer is right
        hits += distance < 0.0
        assert overlap(meshes[:1], meshes[1:]) == (distance < 0.0)
    assert 20 < hits < 100


def _convex(coal, mesh):
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(mesh.triangles), len(mesh.vertices))
    vertices = coal.StdVec_Vec3s()
    for vertex in mesh.vertices:
        vertices.append(vertex)
    triangles = coal.StdVec_Triangle()
    for a, b, c in mesh.triangles.tolist():
        triangles.append(coal.Triangle(a, b, c))
    model.addSubModel(vertices, triangles)
    model.endModel()
    model.buildConvexHull(True, "Qt")
    return model.convex
