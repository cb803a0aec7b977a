"""Read joints: type, axis, limits, damping, friction and mimic."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf

import numpy as np
from urdf_parser_py import urdf

from ...body import UNLIMITED, Joint, JointType, Range
from ...diagnostics import Diagnostics, did_you_mean_or_all
from ...rigid import Array, Pose, unit_vector
from ..mimics import Follower
from ..xml_tree import Element
from .links import pose
from .objects import ObjectReader, UrdfObject

_TYPES = {
    "revolute": JointType.REVOLUTE,
    "continuous": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "fixed": JointType.FIXED,
    "floating": JointType.FREE,
    "planar": JointType.FREE,
}
_AXIS_X = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class JointParts:
    """Contents of a <joint>.

    Attributes:
        element: The element.
        parent, child: Names of the links.
        X_PL: Pose of the child in its parent at position zero.
        joint: The joint, without its mimic.
        mimic: How it follows another joint, or None.
    """

    element: Element
    parent: str
    child: str
    X_PL: Pose
    joint: Joint
    mimic: Follower | None = None


class JointReader:
    """Reads <joint> elements."""

    def __init__(self, diagnostics: Diagnostics, objects: ObjectReader) -> None:
        self._diagnostics = diagnostics
        self._objects = objects

    def joint(self, element: Element) -> JointParts | None:
        """Return the contents of a joint, or None after reporting an error."""
        made = self._objects.read(urdf.Joint, element)
        if made is None:
            return None
        kind = _TYPES.get(made.type)
        if kind is None:
            message = (
                f"joint type '{made.type}' is unknown.{did_you_mean_or_all(made.type, _TYPES)}"
            )
            self._diagnostics.error("unknown-joint-type", message, element.at("type"))
            return None
        if made.type == "planar":
            message = (
                f"joint '{made.name}' is planar, which is not supported; it is treated as floating"
            )
            self._diagnostics.warn("planar-joint", message, element.at("type"))
        joint = Joint(type=kind, name=made.name)
        if joint.moves:
            joint = self._moving(kind, made, element)
        mimic = self._mimic(joint, made, element)
        return JointParts(element, made.parent, made.child, pose(made.origin), joint, mimic)

    def _mimic(self, joint: Joint, made: UrdfObject, element: Element) -> Follower | None:
        """Return how a joint follows another."""
        if made.mimic is None:
            return None
        if joint.is_fixed:  # deliberately: no warning
            return None
        written = element.first("mimic")
        if not joint.moves:
            message = f"a {made.type} joint cannot mimic another; this <mimic> is ignored"
            at = element.span if written is None else written.span
            self._diagnostics.warn("not-used", message, at)
            return None
        multiplier, offset = made.mimic.multiplier, made.mimic.offset
        return Follower(
            made.mimic.joint,
            1.0 if multiplier is None else multiplier,
            0.0 if offset is None else offset,
            element.span if written is None else written.at("joint"),
        )

    def _moving(self, kind: JointType, made: UrdfObject, element: Element) -> Joint:
        position, velocity, effort = self._limits(made, element)
        damping, friction = self._resistance(made, element)
        return Joint(
            type=kind,
            name=made.name,
            axis=self._axis(made, element),
            position=position,
            velocity=velocity,
            effort=effort,
            damping=damping,
            friction=friction,
            max_acceleration=_most(made, "acceleration"),
            max_deceleration=_most(made, "deceleration"),
            max_jerk=_most(made, "jerk"),
        )

    def _axis(self, made: UrdfObject, element: Element) -> Array:
        written = element.first("axis")
        if made.axis is None or written is None:
            return _AXIS_X
        axis = unit_vector(made.axis)
        if axis is None:
            message = f"the axis of joint '{made.name}' has length zero"
            self._diagnostics.error("zero-axis", message, written.at("xyz"))
            return _AXIS_X
        length = hypot(*made.axis)
        if abs(length - 1.0) > 1e-3:  # tolerates rounded decimals
            message = f"the axis has length {length:g}; only its direction is used"
            self._diagnostics.warn("axis-not-unit", message, written.at("xyz"))
        return axis

    def _limits(self, made: UrdfObject, element: Element) -> tuple[Range, Range, Range]:
        """Return the ranges of position, velocity and effort."""
        limit = made.limit
        if limit is None:
            if made.type != "continuous":
                message = f"{made.type} joint '{made.name}' has no <limit>; it is unlimited"
                self._diagnostics.warn("missing-limit", message, element.span)
            return UNLIMITED, UNLIMITED, UNLIMITED
        missing = [name for name in ("effort", "velocity") if getattr(limit, name) is None]
        if missing:
            written = element.first("limit")
            message = f"<limit> lacks {' and '.join(missing)}: treated as unlimited"
            self._diagnostics.warn(
                "missing-limit", message, element.span if written is None else written.span
            )
        position = UNLIMITED
        if made.type != "continuous":
            position = Range(limit.lower or 0.0, limit.upper or 0.0)
        return position, _both_ways(limit.velocity), _both_ways(limit.effort)

    def _resistance(self, made: UrdfObject, element: Element) -> tuple[float, float]:
        """Return damping and friction."""
        if made.dynamics is None:
            return 0.0, 0.0
        written = element.first("dynamics")
        for name in ("damping", "friction"):
            value = getattr(made.dynamics, name)
            if value is not None and value < 0.0:
                message = (
                    f"the {name} of joint '{made.name}' is {value:g}, but it must not be negative; "
                    "0 is used"
                )
                at = element.span if written is None else written.at(name)
                self._diagnostics.warn("negative-resistance", message, at)
        return max(made.dynamics.damping or 0.0, 0.0), max(made.dynamics.friction or 0.0, 0.0)


def _most(made: UrdfObject, name: str) -> float:
    """Return a limit for both directions; infinite if it is not given."""
    limit = None if made.limit is None else getattr(made.limit, name)
    return inf if limit is None else abs(limit)


def _both_ways(limit: float | None) -> Range:
    if limit is None:
        return UNLIMITED
    return Range(0.0 - abs(limit), abs(limit))  # never -0
