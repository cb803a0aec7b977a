"""Distances to sensor_msgs/LaserScan."""

from __future__ import annotations

from array import array

import numpy as np
from sensor_msgs.msg import LaserScan

from .basic import Array, set_header


def laser_scan(
    time_ns: int,
    frame_id: str,
    ranges: Array,
    *,
    angle_min: float,
    angle_increment: float,
    time_increment: float,
    scan_time: float,
    range_min: float,
    range_max: float,
    into: LaserScan | None = None,
) -> LaserScan:
    """Return a LaserScan; ``angle_max`` is angle_min + (n - 1) * angle_increment.

    Args:
        time_ns: Simulation time of the first ray, in [ns].
        frame_id: Name of the scan frame: x forward, y left, z up.
        ranges: Counter-clockwise, in [m], shape (n,): -inf below range_min, inf beyond
            range_max, NaN for errors (REP 117).
        angle_min: Of the first ray about z, from x, in [rad].
        angle_increment: Between rays, in [rad].
        time_increment: Between rays, in [s]; 0 if all were cast at the same time.
        scan_time: Between scans, in [s].
        range_min: Nearest distance that can be measured, in [m].
        range_max: Farthest, in [m].
        into: An earlier message of any sensor, filled again instead of making one.
    """
    msg = LaserScan() if into is None else into
    set_header(msg.header, time_ns, frame_id)
    msg.angle_min, msg.angle_increment = angle_min, angle_increment
    msg.angle_max = angle_min + (len(ranges) - 1) * angle_increment
    msg.time_increment, msg.scan_time = time_increment, scan_time
    msg.range_min, msg.range_max = range_min, range_max
    if len(msg.ranges) != len(ranges):
        msg.ranges = array("f", bytes(4 * len(ranges)))
    # Assigning numpy checks every number; the memory that is there takes them at once.
    np.frombuffer(msg.ranges, np.float32)[:] = ranges
    return msg
