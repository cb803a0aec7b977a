"""Sizes of arrows that fit a world."""

from __future__ import annotations

from collections.abc import Iterable

from hrp_model.view import scale
from hrp_model.view.scale import Scale

from ..physics.state import SimulatedBody

__all__ = ["Scale", "scale_of"]


def scale_of(bodies: Iterable[tuple[SimulatedBody, float]]) -> Scale:
    """Return the scale of a world.

    Args:
        bodies: Its bodies with their sizes, in [m].
    """
    return scale.scale_of((simulated.body, size) for simulated, size in bodies)
