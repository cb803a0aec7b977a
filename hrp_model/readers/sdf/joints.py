"""Joints of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ...body import UNLIMITED, Joint, JointType, Mimic, Range
from ...diagnostics import Diagnostics, did_you_mean_or_all
from ...rigid import Array, Pose, unit_vector
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .frames import MODEL, Frames

_TYPES = {
    "revolute": JointType.REVOLUTE,
    "continuous": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "fixed": JointType.FIXED,
}
_AXIS_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class JointParts:
    """A joint, and the links that it connects.

    Attributes:
        element: The ``<joint>``.
        joint: Its axis is in the axes of the child link.
        parent, child: Names of the links; the parent may be "world".
        X_MJ: Pose of the joint frame in the model.
        mimic: Name of the joint to follow, multiplier and offset.
    """

    element: Element
    joint: Joint
    parent: str
    child: str
    X_MJ: Pose
    mimic: tuple[str, float, float] | None = None


class JointReader:
    """Reads joints."""

    def __init__(self, frames: Frames, diagnostics: Diagnostics) -> None:
        self._frames = frames
        self._diagnostics = diagnostics

    def joint(self, element: Element) -> JointParts | None:
        """Return a joint, or None after reporting an error."""
        name = element.attributes.get("name", "")
        reader = SdfReader(element, self._diagnostics)
        kind = _TYPES.get(element.attributes.get("type", ""))
        if kind is None:
            hint = did_you_mean_or_all(element.attributes.get("type", ""), _TYPES)
            message = f"joint '{name}' has type '{element.attributes.get('type', '')}'.{hint}"
            self._diagnostics.error("unknown-joint-type", message, element.at("type"))
            return None
        parent = self._frames.link(reader.text("parent"))
        child = self._frames.link(reader.text("child"))
        X_MJ = self._frames.pose(name)
        X_MC = None if X_MJ is None else self._frames.pose(child)
        if X_MJ is None or X_MC is None:
            return None
        joint = Joint(type=kind, name=name)
        axis = reader.inside("axis")
        if kind is JointType.FIXED:
            return JointParts(element, joint, parent, child, X_MJ)
        if axis is None:
            message = f"joint '{name}' has no <axis>; Z of the joint is used"
            self._diagnostics.warn("missing-element", message, element.span)
            axis = SdfReader(Element("axis", {}, element.source, element.start), self._diagnostics)
        R_CM = X_MC.R.T
        direction = self._axis(axis, X_MJ)
        if direction is None:
            return None
        limited = self._limited(joint, axis, element)
        joint = replace(limited, axis=R_CM @ direction)
        return JointParts(element, joint, parent, child, X_MJ, self._mimic(axis))

    def _axis(self, axis: SdfReader, X_MJ: Pose) -> Array | None:
        """Return the axis in the model, or None after reporting an error."""
        written = axis.inside("xyz")
        value = unit_vector(axis.vector("xyz", default=_AXIS_Z))
        if value is None:
            message = "the axis has length zero"
            self._diagnostics.error("zero-axis", message, axis.element.span)
            return None
        frame = "" if written is None else written.element.attributes.get("expressed_in", "")
        if axis.flag("use_parent_model_frame"):
            frame = MODEL
        X_MF = X_MJ if not frame else self._frames.pose(frame)
        if X_MF is None:
            message = f"there is no frame '{frame}'"
            self._diagnostics.error("unknown-frame", message, axis.element.span)
            return None
        direction: Array = X_MF.R @ value
        return direction

    def _limited(self, joint: Joint, axis: SdfReader, element: Element) -> Joint:
        """Return a joint with limits, damping and friction."""
        position = UNLIMITED
        if element.attributes.get("type") != "continuous":
            lower = axis.number("limit", "lower", default=-inf, allow_infinite=True)
            upper = axis.number("limit", "upper", default=inf, allow_infinite=True)
            position = Range(lower, upper)
        if axis.number("dynamics", "spring_stiffness", default=0.0):
            message = f"the spring of joint '{element.attributes.get('name')}' is left out"
            self._diagnostics.warn("no-counterpart", message, axis.element.span)
        return replace(
            joint,
            position=position,
            velocity=_both_ways(axis, "velocity"),
            effort=_both_ways(axis, "effort"),
            damping=self._resistance(axis, "damping"),
            friction=self._resistance(axis, "friction"),
        )

    def _resistance(self, axis: SdfReader, name: str) -> float:
        """Return damping or friction."""
        value = axis.number("dynamics", name, default=0.0)
        if value < 0.0:
            message = f"the {name} is {value:g}, but it must not be negative; 0 is used"
            self._diagnostics.warn("negative-resistance", message, axis.element.span)
        return max(0.0, value)

    def _mimic(self, axis: SdfReader) -> tuple[str, float, float] | None:
        """Return leader, multiplier and offset of a joint that follows another."""
        mimic = axis.inside("mimic")
        if mimic is None:
            return None
        multiplier = mimic.number("multiplier", default=1.0)
        offset = mimic.number("offset", default=0.0)
        reference = mimic.number("reference", default=0.0)
        leader = mimic.element.attributes.get("joint", "")
        return leader, multiplier, offset - multiplier * reference


def with_mimic(parts: JointParts, joints: dict[str, JointParts], diagnostics: Diagnostics) -> Joint:
    """Return a joint with the mimic that it has, if its leader can be followed."""
    if parts.mimic is None:
        return parts.joint
    leader, multiplier, offset = parts.mimic
    found = joints.get(leader)
    if found is None or not found.joint.moves or found.mimic is not None or found is parts:
        message = f"<mimic> of joint '{parts.joint.name}' is ignored: "
        message += f"'{leader}' is no joint that moves by itself"
        diagnostics.warn("unknown-joint", message, parts.element.span)
        return parts.joint
    return replace(parts.joint, mimic=Mimic(found.child, multiplier, offset))


def _both_ways(axis: SdfReader, name: str) -> Range:
    """Return a limit for both directions; a negative one, as -1, means none."""
    limit = axis.number("limit", name, default=inf, allow_infinite=True)
    return Range(-limit, limit) if limit >= 0.0 else UNLIMITED
