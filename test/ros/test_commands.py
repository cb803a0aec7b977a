"""A robot that is commanded from another process, in all the ways that there are."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from action_msgs.msg import GoalStatus
from commanded_robot import START, simulated_robot
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from geometry_msgs.msg import WrenchStamped
from ros_peer import stamp_ns
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_msgs.convert.basic import duration, stamp
from hrp_msgs.node.start import WARNING_PERIOD
from hrp_msgs.topics.action_servers import TAKEN_OVER

pytestmark = pytest.mark.ros

MS = 1_000_000
Result = FollowJointTrajectory.Result


@pytest.fixture(scope="module")
def shared_robot(tmp_path_factory):
    with simulated_robot(tmp_path_factory.mktemp("arm")) as robot:
        yield robot


@pytest.fixture
def robot(shared_robot):
    shared_robot.reset()
    return shared_robot


def trajectory(joints, *points, start_ns=0):
    """Return a trajectory; each point is (time in [s], positions) or (..., velocities)."""
    made = JointTrajectory(joint_names=list(joints))
    made.header.stamp = stamp(start_ns)
    for seconds, positions, *velocities in points:
        point = JointTrajectoryPoint(
            positions=positions, time_from_start=duration(int(seconds * 1e9))
        )
        point.velocities = velocities[0] if velocities else []
        made.points.append(point)
    return made


def goal(*points, joints=("J1",), **fields):
    return FollowJointTrajectory.Goal(trajectory=trajectory(joints, *points), **fields)


def test_a_trajectory_follows_its_spline_and_stops_at_its_end(robot):
    start_ns = robot.now_ns + 2000 * MS  # far enough ahead for a machine that stalls
    ends = [(1.0, [0.5, 0.3], [0.0, 0.0])]
    sent = trajectory(["J1", "J6"], *ends, start_ns=start_ns)
    enough = lambda: robot.now_ns > start_ns - 1500 * MS  # noqa: E731
    robot.publish_until("joint_trajectory", sent, "half a second", enough)
    robot.peer.wait_until("the end", lambda: robot.now_ns > start_ns + 1500 * MS)
    states = list(robot.states)
    # With no velocity at either end the cubic spline is 3 s^2 - 2 s^3.
    times = np.array([stamp_ns(m.header.stamp) - start_ns for m in states]) / 1e9
    s = np.clip(times, 0.0, 1.0)
    for joint, end in (("J1", 0.5), ("J6", 0.3)):
        i = states[0].name.index(joint)
        told = np.array([m.position[i] for m in states])
        np.testing.assert_allclose(told, end * (3 * s**2 - 2 * s**3), atol=0.02)
        assert robot.where(joint) == pytest.approx(end, abs=2e-3)
        assert abs(robot.speed(joint)) < 1e-3
    assert robot.where("J2") == pytest.approx(START["J2"], abs=5e-3)


def test_positions_come_in_the_order_of_the_joints(robot):
    target = [0.1, 0.4, 0.8, 0.2, 0.5, -0.1]
    message = Float64MultiArray(data=target)
    robot.publish_until(
        "position_commands",
        message,
        "the posture",
        lambda: np.allclose(robot.states[-1].position, target, atol=0.01),
    )


def test_velocities_and_efforts_come_in_the_order_of_the_joints(robot):
    velocities = Float64MultiArray(data=[0.4, *[math.nan] * 5])
    turns = lambda: abs(robot.speed("J1") - 0.4) < 0.01  # noqa: E731
    robot.publish_until("velocity_commands", velocities, "a turning joint", turns)
    assert robot.where("J2") == pytest.approx(START["J2"], abs=0.01)
    # Nothing but its own effort turns J6 now, and nothing brakes it.
    efforts = Float64MultiArray(data=[*[math.nan] * 5, 0.2])
    robot.publish_until("effort_commands", efforts, "speed", lambda: robot.speed("J6") > 0.5)


def test_a_goal_is_followed_with_feedback_and_reached(robot):
    asked = goal(
        (0.5, [0.2]),
        (1.0, [0.4]),
        goal_tolerance=[JointTolerance(name="J1", position=0.01)],
        goal_time_tolerance=duration(1000 * MS),
    )
    _, future = robot.send(asked)
    status, result = robot.result(future)
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert result.error_code == Result.SUCCESSFUL
    robot.wait_for("J1", 0.4, 0.01)  # what is told may lag behind the result
    heard = [message.feedback for message in robot.feedback]
    assert len(heard) >= 2  # the client keeps ten; all are counted in test_trajectory_action
    for told in heard:
        assert told.joint_names == ["J1"]
        desired, actual, error = (
            part.positions[0] for part in (told.desired, told.actual, told.error)
        )
        assert desired - actual == pytest.approx(error, abs=1e-12)
    desired = [told.desired.positions[0] for told in heard]
    assert desired == sorted(desired)


def test_a_goal_that_leaves_its_path_is_aborted(robot):
    tight = [JointTolerance(name="J1", position=1e-3)]
    # The fastest that this joint may go is far less.
    _, future = robot.send(goal((0.05, [2.0]), path_tolerance=tight))
    status, result = robot.result(future)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert "error of joint 'J1' is" in result.error_string


def test_a_blocked_joint_is_reported_as_joint_trajectory_controller_does(robot):
    robot.set(J1__kp=0.0, J1__kd=0.0)
    status, result = robot.result(robot.send(goal((0.1, [1.142])))[1])
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.GOAL_TOLERANCE_VIOLATED
    robot.set(constraints__J1__goal=2.0)
    _, result = robot.result(robot.send(goal((0.1, [1.142])))[1])
    assert result.error_code == Result.SUCCESSFUL


def test_a_canceled_goal_leaves_the_robot_where_it_was(robot):
    handle, future = robot.send(goal((8.0, [2.0])))
    robot.peer.wait_until("the way", lambda: robot.where("J1") > 0.2)
    robot.peer.at_once(handle.cancel_goal_async)
    status, _ = robot.result(future)
    assert status == GoalStatus.STATUS_CANCELED
    # States from before may come only now.
    robot.peer.wait_until("rest", lambda: abs(robot.speed("J1")) < 1e-3)
    stopped = robot.where("J1")
    robot.wait(0.3)
    assert stopped < 1.9
    assert robot.where("J1") == pytest.approx(stopped, abs=2e-3)


def pause(robot, on: bool) -> None:
    assert robot.peer.call("/sim_node/pause", SetBool, data=on).success


@pytest.mark.parametrize("is_under_way", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_goal_that_is_canceled_in_a_pause_ends_in_the_pause(robot, is_under_way):
    if is_under_way:
        handle, future = robot.send(goal((8.0, [2.0])))
        robot.peer.wait_until("the way", lambda: robot.where("J1") > 0.1)
    pause(robot, True)
    if not is_under_way:
        handle, future = robot.send(goal((8.0, [2.0])))
    robot.peer.at_once(handle.cancel_goal_async)
    status, result = robot.result(future)
    assert (status, result.error_string) == (GoalStatus.STATUS_CANCELED, "it was canceled")
    pause(robot, False)
    robot.wait(0.3)
    stopped = robot.where("J1")
    robot.wait(0.2)
    assert robot.where("J1") == pytest.approx(stopped, abs=2e-3)
    assert (robot.where("J1") > 0.05) == is_under_way


def test_goals_give_way_to_new_goals_and_to_commands(robot):
    _, first = robot.send(goal((60.0, [2.0])))
    _, second = robot.send(goal((60.0, [-2.0])))
    status, result = robot.result(first)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == TAKEN_OVER
    assert "another command took over joint 'J1'" in result.error_string
    here = JointState(name=["J1"], position=[0.1])
    robot.publish_until("joint_commands", here, "a result", second.done)
    assert robot.result(second)[0] == GoalStatus.STATUS_ABORTED
    robot.wait_for("J1", 0.1)


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        (goal((1.0, [0.1]), joints=("J7",)), Result.INVALID_JOINTS, "no moving joint 'J7'"),
        (goal((1.0, [0.1, 0.2])), Result.INVALID_GOAL, "2 positions, not 1"),
        (goal((1.0, [math.nan])), Result.INVALID_GOAL, "nan"),
        (goal((1.0, [0.1]), (0.5, [0.2])), Result.INVALID_GOAL, "is not after"),
    ],
)
def test_a_goal_that_makes_no_sense_is_aborted_in_words(robot, asked, code, words):
    status, result = robot.result(robot.send(asked)[1])
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == code
    assert words in result.error_string


def test_a_reset_ends_a_goal(robot):
    _, future = robot.send(goal((60.0, [2.0])))
    robot.reset()
    status, result = robot.result(future)
    assert status == GoalStatus.STATUS_ABORTED
    assert "reset" in result.error_string


def test_a_wrench_pushes_a_link_while_it_is_told(robot):
    push = WrenchStamped()
    push.header.frame_id = "J1"
    push.wrench.torque.z = 40.0
    kp, _ = robot.get("J1.kp", "wrench_duration")
    robot.set(J1__kp=200.0, wrench_duration=0.2)
    pushed = lambda: robot.where("J1") > 0.05  # noqa: E731
    robot.publish_until("external_wrench", push, "a turned joint", pushed)
    robot.set(J1__kp=kp)
    robot.wait_for("J1", 0.0, 0.02)  # nobody says it any more


def test_gains_change_while_it_runs_by_each_of_their_names(robot):
    names = ["J2.kp", "gains.J2.p", "J2.kd", "gains.J2.d"]
    kp, p, kd, d = robot.get(*names)
    assert kp == p > 0.0 < kd == d
    robot.set(J2__kp=0.0, gains__J2__d=0.5)
    assert robot.get(*names) == [0.0, 0.0, 0.5, 0.5]
    robot.peer.wait_until("a fall", lambda: abs(robot.where("J2") - START["J2"]) > 0.2)
    robot.set(gains__J2__p=kp, J2__kd=kd)
    assert robot.get(*names) == [kp, kp, kd, kd]
    robot.wait_for("J2", START["J2"], 0.02)


@pytest.mark.parametrize(
    ("limit", "is_slewed"), [pytest.param("", True, marks=pytest.mark.slow), ("none", False)]
)
def test_positions_are_slewed_at_the_speed_limit_of_the_model_if_wanted(robot, limit, is_slewed):
    """J1 may turn at pi rad/s and has the torque for more; it overshoots that a little."""
    robot.set(command_rate_limit=limit)
    robot.publish_until(
        "joint_commands",
        JointState(name=["J1"], position=[1.5]),
        "J1 at 1.5",
        lambda: abs(robot.where("J1") - 1.5) < 0.02,
    )
    fastest = max(abs(s.velocity[s.name.index("J1")]) for s in robot.states)
    assert (fastest < 1.3 * math.pi) is is_slewed, fastest


def test_joints_go_limp_when_commands_stop_coming_if_asked_to(robot):
    robot.set(command_timeout=0.2, command_fallback="limp")
    here = JointState(name=["J2"], position=[START["J2"]])
    until_ns = robot.now_ns + 500 * MS
    # It is held again soon where the machine stalls for longer than the joint waits.
    near = lambda: abs(robot.where("J2") - START["J2"]) < 5e-3  # noqa: E731
    held = lambda: robot.now_ns > until_ns and near()  # noqa: E731
    robot.publish_until("joint_commands", here, "a joint that is held", held)
    robot.peer.wait_until("a fall", lambda: abs(robot.where("J2") - START["J2"]) > 0.2)
    robot.set(command_timeout=0.0, command_fallback="")


def test_a_command_with_an_old_stamp_is_refused_if_its_age_matters(robot):
    old = JointState(name=["J1"], position=[1.0])
    old.header.stamp = stamp(1)
    robot.set(command_max_age=0.1)
    robot.wait(0.2)  # until it is older than that
    said = lambda: "command_max_age is 0.1 s" in robot.log.read_text(encoding="utf-8")  # noqa: E731
    robot.publish_until("joint_commands", old, "a warning", said)
    assert robot.where("J1") == pytest.approx(0.0, abs=5e-3)
    robot.set(command_max_age=0.0)
    robot.publish_until("joint_commands", old, "the way", lambda: robot.where("J1") > 0.1)


def plain(text):
    """Return a warning without its numbers, by which warnings of one kind differ."""
    return re.sub(r" \(\d+ similar warnings suppressed\)|[\d.]+", "", text)


def test_whatever_cannot_be_used_is_told_once_and_the_run_goes_on(robot):
    rubbish = [
        ("effort_commands", Float64MultiArray(data=[1.0])),
        ("external_wrench", WrenchStamped()),
        ("joint_trajectory", trajectory(["J9"], (1.0, [0.1]))),
        ("joint_commands", JointState(name=["J9"], position=[0.1])),
        ("joint_commands", JointState(name=["J1", "J2", "J3"], velocity=[0.1, 0.2])),
        ("joint_commands", JointState(name=["J1"], position=[math.inf])),
    ]
    before = len(robot.log.read_text(encoding="utf-8").splitlines())
    expected = ("1 values of effort for 6 joints", "no moving joint 'J9'", "the frame ''")

    def lines() -> list[str]:
        return robot.log.read_text(encoding="utf-8").splitlines()[before:]

    def told() -> bool:
        for topic, message in rubbish:
            robot.publish(topic, message)
        return all(any(words in line for line in lines()) for words in expected)

    robot.peer.wait_until("words", told)
    for _ in range(30):  # and no more of them
        told()
        robot.wait(0.004)
    good = JointState(name=["J1"], position=[0.1])
    there = lambda: robot.where("J1") > 0.095  # noqa: E731
    robot.publish_until("joint_commands", good, "the way", there)
    kinds = defaultdict(list)  # of what is said, without numbers: when it was, in [s]
    for line in lines():
        moment, _, said = line.partition("] [")[2].partition("] ")
        kinds[plain(said)].append(float(moment))
    assert len(kinds) <= len(rubbish)
    for words in expected:
        assert len([said for said in kinds if plain(words) in said]) == 1, kinds
    for moments in kinds.values():
        assert all(b - a > 0.9 * WARNING_PERIOD for a, b in pairwise(moments)), lines()
