"""Which meshes count as convex, on both sides of the tolerances, and which are primitives."""

import numpy as np
import pytest
import trimesh
from each_case import all_cases

from hrp_model.collision.hull import MAX_DISTANCE, MAX_VOLUME_SHARE, convex_equivalent, convex_hull
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_model.shapes.tessellate import mesh_of

SIZE = np.array([0.3, 0.2, 0.1])
DIAGONAL = float(np.linalg.norm(SIZE))
PLACE = Pose(axis_angle_matrix(np.array([1.0, 2.0, -2.0]) / 3.0, 0.7), np.array([1.0, -2.0, 0.5]))


def mesh(solid):
    return Mesh(solid.vertices, solid.faces)


def divided(geometry, times):
    part = mesh_of(geometry)
    solid = trimesh.Trimesh(part.vertices, part.triangles)
    for _ in range(times):
        solid = solid.subdivide()
    return mesh(solid)


def moved(part, X=PLACE):
    return Mesh(part.vertices @ X.R.T + X.p, part.triangles)


def dented(depth, times=4):
    """A brick whose upper face is a shallow pyramid inward, of this depth."""
    part = divided(Box(SIZE), times)
    vertices = part.vertices.copy()
    x, y, z = (2.0 * vertices / SIZE).T
    vertices[:, 2] -= np.where(z > 0.999, depth * (1.0 - np.maximum(abs(x), abs(y))), 0.0)
    return Mesh(vertices, part.triangles)


def extruded(outline):
    """A prism of height 0.1 over a simple polygon that is star-shaped about its first corner."""
    n = len(outline)
    points = np.array([(*p, z) for z in (0.0, 0.1) for p in outline])
    fan = [(0, i, i + 1) for i in range(1, n - 1)]
    sides = [(i, (i + 1) % n, n + i) for i in range(n)]
    sides += [((i + 1) % n, n + (i + 1) % n, n + i) for i in range(n)]
    caps = [(a, c, b) for a, b, c in fan] + [(n + a, n + b, n + c) for a, b, c in fan]
    return Mesh(points, caps + sides)


def drilled(radius, sides=16):
    """A square plate of 1 m with a hole of this radius through its middle."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    square = ring / np.abs(ring).max(axis=1)[:, None] / 2.0
    rows = [(square, 0.1), (radius * ring, 0.1), (radius * ring, 0.0), (square, 0.0)]
    points = np.concatenate([np.column_stack([p, np.full(sides, z)]) for p, z in rows])
    i, j = np.arange(sides), (np.arange(sides) + 1) % sides
    triangles = []
    for k in range(4):
        a, b = k * sides, (k + 1) % 4 * sides
        triangles += [
            *zip(a + i, a + j, b + i, strict=True),
            *zip(a + j, b + j, b + i, strict=True),
        ]
    return Mesh(points, triangles)


@pytest.mark.parametrize("times", [0, 2])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_box_of_any_number_of_triangles_is_a_box(times, flipped):
    part = moved(divided(Box(SIZE), times))
    if flipped:  # as many exporters write it: all faces inward
        part = Mesh(part.vertices, part.triangles[:, ::-1])
    geometry, X = convex_equivalent(part)
    assert isinstance(geometry, Box)
    np.testing.assert_allclose(sorted(geometry.size), sorted(SIZE), rtol=1e-9)
    inside = np.abs((part.vertices - X.p) @ X.R) - geometry.size / 2.0
    np.testing.assert_allclose(inside.max(axis=0), 0.0, atol=1e-9)
    assert np.linalg.det(X.R) == pytest.approx(1.0)


def test_what_was_drawn_from_a_round_primitive_is_one_again():
    ball, _ = convex_equivalent(moved(mesh(trimesh.creation.icosphere(4, 0.2))))
    assert ball == Sphere(pytest.approx(0.2))
    rod, X = convex_equivalent(moved(mesh_of(Cylinder(0.1, 0.3), 60)))
    assert rod == Cylinder(pytest.approx(0.1), pytest.approx(0.3))
    np.testing.assert_allclose(np.abs(X.R[:, 1] @ PLACE.R[:, 1]), 1.0)
    np.testing.assert_allclose(X.p, PLACE.p, atol=1e-9)
    pill, X = convex_equivalent(moved(mesh_of(Capsule(0.1, 0.3), 80)))
    assert pill == Capsule(pytest.approx(0.1, rel=1e-3), pytest.approx(0.3, rel=1e-3))
    np.testing.assert_allclose(np.abs(X.R[:, 1] @ PLACE.R[:, 1]), 1.0, atol=1e-6)


def test_a_coarse_cylinder_stays_the_prism_that_it_is():
    for sides in (3, 6, 12, 20, 32):
        part = mesh_of(Cylinder(0.1, 0.3), sides)
        hull, _ = convex_equivalent(part)
        assert isinstance(hull, Mesh)
        assert len(hull.triangles) == 4 * sides - 4


@all_cases("sides", range(20, 64, 4))
def test_a_primitive_lies_within_the_tolerances_of_its_mesh(sides):
    """A cylinder's sides lie above those of the prism by r (1 - cos(pi / n))."""
    radius, height = 0.1, 0.3
    found, _ = convex_equivalent(moved(mesh_of(Cylinder(radius, height), sides)))
    angle = np.pi / sides
    depth = radius * (1.0 - np.cos(angle)) / np.linalg.norm([2 * radius, 2 * radius, height])
    share = 2.0 * angle / np.sin(2.0 * angle) - 1.0
    within = depth <= MAX_DISTANCE and share <= MAX_VOLUME_SHARE
    assert isinstance(found, Cylinder) == within
    assert within == (sides >= 40)


def test_a_hull_has_no_more_triangles_than_its_faces_need():
    bevelled = divided(Box(SIZE), 4)
    cut = np.minimum(bevelled.vertices, [np.inf, np.inf, 0.04])
    cut[:, 0] += cut[:, 2]  # no box
    hull, _ = convex_equivalent(Mesh(cut, bevelled.triangles))
    assert len(bevelled.triangles) == 12 * 4**4
    assert len(hull.triangles) == 12


def test_a_dent_is_judged_by_its_depth():
    assert convex_equivalent(dented(0.95 * MAX_DISTANCE * DIAGONAL)) is not None
    assert convex_equivalent(dented(1.05 * MAX_DISTANCE * DIAGONAL)) is None


def test_many_shallow_dents_are_judged_by_their_volume():
    """A thin plate: the depth is small beside the plate, but not beside its thickness."""
    for share, is_convex in ((0.9, True), (1.1, False)):
        part = divided(Box(np.array([1.0, 1.0, 0.02])), 4)
        vertices = part.vertices.copy()
        inner = (np.abs(vertices[:, :2]).max(axis=1) < 0.49) & (vertices[:, 2] > 0.0)
        vertices[inner, 2] -= share * MAX_VOLUME_SHARE * 0.02 / 0.875
        assert (convex_equivalent(Mesh(vertices, part.triangles)) is not None) == is_convex


@pytest.mark.parametrize(
    "part",
    [
        extruded([(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.3), (0, 0.3)]),  # an L
        drilled(0.1),
        drilled(0.01),  # the volume differs by 0.03 % only
        mesh(trimesh.creation.torus(1.0, 0.25)),
    ],
)
def test_a_concave_mesh_is_no_convex_one(part):
    assert convex_equivalent(part) is None
    assert convex_equivalent(moved(part)) is None


def test_a_hole_in_the_surface_counts_by_its_size():
    part = divided(Box(SIZE), 3)
    without_lid = part.vertices[part.triangles][:, :, 2].mean(axis=1) < 0.049
    assert convex_equivalent(Mesh(part.vertices, part.triangles[without_lid])) is None
    geometry, _ = convex_equivalent(Mesh(part.vertices, part.triangles[1:]))
    assert isinstance(geometry, Box)


def test_a_surface_drawn_twice_is_left_alone():
    """Its volume cannot be told, nor which of the layers is the outer one."""
    part = divided(Box(SIZE), 1)
    assert convex_equivalent(Mesh(part.vertices, np.tile(part.triangles, (2, 1)))) is None


@all_cases(
    ("vertices", "triangles"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3), int)),
        (np.eye(3), np.zeros((0, 3), int)),
        (np.eye(3), [[0, 1, 2]]),
        (np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), [[0, 1, 2], [0, 2, 3]]),
        (np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]), [[0, 1, 2], [1, 2, 3]]),
        (np.zeros((5, 3)), [[0, 1, 2], [2, 3, 4]]),
    ],
)
def test_flat_and_degenerate_meshes_are_left_alone(vertices, triangles):
    assert convex_equivalent(Mesh(vertices, triangles)) is None


@all_cases("seed", range(10))
def test_what_is_returned_reaches_as_far_in_every_direction(seed):
    rng = np.random.default_rng(seed)
    part = convex_hull(rng.standard_normal((40, 3)) * rng.uniform(0.1, 1.0, 3) + 5.0)
    geometry, X = convex_equivalent(part)
    assert isinstance(geometry, Mesh)
    directions = rng.standard_normal((200, 3))
    there = ((geometry.vertices @ X.R.T + X.p) @ directions.T).max(axis=0)
    np.testing.assert_allclose(there, (part.vertices @ directions.T).max(axis=0), atol=1e-9)
