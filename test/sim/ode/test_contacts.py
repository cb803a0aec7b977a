"""Things that lie, slide and roll."""

import numpy as np
import pytest
from sim.physics.scenes import (
    FIXED,
    REVOLUTE,
    X,
    Y,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)

from hrp_model.body import Body, link_pair
from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.engine.engine import Solver

UPRIGHT = axis_angle_matrix(X, np.pi / 2.0)  # a model's cylinder lies along Y
CUBE = Box(np.array([0.2, 0.3, 0.1]))

RESTING = {
    "box": (placed(CUBE), 0.05),
    "sphere": (placed(Sphere(0.1)), 0.1),
    "cylinder upright": (placed(Cylinder(0.1, 0.3), at(R=UPRIGHT)), 0.15),
    "cylinder lying": (placed(Cylinder(0.1, 0.3)), 0.1),
    "capsule upright": (placed(Capsule(0.1, 0.3), at(R=UPRIGHT)), 0.25),
    "capsule lying": (placed(Capsule(0.1, 0.3)), 0.1),
    "cone": (placed(Cone(0.1, 0.2), at(R=UPRIGHT)), 0.1),
    "mesh": (placed(mesh_of(CUBE)), 0.05),
    "scaled box": (Shape(CUBE, np.diag([1.0, 1.0, 3.0, 1.0])), 0.15),
    "scaled sphere": (Shape(Sphere(0.1), np.diag([2.0, 2.0, 2.0, 1.0])), 0.2),
    "ellipsoid": (Shape(Sphere(0.1), np.diag([3.0, 3.0, 1.0, 1.0])), 0.1),
    "mirrored mesh": (Shape(mesh_of(CUBE), np.diag([1.0, 1.0, -1.0, 1.0])), 0.05),
    "offset box": (placed(CUBE, at(z=0.2)), -0.15),
}


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("name", RESTING)
def test_each_shape_rests_at_its_height(name, solver):
    shape, height = RESTING[name]
    body = lone(shape, com=(0.0, 0.0, 0.2) if name == "offset box" else (0.0, 0.0, 0.0))
    engine, thing, _ = world(moving(body, at(0.03, 0.02, height + 0.002)), floor(), solver=solver)
    engine.step(400)
    assert thing.motion.p[0, 2] == pytest.approx(height, abs=5e-4)
    assert abs(thing.motion.v[0, 2]) < 5e-3


def test_contacts_of_a_fine_mesh_are_few_and_far_apart():
    n = 20
    grid = np.linspace(-0.1, 0.1, n)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(n * n)], axis=1)
    i = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    triangles = np.concatenate(
        [np.stack([i, i + 1, i + n], 1), np.stack([i + 1, i + n + 1, i + n], 1)]
    ).astype(np.int32)
    sole = Mesh(vertices=vertices, triangles=triangles)
    plate = lone(placed(sole), com=(0.08, 0.08, 0.1))  # over a corner, but inside
    engine, thing, _ = world(moving(plate, at(z=0.001)), floor())
    engine.step(200)
    assert thing.motion.R[0, 2, 2] == pytest.approx(1.0, abs=1e-4)
    assert thing.motion.p[0, 2] == pytest.approx(0.0, abs=5e-4)


def folding(*, disabled=frozenset()):
    """Two bars on a middle piece that close like a book about X when driven."""
    bar = (placed(Box(np.array([0.05, 0.5, 0.05])), at(y=0.3)),)
    links = (
        root(free=False),
        child("A", "BASE", REVOLUTE, X, collision=bar, center_of_mass=0.3 * Y),
        child("B", "BASE", REVOLUTE, X, collision=bar, center_of_mass=0.3 * Y),
    )
    return Body(name="book", links=links, self_collision_disabled=disabled)


@pytest.mark.parametrize(
    ("disabled", "settings", "touches"),
    [
        (frozenset(), {}, True),
        (frozenset(), {"self_collision": False}, False),
        (frozenset({link_pair("A", "B")}), {}, False),
    ],
)
def test_links_of_one_body_collide_as_the_model_says(disabled, settings, touches):
    engine, book = world(
        fixed(folding(disabled=disabled), q=np.array([0.0, 1.5])), gravity=(0, 0, 0), **settings
    )
    book.drive.kp[:], book.drive.kd[:] = 10.0, 1.0
    engine.step(2000)
    closed = abs(book.motion.q[1] - book.motion.q[0])
    assert closed == pytest.approx(0.0, abs=1e-3) if not touches else closed > 0.08


def test_links_drawn_into_each_other_do_not_burst():
    engine, book = world(fixed(folding()), gravity=(0, 0, 0))
    engine.step(100)
    np.testing.assert_array_equal(book.motion.q, 0.0)


def test_shapes_on_fixed_links_move_with_their_group():
    links = (
        root(free=True, collision=(placed(Sphere(0.05)),)),
        child("ARM", "BASE", FIXED, X_PL=at(0.5), collision=(placed(Sphere(0.1)),)),
    )
    engine, bell, _ = world(moving(Body(name="bell", links=links), at(z=0.2)), floor())
    engine.step(1500)
    heights = sorted(bell.motion.p[:, 2])
    np.testing.assert_allclose(heights, [0.05, 0.1], atol=1e-3)
