"""Repair what no URDF can hold: numbers that are not finite, and references to nothing."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np

from ..body import Body, ExtraJoint, Joint, Link
from ..devices import Device
from ..diagnostics import Diagnostics
from ..geometry import Box, Geometry, Mesh, Shape, Sphere
from ..rigid import Array, Pose, unit_vector
from ..validate import report_limits

_AXIS_Z = (0.0, 0.0, 1.0)
# Lengths and scales of shapes from here on are none: mesh files have single precision.
_LARGEST = 1e30
# What numbers of a joint become that are none; blocks of controllers and the SRDF have them.
_IF_NOT_FINITE = {
    "initial": 0.0,
    "equivalent_rotor_inertia": 0.0,
    "gear_ratio": 1.0,
    "rotor_inertia": 0.0,
}


def mended(body: Body, diagnostics: Diagnostics) -> Body:
    """Return the body that a URDF can describe, with a warning for each change.

    Links, joints and shapes that need no change are the same objects.
    """
    report_limits(body, diagnostics)
    names = {link.name for link in body.links}
    links = tuple(_mended_link(link, diagnostics) for link in body.links)
    devices = tuple(
        _mended_device(device, body, diagnostics)
        for device in body.devices
        if _is_on_link(device, names, body, diagnostics)
    )
    extra = tuple(x for x in body.extra_joints if _is_sound(x, names, body, diagnostics))
    if (links, devices, extra) == (body.links, body.devices, body.extra_joints):  # the same objects
        return body
    return replace(body, links=links, devices=devices, extra_joints=extra)


def _mended_link(link: Link, diagnostics: Diagnostics) -> Link:
    changes: dict[str, Any] = {}

    def change(code: str, problem: str, **to: Any) -> None:
        diagnostics.warn(code, f"link '{link.name}': {problem}", link.at)
        changes.update(to)

    if not _is_finite_pose(link.X_PL):
        change("not-finite", "its pose is not finite; it stands in its parent's", X_PL=Pose())
    if not isfinite(link.mass):
        change("not-finite", "its mass is not finite; it has none", mass=0.0)
    elif link.mass < 0.0:
        change("negative-mass", f"its mass is {link.mass:g} kg; it has none", mass=0.0)
    if not np.isfinite(link.center_of_mass).all():
        origin = np.zeros(3)
        change("not-finite", "its centre of mass is not finite", center_of_mass=origin)
    if not np.isfinite(link.inertia).all():
        change("not-finite", "its inertia is not finite; it has none", inertia=np.zeros((3, 3)))
    if changes.get("mass") == 0.0:
        changes["inertia"] = np.zeros((3, 3))
    for side in ("visual", "collision"):
        shapes: tuple[Shape, ...] = getattr(link, side)
        kept = tuple(filter(_has_place_and_size, shapes))
        if len(kept) < len(shapes):
            count = len(shapes) - len(kept)
            problem = f"{count} {side} shapes have no finite place and size; they are left out"
            change("not-finite", problem, **{side: kept})
    joint = link.joint
    if link.parent is not None and joint.moves:
        joint = _mended_joint(link, diagnostics)
    if joint is not link.joint:
        changes["joint"] = joint
    return replace(link, **changes) if changes else link


def _mended_joint(link: Link, diagnostics: Diagnostics) -> Joint:
    """Return the joint above a link with an axis, and with finite numbers."""
    joint = link.joint
    changes: dict[str, Any] = {}
    if not np.isfinite(joint.axis).all() or unit_vector(joint.axis) is None:
        message = f"the axis of joint '{joint.name}' is no direction; Z is used"
        diagnostics.warn("zero-axis", message, link.at)
        changes["axis"] = np.array(_AXIS_Z)
    for what in ("damping", "friction"):
        value: float = getattr(joint, what)
        if not 0.0 <= value < inf:
            message = f"the {what} of joint '{joint.name}' is {value:g}; there is none"
            code = "negative-resistance" if -inf < value < 0.0 else "not-finite"
            diagnostics.warn(code, message, link.at)
            changes[what] = 0.0
    for what, instead in _IF_NOT_FINITE.items():
        if not isfinite(getattr(joint, what)):
            words = what.replace("_", " ")
            message = f"the {words} of joint '{joint.name}' is not finite; it becomes {instead:g}"
            diagnostics.warn("not-finite", message, link.at)
            changes[what] = instead
    return replace(joint, **changes) if changes else joint


def _mended_device(device: Device, body: Body, diagnostics: Diagnostics) -> Device:
    if _is_finite_pose(device.X_LS):
        return device
    message = f"the pose of device '{device.name}' is not finite; it stands in its link's frame"
    diagnostics.warn("not-finite", message, device.at or body.link(device.link).at)
    return replace(device, X_LS=Pose())


def _is_on_link(device: Device, names: set[str], body: Body, diagnostics: Diagnostics) -> bool:
    if device.link in names:
        return True
    message = f"device '{device.name}' is on '{device.link}', which is no link; it is left out"
    diagnostics.warn("unknown-link", message, device.at or body.root.at)
    return False


def _is_sound(joint: ExtraJoint, names: set[str], body: Body, diagnostics: Diagnostics) -> bool:
    """Tell whether a constraint closes a loop between two links, and warn if it does not."""
    problem = ""
    if not names.issuperset(joint.links):
        missing = next(name for name in joint.links if name not in names)
        problem = f"ends at '{missing}', which is no link"
    elif not (_is_finite_pose(joint.X_AJ) and _is_finite_pose(joint.X_BJ)):
        problem = "has a place that is not finite"
    elif not np.isfinite(joint.axis).all() or unit_vector(joint.axis) is None:
        problem = "has an axis that is no direction"
    if problem:
        message = f"extra joint '{joint.name}' {problem}; it is left out"
        diagnostics.warn("unsound-constraint", message, body.root.at)
    return not problem


def _is_finite_pose(pose: Pose) -> bool:
    return bool(np.isfinite(pose.R).all() and np.isfinite(pose.p).all())


def _has_place_and_size(shape: Shape) -> bool:
    sizes = _sizes(shape.geometry)
    if not (np.abs(shape.T_FG) < _LARGEST).all() or not (np.abs(sizes) < _LARGEST).all():
        return False
    return isinstance(shape.geometry, Mesh) or bool(sizes.min() >= 0.0)


def _sizes(geometry: Geometry) -> Array:
    """Return the numbers that say how large a geometry is."""
    if isinstance(geometry, Mesh):
        return geometry.vertices
    if isinstance(geometry, Box):
        return geometry.size
    if isinstance(geometry, Sphere):
        return np.array([geometry.radius])
    return np.array([geometry.radius, geometry.height])
