"""Contact properties that models declare, as rows of numbers."""

from __future__ import annotations

import numpy as np

from hrp_model.geometry import Surface, SurfaceRule
from hrp_model.rigid import Array, Pose, unit_vector

# The numbers of a row, as in the structure ``Surface`` of ``_core.h``.
RULE, FRICTION, ACROSS, ALONG, STIFFNESS, DAMPING = 0, 1, 2, slice(3, 6), 6, 7
RESTITUTION, BOUNCE_SPEED, FRICTIONLESS, PRIORITY = 8, 9, 10, 11
SURFACE_NUMBERS = 12
NO_RULE, SMALLER, LARGER = 0, 1, 2
_RULES = {SurfaceRule.GAZEBO: SMALLER, SurfaceRule.MUJOCO: LARGER}
_NOT_DECLARED = -1.0


def surface_row(surface: Surface | None, X_LE: Pose) -> Array:
    """Return what a shape declares, shape (SURFACE_NUMBERS,).

    Args:
        surface: In the link L; None if nothing is declared.
        X_LE: Pose of the engine's shape, in whose frame E the direction of friction is.
    """
    row = np.zeros(SURFACE_NUMBERS)
    if surface is None:
        return row
    row[RULE] = _RULES[surface.rule]
    row[FRICTION] = _number(surface.friction)
    row[ACROSS] = _number(surface.friction_across)
    along = None if surface.direction is None else unit_vector(surface.direction)
    if along is not None:
        row[ALONG] = X_LE.R.T @ along
    row[STIFFNESS], row[DAMPING] = surface.stiffness or 0.0, surface.damping
    row[RESTITUTION], row[BOUNCE_SPEED] = _number(surface.restitution), surface.bounce_speed
    row[FRICTIONLESS], row[PRIORITY] = surface.is_frictionless, surface.priority
    return row


def _number(value: float | None) -> float:
    return _NOT_DECLARED if value is None else value
