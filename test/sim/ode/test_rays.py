"""Rays against distances that can be worked out."""

import numpy as np
import pytest
from ray_oracle import distances
from sim.physics.scenes import X, Z, at, child, fixed, floor, lone, moving, placed, root, world

from hrp_model.body import Body, JointType
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_model.shapes.tessellate import mesh_of

SIDE = axis_angle_matrix(X, 0.5)
SHAPES = {
    "box": (placed(Box(np.array([0.4, 0.6, 0.8]))), 0.2),
    "sphere": (placed(Sphere(0.3)), 0.3),
    "cylinder": (placed(Cylinder(0.25, 0.6)), 0.25),
    "capsule": (placed(Capsule(0.25, 0.6)), 0.25),
    "mesh": (placed(mesh_of(Box(np.array([0.4, 0.6, 0.8])))), 0.2),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("stands", [True, False])
def test_a_ray_stops_at_the_near_side(name, stands):
    shape, half = SHAPES[name]
    place = fixed if stands else moving
    engine, _ = world(place(lone(shape), at(1.0, 2.0, 3.0, SIDE)), gravity=(0, 0, 0))
    origins = np.array([[4.0, 2.0, 3.0], [-2.0, 2.0, 3.0], [4.0, 2.0, 3.0], [4.0, 4.0, 3.0]])
    directions = np.array([-X, X, X, -X])
    distances = engine.cast_rays(origins, directions, 10.0)
    expected = [3.0 - half, 3.0 - half, np.inf, np.inf]
    np.testing.assert_allclose(distances, expected, atol=1e-6)


def test_rays_see_where_things_are_now():
    ball = lone(placed(Sphere(0.1)))
    engine, thing, _ = world(moving(ball, at(z=2.0)), floor())
    engine.step(300)
    down = engine.cast_rays(np.array([[0.0, 0.0, 5.0]]), -Z[None], 10.0)
    assert down[0] == pytest.approx(5.0 - thing.motion.p[0, 2] - 0.1, abs=1e-9)


def test_the_nearest_counts_and_a_body_can_be_ignored():
    ball = lone(placed(Sphere(0.1)))
    engine, *_ = world(
        moving(ball, at(z=1.0), name="low"), moving(ball, at(z=2.0), name="high"), floor()
    )
    origin, down = np.array([[0.0, 0.0, 5.0]]), -Z[None]
    assert engine.cast_rays(origin, down, 10.0)[0] == pytest.approx(2.9)
    assert engine.cast_rays(origin, down, 10.0, "high")[0] == pytest.approx(3.9)
    assert engine.cast_rays(origin, down, 10.0, "floor")[0] == pytest.approx(2.9)
    assert engine.cast_rays(origin, down, 2.8)[0] == np.inf
    assert engine.cast_rays(origin, down, np.inf)[0] == pytest.approx(2.9)


SOLIDS = {
    "box": Box(np.array([0.4, 0.6, 0.8])),
    "sphere": Sphere(0.4),
    "cylinder": Cylinder(0.25, 0.6),
    "capsule": Capsule(0.25, 0.6),
    "mesh of a box": mesh_of(Box(np.array([0.4, 0.6, 0.8]))),
    "mesh of a sphere": mesh_of(Sphere(0.4)),
    "mesh of a cylinder": mesh_of(Cylinder(0.25, 0.6)),
}


def random_rays(rng, count, center, nearest, farthest):
    """Return rays that start at these distances from a point and pass more or less by it."""
    away = rng.normal(size=(count, 3))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    origins = center + away * rng.uniform(nearest, farthest, (count, 1))
    directions = center + rng.normal(size=(count, 3)) * 0.3 - origins
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize("far", [1.0, 100.0])
@pytest.mark.parametrize("place", [fixed, moving])
@pytest.mark.parametrize("name", SOLIDS)
def test_rays_from_anywhere_meet_solids_where_geometry_says(name, place, far):
    rng = np.random.default_rng(8)
    geometry = SOLIDS[name]
    X_WL = at(0.3 * far, -0.2 * far, 0.4 * far, axis_angle_matrix(Z, 1.1) @ SIDE)
    body = lone(placed(geometry))
    engine, _ = world(place(body, X_WL), gravity=(0, 0, 0), convex_meshes=False)
    origins, directions = random_rays(rng, 400, X_WL.p, 1.0, 3.0)
    expected = distances([(geometry, X_WL)], origins, directions)
    seen = engine.cast_rays(origins, directions, 100.0)
    np.testing.assert_allclose(seen, expected, rtol=1e-9)
    assert 100 < np.isfinite(seen).sum() < 400


@pytest.mark.parametrize("name", SOLIDS)
def test_rays_from_within_tell_where_they_leave(name):
    rng = np.random.default_rng(9)
    geometry, X_WL = SOLIDS[name], at(0.3, -0.2, 0.4, SIDE)
    body = lone(placed(geometry))
    engine, _ = world(moving(body, X_WL), gravity=(0, 0, 0), convex_meshes=False)
    origins, directions = random_rays(rng, 200, X_WL.p, 0.0, 0.15)
    expected = distances([(geometry, X_WL)], origins, directions)
    seen = engine.cast_rays(origins, directions, 10.0)
    np.testing.assert_allclose(seen, expected, rtol=1e-9)
    assert np.isfinite(seen).all()


def soup(rng, count):
    """Return triangles anywhere: long, thin, tiny, some of them beside or on top of each other."""
    size = 10.0 ** rng.uniform(-3.0, 0.0, (count, 1, 1))
    corners = rng.normal(size=(count, 1, 3)) + rng.normal(size=(count, 3, 3)) * size
    corners[::7, 2] = corners[::7, 1] + 1e-3 * (corners[::7, 2] - corners[::7, 0])
    corners[1::50] = corners[::50]
    return Mesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3))


def test_rays_meet_triangles_where_geometry_says():
    rng = np.random.default_rng(10)
    pose = at(0.3, -0.2, 0.4, SIDE)
    for count in (1, 2, 5, 60, 500):
        mesh = soup(rng, count)
        engine, _ = world(fixed(lone(placed(mesh)), pose), convex_meshes=False)
        origins = pose.p + rng.normal(size=(300, 3)) * 2.0
        corners = mesh.vertices[mesh.triangles[rng.integers(0, count, 300)]]
        aims = np.einsum("nij,ni->nj", corners, rng.dirichlet(np.ones(3), 300))
        directions = aims @ pose.R.T + pose.p - origins
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        expected = distances([(mesh, pose)], origins, directions)
        seen = engine.cast_rays(origins, directions, 1000.0)
        np.testing.assert_allclose(seen, expected, rtol=1e-9)
        assert np.isfinite(seen).sum() > 250


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (0.02, 0.01, -0.05), (2.0, 0.5, -1.0)])
def test_no_ray_passes_between_triangles(start):
    """Rays to corners and along edges of a sphere, from within, and to its near side."""
    mesh, pose = mesh_of(Sphere(0.4)), at(0.3, -0.2, 0.4, SIDE)
    engine, _ = world(fixed(lone(placed(mesh)), pose), convex_meshes=False)
    corners = mesh.vertices[mesh.triangles]
    share = np.linspace(0.0, 1.0, 9)[:, None, None, None]
    on_edges = share * corners + (1.0 - share) * np.roll(corners, 1, axis=1)
    aims, start = on_edges.reshape(-1, 3), np.array(start)
    if np.linalg.norm(start) > 0.4:
        aims = aims[aims @ start / np.linalg.norm(start) > 0.2]  # well before the horizon
    directions = (aims - start) @ pose.R.T
    lengths = np.linalg.norm(directions, axis=1)
    origins = np.tile(pose.R @ start + pose.p, (len(aims), 1))
    seen = engine.cast_rays(origins, directions / lengths[:, None], 10.0)
    np.testing.assert_allclose(seen, lengths, rtol=1e-9)
    assert len(seen) > 1000


def crowd(rng, count):
    """Return solids of all kinds in a heap, and their poses."""
    solids = [SOLIDS[name] for name in rng.choice(list(SOLIDS), count)]
    axes = rng.normal(size=(count, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    turns = [
        axis_angle_matrix(a, angle) for a, angle in zip(axes, rng.uniform(0, 3, count), strict=True)
    ]
    return [
        (s, at(*p, R))
        for s, p, R in zip(solids, 2.0 * rng.normal(size=(count, 3)), turns, strict=True)
    ]


@pytest.mark.parametrize("count", [1, 3, 30])
def test_of_many_bodies_rays_meet_the_nearest(count):
    rng = np.random.default_rng(12)
    solids = crowd(rng, count)
    bodies = [
        (fixed if i % 2 else moving)(lone(placed(solid), name=f"thing{i}"), pose)
        for i, (solid, pose) in enumerate(solids)
    ]
    engine, *_ = world(*bodies, gravity=(0, 0, 0), convex_meshes=False)
    origins, directions = random_rays(rng, 100, np.zeros(3), 3.0, 9.0)
    seen = engine.cast_rays(origins, directions, 100.0, "thing0")
    expected = distances(solids[1:], origins, directions)
    np.testing.assert_allclose(seen, expected, rtol=1e-9)
    alone = [engine.cast_rays(o[None], d[None], 100.0, "thing0")[0] for o, d in
             zip(origins, directions, strict=True)]  # fmt: skip
    np.testing.assert_allclose(alone, seen, rtol=1e-12)
    again, *_ = world(*bodies, gravity=(0, 0, 0), convex_meshes=False)
    np.testing.assert_array_equal(again.cast_rays(origins, directions, 100.0, "thing0"), seen)


def test_a_ray_in_the_plane_of_triangles_reads_no_nonsense():
    flat = placed(mesh_of(Box(np.array([1.0, 1.0, 1.0]))))
    engine, _ = world(fixed(lone(flat)))
    origins = np.array([[-2.0, 0.1, 0.5], [-2.0, 0.5, 0.5], [-2.0, -0.5, 0.1]])
    seen = engine.cast_rays(origins, np.tile(X, (3, 1)), 10.0)
    assert np.all(np.isclose(seen, 1.5) | np.isclose(seen, 2.5) | np.isinf(seen))


def balls_in_a_row(joint):
    """Three links at x = 0, 1 and 2, each with a ball; the last two are joined as told."""
    ball = placed(Sphere(0.1))
    links = (
        root(free=True, collision=(ball,)),
        child("ARM", "BASE", JointType.REVOLUTE, X_PL=at(1.0), collision=(ball,)),
        child("HAND", "ARM", joint, X_PL=at(1.0), collision=(ball,)),
    )
    return Body(name="row", links=links)


@pytest.mark.parametrize("joint", [JointType.REVOLUTE, JointType.FIXED])
@pytest.mark.parametrize("place", [fixed, moving])
def test_one_link_of_a_body_can_be_ignored_alone(joint, place):
    engine, *_ = world(place(balls_in_a_row(joint)), moving(lone(placed(Sphere(0.1))), at(3.0)))
    origin, ahead = np.array([[-1.0, 0.0, 0.0]]), X[None]
    seen = [engine.cast_rays(origin, ahead, 10.0, "row", link).item() for link in (None, 0, 1, 2)]
    assert seen == pytest.approx([3.9, 1.9, 0.9, 0.9])
    back = engine.cast_rays(np.array([[2.5, 0.0, 0.0]]), -ahead, 10.0, "row", 2)
    assert back.item() == pytest.approx(1.4)


def test_many_rays_against_a_sphere_at_random():
    rng = np.random.default_rng(7)
    engine, _ = world(fixed(lone(placed(Sphere(0.5)), name="s"), at(0.3, -0.2, 0.4)))
    origins = rng.normal(size=(500, 3))
    origins = 2.0 * origins / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = rng.normal(size=(500, 3)) * 0.3 - origins
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    offset = origins - [0.3, -0.2, 0.4]
    b = np.einsum("ij,ij->i", offset, directions)
    inside = b * b - np.einsum("ij,ij->i", offset, offset) + 0.25
    with np.errstate(invalid="ignore"):
        expected = np.where(inside > 0, -b - np.sqrt(inside), np.inf)
    distances = engine.cast_rays(origins, directions, 100.0)
    np.testing.assert_allclose(distances, expected, atol=1e-9)
    assert np.isfinite(distances).sum() > 100


@pytest.mark.parametrize(
    ("origins", "directions"),
    [
        (np.zeros((2, 3)), np.tile(X, (3, 1))),
        (np.zeros((2, 3)), np.zeros((2, 3))),
        (np.zeros((2, 3)), np.full((2, 3), np.nan)),
        (np.zeros((2, 2)), np.tile(X, (2, 1))),
    ],
)
def test_bad_rays_are_refused(origins, directions):
    engine, _ = world(floor())
    with pytest.raises(ValueError, match=r"directions|elements"):
        engine.cast_rays(origins, directions, 1.0)
