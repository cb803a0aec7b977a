"""Force hooks: against closed forms, and as a part of the step."""

import numpy as np
import pytest
from controller_samples import Idle, SpringDamper

from hrp_model import load_body_text
from hrp_sim import BodyEntry, ForceHook, PhysicsSettings, Placement, Simulation, WorldConfig
from hrp_sim.control import LIMP

K, D, INERTIA, Q0 = 40.0, 1.2, 0.5, 0.3
MODEL = """\
format: ChoreonoidBody
format_version: 2.0
name: Mass
links:
  - {{ name: BASE, joint_type: {root}, mass: 2, inertia: [ 2, 0, 0, 0, 2, 0, 0, 0, 2 ] }}
  - {{ name: J, parent: BASE, joint_type: {kind}, joint_id: 0, joint_axis: [ 0, 0.6, 0.8 ],
       mass: {mass}, inertia: [ {i}, 0, 0, 0, {i}, 0, 0, 0, {i} ],
       translation: [ 0.1, 0, 0 ]{more} }}
"""


def simulation(hook, diagnostics, *, step=0.001, kind="revolute", root="fixed", more=""):
    mass = INERTIA if kind == "prismatic" else 0.1
    text = MODEL.format(kind=kind, root=root, mass=mass, i=INERTIA, more=more)
    body = load_body_text(text, diagnostics, kind="body")
    q = np.full(len(body.moving_links), Q0)
    placement = Placement(name="mass", body=body, q=q, fixed=root == "fixed")
    physics = PhysicsSettings(time_step=step, gravity=(0.0, 0.0, 0.0))
    world = WorldConfig(physics=physics, bodies=(BodyEntry(placement=placement, control=LIMP),))
    made = Simulation(world, diagnostics=diagnostics)
    if hook is not None:
        made.add_controller("mass", hook)
    return made


def oscillation(t, inertia=INERTIA):
    """Return q of a damped oscillator that is released at Q0, at a time in [s]."""
    decay = D / (2.0 * inertia)
    w = np.sqrt(K / inertia - decay**2)
    return Q0 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_spring_with_a_damper_approaches_its_closed_form_to_first_order(kind, diagnostics):
    errors = []
    for step in (0.002, 0.001, 0.0005):
        with simulation(SpringDamper(K, D), diagnostics, step=step, kind=kind) as made:
            found = []
            for _ in range(20):
                made.run(0.05)
                found.append(made.bodies["mass"].motion.q[0])
        times = 0.05 * np.arange(1, 21)
        errors.append(np.abs(found - oscillation(times)).max())
    assert errors[0] < 0.02 * Q0
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, atol=0.2)


def test_the_parent_feels_the_opposite(diagnostics):
    reduced = 1.0 / (1.0 / INERTIA + 1.0 / 2.0)  # of two masses with a spring between them
    with simulation(
        SpringDamper(K, D), diagnostics, step=1e-4, kind="prismatic", root="free"
    ) as made:
        body = made.bodies["mass"]
        made.run(0.3)
        momentum = 2.0 * body.motion.v[0] + INERTIA * body.motion.v[1]
        np.testing.assert_allclose(momentum, 0.0, atol=1e-9)
        assert body.motion.q[0] == pytest.approx(oscillation(0.3, reduced), abs=2e-3)


def test_the_limits_of_the_motor_do_not_bound_it(diagnostics):
    with simulation(SpringDamper(K, D), diagnostics, more=", max_joint_effort: 0.001") as made:
        made.run(0.05)
        assert made.bodies["mass"].motion.q[0] == pytest.approx(oscillation(0.05), abs=2e-3)
        assert made.bodies["mass"].motion.effort[0] == 0.0  # of the motor


def test_wrenches_on_links(diagnostics):
    class Wind(ForceHook):
        def apply(self, state, dt):
            state.force[0] = [3.0, 0.0, 0.0]
            state.torque[0] = [0.0, 0.0, 0.5]

    with simulation(Wind(), diagnostics, root="free", kind="fixed") as made:
        made.run(0.1)
        motion, mass = made.bodies["mass"].motion, 2.0 + 0.1
        arm = 0.1 / mass * 0.1  # of the centre of mass from the root's origin
        centre = motion.v[0] + np.cross(motion.w[0], motion.R[0] @ [arm, 0.0, 0.0])
        assert centre[0] == pytest.approx(3.0 / mass * 0.1, rel=1e-3)
        assert not made.bodies["mass"].wrench.force.any()  # taken back


def test_it_adds_to_pushes_and_to_other_hooks(diagnostics):
    class Wind(ForceHook):
        def apply(self, state, dt):
            state.force[0, 0] += 1.0

    with simulation(Wind(), diagnostics, root="free", kind="fixed") as made:
        made.add_controller("mass", Wind())
        made.push("mass", "BASE", np.array([1.0, 0, 0]), np.zeros(3), 0.1)
        made.run(0.1)
        momentum = 2.0 * made.bodies["mass"].motion.v[0] + 0.1 * made.bodies["mass"].motion.v[1]
        assert momentum[0] == pytest.approx(0.3, rel=1e-9)


def test_a_hook_that_adds_nothing_changes_nothing(diagnostics):
    class Nothing(ForceHook):
        def apply(self, state, dt):
            assert dt == 0.001

    hashes = []
    for controllers in ((), (Nothing(),), (Nothing(), Idle())):
        with Simulation("arm", diagnostics=diagnostics) as made:
            for controller in controllers:
                made.add_controller("arm", controller)
            made.run(0.3)
            hashes.append(made.state_hash())
    assert len(set(hashes)) == 1


def test_a_hook_may_be_a_controller_too(diagnostics):
    class Both(SpringDamper, Idle):
        pass

    with simulation(Both(K, D), diagnostics) as made:
        made.run(0.05)
        assert made.bodies["mass"].motion.q[0] == pytest.approx(oscillation(0.05), abs=2e-3)


def test_the_stiffness_of_a_model_is_a_spring(diagnostics):
    keys = f", jointStiffness: {K}, jointViscosity: {D}"
    with simulation(None, diagnostics, step=1e-4, more=keys) as made:
        made.run(0.3)
        assert made.bodies["mass"].motion.q[0] == pytest.approx(oscillation(0.3), abs=1e-3)
        body = made.bodies["mass"].body
        made.spawn(BodyEntry(placement=Placement(name="b", body=body, fixed=True), control=LIMP))
        made.run(0.1)
        snapshot = made.save()
        made.run(0.1)
        expected = made.state_hash()
        made.restore(snapshot)
        made.run(0.1)
        assert made.state_hash() == expected


@pytest.mark.parametrize("value", ["-3", ".nan", "stiff", "[1, 2]", "0.0"])
def test_a_stiffness_that_is_no_positive_number_is_no_spring(value, diagnostics):
    with simulation(None, diagnostics, more=f", jointStiffness: {value}") as made:
        made.run(0.1)
        assert made.bodies["mass"].motion.q[0] == pytest.approx(Q0)
