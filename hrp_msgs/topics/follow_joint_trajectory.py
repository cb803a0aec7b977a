"""control_msgs/FollowJointTrajectory: an action server for whatever moves joints step by step."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from action_msgs.msg import GoalStatus
from rclpy.action import CancelResponse, GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from ..convert.basic import NS_PER_S, Array, doubles, duration, duration_ns, set_header
from ..convert.trajectory import Trajectory, joint_trajectory
from ..node.deferred_action import DeferredActionServer

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

FEEDBACK_PERIOD_NS = NS_PER_S // 20  # of simulated time, as joint_trajectory_controller has it


class JointTolerance(NamedTuple):
    """How far a joint may be from where it should be; None means anywhere.

    Attributes:
        position: In [rad] or [m].
        velocity: In [rad/s] or [m/s].
    """

    position: float | None
    velocity: float | None


class Goal(NamedTuple):
    """What a client asks for.

    Attributes:
        trajectory: What the joints shall do.
        path_tolerances: By joint name: what has to be kept on the way.
        goal_tolerances: By joint name: what has to be kept at the end.
        goal_time_ns: How long after the end the goal may take, in [ns]; None means for ever.
    """

    trajectory: Trajectory
    path_tolerances: Mapping[str, JointTolerance]
    goal_tolerances: Mapping[str, JointTolerance]
    goal_time_ns: int | None


class Status(Protocol):
    """How far a run has come; how it ended is one of the names in ``_ENDINGS``."""

    @property
    def name(self) -> str: ...  # noqa: D102


class Progress(Protocol):
    """Where the joints of a run are after a step, in the order of the trajectory's names.

    ``desired`` is position, velocity, acceleration and effort, shape (4, joints); ``actual``
    position, velocity and effort, shape (3, joints); ``error`` desired less actual position and
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
    """A trajectory on its way, written by the thread that steps."""

    @property
    def is_over(self) -> bool: ...  # noqa: D102
    @property
    def status(self) -> Status: ...  # noqa: D102
    @property
    def words(self) -> str: ...  # noqa: D102
    @property
    def progress(self) -> Progress | None: ...  # noqa: D102


class Follower(Protocol):
    """Has a body follow trajectories; called in the thread that serves the node."""

    def follow(self, action: str, goal: Goal) -> Run:
        """Begin a run, in place of what moves its joints now.

        Raises:
            ValueError: It cannot be followed. A ``kind`` of the error, if it has one, is looked
                up in ``_REFUSALS``.
        """

    def cancel(self, action: str, run: Any) -> None:
        """Let a run that ``follow`` returned end before its time."""


# Error codes, as in the action's definition.
_SUCCESSFUL, _INVALID_GOAL, _INVALID_JOINTS = 0, -1, -2
_OLD_HEADER_TIMESTAMP, _PATH_VIOLATED, _GOAL_VIOLATED = -3, -4, -5
_ENDINGS = {
    "SUCCEEDED": _SUCCESSFUL,
    "CANCELED": _SUCCESSFUL,
    "PATH_VIOLATED": _PATH_VIOLATED,
    "GOAL_VIOLATED": _GOAL_VIOLATED,
}
_REFUSALS = {
    "no joints": _INVALID_JOINTS,
    "unknown": _INVALID_JOINTS,
    "track": _INVALID_JOINTS,
    "follower": _INVALID_JOINTS,
    "twice": _INVALID_JOINTS,
    "past": _OLD_HEADER_TIMESTAMP,
}


class _ActiveGoal:
    """A goal that is followed."""

    def __init__(self, handle: Any, run: Run, names: Sequence[str]) -> None:
        self.handle = handle
        self.run = run
        self.feedback = FollowJointTrajectory.Feedback(joint_names=list(names))
        self.told_ns: int | None = None

    def tell(self) -> None:
        """Publish how far it has come, if that is due."""
        progress = self.run.progress
        if progress is None:
            return
        told_ns = self.told_ns
        if told_ns is not None and 0 <= progress.time_ns - told_ns < FEEDBACK_PERIOD_NS:
            return
        self.told_ns = progress.time_ns
        fill_feedback(self.feedback, progress)
        self.handle.publish_feedback(self.feedback)


def is_available() -> bool:
    """Tell whether there can be such actions: control_msgs is installed."""
    return FollowJointTrajectory is not None


class TrajectoryAction:
    """Follows the trajectories of clients, one after the other or several at a time.

    A goal that cannot be followed is accepted, and aborted at once: a refused goal has no
    result, and so no words.

    Args:
        node: Whose action it is.
        name: Of the action.
        follower: Moves the joints.

    Raises:
        ImportError: There is no control_msgs.
    """

    def __init__(self, node: Node, name: str, follower: Follower) -> None:
        if FollowJointTrajectory is None:
            raise ImportError("control_msgs is not installed")
        self._follower = follower
        self._name = str(node.resolve_service_name(name))
        self._active: list[_ActiveGoal] = []  # replaced under the lock, never changed
        self._lock = threading.Lock()
        self._is_closed = False
        self._server = DeferredActionServer(
            node,
            FollowJointTrajectory,
            name,
            self._accept,
            goal_callback=self._judge,
            cancel_callback=self._cancel,
        )

    def poll(self) -> None:
        """Tell clients how far their goals have come; called by the thread that steps."""
        for goal in self._active:
            goal.tell()
            if goal.run.is_over and self._forget(goal):
                self._server.conclude(goal.handle, partial(_conclude, goal.run))

    def close(self) -> None:
        """End the action and abort what is followed; called by the thread that serves the node."""
        self._is_closed = True
        words = "the robot was removed"
        for goal in self._active:
            if self._forget(goal):
                self._server.conclude(goal.handle, partial(_abort, _INVALID_GOAL, words))
        self._server.destroy_later()

    def _judge(self, _request: Any) -> Any:
        return GoalResponse.REJECT if self._is_closed else GoalResponse.ACCEPT

    def _accept(self, handle: Any) -> None:
        handle.execute()
        try:
            goal = read_goal(handle.request)
            run = self._follower.follow(self._name, goal)
        except ValueError as error:
            code = _REFUSALS.get(getattr(error, "kind", ""), _INVALID_GOAL)
            self._server.conclude(handle, partial(_abort, code, str(error)))
            return
        with self._lock:
            self._active = [*self._active, _ActiveGoal(handle, run, goal.trajectory.names)]

    def _cancel(self, handle: Any) -> Any:
        for goal in self._active:
            if goal.handle is handle:
                self._follower.cancel(self._name, goal.run)
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _forget(self, goal: _ActiveGoal) -> bool:
        """Forget a goal; return whether it was still known."""
        with self._lock:
            left = [g for g in self._active if g is not goal]
            was_known = len(left) < len(self._active)
            self._active = left
        return was_known


def _conclude(run: Run, handle: Any) -> Any:
    """Set the last state of a goal whose run is over; return its result."""
    ending = run.status.name
    code = _ENDINGS.get(ending, _INVALID_GOAL)
    if ending == "SUCCEEDED":
        handle.succeed()
    elif ending == "CANCELED" and handle.status == GoalStatus.STATUS_CANCELING:
        handle.canceled()
    else:
        return _abort(code, run.words, handle)
    return FollowJointTrajectory.Result(error_code=code, error_string=run.words)


def _abort(code: int, words: str, handle: Any) -> Any:
    handle.abort()
    return FollowJointTrajectory.Result(error_code=code, error_string=words)


def read_goal(request: Any) -> Goal:
    """Return the numbers of a goal.

    Raises:
        ValueError: It asks for what there is not.
    """
    if request.multi_dof_trajectory.joint_names:
        raise ValueError("there are no joints of several degrees of freedom to move")
    if request.component_path_tolerance or request.component_goal_tolerance:
        raise ValueError("there are no joints of several degrees of freedom to have tolerances")
    goal_time_ns = duration_ns(request.goal_time_tolerance)
    return Goal(
        joint_trajectory(request.trajectory),
        _tolerances(request.path_tolerance),
        _tolerances(request.goal_tolerance),
        goal_time_ns if goal_time_ns > 0 else None,
    )


def _tolerances(messages: Sequence[Any]) -> dict[str, JointTolerance]:
    """Return tolerances by name. 0 means the usual, which is none here; -1 means none."""
    found = {}
    for message in messages:
        if message.acceleration > 0.0:
            raise ValueError(
                f"the acceleration of joint '{message.name}' is not measured, so it can have no "
                "tolerance"
            )
        values = (message.position, message.velocity)
        found[message.name] = JointTolerance(*(None if v in (0.0, -1.0) else v for v in values))
    return found


def fill_feedback(feedback: Any, progress: Progress) -> None:
    """Fill a feedback message with where the joints are."""
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
