"""Friction of contact patches in `world`: from any height, in any yaw, and without creep."""

import numpy as np
import pytest
from sim.physics.scenes import (
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    box_inertia,
    child,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)

from hrp_model.body import Body
from hrp_model.geometry import Box, Cylinder, Sphere
from hrp_model.rigid import axis_angle_matrix

RADIUS, AWAY, WIDTH = 0.033, 0.08, 0.018  # of wheels, in [m]
UPRIGHT = axis_angle_matrix(X, np.pi / 2.0)  # turns the axis of a cylinder from Y to Z
HEADINGS = pytest.mark.parametrize("heading", [0.7, 2.9])


def turned(heading):
    return axis_angle_matrix(Z, heading)


def robot(*, caster=False):
    """Two wheels, and a ball that is fixed behind them and carries a tenth of the weight."""
    ball = (placed(Sphere(0.01), at(-0.1, 0.0, 0.01 - RADIUS)),) if caster else ()
    com = (-0.01 if caster else 0.0, 0.0, -0.02)
    wheel = (placed(Cylinder(RADIUS, WIDTH)),)
    links = [
        root(free=True, mass=1.0, inertia=2e-3 * np.eye(3), center_of_mass=com, collision=ball)
    ]
    for name, side in (("LEFT", 1.0), ("RIGHT", -1.0)):
        links.append(
            child(name, "BASE", REVOLUTE, Y, X_PL=at(y=side * AWAY), mass=1e-3,
                  inertia=1e-6 * np.eye(3), collision=wheel)
        )  # fmt: skip
    return Body(name="robot", links=tuple(links))


def yaw_rate(height, heading=0.0, *, caster=False, rates=(-3.0, 3.0)):
    """Mean rate over half a second of a robot that turns on the spot."""
    engine, body, _ = world(
        moving(robot(caster=caster), at(z=RADIUS + height, R=turned(heading))), floor()
    )
    engine.step(300)
    body.drive.kd[:], body.drive.dq[:] = 10.0, rates
    engine.step(700)
    before = body.motion.R[0].copy()
    engine.step(500)
    change = before.T @ body.motion.R[0]
    return float(np.arctan2(change[1, 0], change[0, 0])) / 0.5


@pytest.mark.parametrize("height", [0.0, 1e-4, 2e-3, 0.01])
def test_wheels_pivot_at_the_same_rate_from_any_height(height):
    """About the point at which the line of contact is divided into equal moments."""
    middle = np.sqrt(((AWAY - WIDTH / 2.0) ** 2 + (AWAY + WIDTH / 2.0) ** 2) / 2.0)
    assert yaw_rate(height) == pytest.approx(3.0 * RADIUS / middle, rel=5e-3)


@HEADINGS
def test_wheels_pivot_at_the_same_rate_in_any_yaw(heading):
    assert yaw_rate(1e-3, heading) == pytest.approx(yaw_rate(1e-3), abs=1e-6)


def test_a_caster_that_does_not_roll_brakes_a_turn():
    """The ball slips sideways with a tenth of the load; the wheels balance its moment."""
    across = np.linspace(AWAY - WIDTH / 2.0, AWAY + WIDTH / 2.0, 2000)
    points = np.array([[0.0, s * y] for s in (1.0, -1.0) for y in across] + [[-0.1, 0.0]])
    loads = np.array([0.9 / 4000.0] * 4000 + [0.1])
    surfaces = np.array([[-s * 3.0 * RADIUS, 0.0] for s in (1.0, -1.0) for _ in across] + [[0, 0]])

    def power(w, vy):  # of friction: least in steady motion
        slip = np.column_stack([-w * points[:, 1], vy + w * points[:, 0]]) - surfaces
        return loads @ np.linalg.norm(slip, axis=1)

    rates = np.linspace(0.6, 1.25, 131)
    shifts = np.linspace(0.0, 0.06, 61)
    best = min((power(w, vy), w) for w in rates for vy in shifts)[1]
    assert yaw_rate(1e-3, caster=True) == pytest.approx(best, rel=0.01)


def brick(speed, spin, heading, steps):
    """A brick that slides and spins on a floor: velocity in its first frame, and spin."""
    size, R = np.array([0.3, 0.2, 0.02]), turned(heading)
    body = lone(placed(Box(size)), inertia=box_inertia(1.0, size))
    engine, thing, _ = world(
        moving(body, at(z=0.01, R=R), v=R @ [speed, 0.0, 0.0], w=spin * Z), floor(), friction=0.3
    )
    engine.step(steps)
    return np.append(R.T @ thing.motion.v[0], thing.motion.w[0, 2])


@HEADINGS
def test_a_brick_slides_and_spins_alike_in_any_yaw(heading):
    np.testing.assert_allclose(brick(1.0, 8.0, heading, 200), brick(1.0, 8.0, 0.1, 200), atol=1e-8)


def test_a_disc_spins_down_with_two_thirds_of_the_moment_at_its_rim():
    inertia = np.diag([0.003, 0.003, 0.005])
    disc = lone(placed(Cylinder(0.1, 0.04), at(R=UPRIGHT)), inertia=inertia)
    engine, thing, _ = world(moving(disc, at(z=0.02), w=8.0 * Z), floor(), friction=0.3)
    engine.step(100)
    moment = 2.0 / 3.0 * 0.3 * G * 0.1
    assert thing.motion.w[0, 2] == pytest.approx(8.0 - moment / 0.005 * 0.1, rel=5e-3)


def test_a_block_just_below_the_angle_of_friction_does_not_creep():
    size, mu = np.array([0.3, 0.3, 0.05]), 0.5
    R = axis_angle_matrix(Y, 0.99 * np.arctan(mu))
    block = lone(placed(Box(size)), inertia=box_inertia(1.0, size))
    engine, thing, _ = world(moving(block, at(*(R @ [0, 0, 0.0249]), R)), floor(R=R), friction=mu)
    engine.step(200)
    before = thing.motion.p[0].copy()
    engine.step(2000)
    np.testing.assert_allclose(thing.motion.p[0], before, atol=2e-6)


@pytest.mark.parametrize("part", [0.5, 0.95])
def test_a_disc_does_not_turn_under_a_smaller_moment_than_friction(part):
    """Under most of it only points near the middle hold, while those at the rim would slip."""
    disc = lone(placed(Cylinder(0.1, 0.04), at(R=UPRIGHT)), inertia=np.diag([0.003, 0.003, 0.005]))
    engine, thing, _ = world(moving(disc, at(z=0.02)), floor(), friction=0.3)
    engine.step(100)
    thing.wrench.torque[0, 2] = part * 2.0 / 3.0 * 0.3 * G * 0.1
    engine.step(300)
    before = thing.motion.R[0].copy()
    engine.step(1000)
    np.testing.assert_allclose(thing.motion.R[0], before, atol=1e-5)


def test_a_wheel_loads_both_ends_of_the_line_on_which_it_stands():
    engine, _, _ = world(moving(robot(), at(z=RADIUS)), floor())
    engine.record_contacts = True
    engine.step(500)
    points = engine.contact_points()
    weight = 1.002 * G
    assert len(points) == 4
    np.testing.assert_allclose(np.abs(points.force[:, 2]), weight / 4.0, rtol=0.02)
