"""Viscous and Coulomb friction of joints, against closed forms."""

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
    moving,
    one_joint,
    root,
)

from hrp_model.body import Body, Range
from hrp_sim.engine.engine import PhysicsError, Solver

KINDS = pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
SOLVERS = pytest.mark.parametrize("solver", list(Solver))
WEIGHTLESS = {"gravity": (0.0, 0.0, 0.0)}
INERTIA = {REVOLUTE: 0.01, PRISMATIC: 1.0}


@KINDS
@SOLVERS
@pytest.mark.parametrize("rotor", [0.0, 0.3])
def test_a_damped_joint_slows_down_exponentially(world, kind, solver, rotor):
    body = one_joint(kind, Y, rotor=rotor, damping=0.2)
    engine, arm = world(fixed(body, dq=np.array([2.0])), solver=solver, **WEIGHTLESS)
    J, h, n = INERTIA[kind] + rotor, 0.001, 300
    engine.step(n)
    # Implicit Euler of J dq' = -d dq, exactly; the exponential to the first order.
    assert arm.motion.dq[0] == pytest.approx(2.0 / (1.0 + h * 0.2 / J) ** n, rel=1e-9)
    assert arm.motion.dq[0] == pytest.approx(2.0 * np.exp(-0.2 / J * h * n), rel=0.1)
    assert arm.motion.effort[0] == 0.0


def test_damping_is_stable_however_strong(world):
    body = one_joint(REVOLUTE, Y, damping=1e9)
    engine, arm = world(fixed(body, dq=np.array([5.0])), **WEIGHTLESS)
    engine.step()
    assert arm.motion.dq[0] == pytest.approx(5.0 / (1.0 + 0.001 * 1e9 / 0.01), rel=1e-6)


def test_a_damped_pendulum_is_followed_to_the_first_order(world):
    integrate = pytest.importorskip("scipy.integrate")
    d, J, rotor, length = 0.3, 0.01, 0.05, 0.5
    inertia = J + rotor + length**2
    exact = integrate.solve_ivp(
        lambda _, s: [s[1], -(G * length * np.sin(s[0]) + d * s[1]) / inertia],
        (0.0, 1.0),
        [1.2, 0.0],
        rtol=1e-10,
        atol=1e-12,
    ).y[0, -1]
    body = one_joint(REVOLUTE, X, rotor=rotor, damping=d, center_of_mass=-length * Z)
    errors = []
    for steps in (1000, 2000, 4000):
        engine, arm = world(fixed(body, q=np.array([1.2])), time_step=1.0 / steps)
        engine.step(steps)
        errors.append(abs(arm.motion.q[0] - exact))
    assert errors[0] < 2e-3
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.1)


@KINDS
@pytest.mark.parametrize("rotor", [0.0, 0.5])
@pytest.mark.parametrize(
    ("effort", "d"), [(Range(), 0.0), (Range(-80.0, np.inf), 0.0), (Range(-100.0, 100.0), 3.0)]
)
def test_a_servo_follows_the_implicit_formula_and_reports_no_damping(world, kind, rotor, effort, d):
    kp, kd, h, q, dq = 40.0, 2.0, 0.001, 0.3, -1.0
    body = one_joint(kind, Y, rotor=rotor, effort=effort, damping=d)
    engine, arm = world(fixed(body, q=np.array([q]), dq=np.array([dq])), **WEIGHTLESS)
    arm.drive.kp[:], arm.drive.kd[:] = kp, kd
    arm.drive.q[:], arm.drive.dq[:], arm.drive.effort[:] = 0.5, 0.2, 0.7
    J = INERTIA[kind] + rotor
    for _ in range(50):
        # J (v' - v) / h = effort + kp (q_ref - q - h v') + kd (v_ref - v') - d v', where q is the
        # position in the middle of the step.
        q += h / 2.0 * dq
        dq = (J / h * dq + 0.7 + kp * (0.5 - q) + kd * 0.2) / (J / h + kp * h + kd + d)
        tau = 0.7 + kp * (0.5 - q - h * dq) + kd * (0.2 - dq)
        q += h / 2.0 * dq
        engine.step()
        assert arm.motion.q[0] == pytest.approx(q, abs=1e-5)
        assert arm.motion.dq[0] == pytest.approx(dq, abs=1e-5)
        assert arm.motion.effort[0] == pytest.approx(tau, abs=1e-4)


@KINDS
@pytest.mark.parametrize("rotor", [0.0, 0.3])
def test_the_range_of_effort_bounds_the_drive_but_not_the_damping(world, kind, rotor):
    body = one_joint(kind, Y, rotor=rotor, effort=Range(-0.5, 2.0), damping=0.4)
    engine, arm = world(fixed(body), **WEIGHTLESS)
    arm.drive.kp[:], arm.drive.kd[:], arm.drive.q[:] = 100.0, 1.0, 1e3
    J, h, dq = INERTIA[kind] + rotor, 0.001, 0.0
    for _ in range(50):
        dq = (J / h * dq + 2.0) / (J / h + 0.4)
        engine.step()
        assert arm.motion.effort[0] == pytest.approx(2.0)
        assert arm.motion.dq[0] == pytest.approx(dq, rel=1e-5)


@KINDS
@SOLVERS
def test_coulomb_friction_slows_down_evenly_to_a_stop_for_good(world, kind, solver):
    body = one_joint(kind, Y, friction=0.2)
    engine, arm = world(fixed(body, dq=np.array([0.5])), solver=solver, **WEIGHTLESS)
    engine.step(10)
    assert arm.motion.dq[0] == pytest.approx(0.5 - 0.2 / INERTIA[kind] * 0.01, rel=1e-9)
    engine.step(2600)
    stopped = arm.motion.q[0]
    assert stopped == pytest.approx(0.5 * 0.5**2 * INERTIA[kind] / 0.2, rel=0.1)
    assert abs(arm.motion.dq[0]) < 1e-12
    engine.step(1000)
    assert arm.motion.q[0] == stopped


@KINDS
@SOLVERS
@pytest.mark.parametrize("rotor", [0.0, 0.02])
def test_what_friction_can_carry_does_not_creep(world, kind, solver, rotor):
    axis, load = {REVOLUTE: (X, 0.2 * G), PRISMATIC: (Z, G)}[kind]
    options = {"rotor": rotor, "center_of_mass": 0.2 * Y}
    body = one_joint(kind, axis, friction=1.02 * load, **options)
    engine, arm = world(fixed(body), solver=solver)
    engine.step(2000)
    assert abs(arm.motion.q[0]) < (1e-12 if solver is Solver.WORLD else 1e-6)
    assert arm.motion.effort[0] == 0.0
    body = one_joint(kind, axis, friction=0.75 * load, **options)
    engine, arm = world(fixed(body), solver=solver)
    engine.step(10)
    J = {REVOLUTE: 0.05, PRISMATIC: 1.0}[kind] + rotor
    assert arm.motion.dq[0] == pytest.approx(-0.25 * load / J * 0.01, rel=1e-3)


@KINDS
def test_a_servo_stops_where_friction_balances_its_stiffness(world, kind):
    body = one_joint(kind, Y, friction=2.0, rotor=0.1)
    engine, arm = world(fixed(body), **WEIGHTLESS)
    arm.drive.kp[:], arm.drive.kd[:], arm.drive.q[:] = 100.0, 30.0, 1.0
    engine.step(4000)  # 13 times kd / kp
    assert arm.motion.q[0] == pytest.approx(0.98, abs=1e-4)  # 100 (1 - q) = 2
    assert arm.motion.effort[0] == pytest.approx(2.0, rel=1e-2)
    arm.drive.q[:] = 0.97
    engine.step(1000)
    assert arm.motion.q[0] == pytest.approx(0.98, abs=1e-4)  # 100 (0.97 - q) is too little


@SOLVERS
def test_friction_and_drives_push_the_parent_back(world, solver):
    links = (
        root(free=True, inertia=np.eye(3) * 0.02),
        child("A", "BASE", REVOLUTE, Z, damping=0.01, friction=0.02),
        child("S", "BASE", PRISMATIC, X, X_PL=at(y=0.3), damping=0.5, friction=0.3),
    )
    body = Body(name="b", links=links)
    engine, b = world(moving(body, dq=np.array([4.0, 1.0])), solver=solver, **WEIGHTLESS)

    def momenta():
        m = b.motion
        L = sum(
            np.cross(m.p[i], m.v[i]) + inertia * m.w[i]
            for i, inertia in enumerate((0.02, 0.01, 0.01))
        )
        return np.concatenate([m.v.sum(axis=0), L])

    before = momenta()
    b.drive.effort[:] = -0.01, 0.2
    engine.step(300)
    assert b.motion.dq[0] < 3.5
    np.testing.assert_allclose(momenta(), before, atol=2e-4)


def test_a_damped_slider_on_a_turning_base_flies_out_as_its_equation_says(world):
    links = (
        root(),
        child("TABLE", "BASE", REVOLUTE, Z, inertia=np.eye(3) * 100.0),
        child("S", "TABLE", PRISMATIC, X, X_PL=at(0.2), damping=1.5),
    )
    w, c = 3.0, 1.5
    body = Body(name="b", links=links)
    for steps, error in ((1000, 4e-3), (4000, 1e-3)):
        start = fixed(body, dq=np.array([w, 0.0]))
        engine, b = world(start, time_step=1.0 / steps, **WEIGHTLESS)
        b.drive.kd[0], b.drive.dq[0] = 1e9, w
        engine.step(steps)
        # r'' = w^2 r - c r', from r = 0.2 at rest.
        root_ = np.sqrt(c * c / 4.0 + w * w)
        fast, slow = -c / 2.0 + root_, -c / 2.0 - root_
        r = 0.2 * (fast * np.exp(slow) - slow * np.exp(fast)) / (fast - slow)
        assert b.motion.q[1] == pytest.approx(r - 0.2, rel=error)


@KINDS
@pytest.mark.parametrize("joint_limits", [True, False])
def test_a_rubbing_joint_that_is_driven_against_its_stop_stays_quiet(world, kind, joint_limits):
    body = one_joint(
        kind,
        X,
        position=Range(-0.2, 0.2),
        rotor=0.1,
        damping=2.0,
        friction=3.0,
        effort=Range(-50, 50),
    )
    engine, arm = world(fixed(body), joint_limits=joint_limits, **WEIGHTLESS)
    arm.drive.kp[:], arm.drive.kd[:], arm.drive.q[:] = 1e4, 100.0, 0.4
    engine.step(3000)
    assert arm.motion.q[0] == pytest.approx(0.2 if joint_limits else 0.4, abs=1e-3)
    assert arm.motion.dq[0] == pytest.approx(0.0, abs=1e-6)
    if joint_limits:
        assert arm.motion.effort[0] == 50.0


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, 1e13])
@pytest.mark.parametrize("what", ["damping", "friction"])
def test_impossible_friction_is_refused_by_the_name_of_its_link(world, what, value):
    with pytest.raises(PhysicsError, match=rf"link 'ARM': its joint {what} must be"):
        world(fixed(one_joint(REVOLUTE, **{what: value})))


@SOLVERS
def test_a_reset_repeats_sticking_and_slipping_bit_by_bit(world, solver):
    links = (
        root(),
        child("A", "BASE", REVOLUTE, X, center_of_mass=0.2 * Y, friction=0.5, damping=0.05),
        child("B", "A", REVOLUTE, X, X_PL=at(y=0.4), center_of_mass=0.2 * Y, friction=0.4),
    )
    engine, arm = world(fixed(Body(name="arm", links=links)), solver=solver)
    engine.step(1500)
    first = arm.motion.copy()
    engine.reset()
    engine.step(1500)
    np.testing.assert_array_equal(arm.motion.q, first.q)
    np.testing.assert_array_equal(arm.motion.dq, first.dq)
