"""What a drive does to its joint: implicit, bounded, and never unstable."""

import numpy as np
import pytest
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    one_joint,
    root,
)

from hrp_model.body import Body, Range
from hrp_sim.engine.engine import PhysicsError, Solver
from hrp_sim.engine.state import MAX_DRIVE_VALUE

KINDS = pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
WEIGHTLESS = {"gravity": (0.0, 0.0, 0.0)}
INERTIA = {REVOLUTE: 0.01, PRISMATIC: 1.0}


@KINDS
@pytest.mark.parametrize("rotor", [0.0, 0.5])
@pytest.mark.parametrize("effort", [Range(), Range(-100.0, 100.0)])
def test_an_effort_accelerates_joint_and_rotor(world, kind, rotor, effort):
    engine, arm = world(fixed(one_joint(kind, Y, rotor=rotor, effort=effort)), **WEIGHTLESS)
    arm.drive.effort[:] = 0.3
    engine.step(100)
    expected = 0.3 / (INERTIA[kind] + rotor) * 0.1
    assert arm.motion.dq[0] == pytest.approx(expected, rel=1e-6)
    assert arm.motion.effort[0] == pytest.approx(0.3)


@KINDS
@pytest.mark.parametrize("kp", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("rotor", [0.0, 0.1])
def test_a_servo_settles_at_any_gain(world, kind, kp, rotor):
    engine, arm = world(
        fixed(one_joint(kind, Y, rotor=rotor, center_of_mass=np.array([0.2, 0.0, 0.0])))
    )
    arm.drive.kp[:], arm.drive.kd[:], arm.drive.q[:] = kp, kp / 10.0, 0.4
    engine.step(2000)
    assert arm.motion.q[0] == pytest.approx(0.4, abs=2.0 / kp + 1e-8)
    assert abs(arm.motion.dq[0]) < 1e-6


@KINDS
def test_the_effort_balances_the_weight(world, kind):
    arm_body = one_joint(kind, {REVOLUTE: -Y, PRISMATIC: Z}[kind], center_of_mass=0.2 * X)
    engine, arm = world(fixed(arm_body))
    arm.drive.kp[:], arm.drive.kd[:] = 1e5, 1e3
    engine.step(1000)
    expected = {REVOLUTE: G * 0.2, PRISMATIC: G}[kind]
    assert arm.motion.effort[0] == pytest.approx(expected, rel=1e-4)


@KINDS
@pytest.mark.parametrize("rotor", [0.0, 0.3])
@pytest.mark.parametrize("effort", [Range(-2.0, 2.0), Range(-0.5, 2.0), Range(-np.inf, 2.0)])
def test_effort_ranges_bound_the_drive_but_not_the_rotor(world, kind, rotor, effort):
    engine, arm = world(fixed(one_joint(kind, Y, rotor=rotor, effort=effort)), **WEIGHTLESS)
    arm.drive.kp[:], arm.drive.kd[:], arm.drive.q[:] = 100.0, 1.0, 1e3
    engine.step(20)
    assert arm.motion.effort[0] == pytest.approx(2.0)
    assert arm.motion.dq[0] == pytest.approx(2.0 / (INERTIA[kind] + rotor) * 0.02, rel=1e-5)
    arm.drive.q[:] = -1e3
    engine.step()
    assert arm.motion.effort[0] == pytest.approx(max(effort.lower, -1e5), rel=0.15)


def test_a_limp_joint_is_limp(world):
    engine, arm = world(fixed(one_joint(REVOLUTE, X, center_of_mass=-Z), q=np.array([0.1])))
    engine.step()
    assert arm.motion.effort[0] == 0.0
    assert arm.motion.dq[0] == pytest.approx(-G * np.sin(0.1) / 1.01 * 0.001, rel=1e-4)


def test_quick_steps_report_the_effort_that_they_applied(world):
    """In a chain that QUICK does not solve to the end the rates alone would tell another one."""
    count, arm = 8, 0.3
    links = [root()]
    for i in range(count):
        mass = {"center_of_mass": 0.5 * arm * X, "mass": 0.1 + 5.0 * (i == count - 1)}
        place = at(x=arm * (i > 0))
        links.append(child(f"L{i}", links[-1].name, REVOLUTE, Y, X_PL=place, **mass))
    body = Body(name="chain", links=tuple(links))
    engine, chain = world(fixed(body), solver=Solver.QUICK, iterations=200)
    chain.drive.kp[:], chain.drive.kd[:] = 1e6, 1e4
    engine.step(2000)
    efforts = []
    for _ in range(200):
        engine.step()
        efforts.append(chain.motion.effort.copy())
    reach = [[arm * (j - i) + 0.5 * arm for j in range(count)] for i in range(count)]
    weight = G * np.array([link.mass for link in links[1:]])
    expected = [-sum(w * x for w, x in zip(weight, row, strict=True) if x > 0) for row in reach]
    assert np.mean(efforts, axis=0) == pytest.approx(np.array(expected), rel=0.02)
    assert np.std(efforts, axis=0).max() < 0.05 * np.abs(expected).max()


@KINDS
def test_an_effort_that_would_be_absurd_without_its_range_is_bounded(world, kind):
    engine, arm = world(fixed(one_joint(kind, Y, effort=Range(-5.0, 5.0))), **WEIGHTLESS)
    arm.drive.kp[:], arm.drive.q[:] = 1e7, 1e4
    engine.step(10)
    assert arm.motion.dq[0] == pytest.approx(5.0 / INERTIA[kind] * 0.01, rel=1e-6)
    assert arm.motion.effort[0] == 5.0


def test_a_servo_without_a_range_that_would_be_absurd_fails(world):
    engine, arm = world(fixed(one_joint(REVOLUTE, Y)), **WEIGHTLESS)
    arm.drive.kp[:], arm.drive.q[:] = 1e7, 1e4
    with pytest.raises(PhysicsError, match="link 'ARM': its motion has diverged"):
        engine.step()
    arm.drive.kp[:] = 0.0
    engine.step()


@pytest.mark.parametrize(("step", "speed"), [(0.02, 170.0), (0.02, -700.0), (0.001, 5000.0)])
def test_a_joint_counts_the_turns_that_it_makes_within_a_step(world, step, speed):
    arm = fixed(one_joint(REVOLUTE, Y), dq=np.array([speed]))
    engine, arm = world(arm, time_step=step, **WEIGHTLESS)
    engine.step(100)
    assert arm.motion.q[0] == pytest.approx(100 * step * speed, rel=1e-9)


def test_no_world_goes_back(world):
    engine, _ = world(fixed(one_joint(REVOLUTE)))
    engine.step(5)
    with pytest.raises(ValueError, match=r"must not be negative, not -3"):
        engine.step(-3)
    assert engine.state.time_ns == 5_000_000


@pytest.mark.parametrize("name", ["q", "dq", "kp", "kd", "effort"])
def test_a_bad_drive_is_one_error_and_changes_nothing(world, name):
    start = fixed(one_joint(REVOLUTE, X, center_of_mass=0.1 * Z), q=np.array([0.3]))
    engine, arm = world(start)
    engine.step(10)
    before = arm.motion.copy()
    for value in (np.nan, np.inf, -1e300, MAX_DRIVE_VALUE):
        getattr(arm.drive, name)[0] = value
        with pytest.raises(PhysicsError, match="body 'one', link 'ARM': the drive of its joint"):
            engine.step(5)
        assert engine.state.time_ns == 10_000_000
        np.testing.assert_array_equal(arm.motion.q, before.q)
    getattr(arm.drive, name)[0] = 0.0
    engine.step(5)
    other, same = world(start)
    other.step(15)
    np.testing.assert_array_equal(arm.motion.q, same.motion.q)
