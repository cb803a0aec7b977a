"""States of motion of a Body, and its accelerations in them, compared with those of a URDF.

The Body's follow from its own equations of motion, the URDF's from a library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, pi

import numpy as np

from ..body import Body, Joint
from ..kinematics import BodyState
from ..kinematics.state import STANDARD_GRAVITY
from ..late_dataclass import dataclass
from ..rigid import Array, Pose, axis_angle_matrix
from .expected import Expected, sample_range
from .library import DynamicRobot, LibraryMotion, LibraryRobot, Quantity
from .report import Differences, Row, not_applicable

# Range of speeds of a joint in a random state, in [rad/s] or [m/s], whatever its limit: its effort
# might turn a slower one back, and its friction with it.
_SPEEDS = 1.0, 2.0
# In [rad/s^2] or [m/s^2]: efforts accelerate their joints by up to this, as gravity does.
_ACCELERATION = 10.0
# Above this condition number, of a matrix with a diagonal of ones, no digit is certain.
_MAX_CONDITION = 1e13
MOTION_TOLERANCE = 1e-6
_EXACT = 1e-9
# In [m/s]: momentum is compared as if the whole robot moved at least at this speed.
_SLOW = 1e-3
_WITHOUT_ROTORS = "without the inertias of rotors, which a URDF lacks"
_NO_MASS = "the model has no mass"
NOTHING_MOVES = "nothing in the model moves"


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
    return body.with_fixed_root() if body.root.joint.moves else body


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
    """

    def __init__(self, body: Body) -> None:
        self._state = BodyState(body)
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
        own.dv[0] = (0.0, 0.0, STANDARD_GRAVITY)
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


class AccelerationDifferences:
    """Compares accelerations with those of a Body.

    Differences are relative to the root mean square of each joint's acceleration over all
    states, and of the root's, if that exceeds 1.

    Args:
        body: The model.
        states: States of motion.

    Attributes:
        reason: Why there is nothing to compare; empty if there is.
        expected: Accelerations in each state, shape (states, 6 + n) or (states, n).
    """

    def __init__(self, body: Body, states: Sequence[MotionState]) -> None:
        self.reason = ""
        self._first = 0 if body.is_root_fixed else 6
        self._names = [link.joint.name for link in body.moving_links]
        self._states = states
        dynamics = ForwardDynamics(body)
        if not self._first and not self._names:
            self.reason = NOTHING_MOVES
        elif name := next(filter(None, map(dynamics.singular_link, states)), ""):
            without = f"link '{name}' moves without positive, finite inertia"
            self.reason = f"{without}, so its acceleration is undefined"
        if self.reason:
            return
        self.expected = np.array([dynamics.accelerations(state) for state in states])
        square = np.mean(self.expected**2, axis=0)
        for root in (slice(0, 3), slice(3, 6)) if self._first else ():
            square[root] = square[root].sum()
        self.scale = np.maximum(np.sqrt(square), 1.0)

    def row(self, source: str, found: Array, reason: str = "") -> Row:
        """Return the row that compares accelerations of the same shape.

        Args:
            source: The library or engine that computed them.
            found: Accelerations in each state, shape as of ``expected``.
            reason: A note.
        """
        differences = Differences(source, Quantity.ACCELERATIONS.value, MOTION_TOLERANCE)
        for state, seen, wanted in zip(self._states, found, self.expected, strict=True):
            for i, error in enumerate(np.abs(seen - wanted) / self.scale):
                differences.add(float(error), f"{self._name(i)} in state {state.name}")
        return differences.row(reason)

    def _name(self, column: int) -> str:
        if column >= self._first:
            return f"joint '{self._names[column - self._first]}'"
        return "linear acceleration of the root" if column < 3 else "rotation of the root"


class MotionComparison:
    """Compares the motion of a URDF in random states.

    Args:
        expected: Values of the Body.
        count: Number of states.
        seed: Of the random states.
    """

    def __init__(self, expected: Expected, count: int, seed: int) -> None:
        self._expected = expected
        self._body = body = with_still_root(expected.body)
        self._states = list(random_states(body, count, seed, expected.fixed_root))
        self._with_rotors = AccelerationDifferences(body, self._states)
        self._has_rotors = any(x.joint.equivalent_rotor_inertia for x in body.moving_links)
        self._without_rotors = self._with_rotors
        if self._has_rotors:
            self._without_rotors = AccelerationDifferences(without_rotors(body), self._states)

    def rows(self, robot: LibraryRobot) -> Iterator[Row]:
        """Yield a row for accelerations and one for momentum."""
        is_left_out = self._has_rotors and not robot.has_rotors
        compared = self._without_rotors if is_left_out else self._with_rotors
        for quantity in (Quantity.ACCELERATIONS, Quantity.MOMENTUM):
            reason = robot.unknown.get(quantity, "") or compared.reason
            if reason:
                yield not_applicable(robot.library, quantity.value, reason)
                continue
            assert isinstance(robot, DynamicRobot)
            if quantity is Quantity.MOMENTUM:
                yield self._momentum(robot)
            else:
                found = np.array([self._accelerations(robot, state) for state in self._states])
                yield compared.row(robot.library, found, _WITHOUT_ROTORS if is_left_out else "")

    def _accelerations(self, robot: DynamicRobot, state: MotionState) -> Array:
        motion = self._motion(state)
        found = robot.accelerations(motion)
        joints = [found.joints.get(name, inf) for name in self._names]
        if not self._expected.has_free_root:
            return np.array(joints)
        r, dw = state.X_WR.p - motion.X_WU[:3, 3], found.root[3:]
        dv = found.root[:3] + np.cross(dw, r) + np.cross(state.w, np.cross(state.w, r))
        return np.concatenate([dv, dw, joints])

    def _momentum(self, robot: DynamicRobot) -> Row:
        if not self._body.total_mass:
            return not_applicable(robot.library, Quantity.MOMENTUM.value, _NO_MASS)
        dynamics = ForwardDynamics(self._body)
        differences = Differences(robot.library, Quantity.MOMENTUM.value, _EXACT)
        wanted = np.array([dynamics.momentum(state) for state in self._states])
        for parts, name in ((slice(0, 3), "linear"), (slice(3, 6), "angular")):
            scale = max(float(abs(wanted[:, parts]).max()), self._body.total_mass * _SLOW)
            for state, expected in zip(self._states, wanted, strict=True):
                seen = robot.momentum(self._motion(state))
                where = f"{name} momentum in state {state.name}"
                differences.arrays(seen[parts], expected[parts], scale, where)
        return differences.row()

    @property
    def _names(self) -> list[str]:
        names = self._expected.frames.joints
        return [names[link.name] for link in self._body.moving_links]

    def _motion(self, state: MotionState) -> LibraryMotion:
        """Return a state under the URDF's names."""

        def by_name(values: Array) -> Mapping[str, float]:
            return dict(zip(self._names, values.tolist(), strict=True))

        X_WU = self._expected.root_pose(state.X_WR)
        v = state.v + np.cross(state.w, X_WU[:3, 3] - state.X_WR.p)
        efforts = by_name(state.effort)
        return LibraryMotion(by_name(state.q), by_name(state.dq), efforts, X_WU, v, state.w)
