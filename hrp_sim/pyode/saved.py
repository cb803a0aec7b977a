"""The moving state of a body to arrays and back, to the last bit: ``ode/_core_saved.c``."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ..articulation.articulation import JointKind
from ..ode.saving import SavedBody
from .assembly import Assembly
from .coordinates import Coordinates
from .motion import Motion

# Rows of R in a group's state, which pads its rows to four numbers.
_R = [7, 8, 9, 11, 12, 13, 15, 16, 17]
_ROWS = {"p": [0, 1, 2], "quaternion": [3, 4, 5, 6], "v": [19, 20, 21], "w": [22, 23, 24]}


def read_state(body: Assembly, arrays: SavedBody) -> None:
    """Write the moving state of a body into arrays."""
    state = Motion([body]).read_groups()
    for name, rows in _ROWS.items():
        getattr(arrays, name)[...] = state[rows].T
    arrays.R[...] = state[_R].T.reshape(-1, 3, 3)
    driven = _driven(body)
    for array in (arrays.q, arrays.dq, arrays.turns, arrays.limited):
        array[...] = 0
    arrays.q[driven], arrays.dq[driven] = body.now
    arrays.turns[driven], arrays.limited[driven] = body.turns, body.limited


def write_state(body: Assembly, arrays: SavedBody) -> None:
    """Put a body into a saved state, and write how it moves.

    Raises:
        ValueError: A number is not finite.
    """
    if not all(np.isfinite(getattr(arrays, f.name)).all() for f in fields(arrays)):
        raise ValueError("a saved state must be finite")
    state = np.zeros((25, len(body.groups)))
    for name, rows in _ROWS.items():
        state[rows] = getattr(arrays, name).T
    state[_R] = arrays.R.reshape(-1, 9).T
    motion, driven = Motion([body]), _driven(body)
    motion.write_groups(state)
    motion.read()
    body.now[...] = arrays.q[driven], arrays.dq[driven]
    body.turns[...], body.limited[...] = arrays.turns[driven], arrays.limited[driven]
    Coordinates([body]).set_stops()
    motion.write_still([body])


def _driven(body: Assembly) -> list[int]:
    """Return which of all joints of a body move."""
    return [i for i, joint in enumerate(body.joints) if joint.kind != JointKind.FIXED]
