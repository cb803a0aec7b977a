"""States of motion of a Body, and its accelerations in them by its own equations of motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, pi

import numpy as np

from ..body import Body, Joint, JointType
from ..kinematics import BodyState
from ..kinematics.state import STANDARD_GRAVITY
from ..rigid import Array, Pose, axis_angle_matrix
from .expected import sample_range

# Range of speeds of a joint in a random state, in [rad/s] or [m/s], whatever its limit: its effort
# might turn a slower one back, and its friction with it.
_SPEEDS = 1.0, 2.0
# In [rad/s^2] or [m/s^2]: efforts accelerate their joints by up to this, as gravity does.
_ACCELERATION = 10.0
# Above this condition number, of a matrix with a diagonal of ones, no digit is certain.
_MAX_CONDITION = 1e13


@dataclass(frozen=True, eq=False)
class MotionState:
    """A state of motion of a Body, and the efforts on its joints.

    Attributes:
        name: Its name in messages.
        X_WR: Pose of the root.
        v, w: Velocity of the root's origin and angular velocity of the root, in world axes,
            shape (3,).
        q, dq: Positions and velocities, in the order of ``body.moving_links``, shape (n,).
        effort: Torques or forces of drives, shape (n,).
    """

    name: str
    X_WR: Pose
    v: Array
    w: Array
    q: Array
    dq: Array
    effort: Array


def random_states(
    body: Body, count: int, seed: int, root: Pose | None = None
) -> Iterator[MotionState]:
    """Yield states within the limits of positions.

    All joints move, so that the direction of their friction is certain. Efforts overcome damping
    and friction, and accelerate beyond that by about as much as gravity.

    Args:
        body: The model.
        count: Number of states.
        seed: Of the random numbers.
        root: Pose of a fixed root; the world's origin by default.
    """
    rng = np.random.default_rng(seed)
    joints = [link.joint for link in body.moving_links]
    state = BodyState(body)
    is_free = not body.is_root_fixed
    for i in range(count):
        X_WR, v, w = root or Pose(), np.zeros(3), np.zeros(3)
        if is_free:
            axis = rng.normal(size=3)
            R = axis_angle_matrix(axis / np.linalg.norm(axis), rng.uniform(-pi, pi))
            X_WR = Pose(R, rng.uniform(-1, 1, 3))
            v, w = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)
        q = np.array([rng.uniform(*sample_range(joint)) for joint in joints])
        dq = rng.uniform(*_SPEEDS, len(joints)) * rng.choice((-1.0, 1.0), len(joints))
        state.p[0], state.R[0], state.q = X_WR.p, X_WR.R, q
        state.calc_forward_kinematics()
        drives = _ACCELERATION * rng.uniform(-1, 1, len(joints)) * state.calc_joint_inertias()
        effort = resistance(joints, dq) + drives
        yield MotionState(f"random {i + 1}", X_WR, v, w, q, dq, effort)


def resistance(joints: list[Joint], dq: Array) -> Array:
    """Return damping and friction of moving joints, opposite to their velocities, shape (n,)."""
    damping = np.array([joint.damping for joint in joints])
    friction = np.array([joint.friction for joint in joints])
    out: Array = damping * dq + friction * np.sign(dq)
    return out


def with_still_root(body: Body) -> Body:
    """Return a body without the joint above its root, if that moves; it has no effect."""
    if not body.root.joint.moves:
        return body
    root = replace(body.root, joint=replace(body.root.joint, type=JointType.FIXED))
    return replace(body, links=(root, *body.links[1:]))


def without_rotors(body: Body) -> Body:
    """Return a body whose rotors have no inertia."""

    def without_rotor(joint: Joint) -> Joint:
        return replace(joint, equivalent_rotor_inertia=0.0, rotor_inertia=0.0)

    links = (replace(link, joint=without_rotor(link.joint)) for link in body.links)
    return replace(body, links=tuple(links))


class ForwardDynamics:
    """The accelerations of a Body without contacts and limits, by its mass matrix.

    Args:
        body: The model; the motion of its root is free or none.
        gravity: Along -Z of the world, in [m/s^2].
    """

    def __init__(self, body: Body, gravity: float = STANDARD_GRAVITY) -> None:
        self._state = BodyState(body)
        self._gravity = gravity
        self._joints = [link.joint for link in body.moving_links]

    def accelerations(self, state: MotionState) -> Array:
        """Return them in a state.

        Returns:
            With a free root, shape (6 + n,): the root's linear acceleration and its angular
            acceleration in world axes, then the joints. With a fixed root, shape (n,).

        Raises:
            numpy.linalg.LinAlgError: The mass matrix is singular.
        """
        own = self._move(state)
        own.dv[0] = (0.0, 0.0, self._gravity)
        own.dw[0] = own.ddq[:] = 0.0
        force, moment = own.calc_inverse_dynamics()
        efforts = state.effort - resistance(self._joints, state.dq) - own.u
        if not own.fix_root:
            efforts = np.concatenate([-force, np.cross(state.X_WR.p, force) - moment, efforts])
        return np.asarray(np.linalg.solve(own.calc_mass_matrix(), efforts))

    def joint_mobilities(self, state: MotionState) -> Array:
        """Return the acceleration of each joint per unit of its effort, shape (n,).

        Raises:
            numpy.linalg.LinAlgError: The mass matrix is singular.
        """
        own = self._move(state)
        own.calc_forward_kinematics()
        mobility = np.linalg.inv(own.calc_mass_matrix()).diagonal()
        return np.asarray(mobility[len(mobility) - len(self._joints) :])

    def momentum(self, state: MotionState) -> Array:
        """Return linear momentum, then angular momentum about the world's origin, shape (6,)."""
        own = self._move(state)
        own.calc_forward_kinematics()
        return np.concatenate(own.calc_total_momentum())

    def singular_link(self, state: MotionState) -> str:
        """Return the link whose joint or root has no valid inertia; empty if all have one."""
        own = self._move(state)
        own.calc_forward_kinematics()
        M = own.calc_mass_matrix()
        first = len(M) - len(self._joints)
        names = [own.body.root.name] * first + [link.name for link in own.body.moving_links]
        inertia = M.diagonal()
        if not ((inertia > 0.0) & (inertia < inf)).all():
            return next(name for name, x in zip(names, inertia, strict=True) if not 0.0 < x < inf)
        size = np.sqrt(inertia)
        values, vectors = np.linalg.eigh(M / size[:, None] / size)
        if values[0] * _MAX_CONDITION > values[-1]:
            return ""
        return names[int(abs(vectors[:, 0]).argmax())]

    def _move(self, state: MotionState) -> BodyState:
        own = self._state
        own.p[0], own.R[0], own.v[0], own.w[0] = state.X_WR.p, state.X_WR.R, state.v, state.w
        own.q, own.dq = state.q, state.dq
        return own
