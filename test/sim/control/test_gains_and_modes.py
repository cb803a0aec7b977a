"""Gains and modes that change at run time, and lists of values shorter than their names."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from sim.control.bench import BODY, INITIAL, A, B, Bench, C
from vehicles import vehicle, wheel

from hrp_model import Joint, JointType, Link, Range
from hrp_model.body import Mimic
from hrp_model.kinematics.vehicle import rolling_wheels
from hrp_sim.control import (
    LIMP,
    ControlMode,
    ControlSettings,
    GainChange,
    JointControl,
    ModeChange,
    TrajectoryRun,
    array_command,
)
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint
from hrp_sim.engine.state import MAX_DRIVE_VALUE


def numbered(body=BODY):
    """The robot of the bench with ids for its joints."""
    ids = {"A": 0, "B": 1, "C": 2}
    links = [replace(x, joint=replace(x.joint, id=ids.get(x.joint.name))) for x in body.links]
    return replace(body, links=tuple(links))


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def warnings(caplog):
    return lambda: [record.getMessage() for record in caplog.records]


def test_gains_change_at_once_and_stay_after_a_reset(bench):
    bench.controller.set_gains("A", kp=11.0)
    bench.controller.set_gains("C", kd=0.5)
    for _ in range(2):
        assert bench.controller.gains("A")[0] == bench.drive.kp[A] == 11.0
        assert bench.controller.gains("C")[1] == bench.drive.kd[C] == 0.5
        bench.command("A", velocity=[1.0])
        bench.controller.reset()
    bench.command("A", effort=[1.0])
    bench.give(GainChange("A", kp=13.0, kd=1.0))
    assert bench.drive.kp[A] == bench.drive.kd[A] == 0.0  # it is not held now
    bench.command("A", velocity=[1.0])
    assert (bench.drive.kp[A], bench.drive.kd[A]) == (0.0, 1.0)
    bench.command("A", position=[0.1])
    assert (bench.drive.kp[A], bench.drive.kd[A]) == (13.0, 1.0)


def test_a_joint_of_no_stiffness_is_driven_by_position_nevertheless(bench):
    bench.controller.set_gains("A", kp=0.0)
    bench.motion.q[A] = 5.0
    bench.command("A", position=[0.1])
    assert bench.drive.q[A] == INITIAL[A]  # it held, so it does not start from where it is


@pytest.mark.parametrize("gain", [-1.0, nan, inf, -inf, MAX_DRIVE_VALUE])
@pytest.mark.parametrize("kind", ["kp", "kd"])
def test_gains_that_make_no_sense_are_refused(bench, warnings, gain, kind):
    before = bench.controller.gains("A")
    with pytest.raises(ValueError, match=f"joint 'A': {kind} must be from 0 to 1e[+]12, not"):
        bench.controller.set_gains("A", **{kind: gain})
    for _ in range(2):
        bench.give(GainChange("A", **{kind: gain}))
    assert bench.controller.gains("A") == before
    assert bench.counts.refused == 2
    assert len(warnings()) == 1


def test_there_are_no_gains_and_modes_of_other_joints(bench, warnings):
    for ask in (
        lambda: bench.controller.set_gains("X", kp=1.0),
        lambda: bench.controller.gains("X"),
        lambda: bench.controller.mode("T"),
        lambda: bench.controller.set_mode("X", ControlMode.EFFORT),
    ):
        with pytest.raises(ValueError, match=r"body 'r1' has no moving joint '[XT]'"):
            ask()
    bench.give(ModeChange("X", ControlMode.EFFORT))
    assert warnings() == [
        "body 'r1': a change of mode is ignored: body 'r1' has no moving joint 'X'. "
        "It is one of A, B, C."
    ]


def test_a_mode_counts_at_once_and_after_a_reset(bench):
    bench.command("A", velocity=[0.7])
    bench.motion.q[:] = 0.9
    bench.controller.set_mode("A", ControlMode.POSITION)
    assert (bench.drive.q[A], bench.drive.dq[A]) == (0.9, 0.0)
    assert bench.drive.kp[A] > 0.0
    bench.give(ModeChange("B", ControlMode.VELOCITY))
    assert (bench.drive.kp[B], bench.drive.dq[B]) == (0.0, 0.0)
    assert bench.drive.kd[B] > 0.0
    bench.give(ModeChange("C", ControlMode.EFFORT))
    for _ in range(2):
        assert bench.drive.kp[C] == bench.drive.kd[C] == bench.drive.effort[C] == 0.0
        modes = [bench.controller.mode(name) for name in "ABC"]
        assert modes == [ControlMode.POSITION, ControlMode.VELOCITY, ControlMode.EFFORT]
        bench.command("B", "C", position=[1.0, 1.0])
        bench.controller.reset()
    assert bench.drive.kp[B] == 0.0


def test_a_body_that_is_limp_may_be_told_to_hold():
    bench = Bench(LIMP)
    bench.motion.q[:] = 0.4
    bench.controller.set_mode("A", ControlMode.POSITION)
    assert bench.drive.q[A] == 0.4
    bench.controller.reset()
    assert bench.drive.q[A] == INITIAL[A]
    assert bench.drive.kp[A] > bench.drive.kp[B] == 0.0


def test_shorter_lists_go_to_the_joints_of_their_interface(warnings):
    own = {"A": JointControl(mode=ControlMode.VELOCITY), "C": JointControl(mode=ControlMode.EFFORT)}
    bench = Bench(ControlSettings(joints=own), numbered())
    bench.command("C", "B", "A", position=[0.25], velocity=[0.5], effort=[4.0])
    bench.run(1000)
    assert bench.drive.q[B] == pytest.approx(0.25)
    assert (bench.drive.dq[A], bench.drive.effort[C]) == (0.5, 4.0)
    assert bench.drive.effort[B] == bench.drive.effort[A] == 0.0
    assert warnings() == []


def test_wheels_are_commanded_by_velocity_where_joints_are_by_position():
    """As the <ros2_control> block of the same robot says."""
    arm = Joint(type=JointType.REVOLUTE, name="ARM", id=2, position=Range(-1.0, 1.0))
    link = Link(name="ARM", parent="CHASSIS", joint=arm, mass=1.0, inertia=np.eye(3))
    sides = ((0, 0.2), (1, -0.2))
    body = vehicle(*(wheel(f"W{i}", [0, y, 0], id=i) for i, y in sides), link)
    joints = [x.joint.name for x in body.moving_links]
    wheels = [x.joint.name for x in body.moving_links if x.name in rolling_wheels(body)]
    others = [name for name in joints if name not in wheels]
    assert wheels
    assert others
    bench = Bench(body=body, q=np.zeros(len(joints)))
    bench.command(*joints, position=[0.2] * len(others), velocity=[3.0] * len(wheels))
    bench.run(1000)
    assert bench.drive.dq.tolist() == [3.0 if name in wheels else 0.0 for name in joints]
    aimed = [0.2 if name in others else 0.0 for name in joints]
    assert bench.drive.q.tolist() == pytest.approx(aimed)
    assert bench.counts.refused == 0


def test_of_a_shorter_list_every_joint_counts_that_may_be_commanded_by_it(warnings):
    bench = Bench(body=numbered())
    bench.command("A", "X", "B", "C", position=[1.0, 2.0], velocity=[nan] * 4)
    bench.command("A", "B", "C", position=[1.0, 2.0, nan, nan])
    bench.run(10)
    assert bench.drive.q.tolist() == INITIAL.tolist()
    assert warnings() == [
        "body 'r1': a command names 4 joints but gives 2 values of position, and 3 of them are "
        "commanded by position; its position is ignored",
        "body 'r1': it has no joint 'X'; the command to it is ignored",
    ]
    assert bench.counts.refused == 3


def test_a_mode_of_its_own_changes_by_what_a_joint_is_commanded():
    bench = Bench(body=numbered())
    bench.controller.set_mode("A", ControlMode.VELOCITY)
    bench.command("A", "B", "C", position=[0.3, 0.4], velocity=[0.9])
    bench.run(2000)
    assert (bench.drive.dq[A], *bench.drive.q[[B, C]]) == pytest.approx((0.9, 0.3, 0.4))


def test_whoever_sends_ever_new_nonsense_is_not_answered_for_ever(bench, warnings):
    for k in range(500):
        bench.command(f"X{k}", position=[1.0])
    assert bench.counts.refused == 500
    assert len(warnings()) == 101
    assert warnings()[-1].endswith(
        "further warnings about its commands are suppressed, but still counted"
    )


def geared():
    """The robot of the bench, where C follows A at twice the way."""
    last = BODY.links[-1]
    mimic = Mimic(link="A_LINK", multiplier=2.0)
    return replace(
        BODY, links=(*BODY.links[:-1], replace(last, joint=replace(last.joint, mimic=mimic)))
    )


def test_a_joint_that_follows_another_takes_no_orders_of_its_own():
    bench = Bench(body=geared())
    names = list(array_command(bench.simulated.body, ControlMode.POSITION, [0.0] * 3).names)
    assert names == ["A", "B", "T"]
    run = TrajectoryRun(JointTrajectory(["A", "C"], [TrajectoryPoint(10**9, [1.0, 1.0])]))
    bench.give(run)
    assert run.message == "joint 'C' follows 'A'"
    with pytest.raises(ValueError, match="joint 'C' follows 'A' and has no mode of its own"):
        bench.controller.set_mode("C", ControlMode.EFFORT)
    bench.give(JointTrajectory(["A"], [TrajectoryPoint(10**9, [1.0])]))
    bench.motion.q[A] = 0.4
    bench.run(1)
    assert bench.drive.q[C] == pytest.approx(0.8)
