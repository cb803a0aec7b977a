"""Joint limits as parameters, under the names of joint_limits and MoveIt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite

from ..body import Body
from ..frames import BodyFrames

PREFIX = "joint_limits"


@dataclass(frozen=True)
class JointLimit:
    """A parameter about a limit of a joint.

    Attributes:
        value: The limit, or whether there is one.
        doc: Its description, with the unit of a limit.
        minimum: Smallest allowed value of the limit.
    """

    value: bool | float
    doc: str
    minimum: float = -inf


def joint_limit_parameters(body: Body, names: BodyFrames) -> Mapping[str, JointLimit]:
    """Return the limits of all moving joints, under the names of joint_limits and MoveIt.

    By parameter name: ``joint_limits.<joint>.has_position_limits`` and, if so,
    ``min_position`` and ``max_position`` in [rad] or [m], of which one may be infinite;
    likewise ``has_velocity_limits`` and ``max_velocity`` in [rad/s] or [m/s], and
    ``has_effort_limits`` and ``max_effort`` in [N m] or [N]: the limits of the URDF. A joint
    between the root and the world, which a URDF leaves out, is left out.
    """
    parameters: dict[str, JointLimit] = {}
    for link in body.moving_links:
        if link.name not in names.joints:
            continue
        joint = link.joint
        prefix = f"{PREFIX}.{names.joints[link.name]}"
        units = joint.type.units
        lower, upper = map(float, joint.position_limits)
        bounded = isfinite(lower) or isfinite(upper)
        parameters[f"{prefix}.has_position_limits"] = _has_limits("position", bounded)
        if bounded:
            doc = f"Minimum position [{units.position}]."
            parameters[f"{prefix}.min_position"] = JointLimit(lower, doc)
            doc = f"Maximum position [{units.position}]."
            parameters[f"{prefix}.max_position"] = JointLimit(upper, doc)
        for kind, largest, unit in (
            ("velocity", float(joint.max_velocity), units.velocity),
            ("effort", float(joint.max_effort), units.effort),
        ):
            parameters[f"{prefix}.has_{kind}_limits"] = _has_limits(kind, isfinite(largest))
            if isfinite(largest):
                doc = f"Maximum {kind} in either direction [{unit}]."
                parameters[f"{prefix}.max_{kind}"] = JointLimit(largest, doc, 0.0)
    return parameters


def _has_limits(kind: str, value: bool) -> JointLimit:
    return JointLimit(value, f"Whether the model limits the {kind}.")
