"""Distances to sensor_msgs/LaserScan."""

from __future__ import annotations

from array import array

import numpy as np
from sensor_msgs.msg import LaserScan

from .basic import Array, header


def laser_scan(
    time_ns: int,
    frame_id: str,
    ranges: Array,
    *,
    angle_min: float,
    angle_increment: float,
    scan_time: float,
    range_min: float,
    range_max: float,
) -> LaserScan:
    """Return a LaserScan of which all rays were cast at the same time.

    ``angle_max`` is angle_min + (n - 1) * angle_increment.

    Args:
        time_ns: Simulation time of the scan, in [ns].
        frame_id: Name of the scan frame: x forward, y left, z up.
        ranges: Counter-clockwise, in [m], shape (n,): -inf below range_min, inf beyond
            range_max, NaN for errors (REP 117).
        angle_min: Of the first ray about z, from x, in [rad].
        angle_increment: Between rays, in [rad].
        scan_time: Between scans, in [s].
        range_min: Nearest distance that can be measured, in [m].
        range_max: Farthest, in [m].
    """
    return LaserScan(
        header=header(time_ns, frame_id),
        angle_min=angle_min,
        angle_max=angle_min + (len(ranges) - 1) * angle_increment,
        angle_increment=angle_increment,
        time_increment=0.0,
        scan_time=scan_time,
        range_min=range_min,
        range_max=range_max,
        ranges=array("f", np.asarray(ranges, dtype=np.float32).tobytes()),
    )
