"""A trajectory command whose status and progress its sender can follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from hrp_model.rigid import Array

from .trajectory import NO_TOLERANCES, JointTrajectory, Tolerances


class TrajectoryStatus(Enum):
    """State of a trajectory.

    WAITING: not applied yet, or its start lies ahead. RUNNING: it moves its joints, or waits for
    them to reach the goal tolerance. All others are final: SUCCEEDED; PREEMPTED: another command
    took over a joint; CANCELED: ``CancelTrajectory``; REFUSED: it cannot be followed;
    PATH_VIOLATED, GOAL_VIOLATED: a tolerance was violated; ABORTED: for instance by a reset or a
    move.
    """

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PREEMPTED = "preempted"
    CANCELED = "canceled"
    REFUSED = "refused"
    PATH_VIOLATED = "path tolerance violated"
    GOAL_VIOLATED = "goal tolerance violated"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryProgress:
    """Progress of the joints of a trajectory after a step, in the order of its names.

    Attributes:
        time_ns: Simulated time, in [ns].
        elapsed_ns: Since the trajectory's start, in [ns].
        index: The next point, counted from 0; the last one at the end.
        desired: Position, velocity, acceleration and effort of the trajectory now, shape
            (4, joints).
        actual: Position, velocity and effort of the joints now, shape (3, joints).
        error: Position and velocity: desired minus actual, shape (2, joints).
    """

    time_ns: int
    elapsed_ns: int
    index: int
    desired: Array
    actual: Array
    error: Array


class TrajectoryRun:
    """A trajectory with status and progress; a command that can be sent once, to one body.

    The stepping thread writes it, between two steps only.

    Args:
        trajectory: The trajectory to follow.
        tolerances: Its tolerances.

    Attributes:
        status: Its state.
        message: Why it has ended; empty before the end, and after a success.
    """

    def __init__(self, trajectory: JointTrajectory, tolerances: Tolerances = NO_TOLERANCES) -> None:
        self.trajectory = trajectory
        self.tolerances = tolerances
        self.status = TrajectoryStatus.WAITING
        self.message = ""
        self._progress: TrajectoryProgress | Callable[[], TrajectoryProgress] | None = None

    @property
    def progress(self) -> TrajectoryProgress | None:
        """Progress after the last step, or at the end if it is over; None before its start.

        To be read in the stepping thread. An aborted run may have none.
        """
        if callable(self._progress):  # computed on access: most steps need none
            self._progress = self._progress()
        return self._progress

    @property
    def is_over(self) -> bool:
        """Whether its status is final."""
        return self.status not in (TrajectoryStatus.WAITING, TrajectoryStatus.RUNNING)

    def set_progress(self, progress: Callable[[], TrajectoryProgress]) -> None:
        """Set the function that computes the progress of this step; called by the controller."""
        if not self.is_over:
            self._progress = progress

    def end(self, status: TrajectoryStatus, message: str = "") -> None:
        """Finish the run (idempotent); called by the controller."""
        if not self.is_over:
            self.status, self.message = status, message
            if status is not TrajectoryStatus.ABORTED:
                _ = self.progress  # as it is now
            elif callable(self._progress):
                self._progress = None

    def cancel(self) -> None:
        """Finish the run as canceled (idempotent); see ``CancelTrajectory``."""
        self.end(TrajectoryStatus.CANCELED, "it was canceled")
