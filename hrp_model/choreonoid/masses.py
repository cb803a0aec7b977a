"""The mass keys of links and RigidBody nodes."""

from __future__ import annotations

import numpy as np

from ..inertia import MassProperties
from ..rigid import Array
from ..yaml_tree import Mapping


def read_mass(mapping: Mapping, default: MassProperties) -> MassProperties:
    """Read the mass keys of a link or a RigidBody, in its own frame."""
    inertia = mapping.numbers("inertia", count=None, default=None)
    return MassProperties(
        mapping.number("mass", default=default.mass),
        mapping.numbers("center_of_mass", "centerOfMass", count=3, default=default.center_of_mass),
        default.inertia if inertia is None else _tensor(inertia, mapping),
    )


def _tensor(values: Array, mapping: Mapping) -> Array:
    """Return the inertia tensor written as nine numbers by row, or six of the upper triangle."""
    if len(values) == 6:
        xx, xy, xz, yy, yz, zz = values
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    at = mapping.at("inertia")
    if len(values) != 9:
        message = f"an inertia has 9 numbers, or 6 of its upper triangle, not {len(values)}"
        mapping.diagnostics.error("wrong-count", message, at)
        return np.zeros((3, 3))
    tensor = values.reshape(3, 3)
    symmetric: Array = (tensor + tensor.T) / 2.0
    if np.abs(tensor - symmetric).max() > 1e-6 * np.abs(tensor).max():
        message = "the inertia is not symmetric; the mean with its transpose is used"
        mapping.diagnostics.warn("asymmetric-inertia", message, at)
    return symmetric
