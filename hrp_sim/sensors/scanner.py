"""Ray casting of a range sensor, all at once or spread over time, with its noise and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

import numpy as np

from hrp_model import Pose
from hrp_model.devices import MAX_RAYS, yaw_angles
from hrp_model.rigid import Array

from ..engine.articulation.numeric_limits import MAX_RANGE
from ..engine.state import WorldState
from .base import AnyArray, check_mounting
from .distance_noise import NO_DISTANCE_NOISE, DistanceNoise
from .sweep import Sweep

# Minimum rate, in [Hz], so that the period fits well into the float32 of messages.
_MIN_RATE = 1e-30


class CastRays(Protocol):
    """``Engine.cast_rays``."""

    def __call__(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: str | None = None,
        ignored_link: int | None = None,
        /,
    ) -> Array:
        """Return distances, shape (n,)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Scanner:
    """A range sensor whose frame S is fixed to a link L.

    S looks along -Z with +Y up, and scans about +Y. The scan frame C has x forward, y left
    and z up: R_SC = rpy(-pi/2, pi/2, 0). Rays stop at collision shapes, except those of L,
    inside of which they may start.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Scans per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        yaw_range: Total angle of the scan, in [rad].
        yaw_step: Between neighbouring rays, in [rad]; not used if the range is 0.
        yaw_min: Of the first ray, in [rad]; None means that a ray points ahead.
        min_distance, max_distance: Range of measurable distances, in [m].
        cast_rays: Of the engine.
        sees_own_body: Whether links of ``body`` other than L stop rays.
        no_return: Reading of rays without a return, in [m]: infinity or the maximum distance.
        distance_noise: Errors of distances, and missed rays.
        spread: Whether a scan is spread over its period, one column of rays after the other.
            ``observe`` must then be called after every step.
        step_ns: Time step of the physics, in [ns]; used by spread scans only.

    Raises:
        ValueError: An attribute is out of range.
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
    yaw_min: float | None = None
    sees_own_body: bool = False
    no_return: float = inf
    distance_noise: DistanceNoise = NO_DISTANCE_NOISE
    spread: bool = False
    step_ns: int = 1_000_000
    _angle_min: float = field(init=False, repr=False)
    _directions_C: Array = field(init=False, repr=False)
    _directions_L: Array = field(init=False, repr=False)
    _ignored: tuple[str] | tuple[str, int] = field(init=False, repr=False)
    _sweep: Sweep | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_distance < self.max_distance <= MAX_RANGE:
            raise ValueError(
                f"its range from {self.min_distance} to {self.max_distance} m is invalid"
            )
        if not self.rate_hz >= _MIN_RATE:
            raise ValueError(f"its rate must be at least {_MIN_RATE:g} Hz, not {self.rate_hz} Hz")
        check_mounting(self.X_LS)
        yaw = yaw_angles(self.yaw_range, self.yaw_step, self.yaw_min)
        directions_C = _directions(self._pitch(), yaw)
        rows, columns = directions_C.shape[:2]
        directions_S = directions_C[..., [1, 2, 0]] * (-1.0, 1.0, -1.0)
        ignored = (self.body, self.link) if self.sees_own_body else (self.body,)
        sweep = Sweep(rows, columns, self.rate_hz, self.step_ns) if self.spread else None
        object.__setattr__(self, "_angle_min", float(yaw[0]))
        object.__setattr__(self, "_directions_C", directions_C)
        object.__setattr__(self, "_directions_L", directions_S @ self.X_LS.R.T)
        object.__setattr__(self, "_ignored", ignored)
        object.__setattr__(self, "_sweep", sweep)

    @property
    def ray_count(self) -> int:
        """Number of rays of a scan."""
        return self._directions_C.size // 3

    @property
    def time_increment(self) -> float:
        """Time between neighbouring columns of rays, in [s]."""
        return 1.0 / self.rate_hz / self._directions_C.shape[1] if self.spread else 0.0

    @property
    def observes(self) -> bool:
        """Whether its scans are spread over time."""
        return self.spread

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The current spread scan; empty if scans are not spread."""
        return {} if self._sweep is None else self._sweep.memory

    def reset(self) -> None:
        """Discard the current scan."""
        if self._sweep is not None:
            self._sweep.stop()

    def observe(self, world: WorldState) -> None:
        """Cast the rays of a spread scan that are due."""
        if self._sweep is not None:
            self._advance(self._sweep, world, self._sweep.due(world.time_ns))

    def _scan(self, world: WorldState) -> tuple[int, Array] | None:
        """Return the start time of a scan, in [ns], and its ranges, shape (layers, columns).

        A spread scan is finished now, and the next one started. None means that it is not
        finished yet, or that a step of it was missed.
        """
        if self._sweep is None:
            ranges = self._measured(self._cast(world, slice(None)), world.time_ns)
            return world.time_ns, ranges
        return self._next_scan(self._sweep, world)

    def _next_scan(self, sweep: Sweep, world: WorldState) -> tuple[int, Array] | None:
        now = world.time_ns
        self._advance(sweep, world, sweep.due(now))
        done = None
        if sweep.is_running:
            if not sweep.is_over(now):
                return None
            self._advance(sweep, world, sweep.rest)
            done = sweep.start_ns, self._measured(sweep.distances.copy(), sweep.start_ns)
        sweep.start(now)
        self._advance(sweep, world, sweep.due(now))
        return done

    def _advance(self, sweep: Sweep, world: WorldState, columns: slice) -> None:
        if columns.stop > columns.start:
            sweep.add(columns, self._cast(world, columns))

    def _pitch(self) -> Array:
        """Return the elevations of the layers in ascending order, in [rad], shape (layers,)."""
        return np.zeros(1)

    def _cast(self, world: WorldState, columns: slice) -> Array:
        """Return the true distances along some columns of rays, shape (layers, columns)."""
        motion, i = world.bodies[self.body].motion, self.link
        directions_L = self._directions_L[:, columns]
        directions = directions_L.reshape(-1, 3) @ motion.R[i].T
        origin = motion.p[i] + motion.R[i] @ self.X_LS.p
        origins = np.repeat(origin[np.newaxis], len(directions), axis=0)
        reach = self.max_distance + self.distance_noise.reach
        distances = self.cast_rays(origins, directions, reach, *self._ignored)
        return np.array(distances).reshape(directions_L.shape[:2])

    def _measured(self, distances: Array, time_ns: int) -> Array:
        """Add measurement errors and limits to true distances, in place."""
        ranges = distances
        if (errors := self.distance_noise.errors(time_ns, ranges.shape)) is not None:
            ranges += errors
        ranges[ranges > self.max_distance] = self.no_return
        ranges[ranges < self.min_distance] = -inf
        if (missed := self.distance_noise.missed(time_ns, ranges.shape)) is not None:
            ranges[missed] = self.no_return
        return ranges


def _directions(pitch: Array, yaw: Array) -> Array:
    """Return unit vectors in C for all pairs of angles, shape (layers, columns, 3).

    As in Choreonoid, a ray is first rotated up by the pitch, then about the vertical by the yaw:
    they are elevation and azimuth.
    """
    if len(pitch) * len(yaw) > MAX_RAYS:
        count = len(pitch) * len(yaw)
        raise ValueError(f"its scan must have at most {MAX_RAYS} rays, not {count}")
    level, up = np.cos(pitch)[:, np.newaxis], np.sin(pitch)[:, np.newaxis]
    forward, left = level * np.cos(yaw), level * np.sin(yaw)
    return np.stack([forward, left, np.broadcast_to(up, forward.shape)], axis=2)
