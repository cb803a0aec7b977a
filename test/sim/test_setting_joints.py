"""Joints that are teleported, and initial positions that are set for the next reset."""

import re
from dataclasses import replace
from math import cos, inf, nan, sin, sqrt

import numpy as np
import pytest
from paths import MODELS

from hrp_model import Diagnostics, load_body, load_body_text
from hrp_sim import (
    BodyEntry,
    JointTrajectory,
    PhysicsSettings,
    Placement,
    Simulation,
    TrajectoryPoint,
    WorldConfig,
    load_world,
)
from hrp_sim.control import LIMP, TrajectoryRun, TrajectoryStatus

WORLDS = MODELS / "worlds"
CRANK, ROD = 0.10, 0.26  # [m]
GRIPPER = """<robot name="gripper"><link name="base"/>
<link name="left"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="right"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="grip" type="revolute"><parent link="base"/><child link="left"/>
  <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="9" velocity="9"/></joint>
<joint name="slave" type="revolute"><parent link="base"/><child link="right"/>
  <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="9" velocity="9"/>
  <mimic joint="grip" multiplier="-0.5" offset="0.25"/></joint></robot>"""


@pytest.fixture
def arm():
    """The arm after 0.1 s, in which its joints hold."""
    simulation = Simulation(load_world(WORLDS / "arm.yaml"))
    simulation.run(0.1)
    return simulation


def alone(body, fixed=True, **entry):
    weightless = PhysicsSettings(gravity=(0.0, 0.0, 0.0))
    placement = Placement(name="body", body=body, fixed=fixed)
    return Simulation(
        WorldConfig(physics=weightless, bodies=(BodyEntry(placement=placement, **entry),))
    )


def q_of(simulation, body="arm"):
    simulated = simulation.bodies[body]
    names = [link.joint.name for link in simulated.body.moving_links]
    return dict(zip(names, simulated.motion.q.tolist(), strict=True))


def close(positions):
    """Return positions that are compared but for rounding."""
    return pytest.approx(positions, rel=0.0, abs=1e-12)


def slide(crank):
    """Return where the slide of the press is, by its geometry."""
    return CRANK * sin(crank) + sqrt(ROD**2 - (CRANK * cos(crank)) ** 2) - 0.24


def test_named_joints_are_there_at_once_and_hold_while_others_stay(arm):
    before, motion = q_of(arm), arm.bodies["arm"].motion
    velocity = motion.dq.copy()
    arm.placements.set_joint_positions("arm", {"J1": 1.0, "J6": -2.0}, {"J6": 0.5})
    assert q_of(arm) == close({**before, "J1": 1.0, "J6": -2.0})
    np.testing.assert_allclose(motion.dq, [0.0, *velocity[1:5], 0.5], rtol=0.0, atol=1e-12)
    assert arm.state.time_ns == 100_000_000
    arm.run(0.5)
    assert q_of(arm)["J1"] == pytest.approx(1.0, abs=0.01)
    assert q_of(arm)["J2"] == pytest.approx(before["J2"], abs=0.01)


def test_a_free_body_keeps_its_place_and_motion():
    simulation = Simulation(load_world(WORLDS / "humanoid_in_room.yaml"))
    simulation.run(0.05)
    motion = simulation.bodies["humanoid"].motion
    root = [motion.p[0].copy(), motion.R[0].copy(), motion.v[0].copy(), motion.w[0].copy()]
    simulation.placements.set_joint_positions("humanoid", {"LARM_ELBOW": -1.0})
    now = [motion.p[0], motion.R[0], motion.v[0], motion.w[0]]
    for was, is_ in zip(root, now, strict=True):
        np.testing.assert_allclose(is_, was, rtol=0.0, atol=1e-12)
    assert q_of(simulation, "humanoid")["LARM_ELBOW"] == pytest.approx(-1.0, abs=1e-12)


def test_targets_and_trajectories_of_other_joints_go_on(arm):
    runs = {}
    for joint in ("J1", "J4"):
        points = [TrajectoryPoint(1_000_000_000, [0.6])]
        runs[joint] = TrajectoryRun(JointTrajectory([joint], points))
        arm.command("arm", runs[joint])
    arm.command("arm", {"J6": 0.3})
    arm.run(0.2)
    arm.placements.set_joint_positions("arm", {"J1": -0.5})
    arm.run(1.5)
    assert runs["J1"].status is not TrajectoryStatus.SUCCEEDED
    assert runs["J4"].status is TrajectoryStatus.SUCCEEDED
    after = q_of(arm)
    assert after["J1"] == pytest.approx(-0.5, abs=0.01)
    assert after["J4"] == pytest.approx(0.6, abs=0.01)
    assert after["J6"] == pytest.approx(0.3, abs=0.01)


def test_the_joints_of_a_closed_loop_follow():
    press = alone(load_body(MODELS / "press" / "press.body"), control=LIMP)
    for crank in (0.4, 1.2, -0.7):
        press.placements.set_joint_positions("body", {"CRANK": crank}, {"CRANK": 1.0})
        assert q_of(press, "body")["SLIDE"] == pytest.approx(slide(crank), abs=1e-9)
        rate = (slide(crank + 1e-6) - slide(crank - 1e-6)) / 2e-6
        motion = press.bodies["body"].motion
        assert motion.dq[2] == pytest.approx(rate, abs=1e-6)
        posture = q_of(press, "body")
        press.run(0.2)
        press.placements.set_joint_positions("body", posture)  # all of a recorded state
        assert q_of(press, "body") == pytest.approx(posture, abs=1e-9)
    press.placements.set_joint_positions("body", {"SLIDE": slide(1.0)})  # a joint that follows
    assert slide(q_of(press, "body")["CRANK"]) == pytest.approx(slide(1.0), abs=1e-9)


def test_a_mimic_joint_follows_its_leader():
    gripper = alone(load_body_text(GRIPPER, Diagnostics.silent()))
    gripper.placements.set_joint_positions("body", {"grip": 1.0}, {"grip": 0.2})
    assert q_of(gripper, "body") == close({"grip": 1.0, "slave": -0.25})
    np.testing.assert_allclose(gripper.bodies["body"].motion.dq, [0.2, -0.1])
    gripper.placements.set_joint_positions("body", {"grip": 0.5, "slave": 0.1})
    assert q_of(gripper, "body") == close({"grip": 0.5, "slave": 0.1})


@pytest.mark.parametrize("method", ["set_joint_positions", "set_initial_positions"])
@pytest.mark.parametrize(
    ("position", "error", "words"),
    [
        ({"J7": 0.1}, KeyError, "body 'arm' has no moving joint 'J7'; it has J1, J2"),
        ({"J1": 9.0}, ValueError, "joint 'J1' is 9 rad; its limits are -2.96706 and 2.96706 rad"),
        ({"J1": nan}, ValueError, "the position of joint 'J1' is nan rad or m; it must be finite"),
        ({"J1": inf}, ValueError, "it must be finite"),
        ({"J1": "0.5"}, TypeError, "the position of joint 'J1' must be a number"),
    ],
)
def test_invalid_positions_change_nothing(arm, method, position, error, words):
    before = arm.state_hash()
    with pytest.raises(error, match=re.escape(words)):
        getattr(arm.placements, method)("arm", {"J2": 0.1, **position})
    assert arm.state_hash() == before
    assert arm.placements.initial("arm").initial_q[1] == 0.5


def test_loops_that_cannot_close_are_refused_with_words():
    press = alone(load_body(MODELS / "press" / "press.body"))
    before = press.state_hash()
    with pytest.raises(ValueError, match="body 'body': the loop 'PIN' cannot close at SLIDE = 1 m"):
        press.placements.set_joint_positions("body", {"SLIDE": 1.0})
    with pytest.raises(ValueError, match=r"closed with joint 'SLIDE' at .* m, not 0.05 m"):
        press.placements.set_joint_positions("body", {"CRANK": 0.0, "SLIDE": 0.05})
    assert press.state_hash() == before


def test_without_limits_any_position_can_be_set():
    world = load_world(WORLDS / "arm.yaml").with_physics(joint_limits=False)
    arm = Simulation(world)
    arm.placements.set_joint_positions("arm", {"J1": 9.0})
    assert q_of(arm)["J1"] == 9.0


def test_an_unknown_body_is_named(arm):
    with pytest.raises(KeyError, match="'amr'"):
        arm.placements.set_joint_positions("amr", {})
    with pytest.raises(KeyError, match="'amr'"):
        arm.placements.set_initial_positions("amr", {})


def test_initial_positions_are_those_of_the_next_resets(arm):
    before = arm.state_hash()
    arm.placements.set_initial_positions("arm", {"J2": -0.4})
    arm.placements.set_initial_positions("arm", {"J3": 0.2})
    assert arm.state_hash() == before
    for _ in range(2):
        arm.reset()
        assert arm.state.time_ns == 0
        expected = {"J1": 0.0, "J2": -0.4, "J3": 0.2, "J4": 0.0, "J5": 0.6, "J6": 0.0}
        assert q_of(arm) == close(expected)
        arm.run(0.3)
        assert q_of(arm)["J2"] == pytest.approx(-0.4, abs=0.01)


def test_a_reset_to_set_positions_runs_as_a_world_that_starts_there(arm):
    world = load_world(WORLDS / "arm.yaml")
    floor, entry = world.bodies
    q = entry.placement.initial_q.copy()
    q[1] = -0.4
    placement = replace(entry.placement, q=q)
    other = Simulation(replace(world, bodies=(floor, replace(entry, placement=placement))))
    arm.placements.set_initial_positions("arm", {"J2": -0.4})
    arm.reset()
    for simulation in (arm, other):
        simulation.command("arm", {"J1": 0.3})
        simulation.run(0.5)
    np.testing.assert_allclose(
        arm.bodies["arm"].motion.q, other.bodies["arm"].motion.q, rtol=0.0, atol=1e-4
    )


def test_initial_positions_of_a_removed_body_are_forgotten(arm):
    entry = load_world(WORLDS / "arm.yaml").bodies[1]
    arm.placements.set_initial_positions("arm", {"J2": -0.4})
    arm.remove("arm")
    arm.reset()
    arm.spawn(entry)
    arm.reset()
    assert q_of(arm)["J2"] == pytest.approx(0.5, abs=1e-12)


def test_a_body_with_a_free_link_is_not_torn_apart():
    text = """format: ChoreonoidBody
format_version: 2.0
name: two
root_link: A
links:
  - {name: A, joint_type: fixed, mass: 1, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
  - {name: J, parent: A, joint_type: revolute, joint_axis: [0, 0, 1], mass: 1,
     inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
  - {name: LOOSE, parent: A, joint_type: free, mass: 1, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
"""
    two = alone(load_body_text(text, Diagnostics.silent(), kind="body"))
    with pytest.raises(ValueError, match="its link 'LOOSE' moves freely"):
        two.placements.set_joint_positions("body", {"J": 0.1})
