"""Servo gains derived from the model, so that a robot stands without tuning."""

from __future__ import annotations

from hrp_model import Body
from hrp_model.kinematics.actuation import NATURAL_FREQUENCY, apparent_inertias, critically_damped
from hrp_model.rigid import Array


def servo_gains(body: Body, q: Array, *, fixed: bool) -> tuple[Array, Array]:
    """Return (kp, kd) of critically damped servos that hold the posture ``q``.

    Such gains are far too stiff for the lighter side in an explicit integration; drives are
    integrated implicitly.

    Args:
        body: The model.
        q: Joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.

    Returns:
        Stiffness in [N m/rad] or [N/m] and damping in [N m s/rad] or [N s/m], shape (joints,).
    """
    return critically_damped(apparent_inertias(body, q, fixed=fixed), NATURAL_FREQUENCY)
