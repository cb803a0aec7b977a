"""The arrays that controllers see."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from hrp_model.rigid import Array

from ...engine.state import BodyMotion


def read_only_motion(motion: BodyMotion) -> BodyMotion:
    """Return views of the live arrays of a motion through which they cannot be written."""
    views = {f.name: getattr(motion, f.name).view() for f in fields(motion)}
    for view in views.values():
        view.flags.writeable = False
    return BodyMotion(**views)


def assign(target: Array, name: str, values: Array) -> None:
    """Copy an array or a number into an array that controllers see.

    Args:
        target: The array.
        name: Of the attribute, for messages.
        values: Of the same shape, or one for all elements.

    Raises:
        ValueError: The shape is another one, or the values are no numbers.
        TypeError: The values are no numbers.
    """
    given = np.asarray(values)
    if given.shape not in ((), target.shape):
        raise ValueError(f"{name} must have the shape {target.shape}, not {given.shape}")
    target[:] = given
