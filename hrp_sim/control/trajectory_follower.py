"""The trajectories of one body: the active ones, and those that wait for their start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, pi

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body
from hrp_model.rigid import Array

from ..engine.engine import AnyArray, PhysicsError
from ..engine.snapshot import check_arrays
from ..engine.state import MAX_DRIVE_VALUE, BodyMotion
from .spline import ACCELERATION, POSITION, VELOCITY, Spline
from .trajectory import (
    LATEST_NS,
    BadTrajectoryError,
    JointTrajectory,
    Tolerance,
    Tolerances,
    TrajectoryPoint,
    TrajectoryProgress,
    TrajectoryRun,
    TrajectoryStatus,
)

Indices = NDArray[np.intp]
_TURN = 2.0 * pi
# Represents no tolerance.
_NONE = -1.0
_SCALARS = ("begun", "over", "start_ns", "first", "goal_time_ns")


class ActiveTrajectory:
    """One trajectory as a controller follows it.

    A joint taken over by another command leaves the trajectory; the others continue to its end.

    Args:
        run: The controller writes its status here.
        spline: The points ahead; once the trajectory has begun, also the state that it began in.
        joints: Elements of q, by place in the trajectory.
        start_ns: When the trajectory starts, in [ns].
        first: The attribute ``first`` of a trajectory that has begun.

    Attributes:
        first: Index in the trajectory of the spline's first point; one less if the spline begins
            with a state.
        begun: Whether it has started to move its joints.
        active: Which of its joints it still controls, shape (joints of the trajectory,).
        moves: These joints, as elements of q.
        offset: Targets minus curve if the curve does not begin at the present state, shape (joints
            of the trajectory,).
        desired: Last sample of the curve, shape (4, joints of the trajectory).
        path, goal: Tolerances of position and velocity, shape (2, joints of the trajectory).
        violation: Message about the tolerance that was violated.
    """

    def __init__(
        self, run: TrajectoryRun, spline: Spline, joints: Indices, start_ns: int, first: int = 0
    ) -> None:
        self.run, self.spline, self.joints, self.start_ns = run, spline, joints, start_ns
        self.first = first
        self.begun = False
        self.active = np.ones(len(joints), dtype=np.bool_)
        self.moves = joints
        self.offset = np.zeros(len(joints))
        self.desired = np.zeros((4, len(joints)))
        self.violation = ""
        names, tolerances = run.trajectory.names, run.tolerances
        self.path = _limits(names, tolerances.path)
        self.goal = _limits(names, tolerances.goal)
        self._has_path = bool(np.isfinite(self.path).any())

    def begin(self, time_ns: int, state: Array, continuous: NDArray[np.bool_]) -> None:
        """Start from a state.

        Args:
            time_ns: Now, in [ns].
            state: Position, velocity, acceleration and effort, shape (4, joints).
            continuous: Which joints turn without limits, shape (joints,).
        """
        first = self.spline.points[self.spline.index(time_ns - 1), POSITION]
        turns = np.where(continuous, np.round((state[POSITION] - first) / _TURN), 0.0)
        count = len(self.spline.times_ns)
        self.spline = self.spline.moved(turns * _TURN).from_state(time_ns, state)
        self.first = count - len(self.spline.times_ns)
        self.begun = True
        self.run.status = TrajectoryStatus.RUNNING
        self.desired = self.spline.at(time_ns)
        self.offset = state[POSITION] - self.desired[POSITION]

    def release(self, joint: int) -> bool:
        """Release a joint; return whether the trajectory controlled it."""
        released = self.active & (self.joints == joint)
        self.set_active(self.active & ~released)
        return bool(released.any())

    def set_active(self, active: NDArray[np.bool_]) -> None:
        """Control only some of its joints, shape (joints of the trajectory,)."""
        self.active = active
        self.moves = self.joints[active]

    def advance(self, time_ns: int, reach: Array) -> Array:
        """Return the targets of ``moves``: position, velocity, acceleration and effort.

        Args:
            time_ns: The end of the step, in [ns].
            reach: Maximum change of the offset in a step, shape (joints of the body,).
        """
        targets = self.desired = self.spline.at(time_ns)
        if np.count_nonzero(self.offset):
            limit = reach[self.joints]
            self.offset = self.offset - np.clip(self.offset, -limit, limit)
            targets = targets.copy()
            targets[POSITION] += self.offset
        return targets if len(self.moves) == len(self.joints) else targets[:, self.active]

    def retime(self, before_ns: int, time_ns: int, motion: BodyMotion) -> None:
        """Continue at another clock time, in [ns]; the motion stays the same to the last bit."""
        self.start_ns += time_ns - before_ns
        self.spline = self.spline.shifted(time_ns - before_ns)
        if self.begun:
            self.run.set_progress(lambda: self._progress(time_ns, motion))

    def check(self, time_ns: int, motion: BodyMotion) -> TrajectoryStatus:
        """Compare the joints with the curve after a step; return the new status."""
        self.run.set_progress(lambda: self._progress(time_ns, motion))
        late_ns = time_ns - self.spline.end_ns
        if late_ns < 0:
            if self._has_path and np.any((error := self._distance(motion)) > self.path):
                return self._violated(TrajectoryStatus.PATH_VIOLATED, error, self.path)
            return TrajectoryStatus.RUNNING
        if not np.any((error := self._distance(motion)) > self.goal):
            return TrajectoryStatus.SUCCEEDED
        goal_time_ns = self.run.tolerances.goal_time_ns
        if goal_time_ns is not None and late_ns > goal_time_ns:
            return self._violated(TrajectoryStatus.GOAL_VIOLATED, error, self.goal)
        return TrajectoryStatus.RUNNING

    def _distance(self, motion: BodyMotion) -> Array:
        """Return the absolute errors of positions and velocities, shape (2, joints)."""
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

    def _violated(self, status: TrajectoryStatus, error: Array, limits: Array) -> TrajectoryStatus:
        kind, i = (int(x[0]) for x in np.nonzero(error > limits))
        name = self.run.trajectory.names[i]
        quantity, unit = (("position", "rad or m"), ("velocity", "rad/s or m/s"))[kind]
        self.violation = (
            f"the {quantity} error of joint '{name}' is {error[kind, i]:.4g} {unit}, "
            f"more than {limits[kind, i]:.4g}"
        )
        return status


def _limits(names: Sequence[str], tolerances: Mapping[str, Tolerance]) -> Array:
    """Return tolerances of position and velocity by place in the trajectory, shape (2, joints)."""
    by_joint = [tolerances.get(name, Tolerance()) for name in names]
    return np.array([[t.position for t in by_joint], [t.velocity for t in by_joint]])


def trajectory_to_arrays(trajectory: ActiveTrajectory) -> dict[str, AnyArray]:
    """Return copies of all arrays that a trajectory needs to continue bit-exactly, by name."""
    goal_time_ns = trajectory.run.tolerances.goal_time_ns
    tolerances = np.concatenate([trajectory.path, trajectory.goal])
    spline = trajectory.spline
    return {
        "begun": np.array(trajectory.begun, dtype=np.int64),
        "over": np.array(trajectory.run.is_over, dtype=np.int64),
        "start_ns": np.array(trajectory.start_ns, dtype=np.int64),
        "first": np.array(trajectory.first, dtype=np.int64),
        "goal_time_ns": np.array(-1 if goal_time_ns is None else goal_time_ns, dtype=np.int64),
        "joints": trajectory.joints.astype(np.int64),
        "active": trajectory.active.astype(np.int64),
        "behind": trajectory.offset.copy(),
        "desired": trajectory.desired.copy(),
        "tolerances": np.where(np.isinf(tolerances), _NONE, tolerances),
        "times_ns": spline.times_ns.copy(),
        "points": spline.points.copy(),
        "given": spline.given.astype(np.int64),
    }


def trajectory_from_arrays(
    arrays: Mapping[str, AnyArray], names: Sequence[str]
) -> ActiveTrajectory:
    """Return a trajectory from saved arrays.

    Args:
        arrays: From ``trajectory_to_arrays``.
        names: Names of the joints of the body, in the order of q.

    Raises:
        PhysicsError: A value is invalid, or does not match these joints.
    """
    k, n = np.size(arrays.get("times_ns", ())), np.size(arrays.get("joints", ()))
    scalars = {key: np.zeros((), dtype=np.int64) for key in _SCALARS}
    expected: dict[str, AnyArray] = {
        **scalars,
        "joints": np.zeros(n, dtype=np.int64),
        "active": np.zeros(n, dtype=np.int64),
        "behind": np.zeros(n),
        "desired": np.zeros((4, n)),
        "tolerances": np.zeros((4, n)),
        "times_ns": np.zeros(k, dtype=np.int64),
        "points": np.zeros((k, 4, n)),
        "given": np.zeros((k, 3), dtype=np.int64),
    }
    check_arrays(arrays, expected)
    if not _is_valid(arrays, len(names)):
        raise PhysicsError("a trajectory of the snapshot is invalid")
    joints = arrays["joints"].astype(np.intp)
    spline = Spline(
        arrays["times_ns"].copy(), arrays["points"].copy(), arrays["given"].astype(np.bool_)
    )
    run = _run(arrays, [names[i] for i in joints.tolist()], spline)
    trajectory = ActiveTrajectory(
        run, spline, joints, int(arrays["start_ns"]), int(arrays["first"])
    )
    trajectory.begun = bool(arrays["begun"])
    trajectory.set_active(arrays["active"].astype(np.bool_))
    trajectory.offset = arrays["behind"].copy()
    trajectory.desired = arrays["desired"].copy()
    return trajectory


def _is_valid(arrays: Mapping[str, AnyArray], count: int) -> bool:
    joints, times = arrays["joints"], arrays["times_ns"]
    # A shift by whole turns may exceed the largest number by a little.
    largest = 2.0 * MAX_DRIVE_VALUE
    latest = 2 * LATEST_NS
    numbers = (arrays["points"], arrays["behind"], arrays["desired"][:VELOCITY])
    return bool(
        len(joints) > 0
        and len(times) > 0
        and len(set(joints.tolist())) == len(joints)
        and np.all((joints >= 0) & (joints < count))
        and np.all((-latest <= times) & (times <= latest))
        and np.all(np.diff(times) > 0)
        and abs(int(arrays["start_ns"])) <= LATEST_NS
        and abs(int(arrays["first"])) <= LATEST_NS
        and int(arrays["goal_time_ns"]) <= LATEST_NS
        and all(np.all(np.abs(x) <= largest) for x in numbers)
        and arrays["active"].any()
    )


def _run(arrays: Mapping[str, AnyArray], names: Sequence[str], spline: Spline) -> TrajectoryRun:
    """Return a run that ends like the saved one."""
    start_ns, goal_time_ns = int(arrays["start_ns"]), int(arrays["goal_time_ns"])
    points = [
        TrajectoryPoint(time_ns - start_ns, position, velocity, acceleration, effort)
        for time_ns, (position, velocity, acceleration, effort) in zip(
            spline.times_ns.tolist(), spline.points.tolist(), strict=True
        )
    ]
    limits = np.where(arrays["tolerances"] < 0.0, inf, arrays["tolerances"]).T.tolist()
    by_joint = list(zip(names, limits, strict=True))
    tolerances = Tolerances(
        path={name: Tolerance(position, velocity) for name, (position, velocity, *_) in by_joint},
        goal={name: Tolerance(position, velocity) for name, (*_, position, velocity) in by_joint},
        goal_time_ns=goal_time_ns if goal_time_ns >= 0 else None,
    )
    run = TrajectoryRun(JointTrajectory(names, points, start_ns), tolerances)
    if arrays["over"]:
        run.end(TrajectoryStatus.PREEMPTED, "another command took over one of its joints")
    elif arrays["begun"]:
        run.status = TrajectoryStatus.RUNNING
    return run


# Maximum for one body at once; a sender of more probably uses another clock.
MAX_TRAJECTORIES = 100
_TAKEN = "another command took over joint '{}'"


class TrajectoryFollower:
    """Follows the trajectories of one body; the latest command takes over its joints.

    Args:
        body: The model.
        motion: Motion of the body.

    Attributes:
        trajectories: Those that are active or wait for their start.
    """

    def __init__(self, body: Body, motion: BodyMotion) -> None:
        self.trajectories: list[ActiveTrajectory] = []
        self._names = [x.joint.name for x in body.moving_links]
        self._motion = motion
        self._index = {name: i for i, name in enumerate(self._names)}
        self._continuous = np.array(
            [x.joint.is_continuous for x in body.moving_links], dtype=np.bool_
        )

    def add(self, run: TrajectoryRun, time_ns: int) -> None:
        """Add a checked trajectory with points; it takes over its joints when it starts.

        Raises:
            BadTrajectoryError: There are too many.
        """
        if len(self.trajectories) >= MAX_TRAJECTORIES:
            message = f"{len(self.trajectories)} other trajectories run or wait for their start"
            raise BadTrajectoryError("many", message)
        trajectory = run.trajectory
        start_ns = trajectory.start_ns or time_ns
        joints = np.array([self._index[name] for name in trajectory.names], dtype=np.intp)
        spline = Spline.through(trajectory.table, start_ns)
        new = ActiveTrajectory(run, spline, joints, start_ns)
        for other in self.trajectories:
            if not other.begun and other.start_ns >= start_ns:  # replaced before its start
                self._release(other, joints)
        self.trajectories = [*self._with_joints(), new]

    def begin_due(self, time_ns: int, targets: Callable[[], Array]) -> Indices:
        """Begin due trajectories; return the joints that they take over, as elements of q.

        Args:
            time_ns: In [ns].
            targets: Returns position, velocity, acceleration and effort of all joints, shape
                (4, joints of the body).
        """
        taken: list[Indices] = []
        for new in [t for t in self.trajectories if not t.begun and t.start_ns <= time_ns]:
            before = targets()
            for other in self.trajectories:
                if other.begun:
                    own = other.active
                    before[ACCELERATION, other.moves] = other.desired[ACCELERATION, own]
                    self._release(other, new.moves)
            new.begin(time_ns, before[:, new.joints], self._continuous[new.joints])
            taken.append(new.moves)
        if taken:
            self.trajectories = self._with_joints()
        return _joined(taken)

    def release(self, joints: Iterable[int]) -> None:
        """Release joints, also from trajectories that have not begun."""
        released = np.fromiter(joints, dtype=np.intp)
        for trajectory in self.trajectories:
            self._release(trajectory, released)
        self.trajectories = self._with_joints()

    def advance(self, time_ns: int, reach: Array) -> Iterator[tuple[Indices, Array]]:
        """Yield the targets at the end of a step, at ``time_ns`` in [ns].

        Args:
            time_ns: In [ns].
            reach: Maximum change of the offset of each joint in a step, shape (joints,).

        Yields:
            Elements of q, and their positions, velocities, accelerations and efforts, shape
            (4, elements).
        """
        for trajectory in self.trajectories:
            if trajectory.begun:
                yield trajectory.moves, trajectory.advance(time_ns, reach)

    def check_progress(self, time_ns: int) -> list[tuple[ActiveTrajectory, TrajectoryStatus]]:
        """Check the active trajectories after a step; return and remove those that have ended."""
        ended: list[tuple[ActiveTrajectory, TrajectoryStatus]] = []
        for trajectory in self.trajectories:
            if not trajectory.begun:
                continue
            if trajectory.run.is_over:  # some of its joints continue, without tolerances
                status = TrajectoryStatus.RUNNING
                if time_ns >= trajectory.spline.end_ns:
                    status = TrajectoryStatus.SUCCEEDED
            else:
                status = trajectory.check(time_ns, self._motion)
            if status is not TrajectoryStatus.RUNNING:
                trajectory.run.end(status, trajectory.violation)
                ended.append((trajectory, status))
        if ended:
            gone = {id(t) for t, _ in ended}
            self.trajectories = [t for t in self.trajectories if id(t) not in gone]
        return ended

    def cancel(self, run: TrajectoryRun) -> Indices:
        """Remove a run; return the joints that it moved, as elements of q."""
        removed = [t for t in self.trajectories if t.run is run]
        self.trajectories = [t for t in self.trajectories if t.run is not run]
        run.cancel()
        return _joined([t.moves for t in removed if t.begun])

    def moved(self) -> Indices:
        """Return the joints that trajectories move now, as elements of q."""
        return _joined([t.moves for t in self.trajectories if t.begun])

    def abort(self, message: str) -> None:
        """Abort all trajectories."""
        for trajectory in self.trajectories:
            trajectory.run.end(TrajectoryStatus.ABORTED, message)
        self.trajectories = []

    def retime(self, before_ns: int, time_ns: int) -> None:
        """Continue at another clock time, in [ns]; remaining times do not change."""
        for trajectory in self.trajectories:
            trajectory.retime(before_ns, time_ns, self._motion)

    def save(self) -> dict[str, AnyArray]:
        """Return the state of each trajectory, as "NUMBER/..."; see ``check``."""
        return {
            f"{number}/{key}": array
            for number, trajectory in enumerate(self.trajectories)
            for key, array in trajectory_to_arrays(trajectory).items()
        }

    def check(self, arrays: Mapping[str, AnyArray]) -> list[ActiveTrajectory]:
        """Return saved trajectories, for ``restore``.

        Raises:
            PhysicsError: A value is invalid, or does not match this body.
        """
        count = len({key.partition("/")[0] for key in arrays})
        return [
            trajectory_from_arrays(
                {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)},
                self._names,
            )
            for start in (f"{number}/" for number in range(count))
        ]

    def restore(self, trajectories: Sequence[ActiveTrajectory]) -> None:
        """Continue saved trajectories; the present ones are aborted."""
        self.abort("the world was restored from a saved state")
        self.trajectories = list(trajectories)

    def _with_joints(self) -> list[ActiveTrajectory]:
        """Return those that still control a joint."""
        return [t for t in self.trajectories if t.active.any()]

    def _release(self, trajectory: ActiveTrajectory, joints: Indices) -> None:
        for joint in joints.tolist():
            if trajectory.release(joint):
                message = _TAKEN.format(self._names[joint])
                trajectory.run.end(TrajectoryStatus.PREEMPTED, message)


def _joined(joints: Sequence[Indices]) -> Indices:
    return np.concatenate([*joints, np.empty(0, dtype=np.intp)])
