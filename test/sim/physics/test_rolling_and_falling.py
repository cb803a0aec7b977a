"""Bodies that fall, land, roll and slide into rolling, against closed forms."""

import numpy as np
import pytest
from sim.physics.scenes import G, X, Y, Z, at, box_inertia, floor, lone, moving, placed, world

from hrp_model.geometry import Box, Cylinder, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim.engine.engine import PhysicsSettings, Solver

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
RADIUS = 0.1
LAYER = PhysicsSettings().surface_layer  # what rests lies this deep
BOX = np.array([0.2, 0.3, 0.1])
DROPPED = {
    "ball": (lone(placed(Sphere(RADIUS))), RADIUS),
    "box": (lone(placed(Box(BOX)), inertia=box_inertia(1.0, BOX)), BOX[2] / 2.0),
}
# Moment of inertia over m r^2.
ROUND = {"ball": 2.0 / 5.0, "hollow ball": 2.0 / 3.0, "cylinder": 1.0 / 2.0, "hoop": 1.0}


def rolling(name):
    shape = Sphere(RADIUS) if "ball" in name else Cylinder(RADIUS, 0.2)  # along Y
    return lone(placed(shape), inertia=np.eye(3) * ROUND[name] * RADIUS**2)


@SOLVERS
@pytest.mark.parametrize("height", [0.01, 0.5])
@pytest.mark.parametrize("name", DROPPED)
def test_what_is_dropped_lands_without_a_bounce(name, height, solver):
    body, half = DROPPED[name]
    engine, thing, _ = world(moving(body, at(z=half + height)), floor(), solver=solver)
    engine.step(int(np.sqrt(2.0 * height / G) * 1000.0) - 2)
    assert thing.motion.v[0, 2] == pytest.approx(-np.sqrt(2.0 * G * height), abs=0.05)
    heights = []
    for _ in range(500):
        engine.step()
        heights.append(thing.motion.p[0, 2] - half)
    landed = int(np.argmin(heights))
    # It sinks by at most the way of one step, and never rises above where it rests.
    assert heights[landed] > -np.sqrt(2.0 * G * height) * 0.001 - LAYER
    assert max(heights[landed:]) < -0.9 * LAYER
    assert heights[-1] == pytest.approx(-LAYER, abs=1e-6)


@SOLVERS
@pytest.mark.parametrize(
    ("name", "heading"),
    [("ball", 0.0), ("ball", 0.8), ("hollow ball", 0.8), ("cylinder", 0.0), ("hoop", 0.0)],
)
def test_a_round_body_rolls_down_a_slope(name, heading, solver):
    angle = 0.3
    down = np.array([np.cos(heading), np.sin(heading), 0.0])
    R = axis_angle_matrix(np.cross(Z, down), angle)
    engine, thing, _ = world(
        moving(rolling(name), Pose(R, R @ [0.0, 0.0, RADIUS - LAYER])), floor(R=R), solver=solver
    )
    engine.step(1000)
    # A ball rolls on the radius that reaches to the ground, less the layer it is sunk in.
    radius = RADIUS - LAYER if "ball" in name else RADIUS
    share = ROUND[name] * (RADIUS / radius) ** 2
    expected = G * np.sin(angle) / (1.0 + share)
    np.testing.assert_allclose(thing.motion.v[0], expected * (R @ down), atol=1e-4)
    assert expected == pytest.approx(G * np.sin(angle) / (1.0 + ROUND[name]), rel=2e-3)


@SOLVERS
def test_a_ball_slides_and_turns_where_the_slope_is_too_slippery(solver):
    angle, mu = 0.3, 0.05  # rolling would take 2/7 tan(angle) = 0.088
    R = axis_angle_matrix(Y, angle)
    engine, thing, _ = world(
        moving(rolling("ball"), Pose(R, R @ [0.0, 0.0, RADIUS - LAYER])),
        floor(R=R),
        friction=mu,
        solver=solver,
    )
    engine.step(1000)
    speed = G * (np.sin(angle) - mu * np.cos(angle))
    assert thing.motion.v[0] @ (R @ X) == pytest.approx(speed, rel=1e-6)
    turning = mu * G * np.cos(angle) * (RADIUS - LAYER) / (0.4 * RADIUS**2)
    assert thing.motion.w[0, 1] == pytest.approx(turning, rel=1e-5)


@SOLVERS
@pytest.mark.parametrize("heading", [0.0, 0.7])
def test_a_pushed_ball_comes_to_roll_at_five_sevenths_of_its_speed(heading, solver):
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    mu = 0.3
    engine, thing, _ = world(
        moving(rolling("ball"), at(z=RADIUS - LAYER), v=along),
        floor(),
        friction=mu,
        solver=solver,
    )
    engine.step(60)
    np.testing.assert_allclose(thing.motion.v[0], (1.0 - mu * G * 0.06) * along, atol=1e-6)
    engine.step(int(2.0 / (7.0 * mu * G) * 1000.0))
    v = thing.motion.v[0].copy()
    np.testing.assert_allclose(v, along * 5.0 / 7.0, atol=1e-3)
    turning = np.cross(Z, along) * np.linalg.norm(v) / (RADIUS - LAYER)
    np.testing.assert_allclose(thing.motion.w[0], turning, atol=1e-4)
    engine.step(1000)
    np.testing.assert_allclose(thing.motion.v[0], v, atol=1e-5)  # it rolls on
