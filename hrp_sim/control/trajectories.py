"""The trajectories that one body follows, and those that it will."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from hrp_model import Body
from hrp_model.rigid import Array

from ..physics.engine import AnyArray
from ..physics.state import BodyMotion
from .runs import Following, Indices, TrajectoryRun, TrajectoryStatus, endless_joints
from .saved_runs import restored_following, saved_following
from .spline import ACCELERATION, Spline
from .trajectory import BadTrajectoryError

# Of one body, at once; more come only from a sender who means another clock.
MOST_TRAJECTORIES = 100
_TAKEN = "another command took joint '{}'"


class Trajectories:
    """Runs of one body. What is commanded last takes its joints from whatever moved them.

    Args:
        body: The model.
        motion: Where its joints are.
    """

    def __init__(self, body: Body, motion: BodyMotion) -> None:
        self._body = body
        self._motion = motion
        self._index = {x.joint.name: i for i, x in enumerate(body.moving_links)}
        self._endless = endless_joints(body)
        self._all: list[Following] = []

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, run: TrajectoryRun, time_ns: int) -> None:
        """Take one that was checked and has points; it takes its joints when it starts.

        Raises:
            BadTrajectoryError: Too many are waiting.
        """
        if len(self._all) >= MOST_TRAJECTORIES:
            message = f"{len(self._all)} other trajectories run or wait for their start"
            raise BadTrajectoryError("many", message)
        trajectory = run.trajectory
        start_ns = trajectory.start_ns or time_ns
        joints = np.array([self._index[name] for name in trajectory.names], dtype=np.intp)
        spline = Spline.through(trajectory.table, start_ns)
        new = Following(run, spline, joints, start_ns)
        for other in self._all:
            if not other.begun and other.start_ns >= start_ns:  # it would only have come later
                self._release(other, joints)
        self._all = [*self._still_active(), new]

    def begin_due(self, time_ns: int, aimed_at: Callable[[], Array]) -> Indices:
        """Begin what is due; return the joints that it takes, as elements of q.

        Args:
            time_ns: In [ns].
            aimed_at: Returns position, velocity, acceleration and effort of all joints, shape
                (4, joints of the body).
        """
        taken: list[Indices] = []
        for new in [f for f in self._all if not f.begun and f.start_ns <= time_ns]:
            before = aimed_at()
            for other in self._all:
                if other.begun:
                    mine = other.active
                    before[ACCELERATION, other.moves] = other.desired[ACCELERATION, mine]
                    self._release(other, new.moves)
            new.begin(time_ns, before[:, new.joints], self._endless[new.joints])
            taken.append(new.moves)
        if taken:
            self._all = self._still_active()
        return np.concatenate([*taken, np.empty(0, dtype=np.intp)])

    def release(self, joints: Iterable[int]) -> None:
        """Give joints away, also those of trajectories that have not begun."""
        wanted = np.fromiter(joints, dtype=np.intp)
        for following in self._all:
            self._release(following, wanted)
        self._all = self._still_active()

    def advance(self, time_ns: int, reach: Array) -> Iterator[tuple[Indices, Array]]:
        """Yield what trajectories ask for at the end of a step, at ``time_ns`` in [ns].

        Args:
            time_ns: In [ns].
            reach: How far joints may catch up in a step, shape (joints,).

        Yields:
            Elements of q, and their positions, velocities, accelerations and efforts, shape
            (4, elements).
        """
        for following in self._all:
            if following.begun:
                yield following.moves, following.advance(time_ns, reach)

    def judge(self, time_ns: int) -> list[tuple[Following, TrajectoryStatus]]:
        """Look at all that move after a step; return those that have ended, and forget them."""
        ended: list[tuple[Following, TrajectoryStatus]] = []
        for following in self._all:
            if not following.begun:
                continue
            if following.run.is_over:  # only some of its joints go on; nobody asks how
                status = TrajectoryStatus.RUNNING
                if time_ns >= following.spline.end_ns:
                    status = TrajectoryStatus.SUCCEEDED
            else:
                status = following.judge(time_ns, self._motion)
            if status is not TrajectoryStatus.RUNNING:
                following.run.end(status, following.violation)
                ended.append((following, status))
        if ended:
            gone = {id(f) for f, _ in ended}
            self._all = [f for f in self._all if id(f) not in gone]
        return ended

    def cancel(self, run: TrajectoryRun) -> Indices:
        """Forget a run; return the joints that it moved, as elements of q."""
        found = [f for f in self._all if f.run is run]
        self._all = [f for f in self._all if f.run is not run]
        run.cancel()
        return np.concatenate([*(f.moves for f in found if f.begun), np.empty(0, dtype=np.intp)])

    def moved(self) -> Indices:
        """Return the joints that trajectories move now, as elements of q."""
        return np.concatenate(
            [*(f.moves for f in self._all if f.begun), np.empty(0, dtype=np.intp)]
        )

    def abort(self, words: str) -> None:
        """Forget all."""
        for following in self._all:
            following.run.end(TrajectoryStatus.ABORTED, words)
        self._all = []

    def retime(self, before_ns: int, time_ns: int) -> None:
        """Go on at another time, in [ns]; all end as long after it as they would have."""
        for following in self._all:
            following.retime(before_ns, time_ns, self._motion)

    def save(self) -> dict[str, AnyArray]:
        """Return what ``restored`` needs: of each run, as "NUMBER/...", what it still does."""
        return {
            f"{number}/{key}": array
            for number, following in enumerate(self._all)
            for key, array in saved_following(following).items()
        }

    def check(self, arrays: Mapping[str, AnyArray]) -> list[Following]:
        """Return what was saved, for ``restore``.

        Raises:
            PhysicsError: It makes no sense, or not for this body.
        """
        numbers = {key.partition("/")[0] for key in arrays}
        names = list(self._index)
        found = []
        for number in range(len(numbers)):
            begins = f"{number}/"
            own = {k.removeprefix(begins): a for k, a in arrays.items() if k.startswith(begins)}
            found.append(restored_following(own, names))
        return found

    def restore(self, followings: list[Following]) -> None:
        """Go on with what was saved; whoever looked after the present ones is told."""
        self.abort("the world went back to a saved state")
        self._all = list(followings)

    def _still_active(self) -> list[Following]:
        """Return those to which a joint is left."""
        return [f for f in self._all if f.active.any()]

    def _release(self, following: Following, joints: Indices) -> None:
        for joint in joints.tolist():
            if following.release(joint):
                name = self._body.moving_links[joint].joint.name
                following.run.end(TrajectoryStatus.PREEMPTED, _TAKEN.format(name))
