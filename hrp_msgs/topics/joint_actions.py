"""Action servers whose goals move joints: each goal is a run, which the stepping thread writes."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from functools import partial
from typing import Generic, Protocol, TypeVar

from action_msgs.msg import GoalStatus
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from ..convert.basic import NS_PER_S
from ..messages import Message
from ..node.executor import DeferredActionServer
from ..node.start import creating
from ..readings import Array
from ..sanitize import shortened

FEEDBACK_PERIOD_NS = NS_PER_S // 20  # of simulated time, as joint_trajectory_controller does


class Status(Protocol):
    """Status of a run, such as SUCCEEDED or CANCELED."""

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
    """A motion of joints; the stepping thread writes it."""

    @property
    def is_over(self) -> bool: ...  # noqa: D102
    @property
    def status(self) -> Status: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def progress(self) -> Progress | None: ...  # noqa: D102


R = TypeVar("R", bound=Run)
R_contra = TypeVar("R_contra", bound=Run, contravariant=True)


class Canceler(Protocol[R_contra]):
    """Cancels runs; called in the executor thread."""

    def cancel(self, action: str, run: R_contra) -> None:
        """Cancel a run of the action of this name."""


class OtherJointError(ValueError):
    """A goal names a joint that its controller does not have."""

    kind = "unknown"


def check_joints(names: Iterable[str], joints: Collection[str]) -> None:
    """Check that the joints of a goal are among those of a controller.

    Raises:
        OtherJointError: One is not.
    """
    for name in names:
        if name not in joints:
            message = f"joint '{name}' is not one of this controller: {', '.join(joints)}"
            raise OtherJointError(shortened(message))


class ActiveGoal(ABC, Generic[R]):
    """A goal in execution.

    Args:
        handle: Its handle.
        run: The motion.

    Attributes:
        handle, run: As given.
    """

    def __init__(self, handle: ServerGoalHandle, run: R) -> None:
        self.handle = handle
        self.run = run
        self._published_ns: int | None = None

    def publish_feedback(self) -> None:
        """Publish feedback, if it is due."""
        progress, last_ns = self.run.progress, self._published_ns
        if progress is None:
            return
        if last_ns is not None and 0 <= progress.time_ns - last_ns < FEEDBACK_PERIOD_NS:
            return
        self._published_ns = progress.time_ns
        self.handle.publish_feedback(self.feedback(progress))

    def check(self) -> bool:
        """Return whether the goal is over; called once after each step."""
        return self.run.is_over

    def conclude(self, handle: ServerGoalHandle) -> Message:
        """Set the final state of the goal, which is over; return its result."""
        if self.succeeded:
            handle.succeed()
        elif self.run.status.name == "CANCELED" and handle.status == GoalStatus.STATUS_CANCELING:
            handle.canceled()
        else:
            handle.abort()
        return self.result()

    @property
    def succeeded(self) -> bool:
        """Whether the goal, which is over, was reached."""
        return self.run.status.name == "SUCCEEDED"

    @abstractmethod
    def feedback(self, progress: Progress) -> Message:
        """Return the feedback of a progress."""

    @abstractmethod
    def result(self) -> Message:
        """Return the result of the goal, which is over."""


class JointAction(ABC, Generic[R]):
    """Action server whose goals move joints, several at a time if they fit.

    A goal that cannot be followed is accepted, and aborted at once: a rejected goal has no
    result, and so no error string.

    Args:
        node: The node of the action.
        action_type: Type of the action.
        name: Name of the action.
        canceler: Cancels the runs.

    Raises:
        WrongUseError: The name is invalid.
    """

    def __init__(self, node: Node, action_type: type, name: str, canceler: Canceler[R]) -> None:
        self._canceler = canceler
        self._active: list[ActiveGoal[R]] = []  # replaced under the lock, never changed
        self._lock = threading.Lock()
        self._is_closed = False
        with creating(f"action '{name}'"):
            self._name = str(node.resolve_service_name(name))
            self._server = DeferredActionServer(
                node,
                action_type,
                name,
                self._accept,
                goal_callback=self._accept_or_reject,
                cancel_callback=self._cancel,
            )

    @abstractmethod
    def begin(self, handle: ServerGoalHandle) -> ActiveGoal[R]:
        """Begin the motion of a goal.

        Raises:
            ValueError: It cannot be followed.
        """

    @abstractmethod
    def refusal(self, error: ValueError | None) -> Message:
        """Return the result of a goal that ``begin`` refused; None: the robot was removed."""

    def poll(self) -> None:
        """Publish feedback and results; called in the stepping thread."""
        for goal in self._active:
            goal.publish_feedback()
            if goal.check() and self._remove(goal):
                self._server.finish(goal.handle, goal.conclude)

    def close(self) -> None:
        """End the action and abort all goals; called in the executor thread."""
        self._is_closed = True
        for goal in self._active:
            if self._remove(goal):
                self._server.finish(goal.handle, partial(self._abort, None))
        self._server.destroy_later()

    def _accept_or_reject(self, _request: Message) -> GoalResponse:
        return GoalResponse.REJECT if self._is_closed else GoalResponse.ACCEPT

    def _accept(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        try:
            goal = self.begin(handle)
        except ValueError as error:
            self._server.finish(handle, partial(self._abort, error))
            return
        with self._lock:
            self._active = [*self._active, goal]

    def _abort(self, error: ValueError | None, handle: ServerGoalHandle) -> Message:
        handle.abort()
        return self.refusal(error)

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        for goal in self._active:
            if goal.handle is handle:
                self._canceler.cancel(self._name, goal.run)
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _remove(self, goal: ActiveGoal[R]) -> bool:
        """Remove a goal; return whether it was still there."""
        with self._lock:
            left = [g for g in self._active if g is not goal]
            was_there = len(left) < len(self._active)
            self._active = left
        return was_there
