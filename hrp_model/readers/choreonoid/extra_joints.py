"""Read extra joints, which close loops."""

from __future__ import annotations

import numpy as np

from ...body import ExtraJoint, ExtraJointType
from ...diagnostics import did_you_mean
from ...rigid import Array, Pose, unit_vector
from ..yaml.tree import Mapping
from .scope import Scope, rotation, translation

_TYPES: dict[str, ExtraJointType | None] = {
    "ball": ExtraJointType.BALL,
    "xyz": ExtraJointType.BALL,
    "xy": ExtraJointType.XY,
    "z": ExtraJointType.Z,
    "piston": ExtraJointType.PISTON,
    "hinge": ExtraJointType.HINGE,
    "fixed": ExtraJointType.FIXED,
}
_AXIS_X = np.array([1.0, 0.0, 0.0])


def read_extra_joints(top: Mapping, names: set[str], scope: Scope) -> list[ExtraJoint]:
    """Read the extra joints of a model whose links have the given names."""
    written = top.sequence("extra_joints", "extraJoints")
    joints = []
    for entry in written.items if written else ():
        if not isinstance(entry, Mapping):
            scope.diagnostics.error("wrong-type", "expected the keys of a joint", entry.span)
            continue
        joint = _extra_joint(entry, names, scope)
        if joint is not None:
            joints.append(joint)
    return joints


def _extra_joint(entry: Mapping, names: set[str], scope: Scope) -> ExtraJoint | None:
    kind = entry.choice(
        "joint_type", "jointType", choices=_TYPES, default=None,
        code="unknown-joint-type",
    )  # fmt: skip
    links = tuple(_linked(entry, names, scope, f"link{i}_name", f"link{i}Name") for i in (1, 2))
    X_AJ, X_BJ = (
        Pose(
            rotation(scope, entry, f"rotation_in_link{i}"),
            translation(entry, f"translation_in_link{i}", f"link{i}LocalPos", f"link{i}_local_pos"),
        )
        for i in (1, 2)
    )
    axis = _unit(entry.numbers("axis", "jointAxis", "joint_axis", count=3, default=_AXIS_X), entry)
    name = entry.text("name", default="")
    entry.finish()
    a, b = links
    if kind is None and "joint_type" not in entry and "jointType" not in entry:
        scope.diagnostics.error("missing-key", "an extra joint needs a 'joint_type'", entry.span)
    if kind is None or a is None or b is None:
        return None
    return ExtraJoint(type=kind, links=(a, b), X_AJ=X_AJ, X_BJ=X_BJ, axis=axis, name=name)


def _linked(entry: Mapping, names: set[str], scope: Scope, *spellings: str) -> str | None:
    name = entry.text(*spellings, default="")
    if name in names:
        return name
    message = f"an extra joint refers to link '{name}', which does not exist."
    message += did_you_mean(name, names)
    scope.diagnostics.error("unknown-link", message, entry.at(*spellings))
    return None


def _unit(axis: Array, entry: Mapping) -> Array:
    unit = unit_vector(axis)
    if unit is not None:
        return unit
    at = entry.at("axis", "jointAxis", "joint_axis")
    entry.diagnostics.error("zero-axis", "a joint axis must not be zero", at)
    return _AXIS_X
