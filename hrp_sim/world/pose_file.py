"""Read the named poses of a world file."""

from __future__ import annotations

import numpy as np

from hrp_model import Diagnostics, Pose
from hrp_model.readers.yaml.nodes import Mapping, Scalar, Sequence
from hrp_model.rigid import Array

from ..engine.articulation.numeric_limits import MAX_COORDINATE
from .config import NamedPose
from .rotation import read_rotation


def read_named_poses(items: Sequence, diagnostics: Diagnostics) -> tuple[NamedPose, ...]:
    """Read a list of named poses."""
    found: dict[str, NamedPose] = {}
    for item in items.items:
        if not isinstance(item, Mapping):
            message = "a named pose must be a mapping with 'name' and further keys"
            diagnostics.error("wrong-type", message, item.span)
            continue
        pose = _named_pose(item)
        if not pose.name:
            diagnostics.error("missing-name", "a named pose needs a name", item.span)
        elif pose.name in found:
            message = f"two poses are named '{pose.name}'; give one of them another name"
            diagnostics.error("duplicate-name", message, item.at("name"))
        found[pose.name] = pose
    return tuple(found.values())


def _named_pose(node: Mapping) -> NamedPose:
    position = node.numbers("position", count=3, default=np.zeros(3))
    if not np.all(np.abs(position) < MAX_COORDINATE):
        message = f"the position must be within {MAX_COORDINATE:g} m of the origin"
        node.diagnostics.error("out-of-range", message, node.at("position"))
    pose = NamedPose(
        name=node.text("name", default=""),
        X_WP=Pose(read_rotation(node, np.eye(3)), position),
        description=node.text("description", default=""),
        tags=_tags(node),
        bounds=_bounds(node.mapping("bounds"), node),
    )
    node.finish()
    return pose


def _tags(node: Mapping) -> tuple[str, ...]:
    given = node.sequence("tags")
    tags: list[str] = []
    for item in () if given is None else given.items:
        if isinstance(item, Scalar):
            tags.append(item.text)
        else:
            node.diagnostics.error("wrong-type", "a tag must be a text", item.span)
    return tuple(tags)


def _bounds(box: Mapping | None, node: Mapping) -> Array | None:
    if box is None:
        return None
    lower = box.numbers("lower", count=3, default=None)
    upper = box.numbers("upper", count=3, default=None)
    box.finish()
    if lower is None or upper is None or not np.all(lower <= upper):
        message = "bounds need 'lower' and 'upper', corners [x, y, z] with lower below upper"
        node.diagnostics.error("bad-bounds", message, node.at("bounds"))
        return None
    return np.array([lower, upper])
