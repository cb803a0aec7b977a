"""Distances to sensor_msgs/LaserScan."""

from __future__ import annotations

from array import array
from typing import Protocol

import numpy as np

from ..messages import LaserScan
from .basic import Array, set_stamp
from .converter import Frames, Reading


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


class LaserScanConverter:
    """Converts the scans of one planar range sensor."""

    message_type = LaserScan

    def __init__(self, frames: Frames) -> None:
        self._msg = LaserScan()
        self._msg.header.frame_id = frames.data

    def convert(self, reading: ScanReading) -> LaserScan:
        """Return the message of a scan; valid until the next call."""
        msg, r = self._msg, reading
        set_stamp(msg.header.stamp, r.time_ns)
        msg.angle_min, msg.angle_increment = r.angle_min, r.angle_increment
        msg.angle_max = r.angle_min + (len(r.ranges) - 1) * r.angle_increment
        msg.time_increment, msg.scan_time = r.time_increment, r.scan_time
        msg.range_min, msg.range_max = r.range_min, r.range_max
        if len(msg.ranges) != len(r.ranges):
            msg.ranges = array("f", bytes(4 * len(r.ranges)))
        # Assigning a numpy array checks every number; filling the buffer does not.
        np.frombuffer(msg.ranges, np.float32)[:] = r.ranges
        return msg
