"""Goals of follow_joint_trajectory while time stands still, or is put back to zero."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not installed")

from action_msgs.msg import GoalStatus
from commanded_robot import simulated_robot
from control_msgs.action import FollowJointTrajectory
from ros_peer import stamp_ns
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import ResetSimulation
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_msgs.convert.basic import duration, duration_ns

pytestmark = pytest.mark.ros

MS = 1_000_000


@pytest.fixture(scope="module")
def shared_robot(tmp_path_factory):
    with simulated_robot(tmp_path_factory.mktemp("arm")) as robot:
        yield robot


@pytest.fixture
def robot(shared_robot):
    pause(shared_robot, False)
    shared_robot.reset()
    return shared_robot


def pause(robot, on: bool) -> None:
    assert robot.peer.call("/sim_node/pause", SetBool, data=on).success


def goal(seconds: float, q: float):
    """Return a goal that has J1 go somewhere."""
    point = JointTrajectoryPoint(
        positions=[q], time_from_start=duration(round(seconds * 1000) * MS)
    )
    return FollowJointTrajectory.Goal(
        trajectory=JointTrajectory(joint_names=["J1"], points=[point])
    )


def ending(robot, future):
    status, result = robot.result(future)
    return status, result.error_string


@pytest.mark.parametrize("is_under_way", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_goal_that_is_canceled_in_a_pause_ends_in_the_pause(robot, is_under_way):
    if is_under_way:
        handle, future = robot.send(goal(8.0, 2.0))
        robot.peer.wait_until("the way", lambda: robot.where("J1") > 0.1)
        pause(robot, True)
    else:
        pause(robot, True)
        handle, future = robot.send(goal(8.0, 2.0))
    robot.peer.at_once(handle.cancel_goal_async)
    assert ending(robot, future) == (GoalStatus.STATUS_CANCELED, "it was canceled")
    pause(robot, False)
    since_ns = robot.now_ns
    robot.peer.wait_until("rest", lambda: robot.now_ns > since_ns + 300 * MS)
    stopped = robot.where("J1")
    robot.peer.wait_until("more time", lambda: robot.now_ns > since_ns + 500 * MS)
    assert robot.where("J1") == pytest.approx(stopped, abs=2e-3)
    assert (robot.where("J1") > 0.05) == is_under_way


def test_a_goal_is_reached_where_the_clock_is_put_back_meanwhile(robot):
    """Its feedback tells the new time, and how long it has been followed as ever."""
    _, future = robot.send(goal(1.0, 0.5))
    robot.peer.wait_until("the way", lambda: robot.where("J1") > 0.1 and robot.feedback)
    answer = robot.peer.call(
        "/sim_node/reset_simulation", ResetSimulation, scope=ResetSimulation.Request.SCOPE_TIME
    )
    assert answer.result.result == Result.RESULT_OK
    assert ending(robot, future) == (GoalStatus.STATUS_SUCCEEDED, "")
    robot.peer.wait_until("the end", lambda: abs(robot.where("J1") - 0.5) < 5e-3)
    heard = [message.feedback for message in robot.feedback]
    stamps = [stamp_ns(told.header.stamp) for told in heard]
    jumps = [k for k in range(1, len(stamps)) if stamps[k] < stamps[k - 1]]
    assert len(jumps) == 1
    elapsed = [duration_ns(told.desired.time_from_start) for told in heard]
    assert elapsed == sorted(elapsed)
    starts = [stamp - since for stamp, since in zip(stamps, elapsed, strict=True)]
    assert len(set(starts[: jumps[0]])) == len(set(starts[jumps[0] :])) == 1
    assert starts[0] > 0 > starts[-1]  # by the new clock it began before zero
