"""What is told at the start of a world, against what becomes of that world."""

from dataclasses import replace
from math import inf, pi

import numpy as np
import pytest
from loop_bodies import GRASHOF, X, Y, Z, at, base, four_bar, link
from numpy.testing import assert_allclose
from paths import MODELS, SHARED

from hrp_model import Diagnostics, Severity
from hrp_model.body import Body, JointType, Range
from hrp_model.geometry import Box, Shape
from hrp_model.kinematics import BodyState
from hrp_sim.control import LIMP, ControlSettings
from hrp_sim.engine.engine import PhysicsSettings, Placement, Solver
from hrp_sim.engine.materials import Material, MaterialTable
from hrp_sim.simulation import Simulation
from hrp_sim.world.advice import advise, failure_hint
from hrp_sim.world.advice.joints import servo_poles
from hrp_sim.world.config import BodyEntry, WorldConfig
from hrp_sim.world.load import load_world

REVOLUTE, PRISMATIC = JointType.REVOLUTE, JointType.PRISMATIC
WEIGHTLESS = (0.0, 0.0, 0.0)


def world(*entries, **physics):
    return WorldConfig(physics=PhysicsSettings(**physics), bodies=entries)


def entry(body, control=LIMP, **placement):
    placement = {"name": body.name, "fixed": body.is_root_fixed, **placement}
    return BodyEntry(placement=Placement(body=body, **placement), control=control)


def codes(config, severity=Severity.WARNING):
    return [d.code for d in advise(config) if d.severity is severity]


def only(config, severity=Severity.WARNING):
    (found,) = [d for d in advise(config) if d.severity is severity]
    return found.code, found.message


def run(config, seconds, watch=lambda simulation: None):
    """Simulate; return the simulation, and what ``watch`` saw after each step."""
    simulation = Simulation(config, diagnostics=Diagnostics.silent())
    simulation.wanted = lambda name: False
    seen = []
    for _ in range(round(seconds / config.physics.time_step)):
        simulation.step()
        seen.append(watch(simulation))
    return simulation, seen


def with_surface(body, material):
    shape = Shape(Box(np.full(3, 0.1)), np.eye(4))
    links = [replace(x, collision=(shape,), contact_material=material) for x in body.links]
    return replace(body, links=tuple(links))


def lever(kind=REVOLUTE, axis=Z, **joint):
    lever = replace(link("LEVER", "BASE", kind, axis, **joint), center_of_mass=0.1 * X)
    return Body(name="lever", links=(base(), lever))


# Joints that start beyond their limits.


@pytest.mark.parametrize(
    ("q", "limit", "time_step", "solver", "speed"),
    [
        (1.0, 0.5, 1e-3, Solver.QUICK, 200.0),
        (-0.7, -0.5, 4e-3, Solver.QUICK, 20.0),
        (-0.7, -0.5, 4e-3, Solver.WORLD, 1.0),
        (90.0, 0.5, 1e-3, Solver.WORLD, 1.0),
    ],
)
def test_a_stop_pushes_back_what_starts_beyond_it_as_fast_as_told(
    q, limit, time_step, solver, speed
):
    body = lever(position=Range(-0.5, 0.5))
    physics = {"gravity": WEIGHTLESS, "time_step": time_step, "solver": solver}
    config = world(entry(body, q=np.array([q])), **physics)
    code, message = only(config)
    assert code == "start-beyond-limit"
    assert f"'LEVER' at {q:g} rad (limit {limit:g})" in message
    assert f"up to {speed:.3g} rad/s" in message
    _, seen = run(config, time_step, lambda s: abs(s.bodies["lever"].motion.dq[0]))
    assert_allclose(seen, speed, rtol=1e-3)


@pytest.mark.parametrize(
    ("q", "position", "physics"),
    [
        (0.5, Range(-0.5, 0.5), {}),
        (0.501, Range(-0.5, 0.5), {}),  # a rounded number
        (2.0, Range(-0.5, 0.5), {"joint_limits": False}),
        (2.0, Range(0.5, -0.5), {}),  # holds nothing, and is ignored
        (2.0, Range(-inf, inf), {}),
    ],
)
def test_nothing_is_told_of_joints_that_no_stop_throws(q, position, physics):
    body = lever(position=position)
    assert codes(world(entry(body, q=np.array([q])), gravity=WEIGHTLESS, **physics)) == []


# Drives too weak to hold.


@pytest.mark.parametrize(("effort", "is_weak"), [(0.9, True), (1.1, False)])
def test_a_drive_that_gravity_beats_is_told_with_what_it_needs(effort, is_weak):
    body = lever(axis=Y, effort=Range(-effort, effort))
    needed = 9.80665 * 0.1  # 1 kg at 0.1 m
    config = world(entry(body, ControlSettings()))
    assert codes(config) == ["too-weak"] * is_weak
    if is_weak:
        assert f"'LEVER' needs {needed:.3g} N m, limit {effort:.3g}" in only(config)[1]
    _, seen = run(config, 0.5, lambda s: s.bodies["lever"].motion.q[0])
    assert (seen[-1] > 0.1) == is_weak


def test_a_lifted_link_and_a_spring_spare_the_drive():
    sprung = lever(axis=Y, effort=Range(-0.1, 0.1), stiffness=10.0, rest_position=-0.0980665)
    heavy = lever(axis=Y, effort=Range(-0.1, 0.1))
    lifted = replace(heavy, links=tuple(replace(x, weight_share=0.05) for x in heavy.links))
    for body, is_weak in ((heavy, True), (sprung, False), (lifted, False)):
        assert codes(world(entry(body, ControlSettings()))) == ["too-weak"] * is_weak
    assert codes(world(entry(body, LIMP))) == []  # is not meant to be held


# Servos.


@pytest.mark.parametrize(
    ("kp", "kd", "time_step"), [(100.0, 0.5, 1e-3), (4e3, 1.0, 1e-3), (100.0, 40.0, 1e-2)]
)
def test_a_servo_moves_by_the_pole_that_is_computed_for_it(kp, kd, time_step):
    body = lever()
    inertia = 0.01 + 0.1**2
    control = ControlSettings(kp=kp, kd=kd)
    start = entry(body, control, dq=np.array([1.0]))
    config = world(start, gravity=WEIGHTLESS, time_step=time_step, cfm=1e-12)
    _, seen = run(config, 30 * time_step, lambda s: s.bodies["lever"].motion.q[0])
    _, pole = servo_poles(inertia, kp, kd, time_step)
    # The motion obeys q2 = (z + z') q1 - z z' q0; fit both, and find the slower root.
    q = np.array(seen)
    (total, product), *_ = np.linalg.lstsq(np.array([q[1:-1], -q[:-2]]).T, q[2:], rcond=None)
    z = max(np.roots([1.0, -total, product]), key=lambda z: (abs(z), z.imag))
    assert_allclose(
        [z.real, abs(z.imag)],
        [np.exp(pole * time_step).real, abs(np.exp(pole * time_step).imag)],
        rtol=1e-4,
    )


def test_poles_in_continuous_time_are_those_of_the_textbook():
    slow, discrete = servo_poles(2.0, 2.0 * 10.0**2, 2.0 * 2.0 * 0.1 * 10.0, 1e-6)
    assert abs(slow) == pytest.approx(10.0)
    assert slow.real == pytest.approx(-1.0)
    assert discrete == pytest.approx(slow, rel=1e-4)
    lazy, at_once = servo_poles(1.0, 1.0, 1e6, 1e-3)
    assert lazy.real == pytest.approx(-1e-6, rel=1e-9)
    assert at_once == pytest.approx(lazy, rel=1e-3)


def test_servos_are_told_of_when_the_step_changes_them():
    body = lever()
    inertia = 0.01 + 0.1**2
    w = 2.0 * pi * 200.0

    def given(damping, frequency=w):
        kp, kd = inertia * frequency**2, 2.0 * damping * frequency * inertia
        return world(entry(body, ControlSettings(kp=kp, kd=kd)), gravity=WEIGHTLESS)

    code, message = only(given(0.1))
    assert code == "damped-by-step"
    assert "at 200 Hz" in message
    assert "time_step: 7e-05" in message
    assert (codes(given(1.0)), codes(given(1.0), Severity.NOTE)) == ([], ["slowed-by-step"])
    assert advise(given(0.1, w / 20.0)) == advise(given(1.0, w / 20.0)) == []
    with_step = given(0.1).with_physics(time_step=7e-5)
    assert advise(with_step) == []
    assert advise(world(entry(body, ControlSettings()), gravity=WEIGHTLESS)) == []


def test_a_controller_of_efforts_is_unstable_beyond_the_gain_in_the_note():
    body, h = lever(), 1e-3
    config = world(entry(body, dq=np.array([1.0])), gravity=WEIGHTLESS, time_step=h)
    code, message = only(config, Severity.NOTE)
    most = 2.0 * (0.01 + 0.1**2) / h
    assert code == "explicit-damping"
    assert f"is {most:.3g};" in message

    def final_speed(kd):
        def control(simulation):
            lever = simulation.bodies["lever"]
            lever.drive.effort[0] = -kd * lever.motion.dq[0]

        simulation, _ = run(config, 0.05, control)
        return abs(simulation.bodies["lever"].motion.dq[0])

    assert final_speed(0.95 * most) < 0.1
    assert final_speed(1.05 * most) > 10.0


# Chains and the solver 'quick'.


def chain(*masses, thin=1.0):
    """Links of 0.2 m that swing about Y and Z in turn."""
    links = [base()]
    for i, mass in enumerate(masses):
        inertia = mass * np.diag([2e-4, 1 / 300, 1 / 300]) * (thin if i == len(masses) - 2 else 1)
        joint = link(
            f"L{i}", links[-1].name, REVOLUTE, (Y, Z)[i % 2], X_PL=at(0.2 * (i > 0)), mass=mass
        )
        links.append(replace(joint, inertia=inertia, center_of_mass=0.1 * X))
    return Body(name="chain", links=tuple(links))


def separation(body, **physics):
    """Return how far joints come apart within half a second of swinging, in [m]."""
    n = len(body.moving_links)

    def apart(simulation):
        motion = simulation.bodies["chain"].motion
        state = BodyState(body)
        state.q[:] = motion.q
        state.calc_forward_kinematics()
        return np.abs(state.p - motion.p).max()

    config = world(entry(body, q=np.full(n, 0.3)), **physics)
    return max(run(config, 0.5, apart)[1])


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        (chain(1.0, 1.0, 1.0), False),
        (chain(1.0, 1.0, 20.0), False),
        (chain(1.0, 1.0, 500.0), True),
        (chain(1.0, 1.0, 1e-6), False),  # light ends do no harm
        (chain(1.0, 1.0, 1.0, thin=1e-3), True),
    ],
)
def test_chains_that_come_apart_under_quick_are_told_and_no_others(body, is_told):
    assert codes(world(entry(body), solver=Solver.QUICK)) == ["uneven-chain"] * is_told
    assert (separation(body, solver=Solver.QUICK) > 1e-3) == is_told
    assert codes(world(entry(body))) == []
    assert separation(body) < 1e-4


def test_more_iterations_are_named_where_they_help():
    body = chain(1.0, 1.0, 150.0)
    _, message = only(world(entry(body), solver=Solver.QUICK))
    # 1 / m + d^2 / I across the link; at both of its ends alike.
    ratio = 151.0 * (1.0 + 0.1**2 * 300.0)
    assert f"link 'L0' carries 151 kg by joint 'L1', {ratio:.2g} times" in message
    assert "iterations: 150," in message
    assert codes(world(entry(body), solver=Solver.QUICK, iterations=150)) == []


# Settings.


@pytest.mark.parametrize(("cfm", "is_told"), [(1e-8, False), (1e-3, True)])
def test_soft_constraints_give_way_as_far_as_told(cfm, is_told):
    mass = 100.0
    load = link("L", "BASE", PRISMATIC, Z, mass=mass, position=Range(0.0, 1.0))
    body = replace(lever(), links=(base(), load), name="load")
    config = world(entry(body), cfm=cfm)
    sag = mass * 9.80665 * cfm * 1e-3 / 0.4
    simulation, _ = run(config, 2.0)
    assert_allclose(-simulation.bodies["load"].motion.p[1, 2], sag, rtol=1e-3, atol=1e-9)
    assert codes(config) == ["soft-constraints"] * is_told
    if is_told:
        message = only(config)[1]
        assert f"by {1e3 * sag:.3g} mm" in message
        advised = float(message.rsplit("cfm: ", 1)[1])
        assert codes(world(entry(body), cfm=advised)) == []


def test_errors_that_are_never_taken_back_are_told():
    assert codes(world(entry(lever()), erp=0.0)) == ["uncorrected-errors"]


def test_a_step_in_which_things_fall_far_is_told():
    assert codes(world(entry(lever()), time_step=0.05)) == ["coarse-step"]
    assert codes(world(entry(lever()), time_step=0.02)) == []
    assert codes(world(entry(lever()), time_step=0.05, gravity=WEIGHTLESS)) == []


# Loops.


def test_an_open_loop_is_told_with_the_joints_that_close_it():
    body = four_bar(*GRASHOF, crank=1.0)
    q = BodyState(body).q
    assert codes(world(entry(body, q=q))) == []
    code, message = only(world(entry(body, q=q + np.array([0.2, 0.0, 0.0]))))
    assert code == "open-at-start"
    listed = message.split("joints: {")[1].rstrip("}")
    closed = q + np.array([0.2, 0.0, 0.0])
    names = [x.joint.name for x in body.moving_links]
    for part in listed.split(", "):
        name, value = part.split(": ")
        closed[names.index(name)] = float(value)
    assert codes(world(entry(body, q=closed))) == []


def test_loops_of_no_size_that_a_mechanism_has_are_no_matter_of_advice():
    body = four_bar(*GRASHOF, crank=1.0)
    (pin,) = body.extra_joints
    far = replace(pin, X_AJ=at(2e9))
    assert "open-at-start" not in codes(world(entry(replace(body, extra_joints=(far,)))))


def test_after_a_failure_the_warnings_are_remembered_and_the_notes_are_not():
    told = advise(world(entry(lever(position=Range(-0.5, 0.5)), q=np.array([1.0]))))
    assert "start-beyond-limit" in failure_hint(told)
    notes = [d for d in told if d.severity is Severity.NOTE]
    assert notes
    assert "latest commands" in failure_hint(notes)


def test_a_table_of_materials_that_no_link_has_is_told():
    table = MaterialTable(materials={"Ice": Material()})
    plain = lever()
    code, message = only(world(entry(with_surface(plain, "")), materials=table))
    assert code == "unused-materials"
    assert (
        "no link has a material of the table (Ice), so all have the friction coefficient 1"
        in message
    )
    assert codes(world(entry(with_surface(plain, "Ice")), materials=table)) == []
    default = MaterialTable(materials={"Default": Material()})
    assert codes(world(entry(with_surface(plain, "")), materials=default)) == []


# Models that are known to run well.


@pytest.mark.parametrize("path", sorted((MODELS / "worlds").glob("*.yaml")), ids=lambda p: p.stem)
@pytest.mark.parametrize("solver", Solver)
def test_nothing_is_told_of_our_own_worlds(path, solver):
    config = load_world(path, Diagnostics.silent())
    assert codes(config.with_physics(solver=solver)) == []


@pytest.mark.parametrize("name", ["SR1.body", "PA10.body", "GR001.body", "JACO2.body"])
def test_nothing_is_told_of_published_robots(name):
    path = next((SHARED / "models").rglob(name), None)
    if path is None:
        pytest.skip(f"there is no {name} beside this repository")
    config = load_world(path, Diagnostics.silent())
    assert codes(config) == []
