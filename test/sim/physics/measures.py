"""What should be conserved, and what should hold together: from a body's motion alone."""

import numpy as np

from hrp_model.body import JointType

G = 9.80665


def energy(simulated, gravity=G):
    """Kinetic and potential energy of all links and rotors, in [J]."""
    motion, total = simulated.motion, 0.0
    for i, link in enumerate(simulated.body.links):
        arm = motion.R[i] @ link.center_of_mass
        v = motion.v[i] + np.cross(motion.w[i], arm)
        w = motion.R[i].T @ motion.w[i]
        height = motion.p[i, 2] + arm[2]
        total += link.mass * (v @ v / 2.0 + gravity * height) + w @ link.inertia @ w / 2.0
    for rate, link in zip(motion.dq, simulated.body.moving_links, strict=True):
        total += link.joint.equivalent_rotor_inertia * rate * rate / 2.0
    return total


def momentum(simulated):
    """Linear momentum [kg m/s], and angular momentum about the centre of mass [kg m^2/s]."""
    motion, body = simulated.motion, simulated.body
    arms = np.einsum("lij,lj->li", motion.R, [link.center_of_mass for link in body.links])
    v = motion.v + np.cross(motion.w, arms)
    masses = np.array([link.mass for link in body.links])
    places = motion.p + arms
    center = masses @ places / masses.sum()
    P = masses @ v
    L = np.cross(places - center, masses[:, None] * v).sum(axis=0)
    for i, link in enumerate(body.links):
        L += motion.R[i] @ link.inertia @ motion.R[i].T @ motion.w[i]
    return P, L


def separation(simulated):
    """How far apart the halves of the worst revolute or prismatic joint are, in [m]."""
    motion, body = simulated.motion, simulated.body
    worst = 0.0
    for i, (link, parent) in enumerate(zip(body.links, body.parent_indices, strict=True)):
        if parent < 0 or not link.joint.moves:
            continue
        R = motion.R[parent] @ link.X_PL.R
        gap = motion.p[i] - motion.p[parent] - motion.R[parent] @ link.X_PL.p
        if link.joint.type is JointType.PRISMATIC:
            axis = R @ link.joint.axis
            gap = gap - (gap @ axis) * axis
        worst = max(worst, float(np.linalg.norm(gap)))
    return worst
