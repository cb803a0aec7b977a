"""Action server of control_msgs/FollowJointTrajectory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol

from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from ..convert.basic import Trajectory, doubles, duration, duration_ns, joint_trajectory, set_header
from .joint_actions import ActiveGoal, Canceler, JointAction, Progress, R, check_joints

try:
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance as JointToleranceMessage
except ImportError:
    FollowJointTrajectory = None


class JointTolerance(NamedTuple):
    """How far a joint may deviate from its trajectory; None means the default, inf no limit.

    Attributes:
        position: In [rad] or [m].
        velocity: In [rad/s] or [m/s].
    """

    position: float | None
    velocity: float | None


class Goal(NamedTuple):
    """The content of a goal, independent of ROS.

    Attributes:
        trajectory: The trajectory.
        path_tolerances: By joint name: before the end.
        goal_tolerances: By joint name: at the end.
        goal_time_ns: How long after the end the goal may be reached, in [ns]; 0 means the default,
            a negative value for ever.
    """

    trajectory: Trajectory
    path_tolerances: Mapping[str, JointTolerance]
    goal_tolerances: Mapping[str, JointTolerance]
    goal_time_ns: int


class Follower(Canceler[R], Protocol[R]):
    """Interface of a body that follows trajectories; called in the executor thread."""

    def follow(self, action: str, goal: Goal) -> R:
        """Begin a run, which takes over its joints from the present commands.

        Raises:
            ValueError: It cannot be followed. If the error has a ``kind``, that is looked up in
                ``_REFUSAL_CODES``.
        """


# What numbers of a message mean besides tolerances.
_TOLERANCES: Mapping[float, float | None] = {0.0: None, -1.0: inf}
_REMOVED = "the robot was removed"
# Error codes, as in the action's definition.
_SUCCESSFUL, _INVALID_GOAL, _INVALID_JOINTS = 0, -1, -2
_OLD_HEADER_TIMESTAMP, _PATH_VIOLATED, _GOAL_VIOLATED = -3, -4, -5
# Another command took over a joint; the definition has no code for it.
TAKEN_OVER = -100
_ERROR_CODES = {
    "SUCCEEDED": _SUCCESSFUL,
    "CANCELED": _SUCCESSFUL,
    "PREEMPTED": TAKEN_OVER,
    "PATH_VIOLATED": _PATH_VIOLATED,
    "GOAL_VIOLATED": _GOAL_VIOLATED,
}
_REFUSAL_CODES = {
    "no joints": _INVALID_JOINTS,
    "unknown": _INVALID_JOINTS,
    "track": _INVALID_JOINTS,
    "follower": _INVALID_JOINTS,
    "twice": _INVALID_JOINTS,
    "past": _OLD_HEADER_TIMESTAMP,
}


def is_available() -> bool:
    """Return whether control_msgs is installed."""
    return FollowJointTrajectory is not None


class _TrajectoryGoal(ActiveGoal[R]):
    """A trajectory in execution."""

    def __init__(self, handle: ServerGoalHandle, run: R, names: Sequence[str]) -> None:
        super().__init__(handle, run)
        self._feedback = FollowJointTrajectory.Feedback(joint_names=list(names))

    def feedback(self, progress: Progress) -> FollowJointTrajectory.Feedback:
        """Return the feedback of a progress."""
        fill_feedback(self._feedback, progress)
        return self._feedback

    def result(self) -> FollowJointTrajectory.Result:
        """Return the result of the goal, which is over."""
        code = _ERROR_CODES.get(self.run.status.name, _INVALID_GOAL)
        return FollowJointTrajectory.Result(error_code=code, error_string=self.run.message)


class TrajectoryAction(JointAction[R]):
    """Action server that follows the trajectories of clients.

    Args:
        node: The node of the action.
        name: Name of the action.
        follower: Moves the joints.
        joints: Names of the joints that goals may move; empty for all of the body.

    Raises:
        ImportError: control_msgs is not installed.
        WrongUseError: The name is invalid.
    """

    def __init__(
        self, node: Node, name: str, follower: Follower[R], joints: Collection[str] = ()
    ) -> None:
        if FollowJointTrajectory is None:
            raise ImportError("control_msgs is not installed")
        self._follower = follower
        self._joints = joints
        super().__init__(node, FollowJointTrajectory, name, follower)

    def begin(self, handle: ServerGoalHandle) -> ActiveGoal[R]:
        """Begin to follow a trajectory."""
        goal = read_goal(handle.request)
        names = goal.trajectory.names
        if self._joints:
            check_joints(names, self._joints)
        return _TrajectoryGoal(handle, self._follower.follow(self._name, goal), names)

    def refusal(self, error: ValueError | None) -> FollowJointTrajectory.Result:
        """Return the result of a goal that was refused; None: the robot was removed."""
        code = _REFUSAL_CODES.get(getattr(error, "kind", ""), _INVALID_GOAL)
        message = _REMOVED if error is None else str(error)
        return FollowJointTrajectory.Result(error_code=code, error_string=message)


def read_goal(request: FollowJointTrajectory.Goal) -> Goal:
    """Return the content of a goal.

    Raises:
        ValueError: It uses an unsupported feature of the action.
    """
    if request.multi_dof_trajectory.joint_names:
        raise ValueError("multi_dof_trajectory is not supported: no joint has several axes")
    if request.component_path_tolerance or request.component_goal_tolerance:
        raise ValueError("component tolerances are not supported: no joint has several axes")
    return Goal(
        joint_trajectory(request.trajectory),
        _tolerances(request.path_tolerance),
        _tolerances(request.goal_tolerance),
        duration_ns(request.goal_time_tolerance),
    )


def _tolerances(messages: Sequence[JointToleranceMessage]) -> dict[str, JointTolerance]:
    """Return tolerances by name. In messages 0 means the default, and -1 no limit."""
    found = {}
    for message in messages:
        if message.acceleration > 0.0:
            raise ValueError(
                f"a tolerance for the acceleration of joint '{message.name}' is not supported: "
                "it is not measured"
            )
        values = (message.position, message.velocity)
        found[message.name] = JointTolerance(*(_TOLERANCES.get(v, v) for v in values))
    return found


def fill_feedback(feedback: FollowJointTrajectory.Feedback, progress: Progress) -> None:
    """Fill a feedback message with the progress of the joints."""
    set_header(feedback.header, progress.time_ns, "")
    elapsed = duration(progress.elapsed_ns)
    position, velocity, acceleration, effort = map(doubles, progress.desired)
    feedback.desired = JointTrajectoryPoint(
        positions=position,
        velocities=velocity,
        accelerations=acceleration,
        effort=effort,
        time_from_start=elapsed,
    )
    position, velocity, effort = map(doubles, progress.actual)
    feedback.actual = JointTrajectoryPoint(
        positions=position, velocities=velocity, effort=effort, time_from_start=elapsed
    )
    position, velocity = map(doubles, progress.error)
    feedback.error = JointTrajectoryPoint(
        positions=position, velocities=velocity, time_from_start=elapsed
    )
    if hasattr(feedback, "index"):  # since Kilted
        feedback.index = progress.index
