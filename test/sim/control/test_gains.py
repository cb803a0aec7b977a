"""Gains derived from a model, against closed forms for an arm of two links."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sim.control.bench import Bench

from hrp_model import Body, Joint, JointType, Link, Pose, Range
from hrp_model.body import Mimic
from hrp_model.kinematics.actuation import NATURAL_FREQUENCY, apparent_inertias
from hrp_sim import BodyEntry, Placement, Simulation, WorldConfig
from hrp_sim.control import ControlMode
from hrp_sim.control.joints import JointTargets, servo_gains

BASE_MASS = 4.0
LENGTH = 0.5  # from the shoulder to the elbow
UPPER = {"mass": 2.0, "center": 0.2, "inertia": (0.01, 0.02, 0.03)}
LOWER = {"mass": 1.5, "center": 0.3, "inertia": (0.04, 0.05, 0.07)}
ROTOR = 0.25


def arm(root=JointType.FIXED, elbow=JointType.REVOLUTE, base_mass=BASE_MASS):
    """A shoulder that turns about z in the base's origin, an elbow about y; both lie along x."""

    def link(name, parent, joint, place, mass, center, inertia):
        return Link(
            name=name,
            parent=parent,
            joint=joint,
            X_PL=Pose(p=place),
            mass=mass,
            center_of_mass=np.array([center, 0.0, 0.0]),
            inertia=np.diag(inertia),
        )

    return Body(
        name="arm",
        links=(
            link("BASE", None, Joint(type=root, name="BASE"), [0, 0, 1], base_mass, 0.0, (1, 2, 3)),
            link(
                "UPPER",
                "BASE",
                Joint(type=JointType.REVOLUTE, name="SHOULDER", equivalent_rotor_inertia=ROTOR),
                [0, 0, 0],
                *UPPER.values(),
            ),
            link(
                "LOWER",
                "UPPER",
                Joint(type=elbow, name="ELBOW", axis=[0, 1, 0]),
                [LENGTH, 0, 0],
                *LOWER.values(),
            ),
        ),
    )


def upper_about_shoulder():
    return UPPER["inertia"][2] + UPPER["mass"] * UPPER["center"] ** 2


def test_a_stretched_arm_is_moved_as_one_rod():
    shoulder, elbow = apparent_inertias(arm(), np.zeros(2), fixed=True)
    reach = LENGTH + LOWER["center"]
    lower = LOWER["inertia"][2] + LOWER["mass"] * reach**2
    assert shoulder == pytest.approx(ROTOR + upper_about_shoulder() + lower)
    assert elbow == pytest.approx(LOWER["inertia"][1] + LOWER["mass"] * LOWER["center"] ** 2)


def test_with_the_elbow_bent_upright_the_forearm_is_a_post():
    shoulder, _ = apparent_inertias(arm(), np.array([0.7, pi / 2]), fixed=True)
    lower = LOWER["inertia"][0] + LOWER["mass"] * LENGTH**2
    assert shoulder == pytest.approx(ROTOR + upper_about_shoulder() + lower)


def test_on_a_free_root_a_joint_may_have_to_move_the_rest_instead():
    shoulder, elbow = apparent_inertias(arm(JointType.FREE), np.zeros(2), fixed=False)
    assert shoulder == pytest.approx(ROTOR + 3.0)  # the base alone is more than the arm
    upper_about_elbow = UPPER["inertia"][1] + UPPER["mass"] * (LENGTH - UPPER["center"]) ** 2
    assert elbow == pytest.approx(upper_about_elbow + 2.0 + BASE_MASS * LENGTH**2)


@pytest.mark.parametrize(("base_mass", "moved"), [(4.0, 6.0), (0.1, 2.1)])
def test_a_slide_moves_the_heavier_side(base_mass, moved):
    body = arm(JointType.FREE, elbow=JointType.PRISMATIC, base_mass=base_mass)
    assert apparent_inertias(body, np.zeros(2), fixed=False)[1] == pytest.approx(moved)
    assert apparent_inertias(body, np.zeros(2), fixed=True)[1] == pytest.approx(LOWER["mass"])


def test_where_the_robot_is_does_not_matter():
    here, q = arm(JointType.FREE), np.array([0.3, 0.4])
    X = Pose(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], dtype=float), [1, 2, 3])
    root = here.root
    moved = Link(
        name=root.name,
        parent=None,
        joint=root.joint,
        X_PL=X,
        mass=root.mass,
        center_of_mass=root.center_of_mass,
        inertia=root.inertia,
    )
    there = Body(name="arm", links=(moved, *here.links[1:]))
    assert_allclose(
        apparent_inertias(there, q, fixed=False), apparent_inertias(here, q, fixed=False)
    )


def test_the_gains_are_those_of_a_critically_damped_oscillator():
    body, q = arm(), np.zeros(2)
    kp, kd = servo_gains(body, q, fixed=True)
    inertia = apparent_inertias(body, q, fixed=True)
    assert_allclose(np.sqrt(kp / inertia), NATURAL_FREQUENCY)
    assert_allclose(kd / (2.0 * np.sqrt(kp * inertia)), 1.0)


def test_a_body_without_joints_needs_no_gains():
    body = Body(name="box", links=(arm().root,))
    assert [gains.shape for gains in servo_gains(body, np.zeros(0), fixed=True)] == [(0,), (0,)]


def test_the_inertia_of_a_leader_includes_that_of_its_followers():
    """The forearm turns three times as fast as the upper arm, both about z."""
    base, upper, lower = arm().links
    elbow = replace(lower.joint, axis=np.array([0, 0, 1]), mimic=Mimic("UPPER", 2.0))
    body = Body(name="arm", links=(base, upper, replace(lower, joint=elbow)))
    tip = LENGTH + 3.0 * LOWER["center"]
    expected = upper_about_shoulder() + ROTOR + 9.0 * LOWER["inertia"][2] + LOWER["mass"] * tip**2
    assert apparent_inertias(body, np.zeros(2), fixed=True)[0] == pytest.approx(expected)


WHEEL_INERTIA, WHEEL_DAMPING, WHEEL_FRICTION, WHEEL_EFFORT = 0.001, 0.2, 0.05, 1.0


def wheel_on_a_stand():
    """Return a wheel whose servo is soft beside the friction of its joint."""
    joint = Joint(
        type=JointType.REVOLUTE,
        name="WHEEL",
        damping=WHEEL_DAMPING,
        friction=WHEEL_FRICTION,
        effort=Range(-WHEEL_EFFORT, WHEEL_EFFORT),
    )
    stand = Link(name="STAND", parent=None, joint=Joint(type=JointType.FIXED, name="STAND"))
    inertia = WHEEL_INERTIA * np.eye(3)
    wheel = Link(name="WHEEL", parent="STAND", joint=joint, mass=1.0, inertia=inertia)
    return Body(name="stand", links=(stand, wheel))


@pytest.mark.parametrize("speed", [2.0, -2.0])
def test_a_velocity_servo_overcomes_the_friction_of_its_joint(speed):
    steps, h = 8, 0.001
    body = wheel_on_a_stand()
    with Simulation(
        WorldConfig(bodies=(BodyEntry(placement=Placement(name="stand", body=body, fixed=True)),))
    ) as sim:
        _, [kd] = servo_gains(body, np.zeros(1), fixed=True)
        assert kd == pytest.approx(WHEEL_DAMPING)
        sim.command("stand", velocity={"WHEEL": speed})
        motion = sim.bodies["stand"].motion
        sim.run(h * steps)
        # J dq' = (kd + damping) (dq_ref - dq), by implicit Euler.
        left = (1.0 + h * (kd + WHEEL_DAMPING) / WHEEL_INERTIA) ** -steps
        assert motion.dq[0] == pytest.approx(speed * (1.0 - left), rel=1e-9)
        sim.command("stand", velocity={"WHEEL": 4.0 * speed})  # more than its motor can keep up
        sim.run(0.2)
        fastest = (WHEEL_EFFORT - WHEEL_FRICTION) / WHEEL_DAMPING
        assert motion.dq[0] == pytest.approx(np.copysign(fastest, speed), rel=1e-6)
        assert abs(motion.effort[0]) == pytest.approx(WHEEL_EFFORT)
        sim.command("stand", velocity={"WHEEL": 0.0})
        sim.run(0.2)
        assert motion.dq[0] == pytest.approx(0.0, abs=1e-9)


def test_a_controller_gives_a_velocity_servo_the_same_effort_as_a_command():
    efforts = []
    for give in ("command", "targets"):
        bench = Bench(body=wheel_on_a_stand(), q=np.zeros(1))
        targets = JointTargets(1)
        targets.drive({0: ControlMode.VELOCITY})
        targets.dq[0], targets.effort[0] = 3.0, 0.1
        if give == "command":
            bench.command("WHEEL", velocity=[3.0], effort=[0.1])
        else:
            for _ in range(2):
                bench.controller.set_targets(targets, 0)
        efforts.append(bench.drive.effort[0])
    assert efforts == pytest.approx([3.0 * WHEEL_DAMPING + WHEEL_FRICTION + 0.1] * 2)
