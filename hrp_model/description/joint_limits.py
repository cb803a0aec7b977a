"""Limits of joints under the names that ROS packages know them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite

from ..body import Body
from ..frames import BodyFrames

PREFIX = "joint_limits"


@dataclass(frozen=True)
class JointLimit:
    """A limit of a joint, or whether there is one.

    Attributes:
        value: A number, or whether there are limits of a kind.
        doc: What it means; of a number with its unit.
        minimum: The least that the number could be.
    """

    value: bool | float
    doc: str
    minimum: float = -inf


def joint_limit_parameters(body: Body, names: BodyFrames) -> Mapping[str, JointLimit]:
    """Return the limits of all moving joints as joint_limits and MoveIt call them.

    By parameter name: ``joint_limits.<joint>.has_position_limits`` and, if so,
    ``min_position`` and ``max_position`` in [rad] or [m], of which one may be infinite;
    likewise ``has_velocity_limits`` and ``max_velocity`` in [rad/s] or [m/s], and
    ``has_effort_limits`` and ``max_effort`` in [N m] or [N]: the limits of the URDF. A joint
    between the root and the world, which a URDF leaves out, is left out.
    """
    found: dict[str, JointLimit] = {}
    for link in body.moving_links:
        if link.name not in names.joints:
            continue
        joint = link.joint
        start = f"{PREFIX}.{names.joints[link.name]}"
        units = joint.type.units
        lower, upper = map(float, joint.position_limits)
        bounded = isfinite(lower) or isfinite(upper)
        found[f"{start}.has_position_limits"] = _presence("position", bounded)
        if bounded:
            found[f"{start}.min_position"] = JointLimit(
                lower, f"Least position [{units.position}]."
            )
            found[f"{start}.max_position"] = JointLimit(
                upper, f"Largest position [{units.position}]."
            )
        for kind, largest, unit in (
            ("velocity", float(joint.max_velocity), units.velocity),
            ("effort", float(joint.max_effort), units.effort),
        ):
            found[f"{start}.has_{kind}_limits"] = _presence(kind, isfinite(largest))
            if isfinite(largest):
                doc = f"Largest {kind} in either direction [{unit}]."
                found[f"{start}.max_{kind}"] = JointLimit(largest, doc, 0.0)
    return found


def _presence(kind: str, there: bool) -> JointLimit:
    return JointLimit(there, f"Whether the model limits the {kind}.")
