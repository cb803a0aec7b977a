"""Trajectories of joints, and as commands whose status and progress their senders can follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, JointType
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_msgs.sanitize import shortened

from ..engine.schedule import NS_PER_S
from ..engine.state import MAX_DRIVE_VALUE

# Thirty years, in [ns]: no simulation runs longer.
LATEST_NS = 10**18
# Points times joints of a trajectory: half an hour of thirty joints at 10 Hz.
MAX_VALUES = 1_000_000
_KINDS = ("positions", "velocities", "accelerations", "effort")


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """One point of a trajectory; each list has one value per joint.

    Attributes:
        time_from_start_ns: In [ns].
        positions: In [rad] or [m].
        velocities: In [rad/s] or [m/s], or empty.
        accelerations: In [rad/s^2] or [m/s^2], or empty.
        effort: Added to that of the servo, in [N m] or [N], or empty.
    """

    time_from_start_ns: int
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PointTable:
    """The points of a trajectory as arrays.

    Attributes:
        times_ns: Since the start, in [ns], increasing, shape (points,).
        values: Position, velocity, acceleration and effort, shape (points, 4, joints); zero
            where not given.
        given: Whether velocity, acceleration and effort are given, shape (points, 3).
    """

    times_ns: NDArray[np.int64]
    values: Array
    given: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class JointTrajectory:
    """A motion of some joints of a body through points.

    The interpolation between two points depends on the quantities that both specify: linear for
    positions alone, cubic splines for positions and velocities, quintic splines with accelerations.
    Effort is interpolated linearly. The first segment begins at the targets of the joints when the
    trajectory starts, or at their positions if they are not controlled by position. At the end they
    stop and hold, even if the last point has a velocity: a sender that streams points, such as
    MoveIt Servo, sends the next one earlier. The positions of a continuous joint are shifted by the
    number of whole turns that brings the first nearest to the position of the joint.

    If the start lies in the past, past points are skipped, and the joints reach the next one in
    time. Without points the named joints stop and hold now or, if none are named, all joints that
    trajectories move.

    Attributes:
        names: Joint names.
        points: By increasing time.
        start_ns: Simulated time, in [ns]; None or 0 means now.

    Raises:
        TypeError: Names are not a sequence of strings, or points not one of ``TrajectoryPoint``.
    """

    names: Sequence[str]
    points: Sequence[TrajectoryPoint]
    start_ns: int | None = None
    _table: PointTable | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_names(self.names)
        wrong = [p for p in self.points if not isinstance(p, TrajectoryPoint)]
        if wrong:
            raise TypeError(f"points must be a list of TrajectoryPoint, not of {wrong[0]!r}")

    @property
    def table(self) -> PointTable:
        """The points as arrays; computed at the first access.

        Raises:
            BadTrajectoryError: Numbers, lengths or times are wrong.
            TypeError, ValueError: Something is not a number.
        """
        if self._table is None:
            object.__setattr__(self, "_table", _tabulated(self.names, self.points))
        assert self._table is not None, "it was just set"
        return self._table


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a joint may deviate from its trajectory; infinity means no limit.

    Attributes:
        position: In [rad] or [m].
        velocity: In [rad/s] or [m/s].
    """

    position: float = inf
    velocity: float = inf


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Tolerances of a trajectory; it fails when one is violated.

    Attributes:
        path: By joint name: at any time before the end.
        goal: By joint name: to be reached for the trajectory to succeed.
        goal_time_ns: How long after the end the goal may be reached, in [ns]; None means for ever.
    """

    path: Mapping[str, Tolerance] = field(default_factory=dict)
    goal: Mapping[str, Tolerance] = field(default_factory=dict)
    goal_time_ns: int | None = None


NO_TOLERANCES = Tolerances()
# By joint name: tolerances of position and velocity; None means the default, infinity no limit.
PartialTolerances = Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Tolerances where the sender of a trajectory states none; 0 means that nothing is checked.

    Names and meaning are those of the ``constraints`` of joint_trajectory_controller.

    Attributes:
        trajectory: By joint name, in [rad] or [m]: deviation at any time before the end.
        goal: By joint name, in [rad] or [m]: deviation at the end.
        goal_time: How long after the end the goal may be reached, in [s]; 0 means for ever. The
            default is shorter than what MoveIt waits, so that the reason reaches it.
        stopped_velocity_tolerance: Speed of a joint at the end, in [rad/s] or [m/s].
    """

    trajectory: Mapping[str, float]
    goal: Mapping[str, float]
    goal_time: float = 0.5
    stopped_velocity_tolerance: float = 0.01

    @staticmethod
    def of(body: Body) -> Constraints:
        """Return the default constraints of a body: 0.1 rad or 0.01 m at the end."""
        joints = [link.joint for link in body.moving_links]
        goal = {j.name: 0.01 if j.type is JointType.PRISMATIC else 0.1 for j in joints}
        return Constraints(trajectory=dict.fromkeys(goal, 0.0), goal=goal)

    def complete(
        self,
        names: Sequence[str],
        path: PartialTolerances,
        goal: PartialTolerances,
        goal_time_ns: int,
    ) -> Tolerances:
        """Return the tolerances of a trajectory.

        Args:
            names: Its joints.
            path: Tolerances of its sender before the end.
            goal: Likewise at the end.
            goal_time_ns: Likewise, in [ns]; 0 means the default, a negative value for ever.
        """
        stopped = self.stopped_velocity_tolerance
        time_ns = goal_time_ns or round(self.goal_time * NS_PER_S)
        return Tolerances(
            path=_completed(path, {n: (self.trajectory.get(n, 0.0), 0.0) for n in names}),
            goal=_completed(goal, {n: (self.goal.get(n, 0.0), stopped) for n in names}),
            goal_time_ns=time_ns if time_ns > 0 else None,
        )


def _completed(
    given: PartialTolerances, defaults: Mapping[str, tuple[float, float]]
) -> dict[str, Tolerance]:
    """Return tolerances with defaults where none is given; a default of 0 means no limit."""
    nothing = None, None
    return {
        name: Tolerance(
            *(
                (default or inf) if own is None else own
                for own, default in zip(
                    given.get(name, nothing), defaults.get(name, (0.0, 0.0)), strict=True
                )
            )
        )
        for name in (*defaults, *given)
    }


def check_names(names: Sequence[str]) -> None:
    """Check that these can be joint names.

    Raises:
        TypeError: They are not a sequence of strings.
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"names must be a list of joint names, such as ['J1'], not {names!r}")


class BadTrajectoryError(ValueError):
    """A trajectory cannot be followed; the message gives the reason to its sender.

    Attributes:
        kind: Kind of the error.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(shortened(message))
        self.kind = kind


def check_trajectory(
    trajectory: JointTrajectory, body: Body, time_ns: int, tolerances: Tolerances = NO_TOLERANCES
) -> None:
    """Check that a body can follow a trajectory. May be called from any thread.

    Args:
        trajectory: The trajectory.
        body: The model.
        time_ns: Simulated time now, in [ns].
        tolerances: Its tolerances.

    Raises:
        BadTrajectoryError: Joints, numbers, lengths or times are wrong.
    """
    names = trajectory.names
    if trajectory.points and not names:
        raise BadTrajectoryError("no joints", "the trajectory names no joints")
    _check_joints(names, body)
    _check_tolerances(names, tolerances)
    start_ns = trajectory.start_ns or time_ns
    if not -LATEST_NS <= start_ns <= LATEST_NS:
        message = f"the start of the trajectory, {_seconds(start_ns)}, is out of range"
        raise BadTrajectoryError("start", message)
    last_ns = int(trajectory.table.times_ns[-1]) if trajectory.points else 0
    if trajectory.points and start_ns + last_ns < time_ns:
        end = _seconds(start_ns + last_ns)
        message = f"the trajectory ended in the past, at {end}; it is {_seconds(time_ns)} now"
        raise BadTrajectoryError("past", message)


def _check_joints(names: Sequence[str], body: Body) -> None:
    joints = {x.joint.name: x.joint for x in body.jointed_links}
    leaders = {x.name: x.joint.name for x in body.jointed_links}
    for name in names:
        if name not in joints:
            hint = did_you_mean_or_all(name, joints)
            raise BadTrajectoryError("unknown", f"the robot has no moving joint '{name}'.{hint}")
        if (mimic := joints[name].mimic) is not None and mimic.link in leaders:
            leader = leaders[mimic.link]
            raise BadTrajectoryError("follower", f"joint '{name}' follows '{leader}'")
        if joints[name].type is JointType.TRACK:
            message = f"joint '{name}' is a track, which has no position"
            raise BadTrajectoryError("track", message)
    for name, count in Counter(names).items():
        if count > 1:
            raise BadTrajectoryError("twice", f"the trajectory names joint '{name}' twice")


def _check_tolerances(names: Sequence[str], tolerances: Tolerances) -> None:
    for kind, by_joint in (("path", tolerances.path), ("goal", tolerances.goal)):
        for name, tolerance in by_joint.items():
            if name not in names:
                message = (
                    f"a {kind} tolerance is for joint '{name}', which is not in the trajectory"
                )
                raise BadTrajectoryError("tolerance", message)
            if any(isnan(x) or x < 0.0 for x in (tolerance.position, tolerance.velocity)):
                message = f"the {kind} tolerance of joint '{name}' must be at least 0"
                raise BadTrajectoryError("tolerance", message)
    if tolerances.goal_time_ns is not None and not 0 <= tolerances.goal_time_ns <= LATEST_NS:
        message = f"the goal time tolerance must be at least 0 s, not {tolerances.goal_time_ns} ns"
        raise BadTrajectoryError("tolerance", message)


def _tabulated(names: Sequence[str], points: Sequence[TrajectoryPoint]) -> PointTable:
    if len(points) * len(names) > MAX_VALUES:
        message = (
            f"{len(points)} points for {len(names)} joints are too many: at most {MAX_VALUES} "
            "points times joints"
        )
        raise BadTrajectoryError("size", message)
    before_ns = -1
    for k, point in enumerate(points):
        _check_time(k, point.time_from_start_ns, before_ns)
        before_ns = point.time_from_start_ns
    values = np.zeros((len(points), 4, len(names)))
    given = np.zeros((len(points), 4), dtype=np.bool_)
    for row, kind in enumerate(_KINDS):
        columns = [getattr(point, kind) for point in points]
        there = [k for k, column in enumerate(columns) if len(column) or row == 0]
        for k in there:
            if len(columns[k]) != len(names):
                message = (
                    f"point {k} of the trajectory has {len(columns[k])} {kind}, not {len(names)}"
                )
                raise BadTrajectoryError("length", message)
        if there:
            values[there, row] = [columns[k] for k in there]
            given[there, row] = True
    _check_values(values, names)
    times_ns = np.array([point.time_from_start_ns for point in points], dtype=np.int64)
    return PointTable(times_ns, values, given[:, 1:])


def _check_time(k: int, time_ns: int, before_ns: int) -> None:
    if not 0 <= time_ns <= LATEST_NS:
        message = f"time_from_start of point {k}, {_seconds(time_ns)}, is out of range"
        raise BadTrajectoryError("time", message)
    if time_ns <= before_ns:
        message = (
            f"point {k} of the trajectory, at {_seconds(time_ns)}, is not after "
            f"point {k - 1}, at {_seconds(before_ns)}"
        )
        raise BadTrajectoryError("order", message)


def _check_values(values: Array, names: Sequence[str]) -> None:
    wrong = np.argwhere(~(np.abs(values) < MAX_DRIVE_VALUE))
    if len(wrong):
        k, row, joint = wrong[0].tolist()
        value = values[k, row, joint]
        message = f"point {k} of the trajectory has {_KINDS[row]} of {value} for '{names[joint]}'"
        raise BadTrajectoryError("number", message)


def _seconds(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"


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
