"""A motion: joint positions of a body over time, and the poses of its root where known."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from hrp_model import Body, Pose
from hrp_model.body import Link
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, quaternion_matrix


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint positions of one body over time.

    Attributes:
        times: Increasing, in [s], shape (n,), n > 0.
        q: Joint positions by joint id, in [rad] or [m], shape (n, joints); NaN for a joint that
            the motion does not move.
        root_positions: p_WL of the root link, in [m], shape (n, 3); None if not given.
        root_quaternions: Of the root link in W, (x, y, z, w), unit, shape (n, 4), neighbours in
            one half-space; None if not given.
    """

    times: Array
    q: Array
    root_positions: Array | None = None
    root_quaternions: Array | None = None

    @property
    def duration(self) -> float:
        """Time of the last posture, in [s]."""
        return float(self.times[-1])

    def at(self, t: float) -> Array:
        """Return the joint positions at a time, linear between postures and held at both ends.

        Args:
            t: In [s].

        Returns:
            By joint id, in [rad] or [m], shape (joints,); a copy.
        """
        return self.between(self.q, t)

    def between(self, rows: Array, t: float) -> Array:
        """Return what ``at`` returns for other values that belong to ``times``, shape (n, m)."""
        i, ratio = self._place(t)
        return _between(rows, i, ratio)

    def root_at(self, t: float) -> Pose | None:
        """Return X_WL of the root link at a time, or None if the motion does not give it."""
        if self.root_positions is None or self.root_quaternions is None:
            return None
        i, ratio = self._place(t)
        # Between neighbouring postures a normalized linear interpolation is as good as slerp.
        quaternion = _between(self.root_quaternions, i, ratio)
        return Pose(quaternion_matrix(quaternion), _between(self.root_positions, i, ratio))

    def for_body(self, body: Body) -> Array:
        """Return ``q`` with a column for each joint of ``body.moving_links``.

        Returns:
            In [rad] or [m], shape (n, moving joints); NaN for joints that the motion lacks.
        """
        columns = {link.name: i for i, link in enumerate(joints_by_column(body)) if link}
        q = np.full((len(self.times), len(body.moving_links)), np.nan)
        for i, link in enumerate(body.moving_links):
            if columns[link.name] < self.q.shape[1]:
                q[:, i] = self.q[:, columns[link.name]]
        return q

    def _place(self, t: float) -> tuple[int, float]:
        """Return the index of the last posture at or before a time, and the part of the way on."""
        i = bisect_right(self.times, t) - 1
        if i < 0:
            return 0, 0.0
        if i >= len(self.times) - 1:
            return len(self.times) - 1, 0.0
        return i, float((t - self.times[i]) / (self.times[i + 1] - self.times[i]))


def joints_by_column(body: Body) -> tuple[Link | None, ...]:
    """Return the links in the order in which Choreonoid lists joint positions.

    That is by joint id, with None for an id that no link has; then the movable links without id.
    """
    return (*body.joints, *(link for link in body.moving_links if link not in body.joints))


def continuous_quaternions(quaternions: Array) -> Array:
    """Return unit quaternions, shape (n, 4), whose signs make neighbours lie in one half-space."""
    unit: Array = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    turns = np.sum(unit[1:] * unit[:-1], axis=1) < 0.0
    signs = np.where(np.cumsum(turns) % 2 == 1, -1.0, 1.0)
    unit[1:] *= signs[:, None]
    return unit


def _between(values: Array, i: int, ratio: float) -> Array:
    if ratio == 0.0:
        held: Array = values[i].copy()
        return held
    between: Array = values[i] + ratio * (values[i + 1] - values[i])
    return between
