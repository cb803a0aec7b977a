"""Read the mass keys of links and RigidBody nodes."""

from __future__ import annotations

import numpy as np

from ...inertia import MassProperties, describe_asymmetry, is_symmetric, symmetric, tensor
from ...rigid import Array
from ..yaml.tree import Mapping

# Keys of an inertia in other formats; they are too different to be reported as misspelt.
_FOREIGN_KEYS = ("momentsOfInertia", "momentOfInertia")


def read_mass(mapping: Mapping, default: MassProperties) -> MassProperties:
    """Read the mass keys of a link or a RigidBody, in its own frame."""
    numbers = mapping.numbers("inertia", count=None, default=None, shown=default.inertia)
    for key in _FOREIGN_KEYS:
        if numbers is None and key in mapping:
            mapping.get(key)
            message = f"'{key}' is unknown here and ignored. Did you mean 'inertia'?"
            mapping.diagnostics.warn("unknown-key", message, mapping.at(key))
    return MassProperties(
        mapping.number("mass", default=default.mass),
        mapping.numbers("center_of_mass", "centerOfMass", count=3, default=default.center_of_mass),
        default.inertia if numbers is None else _inertia(numbers, mapping),
    )


def _inertia(numbers: Array, mapping: Mapping) -> Array:
    at = mapping.at("inertia")
    inertia = tensor(numbers)
    if inertia is None:
        message = f"an inertia needs 9 numbers, or the 6 of its upper triangle, not {len(numbers)}"
        mapping.diagnostics.error("wrong-count", message, at)
        return np.zeros((3, 3))
    if not is_symmetric(inertia):
        message = f"the inertia {describe_asymmetry(inertia, 'write 6 numbers, or all 9')}"
        mapping.diagnostics.warn("asymmetric-inertia", message, at)
    return symmetric(inertia)
