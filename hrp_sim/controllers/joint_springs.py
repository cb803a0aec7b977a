"""Springs of joints that a model specifies."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np

from hrp_model import Body
from hrp_model.rigid import Array

from .base import ForceHook
from .force_state import ForceState

# Key of a link: stiffness of a spring in its joint that pulls q to 0, in [N m/rad] or [N/m].
STIFFNESS = "jointStiffness"


class JointSprings(ForceHook):
    """The springs in the joints of a body.

    Args:
        stiffness: In [N m/rad] or [N/m], shape (joints,), 0 for joints without a spring.
    """

    def __init__(self, stiffness: Array) -> None:
        self._stiffness = stiffness

    @classmethod
    def of(cls, body: Body) -> JointSprings | None:
        """Return the springs of a model, or None if it has none."""
        stiffness = np.array([_number(x.info.get(STIFFNESS)) for x in body.moving_links])
        return cls(stiffness) if stiffness.any() else None

    def apply(self, state: ForceState, dt: float) -> None:  # noqa: ARG002
        """Pull the joints to 0."""
        state.joint_effort[:] = -self._stiffness * state.q

    def save(self) -> Mapping[str, Array]:
        """Return nothing: the forces depend on the state alone."""
        return {}


def _number(value: object) -> float:
    is_number = isinstance(value, int | float) and isfinite(value) and value > 0.0
    return float(value) if is_number and isinstance(value, int | float) else 0.0
