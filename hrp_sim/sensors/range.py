"""Planar and multi-layer laser scanners, which detect collision shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf, nan

import numpy as np

from hrp_model import devices
from hrp_model.devices import pitch_angles, yaw_increment
from hrp_model.rigid import Array

from ..engine.state import WorldState
from .context import SensorContext
from .scanner import Scanner


@dataclass(frozen=True, slots=True, eq=False)
class ScanReading:
    """One planar scan, counter-clockwise, in the scan frame: x forward, y left, z up.

    Attributes:
        time_ns: Simulation time of the first ray, in [ns].
        body: Name of the body that carries the sensor.
        angle_min: Of the first ray, in [rad]; 0 is forward.
        angle_increment: Between neighbouring rays, in [rad]; positive even for a single ray.
        scan_time: Time between scans, in [s].
        range_min: Minimum measurable distance, in [m].
        range_max: Maximum measurable distance, in [m].
        ranges: Distances in [m], shape (n,): -inf below range_min, inf beyond range_max
            (REP 117) and without a return, or range_max instead as an option; NaN where ray
            casting failed.
        time_increment: Time between neighbouring rays, in [s]; 0 for all at once.
    """

    time_ns: int
    body: str
    angle_min: float
    angle_increment: float
    scan_time: float
    range_min: float
    range_max: float
    ranges: Array
    time_increment: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class RangeImageReading:
    """One multi-layer scan, in the scan frame: x forward, y left, z up.

    Rows are layers, the lowest first; columns go counter-clockwise.

    Attributes:
        time_ns: Simulation time of the first column, in [ns].
        body: Name of the body that carries the sensor.
        scan_time: Time between scans, in [s].
        range_min: Minimum measurable distance, in [m].
        range_max: Maximum measurable distance, in [m].
        ranges: Distances in [m], shape (rows, columns), as in ``ScanReading``.
        directions: Unit vectors of the rays, shape (rows, columns, 3).
        time_increment: Time between neighbouring columns, in [s]; 0 for all at once.
    """

    time_ns: int
    body: str
    scan_time: float
    range_min: float
    range_max: float
    ranges: Array
    directions: Array
    time_increment: float = 0.0

    @property
    def points(self) -> Array:
        """End points of the rays, in [m], shape (rows, columns, 3); NaN where no range is finite.

        In a spread scan each column is relative to the pose of the sensor at its own time.
        """
        seen = np.where(np.isfinite(self.ranges), self.ranges, nan)
        return seen[..., np.newaxis] * self.directions


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSensor(Scanner):
    """A planar laser scanner; there may be only one ray."""

    def read(self, world: WorldState) -> ScanReading | None:
        """Cast all rays from S at once, or finish a spread scan and start the next.

        Returns:
            None only for spread scans: the scan is not finished, or a step of it was missed.
        """
        scan = self._scan(world)
        if scan is None:
            return None
        time_ns, ranges = scan
        return ScanReading(
            time_ns,
            self.body,
            angle_min=self._angle_min,
            angle_increment=yaw_increment(self.yaw_step),
            scan_time=1.0 / self.rate_hz,
            range_min=self.min_distance,
            range_max=self.max_distance,
            ranges=ranges[0],
            time_increment=self.time_increment,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSensor3D(Scanner):
    """A multi-layer laser scanner.

    Attributes:
        pitch_range: Total vertical angle of the layers, in [rad].
        pitch_step: Between neighbouring layers, in [rad].
        pitch_min: Of the lowest layer, in [rad]; None means half the range below the middle.
    """

    pitch_range: float
    pitch_step: float
    pitch_min: float | None = None

    def read(self, world: WorldState) -> RangeImageReading | None:
        """Cast all rays from S at once, or finish a spread scan and start the next.

        Returns:
            None only for spread scans: the scan is not finished, or a step of it was missed.
        """
        scan = self._scan(world)
        if scan is None:
            return None
        time_ns, ranges = scan
        return RangeImageReading(
            time_ns,
            self.body,
            scan_time=1.0 / self.rate_hz,
            range_min=self.min_distance,
            range_max=self.max_distance,
            ranges=ranges,
            directions=self._directions_C,
            time_increment=self.time_increment,
        )

    def _pitch(self) -> Array:
        return pitch_angles(self.pitch_range, self.pitch_step, self.pitch_min)


def make_range_sensor(
    device: devices.RangeSensor, context: SensorContext
) -> RangeSensor | RangeSensor3D:
    """Return the sensor of a laser scanner, planar or multi-layer.

    Raises:
        ValueError: Its properties are invalid, or all range sensors have too many rays.
    """
    settings = context.settings(device.name)
    make: Callable[..., RangeSensor | RangeSensor3D] = RangeSensor
    if not device.is_planar:
        make = partial(
            RangeSensor3D,
            pitch_range=device.pitch_range,
            pitch_step=device.pitch_step,
            pitch_min=device.pitch_min,
        )
    sensor = make(
        **context.mounted(device, device.scan_rate),
        yaw_range=device.yaw_range,
        yaw_step=device.yaw_step,
        yaw_min=device.yaw_min,
        min_distance=device.min_distance,
        max_distance=device.max_distance,
        cast_rays=context.cast_rays,
        sees_own_body=settings.own_body == "seen",
        no_return=device.max_distance if settings.no_return == "max" else inf,
        distance_noise=context.distance_noise(device),
        spread=settings.spread_scan,
        step_ns=context.step_ns,
    )
    context.rays.take(sensor.ray_count)
    return sensor
