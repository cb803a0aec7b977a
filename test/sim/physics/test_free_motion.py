"""Motion without contacts, against what can be worked out."""

import numpy as np
import pytest
from sim.physics.scenes import (
    FIXED,
    FREE,
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    lone,
    moving,
    one_joint,
    root,
)

from hrp_model.body import Body, Range
from hrp_model.rigid import axis_angle_matrix

LIGHT = np.eye(3) * 1e-6


def test_free_fall_is_exact(world):
    engine, thing = world(moving(lone(com=(0.1, 0.2, 0.3)), at(z=5.0), v=X))
    engine.step(500)
    np.testing.assert_allclose(thing.motion.p[0], [0.5, 0, 5 - G * 0.5**2 / 2], atol=1e-12)
    np.testing.assert_allclose(thing.motion.v[0], [1, 0, -G * 0.5])
    np.testing.assert_allclose(thing.motion.a[0], [0, 0, -G])
    assert engine.state.time_ns == 500_000_000


def test_a_thrown_body_turns_about_its_centre_of_mass(world):
    com = np.array([0.3, 0.0, 0.0])
    engine, thing = world(
        moving(lone(com=com), w=2.0 * Z, v=np.cross(2.0 * Z, -com)), gravity=(0, 0, 0)
    )
    engine.step(1000)
    center = thing.motion.p[0] + thing.motion.R[0] @ com
    np.testing.assert_allclose(center, com, atol=1e-12)
    np.testing.assert_allclose(thing.motion.R[0], axis_angle_matrix(Z, 2.0), atol=1e-10)
    # The origin goes round in a circle: it accelerates towards the centre by w^2 r.
    inward = thing.motion.R[0] @ com * 4.0
    np.testing.assert_allclose(thing.motion.a[0], inward, atol=2e-3)


def pendulum(length=1.0, **options):
    """A point mass on a rod that hangs along -Z at q = 0 and swings about X."""
    body = one_joint(
        REVOLUTE, X, center_of_mass=np.array([0, 0, -length]), inertia=LIGHT, **options
    )
    return fixed(body, q=np.array([0.1]))


def test_a_pendulum_has_its_period_and_keeps_its_energy(world):
    engine, swinging = world(pendulum())
    crossings, before = [], swinging.motion.q[0]
    lowest, highest = np.inf, -np.inf
    for step in range(1, 4001):
        engine.step()
        now, dq = swinging.motion.q[0], swinging.motion.dq[0]
        if before > 0.0 >= now:
            crossings.append(step - now / (now - before))
        before = now
        energy = 0.5 * dq * dq + G * (1.0 - np.cos(now))
        lowest, highest = min(lowest, energy), max(highest, energy)
    # 2 pi sqrt(l / g) (1 + A^2 / 16) for small amplitudes A.
    period = 2.0 * np.pi / np.sqrt(G) * (1.0 + 0.1**2 / 16.0)
    assert np.diff(crossings) * 0.001 == pytest.approx(period, rel=1e-3)
    assert highest - lowest < 1e-5 * highest


def test_a_rotor_slows_a_pendulum_as_its_inertia_says(world):
    _, light = engine_light = world(pendulum())
    _, geared = engine_geared = world(pendulum(rotor=3.0))
    engine_light[0].step(100)
    engine_geared[0].step(200)
    # Four times the inertia is half the pace: what took 0.1 s now takes 0.2 s.
    assert geared.motion.q[0] == pytest.approx(light.motion.q[0], abs=1e-4)
    assert geared.motion.dq[0] == pytest.approx(light.motion.dq[0] / 2.0, rel=5e-3)


@pytest.mark.parametrize("axis", [X, Y, Z, -Y])
def test_a_hinge_turns_its_link_by_plus_q(world, axis):
    R0 = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.7)
    body = one_joint(REVOLUTE, axis, X_PL=at(0.1, 0.2, 0.3, R0))
    base = at(1.0, 2.0, 3.0, axis_angle_matrix(Y, 0.4))
    engine, arm = world(fixed(body, base, q=np.array([0.5]), dq=np.array([2.0])), gravity=(0, 0, 0))
    engine.step(500)
    assert arm.motion.q[0] == pytest.approx(1.5, abs=1e-6)
    assert arm.motion.dq[0] == pytest.approx(2.0)
    expected = base.R @ R0 @ axis_angle_matrix(axis, 1.5)
    np.testing.assert_allclose(arm.motion.R[1], expected, atol=1e-6)
    np.testing.assert_allclose(arm.motion.p[1], base.R @ [0.1, 0.2, 0.3] + base.p, atol=1e-9)
    np.testing.assert_allclose(arm.motion.w[1], base.R @ R0 @ axis * 2.0, atol=1e-9)


def test_a_slider_moves_its_link_along_plus_q(world):
    R0 = axis_angle_matrix(X, 0.3)
    body = one_joint(PRISMATIC, Y, X_PL=at(0.1, 0.2, 0.3, R0), center_of_mass=np.array([0.2, 0, 0]))
    engine, arm = world(fixed(body, q=np.array([0.4]), dq=np.array([0.5])), gravity=(0, 0, 0))
    engine.step(200)
    assert arm.motion.q[0] == pytest.approx(0.5)
    assert arm.motion.dq[0] == pytest.approx(0.5)
    np.testing.assert_allclose(arm.motion.p[1], R0 @ [0, 0.5, 0] + [0.1, 0.2, 0.3], atol=1e-9)


def test_the_rate_of_a_slider_on_a_turning_base_is_that_of_its_position(world):
    body = one_joint(PRISMATIC, Y, free=True, X_PL=at(0.5, 0.0, 0.0))
    engine, arm = world(
        moving(body, w=1.5 * Z, dq=np.array([0.3])), gravity=(0, 0, 0), time_step=1e-4
    )
    assert arm.motion.dq[0] == pytest.approx(0.3)
    for _ in range(20):
        before = arm.motion.q[0]
        engine.step(10)
        rate = (arm.motion.q[0] - before) / 1e-3
        assert arm.motion.dq[0] == pytest.approx(rate, abs=2e-3)


def test_a_start_beyond_pi_is_kept(world):
    engine, arm = world(fixed(one_joint(REVOLUTE), q=np.array([10.0])), gravity=(0, 0, 0))
    assert arm.motion.q[0] == pytest.approx(10.0)
    engine.step(10)
    assert arm.motion.q[0] == pytest.approx(10.0)
    engine.reset()
    assert arm.motion.q[0] == pytest.approx(10.0)


@pytest.mark.parametrize(("lower", "upper"), [(-0.5, 0.8), (-9.0, 4.0), (-3.14, 3.14)])
@pytest.mark.parametrize("effort", [1.0, -1.0])
def test_limits_hold_also_beyond_pi(world, lower, upper, effort):
    engine, arm = world(fixed(one_joint(REVOLUTE, position=Range(lower, upper))), gravity=(0, 0, 0))
    arm.drive.effort[:] = 0.1 * effort
    arm.drive.kd[:] = 0.05
    engine.step(12000)
    assert arm.motion.q[0] == pytest.approx(upper if effort > 0 else lower, abs=2e-3)


@pytest.mark.parametrize(("kind", "start"), [(REVOLUTE, 0.0), (PRISMATIC, 0.0), (REVOLUTE, 2.0)])
def test_a_soft_stop_yields_to_a_load_in_proportion_and_no_further(world, kind, start):
    body = one_joint(kind, Z, position=Range(-0.5, 0.5))
    load, settings = 1e3, {"cfm": 1e-2, "erp": 0.4, "time_step": 1e-3}
    engine, arm = world(fixed(body, q=np.array([start])), gravity=(0, 0, 0), **settings)
    arm.drive.effort[:] = load
    engine.step(4000)
    given = settings["cfm"] * load * settings["time_step"] / settings["erp"]
    assert arm.motion.q[0] == pytest.approx(0.5 + given, abs=1e-6)


def test_limits_hold_a_slider_and_can_be_switched_off(world):
    body = one_joint(PRISMATIC, Z, position=Range(-0.1, 0.1))
    engine, held = world(fixed(body))
    engine.step(1000)
    assert held.motion.q[0] == pytest.approx(-0.1, abs=1e-3)
    engine, falling = world(fixed(body), joint_limits=False)
    engine.step(1000)
    assert falling.motion.q[0] == pytest.approx(-G / 2.0, rel=2e-3)


def test_links_on_fixed_joints_move_as_one_body(world):
    arm = child("A", "BASE", REVOLUTE, X, X_PL=at(z=1.0))
    hand = child("B", "A", FIXED, X_PL=at(0.0, 0.3, -0.4, axis_angle_matrix(Z, 0.5)))
    whole = Body(name="whole", links=(root(), arm, hand))
    engine, merged = world(fixed(whole, q=np.array([1.0])))
    # The same two links as one.
    com = np.array([0.0, 0.15, -0.2])
    offset = np.array([0.0, 0.3, -0.4]) / 2.0
    one = 2.0 * (np.eye(3) * 0.01 + (offset @ offset) * np.eye(3) - np.outer(offset, offset))
    single = Body(
        name="single",
        links=(
            root(),
            child(
                "A", "BASE", REVOLUTE, X, X_PL=at(z=1.0), mass=2.0, center_of_mass=com, inertia=one
            ),
        ),
    )
    other, expected = world(fixed(single, q=np.array([1.0])))
    engine.step(300)
    other.step(300)
    np.testing.assert_allclose(merged.motion.q, expected.motion.q, atol=1e-9)
    R, p = merged.motion.R[1], merged.motion.p[1]
    np.testing.assert_allclose(merged.motion.p[2], R @ [0.0, 0.3, -0.4] + p, atol=1e-12)
    np.testing.assert_allclose(merged.motion.R[2], R @ axis_angle_matrix(Z, 0.5), atol=1e-12)
    r = merged.motion.p[2] - p
    v = merged.motion.v[1] + np.cross(merged.motion.w[1], r)
    np.testing.assert_allclose(merged.motion.v[2], v, atol=1e-12)


def test_a_free_link_leaves_its_parent(world):
    body = Body(name="two", links=(root(), child("LOOSE", "BASE", FREE, X_PL=at(0.0, 0.0, 2.0))))
    engine, two = world(fixed(body, at(z=1.0)))
    engine.step(100)
    assert two.motion.p[0, 2] == 1.0
    assert two.motion.p[1, 2] == pytest.approx(3.0 - G * 0.01 / 2.0, abs=1e-3)
