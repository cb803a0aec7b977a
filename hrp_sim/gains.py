"""Servo gains derived from the model, so that a robot stands before anybody tuned it."""

from __future__ import annotations

import numpy as np

from hrp_model import Body, BodyState, JointType
from hrp_model.inertia import point_inertia
from hrp_model.rigid import Array

# Stiff enough that a limb sags by a few milliradians under its own weight:
# g / (l * w^2) = 3 mrad for a limb of 0.3 m.
NATURAL_FREQUENCY = 100.0  # [rad/s]
DAMPING_RATIO = 1.0


def servo_gains(body: Body, q: Array, *, fixed: bool) -> tuple[Array, Array]:
    """Return (kp, kd) of critically damped servos that hold the posture ``q``.

    kp = w^2 I and kd = 2 z w I, with I the inertia that a joint has to move: that of the
    links beyond it or, for a robot whose root is free and which may stand on them, that of
    all the others, whichever is more. Such gains are far too stiff for the lighter side in
    an explicit integration; drives are integrated implicitly.

    Args:
        body: The model.
        q: Joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.

    Returns:
        Stiffness in [N m/rad] or [N/m] and damping in [N m s/rad] or [N s/m], shape (joints,).
    """
    inertia = moved_inertias(body, q, fixed=fixed)
    kp = NATURAL_FREQUENCY**2 * inertia
    kd = 2.0 * DAMPING_RATIO * NATURAL_FREQUENCY * inertia
    return kp, kd


def moved_inertias(body: Body, q: Array, *, fixed: bool) -> Array:
    """Return the inertia each joint has to move, in [kg m^2] or [kg], shape (joints,)."""
    state = BodyState(body)
    state.q[:] = q
    state.calc_forward_kinematics()
    beyond = _subtrees(body)
    inertias = np.zeros(len(body.moving_links))
    for i, link in enumerate(body.moving_links):
        index = body.link_index(link.name)
        axis = state.R[index] @ link.joint.axis
        revolute = link.joint.type is JointType.REVOLUTE
        sides = [beyond[index]] if fixed else [beyond[index], ~beyond[index]]
        inertias[i] = link.joint.equivalent_rotor_inertia + max(
            _inertia_about(state, body, np.flatnonzero(side), state.p[index], axis)
            if revolute
            else sum(body.links[k].mass for k in np.flatnonzero(side))
            for side in sides
        )
    return inertias


def _subtrees(body: Body) -> np.ndarray:
    """Return which links lie at or beyond each link, shape (links, links) of bool."""
    beyond = np.eye(len(body.links), dtype=bool)
    for index in reversed(range(1, len(body.links))):
        beyond[body.parent_indices[index]] |= beyond[index]
    return beyond


def _inertia_about(
    state: BodyState, body: Body, links: np.ndarray, origin: Array, axis: Array
) -> float:
    """Return the moment of inertia of some links about a line, in [kg m^2]."""
    total = 0.0
    for k in links:
        link, R = body.links[k], state.R[k]
        center = state.p[k] + R @ link.center_of_mass - origin
        about_origin = R @ link.inertia @ R.T + link.mass * point_inertia(center)
        total += float(axis @ about_origin @ axis)
    return total
