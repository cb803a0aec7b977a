"""Rays against distances that can be worked out."""

import numpy as np
import pytest
from sim.ode.scenes import X, Z, at, fixed, floor, lone, moving, placed, world

from hrp_model.geometry import Box, Capsule, Cylinder, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_model.tessellate import mesh_of

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
