"""Action servers of control_msgs: FollowJointTrajectory, GripperCommand, ParallelGripperCommand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ..convert.basic import (
    NS_PER_S,
    Trajectory,
    doubles,
    duration,
    duration_ns,
    joint_trajectory,
    set_header,
)
from ..messages import Message
from ..sanitize import one_line
from .joint_actions import ActiveGoal, Canceler, JointAction, Progress, R, check_joints

try:
    from control_msgs import action as _actions
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance as JointToleranceMessage
except ImportError:
    _actions = None

TRAJECTORY, GRIPPER = "FollowJointTrajectory", "GripperCommand"
PARALLEL_GRIPPER = "ParallelGripperCommand"


def is_available(kind: str) -> bool:
    """Return whether the installed control_msgs has a kind of action."""
    return hasattr(_actions, kind)


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
        if not is_available(TRAJECTORY):
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


# A gripper stalls if no joint is faster than this for this long, as in gripper_controllers.
STALL_SPEED = 0.001  # [rad/s] or [m/s]
STALL_NS = NS_PER_S


class Gripper(Canceler[R], Protocol[R]):
    """Interface of a body with a gripper; called in the executor thread."""

    def grip(self, action: str, positions: Mapping[str, float], speeds: Mapping[str, float]) -> R:
        """Move joints to positions, and hold or press there until the next command.

        Args:
            action: Name of the action.
            positions: By joint name, in [rad] or [m].
            speeds: Maximum speeds by joint name, in [rad/s] or [m/s]; by default those of the
                model.

        Raises:
            ValueError: The joints cannot move there.
        """


class _GripperGoal(ActiveGoal[R]):
    """A gripper on its way; it arrives, or stalls on an object.

    Args:
        handle: Handle of the goal.
        run: The motion.
        action_type: Class of the action.
        names: Joints of the gripper that move.
        scale: Position of the gripper per position of a joint.
    """

    def __init__(
        self,
        handle: ServerGoalHandle,
        run: R,
        action_type: Any,  # one of two classes
        names: Sequence[str],
        scale: float,
    ) -> None:
        super().__init__(handle, run)
        self._type = action_type
        self._names = list(names)
        self._scale = scale
        self._stalled = False
        self._moved_ns: int | None = None

    def check(self) -> bool:
        """Return whether the goal is over; called once after each step."""
        progress = self.run.progress
        if self.run.is_over or progress is None:
            return self.run.is_over
        now_ns, speed = progress.time_ns, np.abs(progress.actual[1]).max()
        if self._moved_ns is None or speed > STALL_SPEED:
            self._moved_ns = now_ns
        self._stalled = now_ns - self._moved_ns >= STALL_NS
        return self._stalled

    @property
    def succeeded(self) -> bool:
        """Whether the gripper is at its goal, or holds what is between its fingers."""
        return self._stalled or super().succeeded

    def feedback(self, progress: Progress) -> Message:
        """Return the feedback of a progress."""
        return self._fill(self._type.Feedback(), progress)

    def result(self) -> Message:
        """Return the result of the goal, which is over."""
        return self._fill(self._type.Result(), self.run.progress)

    def _fill(self, message: Any, progress: Progress | None) -> Message:
        if progress is not None:
            position, velocity, effort = progress.actual
            if hasattr(message, "state"):
                message.state = JointState(
                    name=self._names,
                    position=doubles(position),
                    velocity=doubles(velocity),
                    effort=doubles(effort),
                )
                set_header(message.state.header, progress.time_ns, "")
            else:
                message.position = float(position.mean()) * self._scale
                message.effort = float(np.abs(effort).max())
        if hasattr(message, "stalled"):
            message.stalled = self._stalled
            message.reached_goal = super().succeeded
        return message


class GripperAction(JointAction[R]):
    """Action server that opens and closes a gripper.

    A position of GripperCommand is that of each joint, or with ``is_sum`` the sum of all. The
    effort limit of a goal is ignored, as gripper_controllers does for joints that take positions.
    The action has no error string: why a goal was refused is logged.

    Args:
        node: The node of the action.
        kind: ``GRIPPER`` or ``PARALLEL_GRIPPER``.
        name: Name of the action.
        gripper: Moves the joints.
        joints: Names of the joints, without those that follow others.
        is_sum: Whether positions are sums.

    Raises:
        ImportError: The installed control_msgs has no such action.
        WrongUseError: The name is invalid.
    """

    def __init__(
        self,
        node: Node,
        kind: str,
        name: str,
        gripper: Gripper[R],
        joints: Sequence[str],
        *,
        is_sum: bool = False,
    ) -> None:
        if not is_available(kind):
            raise ImportError(f"control_msgs has no {kind}")
        self._node = node
        self._type = getattr(_actions, kind)
        self._gripper = gripper
        self._joints = joints
        self._is_sum = is_sum
        super().__init__(node, self._type, name, gripper)

    def begin(self, handle: ServerGoalHandle) -> ActiveGoal[R]:
        """Begin to open or close the gripper."""
        command, scale = handle.request.command, 1.0
        speeds: dict[str, float] = {}
        if isinstance(command, JointState):
            names = list(command.name) or list(self._joints[:1])
            positions = dict(zip(names, command.position, strict=False))
            speeds = dict(zip(names, command.velocity, strict=False))
            if not len(positions) == len(names) == len(command.position):
                numbers = f"{len(command.position)} positions for {len(names)} joints"
                raise ValueError(f"a gripper needs one position for each joint, not {numbers}")
            check_joints(names, self._joints)
        else:
            names = list(self._joints)
            scale = float(len(names)) if self._is_sum else 1.0
            positions = dict.fromkeys(names, command.position / scale)
        run = self._gripper.grip(self._name, positions, speeds)
        return _GripperGoal(handle, run, self._type, names, scale)

    def refusal(self, error: ValueError | None) -> Message:
        """Return the result of a goal that was refused; None: the robot was removed."""
        if error is not None:
            problem = one_line(f"{self._name}: {error}")
            self._node.get_logger().warning(problem, throttle_duration_sec=1.0)
        return self._type.Result()
