"""The trajectories of one body: the active ones, and those that wait for their start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from hrp_model import Body
from hrp_model.rigid import Array

from ..engine.engine import AnyArray
from ..engine.state import BodyMotion
from .active_trajectory import (
    ActiveTrajectory,
    Indices,
    trajectory_from_arrays,
    trajectory_to_arrays,
)
from .spline import ACCELERATION, Spline
from .trajectory import BadTrajectoryError, TrajectoryRun, TrajectoryStatus

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
