"""A trajectory on its way: where its joints should be, where they are, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import pi
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body
from hrp_model.rigid import Array

from ..physics.state import BodyMotion
from .spline import POSITION, VELOCITY, Spline
from .trajectory import ANYWHERE, JointTrajectory, Tolerance, Tolerances

if TYPE_CHECKING:
    from .controller import BodyController

Indices = NDArray[np.intp]
_TURN = 2.0 * pi


class TrajectoryStatus(Enum):
    """How far a trajectory has come.

    WAITING: it was not taken yet, or its start lies ahead. RUNNING: it moves its joints, or
    waits for them to keep the goal tolerance. All others are how it ended: SUCCEEDED; PREEMPTED:
    another command took a joint; CANCELED: ``CancelTrajectory``; REFUSED: it cannot be followed;
    PATH_VIOLATED, GOAL_VIOLATED: a tolerance was not kept; ABORTED: its world went elsewhere, by
    a reset or the like.
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
    """Where the joints of a trajectory are after a step; all in the order of its names.

    Attributes:
        time_ns: Simulated time, in [ns].
        elapsed_ns: Since the trajectory's start, in [ns].
        index: The point that is next, counted from 0; the last one at the end.
        desired: Position, velocity, acceleration and effort that the trajectory has now,
            shape (4, joints).
        actual: Position, velocity and effort of the joints now, shape (3, joints).
        error: Position and velocity: desired less actual, shape (2, joints).
    """

    time_ns: int
    elapsed_ns: int
    index: int
    desired: Array
    actual: Array
    error: Array


class TrajectoryRun:
    """A trajectory that one can look after; itself a command to be given to a body once.

    All is written by the thread that steps, and changes between its steps only.

    Args:
        trajectory: What to follow.
        tolerances: When it has failed.

    Attributes:
        status: How far it has come.
        words: Why it has ended, for people; empty before, and after a success.
    """

    def __init__(self, trajectory: JointTrajectory, tolerances: Tolerances = ANYWHERE) -> None:
        self.trajectory = trajectory
        self.tolerances = tolerances
        self.status = TrajectoryStatus.WAITING
        self.words = ""
        self._progress: TrajectoryProgress | Callable[[], TrajectoryProgress] | None = None

    @property
    def progress(self) -> TrajectoryProgress | None:
        """Where its joints are after the last step, at its end after that; None before its start.

        To be asked for in the thread that steps. Of one that was aborted there may be none: its
        world is elsewhere.
        """
        if callable(self._progress):  # of every step it is asked for in few
            self._progress = self._progress()
        return self._progress

    @property
    def is_over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self.status not in (TrajectoryStatus.WAITING, TrajectoryStatus.RUNNING)

    def look(self, progress: Callable[[], TrajectoryProgress]) -> None:
        """Let its progress be what this returns if it is called now. For who drives it."""
        if not self.is_over:
            self._progress = progress

    def end(self, status: TrajectoryStatus, words: str = "") -> None:
        """Let it end, unless it has already. For who drives it."""
        if not self.is_over:
            self.status, self.words = status, words
            if status is not TrajectoryStatus.ABORTED:
                _ = self.progress  # as it is now
            elif callable(self._progress):
                self._progress = None

    def cancel(self) -> None:
        """Let it end before its time, unless it has ended. For who takes ``CancelTrajectory``."""
        self.end(TrajectoryStatus.CANCELED, "it was canceled")

    def give(self, controller: BodyController, time_ns: int) -> None:
        """Have a controller follow it."""
        controller.follow(self, time_ns)


class Following:
    """One trajectory as its body follows it.

    A joint that another command took no longer belongs to it; the others go on to the end.

    Args:
        run: Whom to tell.
        spline: What is still to come; once it has begun, from where it began.
        joints: Elements of q, by place in the trajectory.
        start_ns: When the trajectory starts, in [ns].
        first: Of a spline that has begun.

    Attributes:
        first: Number of the trajectory's point that is the first of the spline; one less where a
            state stands before it.
        begun: Whether it moves its joints.
        active: Which of its joints are still its own, shape (joints of the trajectory,).
        moves: Those, as elements of q.
        behind: How far what is asked of the joints is from the curve, where it does not begin at
            their present state; shape (joints of the trajectory,).
        desired: What the curve said last, shape (4, joints of the trajectory).
        path, goal: Tolerances of position and velocity, shape (2, joints of the trajectory).
        violation: Which tolerance was not kept, in words.
    """

    def __init__(
        self, run: TrajectoryRun, spline: Spline, joints: Indices, start_ns: int, first: int = 0
    ) -> None:
        self.run, self.spline, self.joints, self.start_ns = run, spline, joints, start_ns
        self.first = first
        self.begun = False
        self.active = np.ones(len(joints), dtype=np.bool_)
        self.moves = joints
        self.behind = np.zeros(len(joints))
        self.desired = np.zeros((4, len(joints)))
        self.violation = ""
        names, tolerances = run.trajectory.names, run.tolerances
        self.path = _limits(names, tolerances.path)
        self.goal = _limits(names, tolerances.goal)
        self._has_path = bool(np.isfinite(self.path).any())

    def begin(self, time_ns: int, state: Array, endless: NDArray[np.bool_]) -> None:
        """Start from a state, shape (4, joints); ``endless`` joints turn without limits."""
        first = self.spline.points[self.spline.index(time_ns - 1), POSITION]
        turns = np.where(endless, np.round((state[POSITION] - first) / _TURN), 0.0)
        count = len(self.spline.times_ns)
        self.spline = self.spline.moved(turns * _TURN).from_state(time_ns, state)
        self.first = count - len(self.spline.times_ns)
        self.begun = True
        self.run.status = TrajectoryStatus.RUNNING
        self.desired = self.spline.at(time_ns)
        self.behind = state[POSITION] - self.desired[POSITION]

    def release(self, joint: int) -> bool:
        """Give a joint away; tell whether it was one of its own."""
        mine = self.active & (self.joints == joint)
        self.keep(self.active & ~mine)
        return bool(mine.any())

    def keep(self, active: NDArray[np.bool_]) -> None:
        """Drive only some of its joints, shape (joints of the trajectory,)."""
        self.active = active
        self.moves = self.joints[active]

    def advance(self, time_ns: int, reach: Array) -> Array:
        """Return what to ask of ``moves``: position, velocity, acceleration and effort.

        Args:
            time_ns: The end of the step, in [ns].
            reach: How far what is behind may catch up in a step, shape (joints of the body,).
        """
        asked = self.desired = self.spline.at(time_ns)
        if np.count_nonzero(self.behind):
            most = reach[self.joints]
            self.behind = self.behind - np.clip(self.behind, -most, most)
            asked = asked.copy()
            asked[POSITION] += self.behind
        return asked if len(self.moves) == len(self.joints) else asked[:, self.active]

    def retime(self, before_ns: int, time_ns: int, motion: BodyMotion) -> None:
        """Go on at another time, in [ns], to the last bit; whoever looks after it is told it."""
        self.start_ns += time_ns - before_ns
        self.spline = self.spline.shifted(time_ns - before_ns)
        if self.begun:
            self.run.look(lambda: self._progress(time_ns, motion))

    def judge(self, time_ns: int, motion: BodyMotion) -> TrajectoryStatus:
        """Look where the joints are after a step; return what becomes of it."""
        self.run.look(lambda: self._progress(time_ns, motion))
        late_ns = time_ns - self.spline.end_ns
        if late_ns < 0:
            if self._has_path and np.any((away := self._away(motion)) > self.path):
                return self._violated(TrajectoryStatus.PATH_VIOLATED, away, self.path)
            return TrajectoryStatus.RUNNING
        if not np.any((away := self._away(motion)) > self.goal):
            return TrajectoryStatus.SUCCEEDED
        patience_ns = self.run.tolerances.goal_time_ns
        if patience_ns is not None and late_ns > patience_ns:
            return self._violated(TrajectoryStatus.GOAL_VIOLATED, away, self.goal)
        return TrajectoryStatus.RUNNING

    def _away(self, motion: BodyMotion) -> Array:
        """Return how far positions and velocities are off, shape (2, joints)."""
        return np.abs(self._error(motion))

    def _error(self, motion: BodyMotion) -> Array:
        actual = np.array([motion.q[self.joints], motion.dq[self.joints]])
        error: Array = self.desired[: VELOCITY + 1] - actual
        return error

    def _progress(self, time_ns: int, motion: BodyMotion) -> TrajectoryProgress:
        return TrajectoryProgress(
            time_ns,
            time_ns - self.start_ns,
            max(0, self.spline.index(time_ns) + self.first),
            self.desired,
            np.array([x[self.joints] for x in (motion.q, motion.dq, motion.effort)]),
            self._error(motion),
        )

    def _violated(self, status: TrajectoryStatus, away: Array, limits: Array) -> TrajectoryStatus:
        kind, i = (int(x[0]) for x in np.nonzero(away > limits))
        name = self.run.trajectory.names[i]
        told, unit = (("", "rad or m"), ("velocity ", "rad/s or m/s"))[kind]
        self.violation = (
            f"joint '{name}' is off by {told}{away[kind, i]:.4g} {unit}, "
            f"more than {limits[kind, i]:.4g}"
        )
        return status


def _limits(names: Sequence[str], tolerances: Mapping[str, Tolerance]) -> Array:
    """Return tolerances of position and velocity by place in the trajectory, shape (2, joints)."""
    found = [tolerances.get(name, Tolerance()) for name in names]
    return np.array([[t.position for t in found], [t.velocity for t in found]])


def endless_joints(body: Body) -> NDArray[np.bool_]:
    """Tell which joints turn without limits, shape (joints,)."""
    return np.array([x.joint.is_continuous for x in body.moving_links], dtype=np.bool_)
