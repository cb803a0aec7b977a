"""Simulation time to rosgraph_msgs/Clock."""

from __future__ import annotations

from ..messages import Clock
from .basic import stamp


def clock(time_ns: int) -> Clock:
    """Return a Clock with this simulation time, in [ns]."""
    return Clock(clock=stamp(time_ns))
