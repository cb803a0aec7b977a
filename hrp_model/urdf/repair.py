"""Repair what a URDF cannot represent of a valid body: directions, friction and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..body import Body, ExtraJoint, Joint, Link
from ..diagnostics import Diagnostics, Span
from ..geometry import Box, Geometry, Mesh, Shape, Sphere
from ..rigid import Array, unit_vector
from ..validate import ensure_valid, validated_as

_AXIS_Z = np.array([0.0, 0.0, 1.0])
# Largest length or scale of a shape, in [m]: mesh files have single precision.
_MAX_LENGTH = 1e30
_Part = TypeVar("_Part", Link, Joint)


class _Problem(NamedTuple):
    """A problem, the message that reports it, and the attributes that repair it."""

    code: str
    message: str
    repair: dict[str, Any]


def repaired(body: Body, diagnostics: Diagnostics) -> Body:
    """Return a body that a URDF can represent, with a warning for each change.

    Links, joints and shapes that need no repair are the same objects.

    Raises:
        ModelError: The body is invalid, see ``ensure_valid``.
    """
    ensure_valid(body, diagnostics)
    links = tuple(_repaired_link(link, diagnostics) for link in body.links)
    extra = tuple(x for x in body.extra_joints if _has_direction(x, body, diagnostics))
    if (links, extra) == (body.links, body.extra_joints):  # the same objects
        return body
    return validated_as(replace(body, links=links, extra_joints=extra), body)


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
    for side in ("visual", "collision"):
        shapes: tuple[Shape, ...] = getattr(link, side)
        valid = tuple(filter(_is_valid_shape, shapes))
        if invalid := len(shapes) - len(valid):
            message = f"{invalid} {side} shapes {of_link} have an impossible pose or size, left out"
            yield _Problem("not-finite", message, {side: valid})


def _joint_problems(joint: Joint) -> Iterator[_Problem]:
    if unit_vector(joint.axis) is None:
        message = f"the axis of joint '{joint.name}' has no direction, treated as Z"
        yield _Problem("zero-axis", message, {"axis": _AXIS_Z})
    for name, value in (("damping", joint.damping), ("friction", joint.friction)):
        if value < 0.0:
            message = f"the {name} of joint '{joint.name}' is {value:g}, treated as 0"
            yield _Problem("negative-resistance", message, {name: 0.0})


def _has_direction(joint: ExtraJoint, body: Body, diagnostics: Diagnostics) -> bool:
    """Return whether the axis of an extra joint has a direction; warn if it has none."""
    if unit_vector(joint.axis) is not None:
        return True
    message = f"extra joint '{joint.name}' has an axis without a direction; left out"
    diagnostics.warn("unsound-constraint", message, body.root.at)
    return False


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
