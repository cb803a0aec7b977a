"""Read a ``.body`` file as a Body, with its extra joints, which close loops.

Wrapper files refer to a model and add information to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...body import Body, ExtraJoint, ExtraJointType, JointType, Link
from ...diagnostics import Source, Span, did_you_mean
from ...geometry import Box, Geometry, Mesh, Shape
from ...read_context import ReadContext
from ...rigid import Array, Pose, unit_vector
from ..file_kind import WRAPPER_KEYS, is_world
from ..yaml.tree import Mapping, Scalar
from .collision_rules import RULE_KEYS, disabled_collisions, rules_info
from .geometries import divisions
from .scope import (
    ANGLE_UNIT,
    VERSION,
    Scope,
    parse,
    read_angle_unit,
    rotation,
    translation,
    warn_misspelt_keys,
)
from .tree import Tree, arrange, read_links

_TYPES: dict[str, ExtraJointType | None] = {
    **{x.value: x for x in ExtraJointType},
    "xyz": ExtraJointType.BALL,
}
_AXIS_X = np.array([1.0, 0.0, 0.0])
_KEYS_OF_WRAPPERS = frozenset((*WRAPPER_KEYS, "link_info", "linkInfo", "geometry"))
_FORMAT = "ChoreonoidBody"
_READ_KEYS = frozenset(
    ("format", *VERSION, *ANGLE_UNIT, "name", "root_link", "rootLink", "links",
     "extra_joints", "extraJoints")
)  # fmt: skip
# Keys of editors that resemble root_link.
_INFO_KEYS = {"foot_links", "footLinks"}


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


def is_wrapper(top: Mapping) -> bool:
    """Whether a file is a wrapper: it refers to a model and has no ``format``."""
    return "format" not in top and any(key in top for key in WRAPPER_KEYS)


def read_wrapped(top: Mapping, context: ReadContext) -> Body | None:
    """Read the model of a wrapper file, and add the wrapper's information."""
    at = top.at(*WRAPPER_KEYS)
    path = context.resolve(top.text(*WRAPPER_KEYS, default=""), at, needed=True)
    body = context.read_body(path, at) if path else None
    if body is None:
        return None
    entries = top.entries().items()
    info = {key: node.plain_value() for key, (_, node) in entries if key not in _KEYS_OF_WRAPPERS}
    links = _with_info(body.links, top.mapping("link_info", "linkInfo"), context)
    settings = top.mapping("geometry")
    number = None
    if settings is not None:
        number = divisions(settings)
        settings.finish()
    if number is not None:
        links = tuple(_divided(link, number) for link in links)
    warn_misspelt_keys(top, _KEYS_OF_WRAPPERS)
    return replace(body, links=links, info={**body.info, **info})


def _with_info(
    links: tuple[Link, ...], per_link: Mapping | None, context: ReadContext
) -> tuple[Link, ...]:
    """Return links with the wrapper's information about them."""
    named = {link.name: link for link in links}
    for key, node in per_link.items() if per_link else ():
        if key.text not in named:
            message = f"there is no link '{key.text}'.{did_you_mean(key.text, named)}"
            context.diagnostics.warn("unknown-link", message, key.span)
        elif not isinstance(node, Mapping):
            message = f"expected keys for link '{key.text}'"
            context.diagnostics.warn("wrong-type", message, node.span)
        else:
            link = named[key.text]
            named[key.text] = replace(link, info={**link.info, **node.plain_value()})
    return tuple(named.values())


def _divided(link: Link, number: int) -> Link:
    """Return a link with ``number`` segments for circles that do not specify them."""
    done: dict[int, Any] = {}

    def divided(geometry: Geometry) -> Geometry:
        if isinstance(geometry, Mesh | Box) or geometry.divisions is not None:
            return geometry
        return replace(geometry, divisions=number)

    def all_of(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        if id(shapes) not in done:
            done[id(shapes)] = tuple(replace(x, geometry=divided(x.geometry)) for x in shapes)
        same: tuple[Shape, ...] = done[id(shapes)]
        return same

    return replace(link, visual=all_of(link.visual), collision=all_of(link.collision))


def read_body(source: Source, context: ReadContext) -> Body | None:
    """Read a Choreonoid body, or a wrapper file that refers to a model.

    Problems are reported to ``context.diagnostics``; None after an error.
    """
    document = parse(source, context.diagnostics)
    top = document.root
    if not isinstance(top, Mapping):
        if not context.diagnostics.has_errors:
            at = top.span if top else Span(source, 0, 0)
            message = "this is not a model file: it is not a YAML mapping"
            context.diagnostics.error("not-a-model", message, at)
        return None
    if is_wrapper(top):
        return read_wrapped(top, context)
    if not _check_format(top, context):
        return None
    angle = read_angle_unit(top, context.diagnostics)
    return None if angle is None else _body(top, Scope(context, document, angle), source)


def _check_format(top: Mapping, context: ReadContext) -> bool:
    format_name = top.text("format", default="")
    if format_name == _FORMAT:
        return True
    if is_world(top):
        message = "this is a world, not a model: give it to hrp-sim, or name one of its models"
    else:
        problem = f"format '{format_name}' is not '{_FORMAT}'" if format_name else "no 'format' key"
        message = f"this is not a model file: {problem}"
    context.diagnostics.error("not-a-model", message, top.at("format"))
    return False


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
    names = {link.name for link in tree.links}
    disabled = disabled_collisions(top, tree.links, tree.collision_rules, scope)
    body = Body(
        name=top.text("name", default="") or source.stem,
        links=tree.links,
        devices=tree.devices,
        extra_joints=(*tree.extra_joints, *read_extra_joints(top, names, scope)),
        self_collision_disabled=disabled.pairs,
        collision_disabled=disabled.links,
        info={**tree.info, **_inherited_rules(top, tree), **_info(top)},
        path=source.path,
    )
    warn_misspelt_keys(top, _READ_KEYS, free=_INFO_KEYS)
    return body


def _info(top: Mapping) -> dict[str, Any]:
    entries = top.entries().items()
    return {key: node.plain_value() for key, (_, node) in entries if key not in _READ_KEYS}


def _inherited_rules(top: Mapping, tree: Tree) -> dict[str, Any]:
    """Return the collision rules of included bodies, if the file has no rules of its own."""
    if tree.collision_rules is None or any(key in top for key in RULE_KEYS):
        return {}
    return rules_info(tree.collision_rules)


def _report_default_masses(tree: Tree, scope: Scope) -> None:
    """Warn about links that can move and have default masses or inertias."""
    moving: set[str] = set()
    for draft in tree.drafts:
        link = draft.link
        if link.joint.type is not JointType.FIXED or link.parent in moving:
            moving.add(link.name)
            if draft.default_mass == "mass":
                message = f"link '{link.name}' has no mass; 1 kg and 1 kg m^2 are used"
                scope.diagnostics.warn("default-mass", message, link.at)
            elif draft.default_mass == "inertia":
                message = f"link '{link.name}' has a mass but no inertia; 1 kg m^2 is used"
                scope.diagnostics.warn("default-inertia", message, link.at)
