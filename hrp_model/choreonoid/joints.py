"""The joint keys of a link."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isinf

import numpy as np

from ..body import UNLIMITED, Joint, JointType, Range
from ..rigid import Array, axis_by_name, unit_vector
from ..yaml_tree import Mapping, Node, Scalar, Sequence
from .scope import Scope, numbers

JOINT_TYPES = {
    "revolute": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "slide": JointType.PRISMATIC,
    "free": JointType.FREE,
    "fixed": JointType.FIXED,
    "pseudo_continuous_track": JointType.TRACK,
    "pseudoContinuousTrack": JointType.TRACK,
    "pseudoContinousTrack": JointType.TRACK,  # as the format's reference spells it
}
_SURFACE_VELOCITY = ("jointSurfaceVelocity", "joint_surface_velocity")
_MAX_ID = 9999
_TYPE = ("joint_type", "jointType")
_AXIS = ("joint_axis", "jointAxis")
_ACTUATION = ("actuation_mode", "actuationMode")


def read_joint(mapping: Mapping, scope: Scope, base: Joint) -> Joint:
    """Read the joint keys of a link.

    Args:
        mapping: The link.
        scope: Its file.
        base: What holds for keys that are absent; only ranges and rotor inertia begin anew.
    """
    kind = _type(mapping, base.type)
    unit = scope.angle if kind is JointType.REVOLUTE else 1.0
    angle = mapping.number("joint_angle", "jointAngle", default=None)
    initial = base.initial if angle is None else angle * scope.angle
    displacement = mapping.number("joint_displacement", "jointDisplacement", default=None)
    if displacement is not None:
        initial = displacement * unit
    gear = mapping.number("gear_ratio", "gearRatio", default=1.0)
    rotor = mapping.number("rotor_inertia", "rotorInertia", default=0.0)
    inertia = mapping.number("joint_axis_inertia", default=gear * gear * rotor)
    effort = mapping.number("max_joint_effort", "maxJointEffort", default=None)
    return replace(
        base,
        type=kind,
        id=_id(mapping, base.id),
        axis=_axis(mapping, scope, kind, base.axis),
        initial=initial,
        position=_range(mapping, scope, unit, "joint_range", "jointRange") or UNLIMITED,
        velocity=_velocity(mapping, scope, unit),
        effort=base.effort if effort is None else Range(-abs(effort), abs(effort)),
        equivalent_rotor_inertia=inertia,
        gear_ratio=gear,
        rotor_inertia=rotor,
        torque_const=mapping.number("torque_const", "torqueConst", default=base.torque_const),
    )


def _id(mapping: Mapping, default: int | None) -> int | None:
    joint_id = mapping.integer("joint_id", "jointId", default=None)
    if joint_id is None:
        return default
    if joint_id > _MAX_ID:
        message = f"joint id {joint_id} is out of reason: the ids are places in a list"
        mapping.diagnostics.error("bad-joint-id", message, mapping.at("joint_id", "jointId"))
    return joint_id if 0 <= joint_id <= _MAX_ID else None


def _type(mapping: Mapping, default: JointType) -> JointType:
    kind = mapping.choice(*_TYPE, choices=JOINT_TYPES, default=default, code="unknown-joint-type")
    mode = mapping.get(*_ACTUATION)
    if isinstance(mode, Scalar) and mode.text in _SURFACE_VELOCITY:
        return JointType.TRACK
    return kind


def _axis(mapping: Mapping, scope: Scope, kind: JointType, default: Array) -> Array:
    """Read a unit vector: three numbers, or a letter with or without a sign, shape (3,)."""
    node = mapping.get(*_AXIS)
    if node is None:
        return default
    if isinstance(node, Scalar):
        named = axis_by_name(node.text)
        if named is not None:
            return named
        message = f"joint axis '{node.text}' is unknown. It is X, Y, Z, -X, -Y, -Z or a list"
        scope.diagnostics.error("unknown-axis", message, node.span)
        return default
    axis = numbers(node, 3, scope.diagnostics)
    if axis is None:
        return default
    unit = unit_vector(axis)
    if unit is None:
        if kind is not JointType.FIXED and kind is not JointType.FREE:
            scope.diagnostics.error("zero-axis", "a joint axis must not be zero", node.span)
        return default
    if np.abs(unit - axis).max() > 1e-3:  # less is the rounding of a file's digits
        message = "the joint axis is no unit vector; it is scaled to length 1"
        scope.diagnostics.warn("axis-not-unit", message, node.span)
    return unit


def _velocity(mapping: Mapping, scope: Scope, unit: float) -> Range:
    both = _range(mapping, scope, unit, "joint_velocity_range", "jointVelocityRange")
    one = _range(mapping, scope, unit, "max_joint_velocity", "maxJointVelocity")
    if both and one:
        at = mapping.at("max_joint_velocity", "maxJointVelocity")
        message = "the maximum is ignored: joint_velocity_range says the same and wins"
        scope.diagnostics.warn("two-velocity-limits", message, at)
    return both or one or UNLIMITED


def _range(mapping: Mapping, scope: Scope, unit: float, *spellings: str) -> Range | None:
    """Read [lower, upper], or s for [-s, s]; 'unlimited' may stand for any of them."""
    node = mapping.get(*spellings)
    if node is None:
        return None
    if isinstance(node, Scalar):
        bound = _bound(node, scope)
        return None if bound is None else Range(-abs(bound) * unit, abs(bound) * unit)
    if not isinstance(node, Sequence) or len(node.items) != 2:
        message = f"'{spellings[0]}' is [lower, upper], one number or 'unlimited'"
        scope.diagnostics.error("wrong-type", message, node.span)
        return None
    lower, upper = (_bound(item, scope) for item in node.items)
    if lower is None or upper is None:
        return None
    return Range(-inf if isinf(lower) else lower * unit, inf if isinf(upper) else upper * unit)


def _bound(node: Node, scope: Scope) -> float | None:
    if not isinstance(node, Scalar):
        scope.diagnostics.error("wrong-type", "expected a number or 'unlimited'", node.span)
        return None
    words = ("unlimited", "inf", "-inf", "+inf", ".inf", "-.inf")
    return inf if node.text.strip().lower() in words else node.number()
