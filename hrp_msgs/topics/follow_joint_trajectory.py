"""Action server of control_msgs/FollowJointTrajectory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import Generic, NamedTuple, Protocol, TypeVar

from action_msgs.msg import GoalStatus
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from ..convert.basic import NS_PER_S, doubles, duration, duration_ns, set_header
from ..convert.trajectory import Trajectory, joint_trajectory
from ..messages import Message
from ..node.deferred import DeferredActionServer
from ..readings import Array

try:
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance as JointToleranceMessage
except ImportError:
    FollowJointTrajectory = None

FEEDBACK_PERIOD_NS = NS_PER_S // 20  # of simulated time, as joint_trajectory_controller does


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


class Status(Protocol):
    """Status of a run; final ones have the names in ``_ERROR_CODES``."""

    @property
    def name(self) -> str: ...  # noqa: D102


class Progress(Protocol):
    """Progress of the joints of a run after a step, in the order of the trajectory's names.

    ``desired`` is position, velocity, acceleration and effort, shape (4, joints); ``actual``
    position, velocity and effort, shape (3, joints); ``error`` desired minus actual position and
    velocity, shape (2, joints). Times are in [ns], ``index`` is that of the next point.
    """

    @property
    def time_ns(self) -> int: ...  # noqa: D102
    @property
    def elapsed_ns(self) -> int: ...  # noqa: D102
    @property
    def index(self) -> int: ...  # noqa: D102
    @property
    def desired(self) -> Array: ...  # noqa: D102
    @property
    def actual(self) -> Array: ...  # noqa: D102
    @property
    def error(self) -> Array: ...  # noqa: D102


class Run(Protocol):
    """A trajectory that is followed; the stepping thread writes it."""

    @property
    def is_over(self) -> bool: ...  # noqa: D102
    @property
    def status(self) -> Status: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def progress(self) -> Progress | None: ...  # noqa: D102


R = TypeVar("R", bound=Run)


class Follower(Protocol[R]):
    """Interface of a body that follows trajectories; called in the executor thread."""

    def follow(self, action: str, goal: Goal) -> R:
        """Begin a run, which takes over its joints from the present commands.

        Raises:
            ValueError: It cannot be followed. If the error has a ``kind``, that is looked up in
                ``_REFUSAL_CODES``.
        """

    def cancel(self, action: str, run: R) -> None:
        """Cancel a run that ``follow`` returned."""


# What numbers of a message mean besides tolerances.
_TOLERANCES: Mapping[float, float | None] = {0.0: None, -1.0: inf}
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


class _ActiveGoal(Generic[R]):
    """A goal in execution."""

    def __init__(self, handle: ServerGoalHandle, run: R, names: Sequence[str]) -> None:
        self.handle = handle
        self.run = run
        self.feedback = FollowJointTrajectory.Feedback(joint_names=list(names))
        self.published_ns: int | None = None

    def publish_feedback(self) -> None:
        """Publish feedback, if it is due."""
        progress, last_ns = self.run.progress, self.published_ns
        if progress is None:
            return
        if last_ns is not None and 0 <= progress.time_ns - last_ns < FEEDBACK_PERIOD_NS:
            return
        self.published_ns = progress.time_ns
        fill_feedback(self.feedback, progress)
        self.handle.publish_feedback(self.feedback)


def is_available() -> bool:
    """Return whether control_msgs is installed."""
    return FollowJointTrajectory is not None


class TrajectoryAction(Generic[R]):
    """Action server that follows the trajectories of clients, several at a time if they fit.

    A goal that cannot be followed is accepted, and aborted at once: a rejected goal has no
    result, and so no error string.

    Args:
        node: The node of the action.
        name: Name of the action.
        follower: Moves the joints.

    Raises:
        ImportError: control_msgs is not installed.
    """

    def __init__(self, node: Node, name: str, follower: Follower[R]) -> None:
        if FollowJointTrajectory is None:
            raise ImportError("control_msgs is not installed")
        self._follower = follower
        self._name = str(node.resolve_service_name(name))
        self._active: list[_ActiveGoal[R]] = []  # replaced under the lock, never changed
        self._lock = threading.Lock()
        self._is_closed = False
        self._server = DeferredActionServer(
            node,
            FollowJointTrajectory,
            name,
            self._accept,
            goal_callback=self._accept_or_reject,
            cancel_callback=self._cancel,
        )

    def poll(self) -> None:
        """Publish feedback and results; called in the stepping thread."""
        for goal in self._active:
            goal.publish_feedback()
            if goal.run.is_over and self._remove(goal):
                self._server.finish(goal.handle, partial(_conclude, goal.run))

    def close(self) -> None:
        """End the action and abort all goals; called in the executor thread."""
        self._is_closed = True
        abort = partial(_abort, _INVALID_GOAL, "the robot was removed")
        for goal in self._active:
            if self._remove(goal):
                self._server.finish(goal.handle, abort)
        self._server.destroy_later()

    def _accept_or_reject(self, _request: Message) -> GoalResponse:
        return GoalResponse.REJECT if self._is_closed else GoalResponse.ACCEPT

    def _accept(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        try:
            goal = read_goal(handle.request)
            run = self._follower.follow(self._name, goal)
        except ValueError as error:
            code = _REFUSAL_CODES.get(getattr(error, "kind", ""), _INVALID_GOAL)
            self._server.finish(handle, partial(_abort, code, str(error)))
            return
        with self._lock:
            self._active = [*self._active, _ActiveGoal(handle, run, goal.trajectory.names)]

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        for goal in self._active:
            if goal.handle is handle:
                self._follower.cancel(self._name, goal.run)
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _remove(self, goal: _ActiveGoal[R]) -> bool:
        """Remove a goal; return whether it was still there."""
        with self._lock:
            left = [g for g in self._active if g is not goal]
            was_there = len(left) < len(self._active)
            self._active = left
        return was_there


def _conclude(run: Run, handle: ServerGoalHandle) -> FollowJointTrajectory.Result:
    """Set the final state of a goal whose run is over; return its result."""
    ending = run.status.name
    code = _ERROR_CODES.get(ending, _INVALID_GOAL)
    if ending == "SUCCEEDED":
        handle.succeed()
    elif ending == "CANCELED" and handle.status == GoalStatus.STATUS_CANCELING:
        handle.canceled()
    else:
        return _abort(code, run.message, handle)
    return FollowJointTrajectory.Result(error_code=code, error_string=run.message)


def _abort(code: int, message: str, handle: ServerGoalHandle) -> FollowJointTrajectory.Result:
    handle.abort()
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
