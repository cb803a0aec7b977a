"""follow_joint_trajectory over real DDS, in front of something that moves no joint."""

from __future__ import annotations

from enum import Enum
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from ros_peer import Peer, stamp_ns
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_msgs.convert.basic import duration
from hrp_msgs.topics.action_servers import TAKEN_OVER, TrajectoryAction

pytestmark = pytest.mark.ros

MS = 1_000_000
Result = FollowJointTrajectory.Result
Status = Enum(
    "Status", "RUNNING SUCCEEDED PREEMPTED CANCELED REFUSED PATH_VIOLATED GOAL_VIOLATED ABORTED"
)


class RefusalError(ValueError):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Follower:
    """Follows nothing: the test says what becomes of each run."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.goals: list = []
        self.runs: list = []
        self.refusal: ValueError | None = None

    def follow(self, action, goal):
        assert action == self.action
        if self.refusal is not None:
            raise self.refusal
        run = SimpleNamespace(is_over=False, status=Status.RUNNING, message="", progress=None)
        self.goals.append(goal)
        self.runs.append(run)
        return run

    def cancel(self, action, run) -> None:
        assert action == self.action
        end(run, Status.CANCELED, "it was canceled")


def end(run, status: Status, message: str = "") -> None:
    run.status, run.message, run.is_over = status, message, True


def progress(time_ns: int):
    return SimpleNamespace(
        time_ns=time_ns,
        elapsed_ns=time_ns - 100 * MS,
        index=1,
        desired=np.arange(8.0).reshape(4, 2),
        actual=np.arange(10.0, 16.0).reshape(3, 2),
        error=np.arange(20.0, 24.0).reshape(2, 2),
    )


class Robot:
    """An action server in one node, and a client in another."""

    def __init__(self, name: str = "robot/follow_joint_trajectory") -> None:
        self.peer, self.server = Peer(), Peer()
        self.follower = Follower(f"/{name}")
        self.action = TrajectoryAction(self.server.node, name, self.follower)
        self.client = self.peer.action_client(FollowJointTrajectory, name)
        self.feedback: list = []
        self.peer.wait_until("an action server", self.client.server_is_ready)
        listeners, feedback = self.server.node.count_subscribers, f"/{name}/_action/feedback"
        self.peer.wait_until("a listener", lambda: listeners(feedback))

    def send(self, goal=None):
        """Send a goal; return its handle and what becomes its result."""
        goal = two_joints() if goal is None else goal
        known = len(self.follower.runs)
        sent = self.peer.at_once(self.client.send_goal_async, goal, self.feedback.append)
        self.peer.wait_until("an accepted goal", sent.done)
        handle = sent.result()
        assert handle.accepted
        if self.follower.refusal is None:
            self.peer.wait_until("a run", lambda: len(self.follower.runs) > known)
        return handle, self.peer.at_once(handle.get_result_async)

    def result(self, future):
        """Return the state and the result of a goal, stepping meanwhile."""

        def done() -> bool:
            self.action.poll()
            return future.done()

        self.peer.wait_until("a result", done)
        return future.result().status, future.result().result

    def close(self) -> None:
        self.peer.close()
        self.server.close()


@pytest.fixture(scope="module")
def shared_robot():
    made = Robot()
    yield made
    made.close()


@pytest.fixture
def robot(shared_robot):
    shared_robot.follower.refusal = None
    shared_robot.feedback.clear()
    return shared_robot


def two_joints(**fields):
    points = [
        JointTrajectoryPoint(positions=[1.0, 2.0], time_from_start=duration(1000 * MS)),
    ]
    trajectory = JointTrajectory(joint_names=["A", "B"], points=points)
    return FollowJointTrajectory.Goal(trajectory=trajectory, **fields)


def test_a_goal_comes_with_its_tolerances(robot):
    goal = two_joints(
        path_tolerance=[JointTolerance(name="A", position=0.1, velocity=-1.0)],
        goal_tolerance=[JointTolerance(name="B", position=0.0, velocity=0.2)],
        goal_time_tolerance=duration(1500 * MS),
    )
    _, future = robot.send(goal)
    taken = robot.follower.goals[-1]
    assert taken.trajectory.names == ["A", "B"]
    assert taken.path_tolerances == {"A": (0.1, inf)}
    assert taken.goal_tolerances == {"B": (None, 0.2)}
    assert taken.goal_time_ns == 1500 * MS
    end(robot.follower.runs[-1], Status.SUCCEEDED)
    assert robot.result(future)[0] == GoalStatus.STATUS_SUCCEEDED


def test_feedback_comes_every_50_ms_of_simulated_time(robot):
    _, future = robot.send()
    run = robot.follower.runs[-1]
    for time_ns in range(100 * MS, 300 * MS, 10 * MS):
        run.progress = progress(time_ns)
        robot.action.poll()
    robot.peer.wait_until("all feedback", lambda: len(robot.feedback) >= 4)
    heard = [message.feedback for message in robot.feedback]
    assert [stamp_ns(f.header.stamp) // MS for f in heard] == [100, 150, 200, 250]
    first = heard[0]
    assert first.joint_names == ["A", "B"]
    desired, actual, error = first.desired, first.actual, first.error
    assert desired.positions.tolist() + desired.velocities.tolist() == [0, 1, 2, 3]
    assert desired.accelerations.tolist() + desired.effort.tolist() == [4, 5, 6, 7]
    assert actual.positions.tolist() + actual.velocities.tolist() == [10, 11, 12, 13]
    assert actual.effort.tolist() == [14, 15]
    assert error.positions.tolist() + error.velocities.tolist() == [20, 21, 22, 23]
    assert heard[1].desired.time_from_start == duration(50 * MS)
    end(run, Status.SUCCEEDED)
    robot.result(future)


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (Status.PATH_VIOLATED, Result.PATH_TOLERANCE_VIOLATED),
        (Status.GOAL_VIOLATED, Result.GOAL_TOLERANCE_VIOLATED),
        (Status.PREEMPTED, TAKEN_OVER),
        (Status.REFUSED, Result.INVALID_GOAL),
        (Status.ABORTED, Result.INVALID_GOAL),
    ],
)
def test_a_run_that_fails_aborts_its_goal_and_says_why(robot, ending, code):
    _, future = robot.send()
    end(robot.follower.runs[-1], ending, "because")
    status, result = robot.result(future)
    assert status == GoalStatus.STATUS_ABORTED
    assert (result.error_code, result.error_string) == (code, "because")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("unknown", Result.INVALID_JOINTS),
        ("follower", Result.INVALID_JOINTS),
        ("past", Result.OLD_HEADER_TIMESTAMP),
        ("length", Result.INVALID_GOAL),
    ],
)
def test_a_goal_that_cannot_be_followed_is_aborted_at_once(robot, kind, code):
    robot.follower.refusal = RefusalError(kind, "no such thing")
    _, future = robot.send()
    robot.peer.wait_until("a result", future.done)  # nobody steps
    assert future.result().status == GoalStatus.STATUS_ABORTED
    result = future.result().result
    assert (result.error_code, result.error_string) == (code, "no such thing")


def test_a_tolerance_that_nobody_can_keep_watch_over_is_refused(robot):
    known = len(robot.follower.runs)
    goal = two_joints(path_tolerance=[JointTolerance(name="A", acceleration=1.0)])
    robot.follower.refusal = RefusalError("never asked", "never told")
    _, future = robot.send(goal)
    robot.peer.wait_until("a result", future.done)
    result = future.result().result
    assert result.error_code == Result.INVALID_GOAL
    assert "acceleration of joint 'A'" in result.error_string
    assert len(robot.follower.runs) == known


def test_two_goals_are_followed_at_a_time(robot):
    _, first = robot.send()
    _, second = robot.send()
    end(robot.follower.runs[-2], Status.PREEMPTED, "another command took over joint 'A'")
    assert robot.result(first)[0] == GoalStatus.STATUS_ABORTED
    assert not second.done()
    end(robot.follower.runs[-1], Status.SUCCEEDED)
    assert robot.result(second)[0] == GoalStatus.STATUS_SUCCEEDED


def test_an_action_that_ends_aborts_what_is_followed():
    robot = Robot("other/follow_joint_trajectory")
    try:
        _, future = robot.send()
        robot.server.node.executor.create_task(robot.action.close)
        status, result = robot.result(future)
        assert status == GoalStatus.STATUS_ABORTED
        assert result.error_string == "the robot was removed"
        robot.peer.wait_until("no server", lambda: not robot.client.server_is_ready())
    finally:
        robot.close()
