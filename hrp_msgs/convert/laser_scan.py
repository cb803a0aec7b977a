"""Distances to sensor_msgs/LaserScan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..messages import Header, LaserScan
from .basic import Array
from .cdr import Template
from .converter import Frames, Reading
from .fields import FieldConverter


class ScanReading(Reading, Protocol):
    """One planar scan, in a frame with x forward, y left, z up; stamped at its first ray."""

    @property
    def ranges(self) -> Array:
        """Distances counter-clockwise, in [m], shape (n,).

        -inf below ``range_min``, inf above ``range_max``, NaN for errors (REP 117).
        """

    @property
    def angle_min(self) -> float:
        """Angle of the first ray about z, from x, in [rad]."""

    @property
    def angle_increment(self) -> float:
        """Angle between rays, in [rad]."""

    @property
    def time_increment(self) -> float:
        """Time between rays, in [s]; 0 if all are measured at the same time."""

    @property
    def scan_time(self) -> float:
        """Time between scans, in [s]."""

    @property
    def range_min(self) -> float:
        """Minimum measurable distance, in [m]."""

    @property
    def range_max(self) -> float:
        """Maximum measurable distance, in [m]."""


class LaserScanConverter(FieldConverter[ScanReading]):
    """Converts the scans of one planar range sensor."""

    message_type = LaserScan

    def __init__(self, frames: Frames) -> None:
        super().__init__(_geometry)
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: ScanReading) -> tuple[Template, Mapping[str, str]]:
        return Template(self._message(reading)), {"ranges": "ranges"}

    def _message(self, r: ScanReading) -> LaserScan:
        return LaserScan(
            header=self._header,
            angle_min=r.angle_min,
            angle_max=r.angle_min + (len(r.ranges) - 1) * r.angle_increment,
            angle_increment=r.angle_increment,
            time_increment=r.time_increment,
            scan_time=r.scan_time,
            range_min=r.range_min,
            range_max=r.range_max,
            ranges=[0.0] * len(r.ranges),
        )


def _geometry(r: ScanReading) -> tuple[float, ...]:
    angles = len(r.ranges), r.angle_min, r.angle_increment
    return *angles, r.time_increment, r.scan_time, r.range_min, r.range_max
