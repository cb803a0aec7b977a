"""Slew-rate limit of position commands: how fast servo targets approach them."""

from __future__ import annotations

import numpy as np

from hrp_model.rigid import Array

from .settings import CommandRateLimit


class SlewedTargets:
    """Commanded positions, and the servo targets that approach them at limited speed.

    Args:
        q: Initial positions, in [rad] or [m], shape (joints,).
        speed: Speed limits of the model, in [rad/s] or [m/s], infinity for none, shape (joints,).
        rate_limit: Whether these limits apply.

    Attributes:
        final: The commanded positions, in [rad] or [m], shape (joints,).
        moving: Whether a target may not have arrived yet.
        rate_limit: May be set between two steps.
    """

    def __init__(self, q: Array, speed: Array, rate_limit: CommandRateLimit) -> None:
        self.final = np.array(q, dtype=np.float64)
        self.moving = False
        self.rate_limit = rate_limit
        self._speed = speed

    def jump(self, q: Array) -> None:
        """Set commanded positions that targets have reached already, in [rad] or [m]."""
        self.final[:] = q
        self.moving = False

    def reach(self, step_ns: int) -> Array:
        """Return the maximum movement of targets in a step of a length in [ns], in [rad] or [m]."""
        if self.rate_limit is CommandRateLimit.NONE:
            return np.full_like(self._speed, np.inf)
        return self._speed * (step_ns * 1e-9)

    def advance(self, targets: Array, step_ns: int) -> None:
        """Move targets, shape (joints,), as far as allowed in a step of a length in [ns]."""
        left, reach = self.final - targets, self.reach(step_ns)
        far = np.abs(left) > reach
        self.moving = bool(np.count_nonzero(far))  # any() takes five times as long
        if self.moving:
            targets[:] = np.where(far, targets + np.clip(left, -reach, reach), self.final)
        else:  # as above, but several times faster
            targets[:] = self.final
