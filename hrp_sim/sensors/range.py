"""Planar and multi-layer laser scanners, which detect collision shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

from hrp_model import devices
from hrp_model.devices import pitch_angles, yaw_increment
from hrp_model.rigid import Array
from hrp_msgs.readings import RangeImageReading, ScanReading

from ..engine.state import WorldState
from .context import SensorContext
from .scanner import Scanner


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
