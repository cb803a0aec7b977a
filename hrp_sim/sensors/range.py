"""Laser scanner that sees collision shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import floor, inf, isfinite

import numpy as np

from hrp_model import Pose
from hrp_model.rigid import Array, is_rotation

from ..state import WorldState

# (origins (n, 3), unit directions (n, 3), max_distance, ignored body) -> distances (n,), all in W.
CastRays = Callable[[Array, Array, float, str | None], Array]

MAX_RAYS = 100_000
_FARTHEST = 1e6  # [m], of a sensor from its link


@dataclass(frozen=True, slots=True, eq=False)
class ScanReading:
    """One planar scan, counter-clockwise, in the scan frame: x forward, y left, z up.

    Attributes:
        time_ns: Simulation time of the whole scan, in [ns].
        body: Name of the body that carries the sensor.
        angle_min: Of the first ray, in [rad]; 0 is forward.
        angle_increment: Between neighbouring rays, in [rad].
        scan_time: Time between scans, in [s].
        range_min: Nearest distance that can be measured, in [m].
        range_max: Farthest, in [m].
        ranges: Distances in [m], shape (n,): -inf below range_min, inf beyond range_max
            (REP 117), NaN where the physics could not tell.
    """

    time_ns: int
    body: str
    angle_min: float
    angle_increment: float
    scan_time: float
    range_min: float
    range_max: float
    ranges: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RangeSensor:
    """An ideal planar scanner whose frame S is fixed to a link L.

    S looks along -Z with +Y up and scans about +Y. The scan frame C has x forward, y left
    and z up: R_SC = rpy(-pi/2, pi/2, 0).

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it; its own shapes do not stop the rays.
        rate_hz: Scans per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        yaw_range: Total angle of the scan, in [rad].
        yaw_step: Between neighbouring rays, in [rad].
        min_distance, max_distance: In [m].
        cast_rays: Asks the physics.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    yaw_range: float
    yaw_step: float
    min_distance: float
    max_distance: float
    cast_rays: CastRays
    _directions_L: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_distance < self.max_distance < inf:
            raise ValueError(
                f"distances from {self.min_distance} to {self.max_distance} m cannot be measured"
            )
        if not (is_rotation(self.X_LS.R) and np.all(np.abs(self.X_LS.p) < _FARTHEST)):
            raise ValueError(
                "its pose on the link is not a rigid transform within a sensible reach"
            )
        half = _half_count(self.yaw_range, self.yaw_step)
        angles = self.yaw_step * np.arange(-half, half + 1)
        directions_S = np.stack([-np.sin(angles), np.zeros_like(angles), -np.cos(angles)], axis=1)
        object.__setattr__(self, "_directions_L", directions_S @ self.X_LS.R.T)

    def read(self, world: WorldState) -> ScanReading:
        """Cast all rays from S at once."""
        motion, i = world.bodies[self.body].motion, self.link
        directions = self._directions_L @ motion.R[i].T
        origin = motion.p[i] + motion.R[i] @ self.X_LS.p
        count = len(directions)
        origins = np.repeat(origin[np.newaxis], count, axis=0)
        ranges = np.array(self.cast_rays(origins, directions, self.max_distance, self.body))
        ranges[ranges > self.max_distance] = inf
        ranges[ranges < self.min_distance] = -inf
        return ScanReading(
            world.time_ns,
            self.body,
            angle_min=-(count // 2) * self.yaw_step,
            angle_increment=self.yaw_step,
            scan_time=1.0 / self.rate_hz,
            range_min=self.min_distance,
            range_max=self.max_distance,
            ranges=ranges,
        )


def _half_count(yaw_range: float, yaw_step: float) -> int:
    """Return how many multiples of the step lie in (0, range / 2], give or take rounding."""
    if not (isfinite(yaw_range) and yaw_range >= 0.0 and isfinite(yaw_step) and yaw_step > 0.0):
        raise ValueError(f"a scan of {yaw_range} rad in steps of {yaw_step} rad is impossible")
    half = floor(yaw_range / 2.0 / yaw_step + 1e-9)
    if 2 * half + 1 > MAX_RAYS:
        raise ValueError(f"a scan of {2 * half + 1} rays is too fine; {MAX_RAYS} are the most")
    return half
