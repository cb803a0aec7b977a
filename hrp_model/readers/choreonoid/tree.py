"""Build the tree of links: included bodies, unique names, parents and order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import Any

import numpy as np

from ...body import ExtraJoint, JointType, Link
from ...devices import Device
from ...diagnostics import Span, did_you_mean
from ...late_dataclass import dataclass
from ...rigid import Pose
from ..joints import has_circle
from ..yaml.tree import Mapping, Node, Scalar, Sequence
from .collision_rules import RULE_KEYS, Rule, included_rules
from .links import Draft, finish_link, overlay_root, read_link
from .scope import Scope, check_type

_INCLUDE_KEYS = (
    "uri", "prefix", "suffix", "device_prefix", "devicePrefix", "joint_id_offset", "jointIdOffset",
)  # fmt: skip
_TRACK_KEYS = (
    "numJoints", "num_joints", "joint_offset", "jointOffset", "initialJointAngles",
    "initial_joint_angles",
)  # fmt: skip


@dataclass
class Tree:
    """Links of a model, and contents of included bodies.

    Attributes:
        drafts: Links in the order of the file; after ``arrange`` parents come first.
        extra_joints: Extra joints of included bodies.
        info: Entries of included bodies, except their collision rules.
        collision_rules: Collision rules of included bodies; None if there are none.
    """

    drafts: list[Draft] = field(default_factory=list)
    extra_joints: list[ExtraJoint] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    collision_rules: list[Rule] | None = None

    _counted: tuple[int, int] = (0, 0)  # number of drafts counted, and of their devices

    def device_count(self) -> int:
        """Return the number of devices of all links; drafts may only be added between calls."""
        drafts, devices = self._counted
        devices += sum(len(draft.devices) for draft in self.drafts[drafts:])
        self._counted = len(self.drafts), devices
        return devices

    @property
    def links(self) -> tuple[Link, ...]:
        """The links."""
        return tuple(draft.link for draft in self.drafts)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices of all links."""
        return tuple(device for draft in self.drafts for device in draft.devices)


def read_links(node: Node, scope: Scope) -> Tree:
    """Read the value of ``links``: a list of nodes, or a mapping from types to nodes."""
    tree = Tree()
    entries: list[tuple[str, Node]]
    if isinstance(node, Sequence):
        entries = [("", item) for item in node.items]
    elif isinstance(node, Mapping):
        entries = [(key.text, value) for key, value in node.items()]
    else:
        scope.diagnostics.error("wrong-type", "expected a list of links", node.span)
        entries = []
    for type_name, entry in entries:
        if not isinstance(entry, Mapping):
            scope.diagnostics.error("wrong-type", "expected the keys of a link", entry.span)
            continue
        if type_name:
            check_type(entry, type_name, scope)
        written = entry.text("type", default=type_name or "Link")
        reader = _ENTRIES.get(written)
        if reader is None:
            message = f"link type '{written}' is unknown.{did_you_mean(written, _ENTRIES)}"
            scope.diagnostics.error("unknown-type", message, entry.at("type"))
        else:
            reader(entry, scope, tree)
    _name_uniquely(tree, scope)
    _name_joints_uniquely(tree, scope)
    return tree


def _link(entry: Mapping, scope: Scope, tree: Tree) -> None:
    tree.drafts.append(read_link(entry, scope, tree.device_count()))


def _skip(entry: Mapping, scope: Scope, tree: Tree) -> None:
    """Skip an entry with all its contents."""


def _sub_body(entry: Mapping, scope: Scope, tree: Tree) -> None:
    """Include another body: rename its links, and set the parent of its root."""
    uri = entry.text("uri", default="")
    at = entry.at("uri")
    if not uri:
        scope.diagnostics.error("missing-key", "a SubBody needs a 'uri'", entry.span)
        return
    path = scope.context.resolve(uri, at)
    body = scope.context.read_body(path, at) if path else None
    if body is None:
        return
    scope.context.count("links", len(body.links), at)
    prefix, suffix = entry.text("prefix", default=""), entry.text("suffix", default="")
    device_prefix = entry.text("device_prefix", "devicePrefix", default=prefix)
    devices: defaultdict[str, list[Device]] = defaultdict(list)
    for device in body.devices:
        devices[device.link].append(replace(device, name=device_prefix + device.name))
    offset = entry.integer("joint_id_offset", "jointIdOffset", default=0)

    def rename(name: str) -> str:
        return f"{prefix}{name}{suffix}"

    drafts = [_included(link, devices[link.name], entry, rename, offset) for link in body.links]
    root = drafts[0]
    root = replace(root, link=replace(root.link, parent=entry.text("parent", default="") or None))
    drafts[0] = overlay_root(root, scope, _INCLUDE_KEYS, tree.device_count())
    tree.drafts += drafts
    for joint in body.extra_joints:
        a, b = joint.links
        tree.extra_joints.append(replace(joint, links=(rename(a), rename(b))))
    info = {key: value for key, value in body.info.items() if key not in RULE_KEYS}
    tree.info = {**info, **tree.info}
    rules = included_rules(body, rename)
    if rules is not None:
        tree.collision_rules = [*(tree.collision_rules or ()), *rules]


def _included(
    link: Link,
    devices: Iterable[Device],
    entry: Mapping,
    rename: Callable[[str], str],
    offset: int,
) -> Draft:
    joint_id = None if link.joint.id is None else link.joint.id + offset
    renamed = replace(
        link,
        name=rename(link.name),
        parent=None if link.parent is None else rename(link.parent),
        joint=replace(link.joint, name=rename(link.joint.name), id=joint_id),
    )
    return Draft(renamed, entry, tuple(replace(device, link=renamed.name) for device in devices))


def _continuous_track(entry: Mapping, scope: Scope, tree: Tree) -> None:
    """Make the chain of track shoes: a free link, followed by links with revolute joints."""
    length = entry.integer("numJoints", "num_joints", default=0)
    offset = entry.numbers("joint_offset", "jointOffset", count=3, default=np.zeros(3))
    angles = entry.numbers(
        "initialJointAngles", "initial_joint_angles", count=None, default=np.zeros(0)
    )
    if "joint_offset" not in entry and "jointOffset" not in entry:
        message = "a ContinuousTrack needs a 'joint_offset'"
        scope.diagnostics.error("missing-key", message, entry.span)
    if not 3 <= length <= 1000:
        message = f"a ContinuousTrack needs 3 to 1000 joints, not {length}"
        scope.diagnostics.error("wrong-count", message, entry.at("numJoints", "num_joints"))
        return
    first = read_link(entry, scope, tree.device_count())
    finish_link(first.entry, _TRACK_KEYS)
    name = first.link.name
    info = {k: v for k, v in first.link.info.items() if k not in _TRACK_KEYS}
    info["isContinuousTrack"] = True
    for i in range(length):
        joint = replace(
            first.link.joint,
            name=f"{name}{i}",
            type=JointType.REVOLUTE if i else JointType.FREE,
            initial=float(angles[i - 1]) * scope.angle if 0 < i <= len(angles) else 0.0,
        )
        link = replace(first.link, name=f"{name}{i}", joint=joint, info=info)
        if i:
            link = replace(link, parent=f"{name}{i - 1}", X_PL=Pose(p=offset))
        devices = () if i else tuple(replace(x, link=link.name) for x in first.devices)
        tree.drafts.append(Draft(link, entry, devices, first.default_mass))


class _Names:
    """Makes unique names."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def new(self, stem: str, first: int) -> str:
        """Return the stem with the smallest number from ``first`` on that makes it unique."""
        number = max(first, self._next.get(stem, first))
        while f"{stem}{number}" in self._taken:
            number += 1
        self._next[stem] = number + 1
        self._taken.add(f"{stem}{number}")
        return f"{stem}{number}"


def _name_uniquely(tree: Tree, scope: Scope) -> None:
    """Name unnamed links, and rename all but the first link of the same name."""
    names = _Names(draft.link.name for draft in tree.drafts)
    seen: set[str] = set()
    for i, draft in enumerate(tree.drafts):
        name = draft.link.name
        if name and name not in seen:
            seen.add(name)
            continue
        unique = names.new(f"{name}_", 2) if name else names.new("link", i)
        seen.add(unique)
        code = "duplicate-link-name" if name else "unnamed-link"
        problem = f"another link is named '{name}'" if name else "this link has no name"
        message = f"{problem}; this one is named '{unique}'"
        scope.diagnostics.warn(code, message, draft.entry.at("name"))
        tree.drafts[i] = _renamed(draft, unique)


def _name_joints_uniquely(tree: Tree, scope: Scope) -> None:
    """Rename all but the first joint of the same name."""
    names = _Names(draft.link.joint.name for draft in tree.drafts)
    seen: set[str] = set()
    for i, draft in enumerate(tree.drafts):
        name = draft.link.joint.name
        if name in seen:
            unique = names.new(f"{name}_", 2)
            message = f"another joint is named '{name}'; this one is named '{unique}'"
            at = draft.entry.at("joint_name", "name")
            scope.diagnostics.warn("duplicate-joint-name", message, at)
            joint = replace(draft.link.joint, name=unique)
            tree.drafts[i] = replace(draft, link=replace(draft.link, joint=joint))
        seen.add(tree.drafts[i].link.joint.name)


def _renamed(draft: Draft, name: str) -> Draft:
    link = draft.link
    joint_name = name if link.joint.name == link.name else link.joint.name
    return replace(
        draft,
        link=replace(link, name=name, joint=replace(link.joint, name=joint_name)),
        devices=tuple(replace(device, link=name) for device in draft.devices),
    )


def arrange(tree: Tree, root_name: Scalar | None, scope: Scope) -> bool:
    """Put the root first and parents before their children; False after reporting an error."""
    by_name = {draft.link.name: draft for draft in tree.drafts}
    root = tree.drafts[0] if root_name is None else by_name.get(root_name.text)
    if root is None:
        assert root_name is not None  # the first link exists
        hint = did_you_mean(root_name.text, by_name)
        message = f"the root link '{root_name.text}' does not exist.{hint}"
        scope.diagnostics.error("unknown-root", message, root_name.span)
        return False
    if root.link.parent is not None:
        message = f"the root link '{root.link.name}' has a parent, which is ignored"
        scope.diagnostics.warn("root-with-parent", message, root.entry.at("parent"))
        root = replace(root, link=replace(root.link, parent=None))
    children: dict[str, list[Draft]] = {}
    sound = True
    for draft in tree.drafts:
        if draft.link.name == root.link.name:
            continue
        parent = draft.link.parent
        if parent is None or parent not in by_name:
            _report_parent(draft, parent, by_name, scope)
            sound = False
        else:
            children.setdefault(parent, []).append(draft)
    if not sound:
        return False
    ordered = _descend(root, children)

    def at(name: str) -> Span:
        return by_name[name].entry.at("parent")

    if has_circle(by_name, {draft.link.name for draft in ordered}, at, scope.diagnostics):
        return False
    tree.drafts = ordered
    return True


def _report_parent(
    draft: Draft, parent: str | None, by_name: dict[str, Draft], scope: Scope
) -> None:
    name = draft.link.name
    if parent is None:
        message = f"link '{name}' has no parent, but it is not the root"
        scope.diagnostics.error("second-root", message, draft.entry.at("name"))
    else:
        message = f"the parent '{parent}' of link '{name}' does not exist."
        message += did_you_mean(parent, by_name)
        scope.diagnostics.error("unknown-parent", message, draft.entry.at("parent"))


def _descend(root: Draft, children: dict[str, list[Draft]]) -> list[Draft]:
    """Return all links in depth-first order, children in the order of the file."""
    ordered = []
    stack = [root]
    while stack:
        draft = stack.pop()
        ordered.append(draft)
        stack += reversed(children.get(draft.link.name, []))
    return ordered


_ENTRIES = {
    "Link": _link,
    "SubBody": _sub_body,
    "ContinuousTrack": _continuous_track,
    "Skip": _skip,
}
