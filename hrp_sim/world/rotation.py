"""Read the orientation of a body or frame in a world file."""

from __future__ import annotations

from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.rigid import Array, axis_angle_matrix, rpy_matrix, unit_vector

from .degrees import rotation_degrees_hint


def read_rotation(node: Mapping, default: Array) -> Array:
    """Return the rotation that ``rpy`` or ``rotation`` of a mapping gives, shape (3, 3)."""
    rpy = node.numbers("rpy", count=3, default=None)
    rotation = node.numbers("rotation", count=4, default=None)
    if rpy is not None:
        if rotation is not None:
            message = "give 'rpy' or 'rotation', not both"
            node.diagnostics.error("two-rotations", message, node.at("rotation"))
        _warn_degrees(node, "rpy", rpy)
        return rpy_matrix(*rpy)
    if rotation is None:
        return default
    axis = unit_vector(rotation[:3])
    if axis is None:
        message = "the axis of 'rotation: [x, y, z, angle]' has zero length"
        node.diagnostics.error("zero-axis", message, node.at("rotation"))
        return default
    _warn_degrees(node, "rotation", rotation[3:])
    return axis_angle_matrix(axis, rotation[3])


def _warn_degrees(node: Mapping, key: str, angles: Array) -> None:
    if message := rotation_degrees_hint(key, angles):
        node.diagnostics.warn("maybe-degrees", message, node.at(key))
