"""Read a ``.body`` file as a Body."""

from __future__ import annotations

from typing import Any

from ...body import Body, JointType
from ...diagnostics import Source, Span
from ...reading import Reading
from ..file_kind import is_world
from ..yaml.tree import Mapping, Scalar
from .collision_rules import RULE_KEYS, disabled_collisions, rules_info
from .extra_joints import read_extra_joints
from .header import ANGLE_UNIT, VERSION, read_angle_unit
from .scope import Scope, parse, warn_misspelt_keys
from .tree import Tree, arrange, read_links
from .wrapper import is_wrapper, read_wrapped

_FORMAT = "ChoreonoidBody"
_READ_KEYS = frozenset(
    ("format", *VERSION, *ANGLE_UNIT, "name", "root_link", "rootLink", "links",
     "extra_joints", "extraJoints")
)  # fmt: skip
# Keys of editors that resemble root_link.
_INFO_KEYS = {"foot_links", "footLinks"}


def read_body(source: Source, reading: Reading) -> Body | None:
    """Read a Choreonoid body, or a wrapper file that refers to a model.

    Problems are reported to ``reading.diagnostics``; None after an error.
    """
    document = parse(source, reading.diagnostics)
    top = document.root
    if not isinstance(top, Mapping):
        if not reading.diagnostics.has_errors:
            at = top.span if top else Span(source, 0, 0)
            message = "this is not a model file: it is not a YAML mapping"
            reading.diagnostics.error("not-a-model", message, at)
        return None
    if is_wrapper(top):
        return read_wrapped(top, reading)
    if not _check_format(top, reading):
        return None
    angle = read_angle_unit(top, reading.diagnostics)
    return None if angle is None else _body(top, Scope(reading, document, angle), source)


def _check_format(top: Mapping, reading: Reading) -> bool:
    format_name = top.text("format", default="")
    if format_name == _FORMAT:
        return True
    if is_world(top):
        message = "this is a world, not a model: give it to hrp-sim, or name one of its models"
    else:
        problem = f"format '{format_name}' is not '{_FORMAT}'" if format_name else "no 'format' key"
        message = f"this is not a model file: {problem}"
    reading.diagnostics.error("not-a-model", message, top.at("format"))
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
        name=top.text("name", default="") or (source.path.stem if source.path else source.name),
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
