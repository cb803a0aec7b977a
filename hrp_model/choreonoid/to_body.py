"""A ``.body`` file to a Body: its header, and the order in which its parts are read."""

from __future__ import annotations

from dataclasses import replace
from math import radians
from typing import Any

import numpy as np

from ..body import Body, ExtraJoint, ExtraJointType, JointType
from ..diagnostics import Source, Span, did_you_mean
from ..reading import Reading
from ..rigid import Array, Pose, unit_vector
from ..yaml_tree import Mapping, Scalar, parse_document
from .collision_rules import self_collision_disabled
from .scope import Scope, finish_open, rotation, translation
from .tree import Tree, arrange, read_links

_FORMAT = "ChoreonoidBody"
_NEWEST = 2.1  # the first version that is not understood
_DEGREE = radians(1.0)
_ANGLE_UNITS = {"degree": _DEGREE, "radian": 1.0}
_HEADER = ("format", "format_version", "formatVersion", "angle_unit", "angleUnit", "name")
_READ_KEYS = frozenset(
    (*_HEADER, "root_link", "rootLink", "links", "extra_joints", "extraJoints",
     "model_file", "modelFile", "link_info", "linkInfo")
)  # fmt: skip
# Keys of editors that resemble one of ours, root_link.
_INFO_KEYS = {"foot_links", "footLinks"}
_EXTRA_JOINT_TYPES: dict[str, ExtraJointType | None] = {
    "ball": ExtraJointType.BALL,
    "xyz": ExtraJointType.BALL,
    "xy": ExtraJointType.XY,
    "z": ExtraJointType.Z,
    "piston": ExtraJointType.PISTON,
    "hinge": ExtraJointType.HINGE,
    "fixed": ExtraJointType.FIXED,
}
_AXIS_X = np.array([1.0, 0.0, 0.0])


def read_body(source: Source, reading: Reading) -> Body | None:
    """Read a Choreonoid body, or a wrapper file that names the model.

    Every problem is reported to ``reading.diagnostics``; None if there is no body then.
    """
    document = parse_document(source, reading.diagnostics)
    top = document.root
    if not isinstance(top, Mapping):
        if not reading.diagnostics.has_errors:
            at = top.span if top else Span(source, 0, 0)
            message = "this is no model file: it holds no keys"
            reading.diagnostics.error("not-a-model", message, at)
        return None
    if "format" not in top and ("modelFile" in top or "model_file" in top):
        return _wrapped(top, reading)
    if not _check_header(top, reading):
        return None
    angle = top.choice("angle_unit", "angleUnit", choices=_ANGLE_UNITS, default=_DEGREE)
    return _body(top, Scope(reading, document, angle), source)


def _check_header(top: Mapping, reading: Reading) -> bool:
    diagnostics = reading.diagnostics
    format_name = top.text("format", default="")
    if format_name != _FORMAT:
        what = f"format '{format_name}' is not '{_FORMAT}'" if format_name else "no 'format' key"
        message = f"this is no model file: {what}"
        diagnostics.error("not-a-model", message, top.at("format"))
        return False
    version = top.number("format_version", "formatVersion", default=None)
    at = top.at("format_version", "formatVersion")
    if version is None:
        diagnostics.warn("no-version", "'format_version' is missing; 1.0 is assumed", at)
    elif version >= _NEWEST:
        message = f"format version {version:g} is newer than 2.0, the newest known"
        diagnostics.error("unknown-version", message, at)
        return False
    if (
        version is not None
        and version >= 2.0
        and top.text("angle_unit", "angleUnit", default="") == "radian"
    ):
        message = "from format version 2.0 on, angles are in degrees only"
        diagnostics.error("radian", message, top.at("angle_unit", "angleUnit"))
    return True


def _body(top: Mapping, scope: Scope, source: Source) -> Body | None:
    links = top.get("links")
    tree = read_links(links, scope) if links is not None else Tree()
    if not tree.drafts:
        if not scope.diagnostics.has_errors:
            at = top.at("links")
            scope.diagnostics.error("no-links", "a model needs at least one link", at)
        return None
    root = top.get("root_link", "rootLink")
    if not arrange(tree, root if isinstance(root, Scalar) else None, scope):
        return None
    _report_default_masses(tree, scope)
    body = Body(
        name=top.text("name", default="") or (source.path.stem if source.path else source.name),
        links=tree.links,
        devices=tree.devices,
        extra_joints=(*tree.extra_joints, *_extra_joints(top, tree, scope)),
        self_collision_disabled=self_collision_disabled(top, tree.links, scope),
        info={**tree.info, **_info(top)},
        path=source.path,
    )
    finish_open(top, _READ_KEYS, free=_INFO_KEYS)
    return body


def _info(top: Mapping) -> dict[str, Any]:
    entries = top.entries().items()
    return {key: node.plain_value() for key, (_, node) in entries if key not in _READ_KEYS}


def _report_default_masses(tree: Tree, scope: Scope) -> None:
    """Warn about masses that nobody wrote where they will move."""
    moving: set[str] = set()
    for draft in tree.drafts:
        link = draft.link
        if link.joint.type is not JointType.FIXED or link.parent in moving:
            moving.add(link.name)
            if draft.default_mass == "mass":
                message = f"link '{link.name}' has no mass; it gets 1 kg and 1 kg m2"
                scope.diagnostics.warn("default-mass", message, link.at)
            elif draft.default_mass == "inertia":
                message = f"link '{link.name}' has a mass but no inertia; it gets 1 kg m2"
                scope.diagnostics.warn("default-inertia", message, link.at)


def _extra_joints(top: Mapping, tree: Tree, scope: Scope) -> list[ExtraJoint]:
    written = top.sequence("extra_joints", "extraJoints")
    joints = []
    for entry in written.items if written else ():
        if not isinstance(entry, Mapping):
            scope.diagnostics.error("wrong-type", "expected the keys of a joint", entry.span)
            continue
        joint = _extra_joint(entry, {link.name for link in tree.links}, scope)
        if joint is not None:
            joints.append(joint)
    return joints


def _extra_joint(entry: Mapping, names: set[str], scope: Scope) -> ExtraJoint | None:
    kind = entry.choice(
        "joint_type", "jointType", choices=_EXTRA_JOINT_TYPES, default=None,
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
    message = f"an extra joint names link '{name}', which does not exist."
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


def _wrapped(top: Mapping, reading: Reading) -> Body | None:
    """Read the model that a wrapper file names, and add what the wrapper says."""
    uri = top.text("model_file", "modelFile", default="")
    at = top.at("model_file", "modelFile")
    path = reading.resolve(uri, at, needed=True)
    body = reading.read_body(path, at) if path else None
    if body is None:
        return None
    body = replace(body, info={**body.info, **_info(top)})
    per_link = top.mapping("link_info", "linkInfo")
    if per_link is None:
        return body
    infos = {key.text: node for key, node in per_link.items()}
    links = []
    for link in body.links:
        node = infos.pop(link.name, None)
        more = node.plain_value() if isinstance(node, Mapping) else {}
        links.append(replace(link, info={**link.info, **more}) if more else link)
    for name, node in infos.items():
        message = f"there is no link '{name}'.{did_you_mean(name, [x.name for x in body.links])}"
        reading.diagnostics.warn("unknown-link", message, node.span)
    return replace(body, links=tuple(links))
