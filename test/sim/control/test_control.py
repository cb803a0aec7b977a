"""What a controller writes into the drive of a body, without any physics."""

import array
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sim.control.bench import BODY, FAST, INITIAL, STEP, TRACK, A, B, Bench, C

from hrp_model import Body, Joint, JointType, Link, Pose, Range
from hrp_model.body import ExtraJoint, ExtraJointType
from hrp_sim.control import (
    HOLD,
    LIMP,
    CommandRateLimit,
    ControlMode,
    ControlSettings,
    JointControl,
)
from hrp_sim.control.commands import CommandCounts, CommandWarnings
from hrp_sim.control.joints import servo_gains
from hrp_sim.engine.state import MAX_DRIVE_VALUE

KP, KD = servo_gains(BODY, INITIAL, fixed=True)


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def warnings(caplog):
    """The warnings so far, as text."""
    return lambda: [record.getMessage() for record in caplog.records]


def test_hold_keeps_the_initial_posture_with_the_gains_of_the_model(bench):
    assert_allclose(bench.drive.q, INITIAL)
    assert_allclose(bench.drive.kp, KP)
    assert_allclose(bench.drive.kd, KD)
    assert not bench.drive.dq.any()
    assert not bench.drive.effort.any()
    bench.run(10)
    assert_allclose(bench.drive.q, INITIAL)


def test_limp_drives_nothing():
    drive = Bench(LIMP).drive
    assert not np.concatenate([drive.kp, drive.kd, drive.effort, drive.track_speed]).any()


def test_velocity_control_starts_by_standing_still():
    drive = Bench(ControlSettings(mode=ControlMode.VELOCITY)).drive
    assert not drive.kp.any()
    assert_allclose(drive.kd, KD)
    assert not drive.dq.any()


def test_single_joints_may_be_driven_otherwise():
    limp = JointControl(mode=ControlMode.EFFORT)
    drive = Bench(ControlSettings(joints={"B": limp})).drive
    assert_allclose(drive.kp, [KP[A], 0.0, KP[C]])
    assert_allclose(drive.kd, [KD[A], 0.0, KD[C]])
    moving = JointControl(mode=ControlMode.VELOCITY)
    drive = Bench(ControlSettings(mode=ControlMode.EFFORT, joints={"C": moving})).drive
    assert_allclose(drive.kp, 0.0)
    assert_allclose(drive.kd, [0.0, 0.0, KD[C]])


def test_gains_come_by_joint_else_for_all_else_from_the_model():
    joints = {"A": JointControl(kd=0.0), "B": JointControl(kp=7.0)}
    drive = Bench(ControlSettings(kd=3.0, joints=joints)).drive
    assert_allclose(drive.kp, [KP[A], 7.0, KP[C]])
    assert_allclose(drive.kd, [0.0, 3.0, 3.0])


def test_settings_for_an_unknown_joint_are_refused():
    with pytest.raises(ValueError, match=r"'r1' has no moving joint 'BB'. Did you mean 'B'\?"):
        Bench(ControlSettings(joints={"BB": JointControl()}))


def test_a_body_of_tracks_alone_can_be_driven():
    rover = Body(name="rover", links=(BODY.links[0], BODY.links[3]))
    bench = Bench(body=rover, q=np.zeros(0))
    bench.command("T", velocity=[0.4])
    bench.run()
    assert bench.drive.track_speed.tolist() == [0.0, 0.4]


def test_a_far_position_is_approached_at_the_speed_limit_that_the_model_states(bench):
    bench.command("A", "B", "C", position=[10.0, -10.0, 0.3001])
    bench.run(50)
    assert_allclose(bench.drive.q, [10.0, 0.2 - FAST * 50 * STEP, 0.3001], rtol=1e-12)
    bench.run(10_000)
    assert bench.drive.q.tolist() == [10.0, -10.0, 0.3001]


def test_without_a_rate_limit_a_position_counts_at_once():
    bench = Bench(ControlSettings(rate_limit=CommandRateLimit.NONE))
    bench.command("A", "B", position=[10.0, -10.0])
    bench.run()
    assert bench.drive.q.tolist() == [10.0, -10.0, 0.3]


def test_the_rate_limit_may_change_on_the_way_and_stays_after_a_reset(bench):
    bench.command("B", position=[10.0])
    bench.run(50)
    bench.controller.rate_limit = CommandRateLimit.NONE
    bench.run()
    assert bench.drive.q[B] == 10.0
    bench.controller.reset()
    assert bench.controller.rate_limit is CommandRateLimit.NONE
    bench.controller.rate_limit = CommandRateLimit.MODEL
    bench.command("B", position=[-10.0])
    bench.run()
    assert bench.drive.q[B] == pytest.approx(0.2 - FAST * STEP)


@pytest.mark.parametrize(
    ("limits", "speed"),
    [
        (Range(), 100.0 / STEP),
        (Range(0.0, 0.0), 100.0 / STEP),  # as many URDFs have it: no joint is meant to stand still
        (Range(-inf, 0.5), 0.5),
        (Range(-3.0, 3.0), 3.0),
        (Range(-3.0, 6.0), 3.0),
    ],
)
def test_the_rate_limit_is_the_lesser_speed_limit_where_there_is_one(limits, speed):
    joint = Joint(type=JointType.REVOLUTE, name="A", velocity=limits)
    link = Link(name="A", parent="BASE_LINK", joint=joint, mass=1.0, inertia=np.eye(3))
    bench = Bench(body=Body(name="m", links=(BODY.links[0], link)), q=np.zeros(1))
    bench.command("A", position=[100.0])
    bench.run()
    assert bench.drive.q[0] == pytest.approx(speed * STEP)


def test_a_new_position_turns_the_approach_round(bench):
    bench.command("B", position=[10.0])
    bench.run(100)
    bench.command("B", position=[0.0])
    bench.run(50)
    assert bench.drive.q[B] == pytest.approx(0.2 + 50 * STEP * FAST)


def test_a_command_leaves_the_other_joints_alone(bench):
    bench.command("B", velocity=[1.0])
    assert_allclose(bench.drive.kp, [KP[A], 0.0, KP[C]])
    assert_allclose(bench.drive.dq, [0.0, 1.0, 0.0])


def test_a_position_may_carry_a_velocity_and_an_effort(bench):
    bench.command("B", position=[0.2], velocity=[0.5], effort=[4.0])
    assert (bench.drive.dq[B], bench.drive.effort[B], bench.drive.kp[B]) == (0.5, 4.0, KP[B])
    bench.command("B", position=[0.2])
    assert (bench.drive.dq[B], bench.drive.effort[B]) == (0.0, 0.0)


def test_a_velocity_is_followed_without_stiffness(bench):
    bench.command("B", velocity=[0.5], effort=[4.0])
    assert (bench.drive.kp[B], bench.drive.kd[B]) == (0.0, KD[B])
    assert (bench.drive.dq[B], bench.drive.effort[B]) == (0.5, 4.0)


def test_an_effort_alone_makes_the_joint_limp_but_for_it(bench):
    bench.command("B", effort=[-4.0])
    assert (bench.drive.kp[B], bench.drive.kd[B], bench.drive.effort[B]) == (0.0, 0.0, -4.0)


def test_back_from_effort_a_joint_starts_where_it_is(bench):
    bench.command("B", effort=[1.0])
    bench.motion.q[B] = -1.5
    bench.command("B", position=[0.2])
    assert bench.drive.q[B] == -1.5
    assert bench.drive.effort[B] == 0.0
    bench.run()
    assert bench.drive.q[B] == pytest.approx(-1.5 + FAST * STEP)


def test_a_joint_that_holds_is_moved_from_where_it_should_be_not_from_where_it_sags(bench):
    bench.motion.q[B] = 0.19
    bench.command("B", position=[0.2])
    assert bench.drive.q[B] == 0.2


def test_a_track_takes_a_speed_and_nothing_else(bench, warnings):
    bench.command("T", "A", velocity=[0.7, 0.1])
    assert bench.drive.track_speed.tolist() == [0, 0, 0, 0.7, 0]
    assert warnings() == []
    for _ in range(3):
        bench.command("T", position=[5.0], effort=[1.0])
    assert bench.drive.track_speed[TRACK] == 0.7
    assert warnings() == [
        f"body 'r1': joint 'T' is a track and takes a velocity only; its {kind} is ignored"
        for kind in ("position", "effort")
    ]


def test_one_command_may_hold_speeds_of_tracks_and_positions_of_joints(bench, warnings):
    bench.command("T", "B", position=[nan, 1.0], velocity=[0.7, nan], effort=[nan, nan])
    bench.run(2000)
    assert (bench.drive.track_speed[TRACK], bench.drive.q[B]) == (0.7, 1.0)
    assert warnings() == []


def test_nan_leaves_a_joint_as_it_is(bench, warnings):
    bench.command("A", "B", velocity=[nan, 1.0])
    assert (bench.drive.kp[A], bench.drive.dq[A], bench.drive.dq[B]) == (KP[A], 0.0, 1.0)
    bench.command("T", "B", velocity=[0.7, nan])
    assert (bench.drive.track_speed[TRACK], bench.drive.dq[B]) == (0.7, 1.0)
    assert warnings() == []


def test_reset_goes_back_to_the_start_from_anything(bench):
    bench.command("A", "B", "C", "T", velocity=[1, 1, 1, 1])
    bench.command("A", position=[9.0])
    bench.command("C", effort=[9.0])
    bench.run(7)
    bench.controller.reset()
    fresh = Bench().drive
    for name in ("q", "dq", "kp", "kd", "effort", "track_speed"):
        assert_allclose(getattr(bench.drive, name), getattr(fresh, name), err_msg=name)
    bench.run(10)
    assert_allclose(bench.drive.q, INITIAL)


@pytest.mark.parametrize("value", [inf, -inf, MAX_DRIVE_VALUE, -1e300])
@pytest.mark.parametrize("kind", ["position", "velocity", "effort"])
def test_a_value_that_is_infinite_or_absurd_is_left_out_with_one_warning(
    bench, warnings, kind, value
):
    for _ in range(3):
        bench.command("A", "B", **{kind: [value, 1.0]})
    bench.run(2000)
    assert (bench.drive.q[A], bench.drive.kp[A], bench.drive.dq[A]) == (0.1, KP[A], 0.0)
    moved = {"position": bench.drive.q, "velocity": bench.drive.dq, "effort": bench.drive.effort}
    assert moved[kind][B] == pytest.approx(1.0)
    assert warnings() == [f"body 'r1': a command of {value} to joint 'A' is ignored"]


def test_an_unknown_joint_is_left_out_with_one_warning_and_the_rest_counts(bench, warnings):
    for _ in range(3):
        bench.command("X", "B", "BASE", velocity=[5.0, 1.0, 5.0])
    assert bench.drive.dq.tolist() == [0.0, 1.0, 0.0]
    assert warnings() == [
        "body 'r1': it has no joint 'X'; the command to it is ignored",
        "body 'r1': it has no joint 'BASE'; the command to it is ignored",
    ]


def test_a_joint_that_is_nearly_one_is_told_with_the_one_that_was_meant(warnings):
    found = CommandWarnings("arm", CommandCounts())
    for _ in range(3):
        found.refuse_unknown_joint("LARM_ELBOV", ["NECK", "LARM_ELBOW"])
    assert found.counts.refused == 3
    assert warnings() == [
        "body 'arm': it has no joint 'LARM_ELBOV'; the command to it is ignored. "
        "Did you mean 'LARM_ELBOW'?"
    ]


def test_a_column_of_the_wrong_length_is_left_out_with_one_warning_and_the_rest_counts(
    bench, warnings
):
    for _ in range(3):
        bench.command("A", "B", position=[1.0], velocity=[1.0, 2.0], effort=[1.0, 2.0, 3.0])
    assert bench.drive.dq.tolist() == [1.0, 2.0, 0.0]
    assert not bench.drive.effort.any()
    assert [text.split(",")[0] for text in warnings()] == [
        "body 'r1': a command names 2 joints but gives 1 values of position",
        "body 'r1': a command names 2 joints but gives 3 values of effort",
    ]


def test_an_empty_command_changes_nothing(bench, warnings):
    bench.command()
    bench.command("A", "B")
    bench.run()
    assert_allclose(bench.drive.q, INITIAL)
    assert_allclose(bench.drive.kp, KP)
    assert warnings() == []


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda v: array.array("d", v)])
def test_values_may_come_in_any_sequence(bench, make):
    bench.command("A", "C", velocity=make([1.0, 2.0]), position=make([]))
    assert bench.drive.dq.tolist() == [1.0, 0.0, 2.0]


def test_of_two_commands_to_one_joint_the_last_counts(bench):
    bench.command("A", "A", velocity=[1.0, 2.0])
    assert bench.drive.dq[A] == 2.0


@pytest.mark.parametrize("rate_limit", CommandRateLimit)
def test_a_command_beyond_the_range_goes_to_its_end(rate_limit):
    link = BODY.moving_links[A]
    joint = replace(link.joint, position=Range(-0.5, 0.4))
    links = tuple(replace(x, joint=joint) if x is link else x for x in BODY.links)
    bench = Bench(ControlSettings(rate_limit=rate_limit), body=replace(BODY, links=links))
    bench.command("A", position=[3.0])
    bench.run(2000)
    assert bench.drive.q[A] == 0.4


def loop(*ids):
    """A parallelogram about Z whose joints CRANK, BAR and ROCKER have these ids."""
    at = [np.zeros(3), np.array([0.1, 0.0, 0.0]), np.array([0.0, 0.2, 0.0])]
    parents = ["BASE_LINK", "CRANK", "BASE_LINK"]
    names = ["CRANK", "BAR", "ROCKER"]
    links = tuple(
        Link(
            name=name,
            parent=parent,
            joint=Joint(type=JointType.REVOLUTE, name=name, id=number),
            X_PL=Pose(np.eye(3), p),
            mass=1.0,
            inertia=np.eye(3),
        )
        for name, parent, p, number in zip(names, parents, at, ids, strict=True)
    )
    ends = {"X_AJ": Pose(np.eye(3), at[2]), "X_BJ": Pose(np.eye(3), at[1])}
    tie = ExtraJoint(type=ExtraJointType.XY, links=("BAR", "ROCKER"), axis=np.eye(3)[2], **ends)
    return Body(name="loop", links=(BODY.links[0], *links), extra_joints=(tie,))


def held(body, **joints):
    """Return the names of the joints that are driven at the start."""
    bench = Bench(ControlSettings(joints=joints), body, np.zeros(3))
    driven = (bench.drive.kp > 0.0) & (bench.drive.kd > 0.0)
    return [x.name for x, is_driven in zip(body.moving_links, driven, strict=True) if is_driven]


def test_joints_without_an_id_that_a_loop_moves_are_left_limp():
    assert held(loop(0, None, None)) == ["CRANK"]
    assert held(loop(None, None, 0)) == ["ROCKER"]
    assert held(loop(None, None, None)) == ["CRANK"]
    assert held(loop(0, 1, 2)) == ["CRANK", "BAR", "ROCKER"]


def test_a_mode_of_its_own_drives_a_joint_without_an_id_in_a_loop():
    servo = JointControl(mode=ControlMode.POSITION)
    assert held(loop(None, None, None), ROCKER=servo) == ["ROCKER"]
    assert held(loop(0, None, None), BAR=servo) == ["CRANK", "BAR"]


def test_a_limp_joint_of_a_loop_can_be_commanded():
    bench = Bench(HOLD, loop(0, None, None), np.zeros(3))
    bench.command("BAR", position=[0.1])
    assert bench.drive.kp[1] > 0.0
    bench.controller.reset()
    assert bench.drive.kp[1] == 0.0


@pytest.mark.parametrize("ids", [(0, None, 1), (None, None, None)])
def test_joints_without_an_id_are_limp_where_others_have_one(ids):
    chain = replace(loop(*ids), extra_joints=())
    names = ["CRANK", "BAR", "ROCKER"]
    numbered = [name for name, number in zip(names, ids, strict=True) if number is not None]
    assert sorted(held(chain)) == sorted(numbered or names)


def test_a_command_of_more_names_than_any_robot_has_is_refused_at_once(bench, warnings):
    names = ["A"] * 10_001
    bench.command(*names, velocity=[1.0] * len(names))
    assert not bench.drive.dq.any()
    assert warnings() == ["body 'r1': a command names 10001 joints; it is ignored"]
    assert bench.counts.refused == 1
