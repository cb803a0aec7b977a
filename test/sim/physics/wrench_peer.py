"""What the joint above a link transmits, computed by pinocchio from the motion of a body.

The wrenches are those of the recursive Newton-Euler algorithm (R. Featherstone, "Rigid Body
Dynamics Algorithms", 2008, section 5.3), the accelerations those of forward dynamics.
"""

from dataclasses import replace

import numpy as np
from pinocchio_model import Peer, pin
from sim.physics.scenes import REVOLUTE, G, Z

from hrp_model.kinematics import BodyState


def wrenches(body, motion, effort, *, held=True, pushes=()):
    """Return the wrench on each link with a force sensor, in its axes and about its origin.

    Args:
        body: With force sensors.
        motion: Pose, joint positions and rates are taken from it.
        effort: On each joint, in the order of ``body.moving_links``, shape (joints,).
        held: Whether the world holds the root; else it moves freely.
        pushes: (index of a link, force, torque) each, in W and about the link's origin.

    Returns:
        By link name: force [N], then torque [N m], shape (6,).
    """
    sensed = {device.link for device in body.devices}
    state = _state(body, sensed, motion)
    peer = Peer(state)
    names = [link.name for link in body.moving_links]
    columns = {link.name: 6 + i for i, link in enumerate(state.body.moving_links)}
    free = [columns[name] for name in names] + ([] if held else list(range(6)))
    tau = np.concatenate([effort, np.zeros(len(free) - len(names))])
    outside = _outside(peer, body, motion, pushes)
    # Gravity is an acceleration of everything, the root's included.
    acceleration = np.zeros(6 + len(columns))
    acceleration[:3] = (0.0, 0.0, G) if held else 0.0
    M = peer.mass_matrix()
    bias = peer.to_peer.T @ pin.rnea(peer.model, peer.data, peer.q, peer.v, 0.0 * peer.v, outside)
    load = tau - (bias + M @ acceleration)[free]
    acceleration[free] = np.linalg.solve(M[np.ix_(free, free)], load)
    pin.rnea(peer.model, peer.data, peer.q, peer.v, peer.to_peer @ acceleration, outside)
    felt = {name: peer.data.f[peer.model.getJointId(name)] for name in sensed}
    return {name: np.concatenate([f.linear, f.angular]) for name, f in felt.items()}


def between(before, after):
    """Return the motion half-way through a step, where its forces act."""
    middle = before.copy()
    for name in ("p", "R", "q", "v", "w", "dq"):
        getattr(middle, name)[:] = (getattr(before, name) + getattr(after, name)) / 2.0
    return middle


def felt(body, motion):
    """Return what the engine says, as ``wrenches`` does."""
    found = {}
    for name in {device.link for device in body.devices}:
        i = body.link_index(name)
        parts = (motion.force[i], motion.torque[i])
        found[name] = np.concatenate([motion.R[i].T @ part for part in parts])
    return found


class Errors:
    """Errors of wrenches, relative to the largest force and torque that each sensor feels."""

    def __init__(self):
        self._errors, self._sizes = {}, {}

    def add(self, found, expected):
        """Compare two results of ``wrenches``."""
        for name, wrench in expected.items():
            parts = (found[name] - wrench).reshape(2, 3)
            self._errors.setdefault(name, []).append(np.linalg.norm(parts, axis=1))
            self._sizes.setdefault(name, []).append(np.linalg.norm(wrench.reshape(2, 3), axis=1))

    @property
    def worst(self):
        """The largest."""
        ratios = [
            np.max(self._errors[name], axis=0) / np.max(self._sizes[name], axis=0)
            for name in self._errors
        ]
        return float(np.max(ratios))


def _state(body, sensed, motion):
    """The state of the same body where a sensor in a fixed joint is one in a hinge at rest."""
    hinge = {"type": REVOLUTE, "axis": Z}
    links = tuple(
        replace(link, joint=replace(link.joint, **hinge))
        if link.name in sensed and link.joint.is_fixed
        else link
        for link in body.links
    )
    state = BodyState(replace(body, links=links, devices=()))
    state.p[0], state.R[0], state.v[0], state.w[0] = (
        getattr(motion, name)[0] for name in ("p", "R", "v", "w")
    )
    rates = {
        link.name: (q, dq)
        for link, q, dq in zip(body.moving_links, motion.q, motion.dq, strict=True)
    }
    for i, link in enumerate(state.body.moving_links):
        state.q[i], state.dq[i] = rates.get(link.name, (0.0, 0.0))
        state.ddq[i] = 0.0
    return state


def _outside(peer, body, motion, pushes):
    """Forces from outside on each joint of pinocchio, in the axes of the joint."""
    found = [pin.Force.Zero() for _ in peer.model.joints]
    for link, force, torque in pushes:
        joint = peer.model.frames[peer.frames[link]].parentJoint
        about_W = np.asarray(torque) + np.cross(motion.p[link], force)
        found[joint] += peer.data.oMi[joint].actInv(pin.Force(np.asarray(force), about_W))
    return found
