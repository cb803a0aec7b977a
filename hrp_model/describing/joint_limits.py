"""Limits of joints under the names that ROS packages know them by."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from ..body import Body, Range
from ..frames import BodyFrames

PREFIX = "joint_limits"


def joint_limit_parameters(body: Body, names: BodyFrames) -> Mapping[str, bool | float]:
    """Return the limits of all moving joints as joint_limits and MoveIt call them.

    By parameter name: ``joint_limits.<joint>.has_position_limits`` and, if so,
    ``min_position`` and ``max_position`` in [rad] or [m], of which one may be infinite;
    likewise ``has_velocity_limits`` and ``max_velocity`` in [rad/s] or [m/s], and
    ``has_effort_limits`` and ``max_effort`` in [N m] or [N]. These two are the largest
    magnitude that the model allows in either direction. Inverted limits are swapped. A joint
    between the root and the world, which a URDF leaves out, is left out.
    """
    values: dict[str, bool | float] = {}
    for link in body.moving_links:
        if link.name not in names.joints:
            continue
        joint = link.joint
        start = f"{PREFIX}.{names.joints[link.name]}"
        lower, upper = sorted(map(float, joint.position))
        bounded = isfinite(lower) or isfinite(upper)
        values[f"{start}.has_position_limits"] = bounded
        if bounded:
            values[f"{start}.min_position"] = lower
            values[f"{start}.max_position"] = upper
        for kind, limits in (("velocity", joint.velocity), ("effort", joint.effort)):
            largest = _magnitude(limits)
            values[f"{start}.has_{kind}_limits"] = isfinite(largest)
            if isfinite(largest):
                values[f"{start}.max_{kind}"] = largest
    return values


def _magnitude(limits: Range) -> float:
    return max(abs(float(end)) for end in limits)
