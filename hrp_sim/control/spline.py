"""Curves through the points of a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..schedule import NS_PER_S
from ..trajectory import TrajectoryPoint

# Rows of a point, and columns of what it gives besides its positions.
POSITION, VELOCITY, ACCELERATION, EFFORT = range(4)
_GIVEN_KINDS = ("velocities", "accelerations", "effort")


@dataclass(frozen=True, slots=True, eq=False)
class Spline:
    """Points at given times, and what is between them: see ``JointTrajectory``.

    Attributes:
        times_ns: In [ns], increasing, shape (points,).
        points: Position, velocity, acceleration and effort of each joint, in [rad] or [m] and
            [N m] or [N], shape (points, 4, joints); zero where they are not given.
        given: Whether velocity, acceleration and effort are, shape (points, 3).
    """

    times_ns: NDArray[np.int64]
    points: Array
    given: NDArray[np.bool_]

    @classmethod
    def through(cls, points: Sequence[TrajectoryPoint], start_ns: int, joints: int) -> Spline:
        """Return the curve through points that were checked, from a start in [ns]."""
        times = [start_ns + p.time_from_start_ns for p in points]
        values = np.zeros((len(points), 4, joints))
        given = np.zeros((len(points), 3), dtype=np.bool_)
        for k, point in enumerate(points):
            values[k, POSITION] = point.positions
            for column, kind in enumerate(_GIVEN_KINDS):
                if len(column_values := getattr(point, kind)):
                    values[k, 1 + column] = column_values
                    given[k, column] = True
        return cls(np.array(times, dtype=np.int64), values, given)

    @property
    def end_ns(self) -> int:
        """When the last point is passed, in [ns]."""
        return int(self.times_ns[-1])

    def from_state(self, time_ns: int, state: Array) -> Spline:
        """Return the curve from a state to the points that are still to come.

        Where a point is due at this very time, or none is left, it begins there instead.

        Args:
            time_ns: When it begins, in [ns].
            state: Position, velocity, acceleration and effort, shape (4, joints).
        """
        first = min(int(np.searchsorted(self.times_ns, time_ns)), len(self.times_ns) - 1)
        times, points, given = self.times_ns[first:], self.points[first:], self.given[first:]
        if times[0] <= time_ns:
            return Spline(times, points, given)
        return Spline(
            np.concatenate([[time_ns], times]),
            np.concatenate([state[None], points]),
            np.concatenate([np.ones((1, 3), dtype=np.bool_), given]),
        )

    def moved(self, offset: Array) -> Spline:
        """Return the same curve with positions that are so much greater, shape (joints,)."""
        points = self.points.copy()
        points[:, POSITION] += offset
        return Spline(self.times_ns, points, self.given)

    def index(self, time_ns: int) -> int:
        """Return the first point that is still to come; the last one if none is."""
        after = int(np.searchsorted(self.times_ns, time_ns, side="right"))
        return min(after, len(self.times_ns) - 1)

    def at(self, time_ns: int) -> Array:
        """Return position, velocity, acceleration and effort at a time, shape (4, joints).

        Before the first point it is there; after the last one it stands there.
        """
        b = int(np.searchsorted(self.times_ns, time_ns, side="right"))
        if b == 0 or b == len(self.times_ns):
            end: Array = self.points[min(b, len(self.times_ns) - 1)].copy()
            end[VELOCITY] = end[ACCELERATION] = 0.0
            return end
        a = b - 1
        from_ns, to_ns = int(self.times_ns[a]), int(self.times_ns[b])
        span = (to_ns - from_ns) / NS_PER_S
        share = (time_ns - from_ns) / (to_ns - from_ns)
        has_velocity, has_acceleration, has_effort = (self.given[a] & self.given[b]).tolist()
        start, goal = self.points[a], self.points[b]
        state: Array = np.zeros_like(start)
        if has_velocity:
            # Over the share of the way, so that numbers stay tame in the shortest of spans.
            scale = np.array([1.0, span, span * span])[:, None]
            ends = scale * start[:EFFORT], scale * goal[:EFFORT]
            curve = _quintic if has_acceleration else _cubic
            state[:EFFORT] = curve(*ends, share) / scale
        else:
            way = goal[POSITION] - start[POSITION]
            state[POSITION] = start[POSITION] + share * way
            state[VELOCITY] = way / span
        if has_effort:
            state[EFFORT] = start[EFFORT] + share * (goal[EFFORT] - start[EFFORT])
        return state


def _cubic(start: Array, end: Array, s: float) -> Array:
    """Return the curve of third order between two states and its derivatives at s, from 0 to 1."""
    p0, v0, way = start[0], start[1], end[0] - start[0]
    c2 = 3.0 * way - 2.0 * v0 - end[1]
    c3 = v0 + end[1] - 2.0 * way
    return np.array(
        [
            p0 + s * (v0 + s * (c2 + s * c3)),
            v0 + s * (2.0 * c2 + s * 3.0 * c3),
            2.0 * c2 + s * 6.0 * c3,
        ]
    )


def _quintic(start: Array, end: Array, s: float) -> Array:
    """Return the curve of fifth order between two states and its derivatives at s, from 0 to 1."""
    p0, v0, half = start[0], start[1], 0.5 * start[2]
    # What is missing at the end, if the start went on as it is.
    way = end[0] - p0 - v0 - half
    speed = end[1] - v0 - 2.0 * half
    bend = end[2] - 2.0 * half
    c3 = 10.0 * way - 4.0 * speed + 0.5 * bend
    c4 = -15.0 * way + 7.0 * speed - bend
    c5 = 6.0 * way - 3.0 * speed + 0.5 * bend
    return np.array(
        [
            p0 + s * (v0 + s * (half + s * (c3 + s * (c4 + s * c5)))),
            v0 + s * (2.0 * half + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5))),
            2.0 * half + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5)),
        ]
    )
