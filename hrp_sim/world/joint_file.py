"""Read the joints between the bodies of a world file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrp_model import Body, Pose
from hrp_model.body import ExtraJointType
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.rigid import Array, unit_vector

from ..control.handling import JointEntry
from .config import BodyEntry
from .rotation import read_rotation

_TYPES: dict[str, ExtraJointType | None] = {kind.value: kind for kind in ExtraJointType}
_AXIS_X = np.array([1.0, 0.0, 0.0])


def read_joints(root: Mapping, entries: Sequence[BodyEntry]) -> tuple[JointEntry, ...]:
    """Read the list ``joints`` of a world file.

    Args:
        root: The file.
        entries: Its bodies.
    """
    written = root.sequence("joints")
    joints: dict[str, JointEntry] = {}
    bodies = {entry.placement.name: entry.placement.body for entry in entries}
    for number, item in enumerate(written.items if written else (), 1):
        if not isinstance(item, Mapping):
            message = "a joint must be a mapping with 'type', 'link1' and 'link2'"
            root.diagnostics.error("wrong-type", message, item.span)
            continue
        joint = _joint(item, f"joint{number}", bodies)
        if joint is None:
            continue
        if joint.name in joints:
            message = f"two joints are named '{joint.name}'; give one of them another 'name'"
            root.diagnostics.error("duplicate-name", message, item.at("name"))
        joints[joint.name] = joint
    return tuple(joints.values())


def _joint(node: Mapping, default_name: str, bodies: dict[str, Body]) -> JointEntry | None:
    name = node.text("name", default=default_name)
    kind = node.choice("type", choices=_TYPES, default=None)
    if "type" not in node:
        message = f"a joint needs a 'type': {', '.join(_TYPES)}"
        node.diagnostics.error("missing-key", message, node.span)
    ends = [_end(node, key, bodies) for key in ("link1", "link2")]
    axis = _axis(node)
    node.finish()
    if kind is None or ends[0] is None or ends[1] is None:
        return None
    (body_a, link_a, X_AJ), (body_b, link_b, X_BJ) = ends[0], ends[1]
    if body_a == body_b:
        message = (
            f"both links of joint '{name}' belong to body '{body_a}'; it must connect two bodies "
            "(extra joints within a body belong to its model)"
        )
        node.diagnostics.error("same-body", message, node.at("link2"))
        return None
    return JointEntry(
        name=name,
        type=kind,
        bodies=(body_a, body_b),
        links=(link_a, link_b),
        X_AJ=X_AJ,
        X_BJ=X_BJ,
        axis=axis,
    )


def _end(node: Mapping, key: str, bodies: dict[str, Body]) -> tuple[str, str, Pose] | None:
    """Read the body, the link and the pose of the joint's frame in it."""
    end = node.mapping(key)
    if end is None:
        if key not in node:
            message = f"a joint needs '{key}: {{body: NAME, link: NAME}}'"
            node.diagnostics.error("missing-key", message, node.span)
        return None
    name = end.text("body", default="")
    link = end.text("link", default=None)
    X_LJ = Pose(
        read_rotation(end, np.eye(3)), end.numbers("position", count=3, default=np.zeros(3))
    )
    end.finish()
    if name not in bodies:
        hint = did_you_mean_or_all(name, bodies)
        message = f"{key} of a joint refers to body '{name}', which this world does not have.{hint}"
        end.diagnostics.error("unknown-body", message, end.at("body"))
        return None
    links = [known.name for known in bodies[name].links]
    if link is None:
        link = links[0]
    if link not in links:
        message = f"body '{name}' has no link '{link}'.{did_you_mean_or_all(link, links)}"
        end.diagnostics.error("unknown-link", message, end.at("link"))
        return None
    return name, link, X_LJ


def _axis(node: Mapping) -> Array:
    axis = unit_vector(node.numbers("axis", count=3, default=_AXIS_X))
    if axis is None:
        node.diagnostics.error("zero-axis", "a joint axis must not be zero", node.at("axis"))
        return _AXIS_X
    return axis
