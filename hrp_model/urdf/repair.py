"""Repair what a URDF cannot represent: numbers that are not finite, and missing links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf, isfinite
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..body import Body, ExtraJoint, Joint, Link
from ..devices import Device
from ..diagnostics import Diagnostics, Span
from ..geometry import Box, Geometry, Mesh, Shape, Sphere
from ..rigid import Array, Pose, unit_vector
from ..validate import report_limits

_AXIS_Z = np.array([0.0, 0.0, 1.0])
_ZERO = np.zeros(3)
_ZERO_INERTIA = np.zeros((3, 3))
# Largest length or scale of a shape, in [m]: mesh files have single precision.
_MAX_LENGTH = 1e30
# Numbers of a joint that blocks of controllers and the SRDF contain, and their replacements.
_REPLACEMENTS = {
    "initial": ("initial position", 0.0),
    "equivalent_rotor_inertia": ("equivalent rotor inertia", 0.0),
    "gear_ratio": ("gear ratio", 1.0),
    "rotor_inertia": ("rotor inertia", 0.0),
}
_Part = TypeVar("_Part", Link, Joint)


class _Problem(NamedTuple):
    """A problem, the message that reports it, and the attributes that repair it."""

    code: str
    message: str
    repair: dict[str, Any]


def repaired(body: Body, diagnostics: Diagnostics) -> Body:
    """Return a body that a URDF can represent, with a warning for each change.

    Links, joints and shapes that need no repair are the same objects. Joint limits are only
    reported: ``Joint.position_limits`` and its siblings are always valid.
    """
    report_limits(body, diagnostics)
    names = {link.name for link in body.links}
    links = tuple(_repaired_link(link, diagnostics) for link in body.links)
    devices = tuple(
        _repaired_device(device, body, diagnostics)
        for device in body.devices
        if _is_on_link(device, names, body, diagnostics)
    )
    extra = tuple(x for x in body.extra_joints if _is_valid(x, names, body, diagnostics))
    if (links, devices, extra) == (body.links, body.devices, body.extra_joints):  # the same objects
        return body
    return replace(body, links=links, devices=devices, extra_joints=extra)


def _repaired(
    part: _Part, problems: Iterable[_Problem], at: Span | None, diagnostics: Diagnostics
) -> _Part:
    changes: dict[str, Any] = {}
    for problem in problems:
        diagnostics.warn(problem.code, problem.message, at)
        changes.update(problem.repair)
    return replace(part, **changes) if changes else part


def _repaired_link(link: Link, diagnostics: Diagnostics) -> Link:
    link = _repaired(link, _link_problems(link), link.at, diagnostics)
    if link.parent is None or not link.joint.moves:
        return link
    joint = _repaired(link.joint, _joint_problems(link.joint), link.at, diagnostics)
    return link if joint is link.joint else replace(link, joint=joint)


def _link_problems(link: Link) -> Iterator[_Problem]:
    of_link = f"of link '{link.name}'"
    if not _is_finite_pose(link.X_PL):
        message = f"the pose {of_link} is not finite, treated as that of its parent"
        yield _Problem("not-finite", message, {"X_PL": Pose()})
    if not np.isfinite(link.center_of_mass).all():
        message = f"the centre of mass {of_link} is not finite, treated as the link's origin"
        yield _Problem("not-finite", message, {"center_of_mass": _ZERO})
    if not np.isfinite(link.inertia).all():
        message = f"the inertia {of_link} is not finite, treated as 0 kg m^2"
        yield _Problem("not-finite", message, {"inertia": _ZERO_INERTIA})
    if not 0.0 <= link.mass < inf:
        code = "negative-mass" if -inf < link.mass < 0.0 else "not-finite"
        message = f"the mass {of_link} is {link.mass:g} kg, treated as 0 kg"
        yield _Problem(code, message, {"mass": 0.0, "inertia": _ZERO_INERTIA})
    for side in ("visual", "collision"):
        shapes: tuple[Shape, ...] = getattr(link, side)
        valid = tuple(filter(_is_valid_shape, shapes))
        if invalid := len(shapes) - len(valid):
            message = f"{invalid} {side} shapes {of_link} have an impossible pose or size, left out"
            yield _Problem("not-finite", message, {side: valid})


def _joint_problems(joint: Joint) -> Iterator[_Problem]:
    if not np.isfinite(joint.axis).all() or unit_vector(joint.axis) is None:
        message = f"the axis of joint '{joint.name}' has no direction, treated as Z"
        yield _Problem("zero-axis", message, {"axis": _AXIS_Z})
    for name, value in (("damping", joint.damping), ("friction", joint.friction)):
        if not 0.0 <= value < inf:
            code = "negative-resistance" if -inf < value < 0.0 else "not-finite"
            message = f"the {name} of joint '{joint.name}' is {value:g}, treated as 0"
            yield _Problem(code, message, {name: 0.0})
    for name, (words, default) in _REPLACEMENTS.items():
        if not isfinite(getattr(joint, name)):
            message = f"the {words} of joint '{joint.name}' is not finite, treated as {default:g}"
            yield _Problem("not-finite", message, {name: default})


def _repaired_device(device: Device, body: Body, diagnostics: Diagnostics) -> Device:
    if _is_finite_pose(device.X_LS):
        return device
    message = f"the pose of device '{device.name}' is not finite, treated as that of its link"
    diagnostics.warn("not-finite", message, device.at or body.link(device.link).at)
    return replace(device, X_LS=Pose())


def _is_on_link(device: Device, names: set[str], body: Body, diagnostics: Diagnostics) -> bool:
    if device.link in names:
        return True
    message = f"device '{device.name}' is on link '{device.link}', which does not exist; left out"
    diagnostics.warn("unknown-link", message, device.at or body.root.at)
    return False


def _is_valid(joint: ExtraJoint, names: set[str], body: Body, diagnostics: Diagnostics) -> bool:
    """Return whether a constraint closes a loop between two links; warn if it does not."""
    problem = ""
    if not names.issuperset(joint.links):
        missing = next(name for name in joint.links if name not in names)
        problem = f"connects link '{missing}', which does not exist"
    elif not (_is_finite_pose(joint.X_AJ) and _is_finite_pose(joint.X_BJ)):
        problem = "has a pose that is not finite"
    elif not np.isfinite(joint.axis).all() or unit_vector(joint.axis) is None:
        problem = "has an axis without a direction"
    if problem:
        message = f"extra joint '{joint.name}' {problem}; left out"
        diagnostics.warn("unsound-constraint", message, body.root.at)
    return not problem


def _is_finite_pose(pose: Pose) -> bool:
    return bool(np.isfinite(pose.R).all() and np.isfinite(pose.p).all())


def _is_valid_shape(shape: Shape) -> bool:
    sizes = _sizes(shape.geometry)
    if not (np.abs(shape.T_FG) < _MAX_LENGTH).all() or not (np.abs(sizes) < _MAX_LENGTH).all():
        return False
    return isinstance(shape.geometry, Mesh) or bool(sizes.min() >= 0.0)


def _sizes(geometry: Geometry) -> Array:
    """Return the lengths of a primitive, or the vertices of a mesh."""
    if isinstance(geometry, Mesh):
        return geometry.vertices
    if isinstance(geometry, Box):
        return geometry.size
    if isinstance(geometry, Sphere):
        return np.array([geometry.radius])
    return np.array([geometry.radius, geometry.height])
