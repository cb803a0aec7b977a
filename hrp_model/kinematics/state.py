"""The state of a Body, with the algorithms of OpenHRP's hrp::Body on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..body import Body
from . import dynamics
from .arrays import Arrays
from .checks import finite
from .homogeneous import skews
from .joint_path import JointPath
from .link_state import LinkState
from .lookup import joint_link, link_index, sensor_device
from .momentum import momentum_jacobian, total_momentum
from .sensor import Sensor, SensorType, known_type, sensors_by_id
from .state_arrays import StateArrays
from .tree import Tree

if TYPE_CHECKING:
    from ..rigid import Array

STANDARD_GRAVITY = 9.80665
# Postures of a batch whose dynamics are computed at a time: their matrices fit the cache.
_PART = 64


class BodyState(StateArrays):
    """Where a Body is and how it moves: hrp::Body, for one posture or for many at once.

    Joint vectors ``q, dq, ddq, u`` have one element per moving link, in the order of
    ``body.moving_links``. Link arrays ``p, R, v, w, dv, dw`` have one row per link, in the
    order of ``body.links``; row 0, the root, is input, the others are computed. All vectors
    are in world axes. What is written into the arrays counts: they may be kept as views.

    To assign an array of shape (m, n) to ``q`` makes a batch of m postures: all arrays and
    results then have a leading axis of length m. As the number of postures changes the arrays
    are new ones, and what was not assigned is everywhere as it was in the first posture.

    The root's motion is given, so a joint of its own has no effect. Any other joint that is
    neither revolute nor prismatic holds its link still.

    Args:
        body: The model.
        fix_root: Whether the root is fixed to the world, so that matrices have no rows and
            columns for it; None for what the model says.
        batch: Number of postures; None for one, without a leading axis.

    Attributes:
        body: The model.
        fix_root: Whether the root is fixed to the world.

    Raises:
        TypeError: ``body`` is no Body.
        ValueError: ``batch`` is less than one.
    """

    __slots__ = ("_tree", "fix_root")

    def __init__(
        self, body: Body, *, fix_root: bool | None = None, batch: int | None = None
    ) -> None:
        if not isinstance(body, Body):
            raise TypeError(f"a Body is needed, got {body!r}; load_body reads one from a file")
        super().__init__(body, batch)
        self.fix_root = body.is_root_fixed if fix_root is None else fix_root
        self._tree = Tree.of(body)
        self.calc_forward_kinematics()

    def __repr__(self) -> str:
        many = "" if self.batch is None else f", {self.batch} postures"
        return f"<BodyState of '{self.name}': {self.num_links} links, n = {len(self.joints)}{many}>"

    # Its parts.

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.name

    @property
    def num_joints(self) -> int:
        """Number of joints that have an id; ``joints`` are those that move, with an id or not."""
        return sum(link.joint.id is not None for link in self.body.links)

    @property
    def joints(self) -> tuple[LinkState, ...]:
        """The links whose joints move them, in the order of ``q``: those with an id come first."""
        return tuple(self.link(link.name) for link in self.body.moving_links)

    @property
    def links(self) -> tuple[LinkState, ...]:
        """All links, in the order of ``body.links``: parents before children."""
        return tuple(self.link(i) for i in range(self.num_links))

    @property
    def num_links(self) -> int:
        """Number of links, k."""
        return len(self.body.links)

    @property
    def root_link(self) -> LinkState:
        """The root, whose motion is input."""
        return self.link(0)

    @property
    def total_mass(self) -> float:
        """Sum of the links' masses in [kg]."""
        return self._tree.total_mass

    def joint(self, joint_id: int) -> LinkState:
        """Return the link whose joint has this id; of equal ids the first link's.

        Raises:
            IndexError: No joint has it; the message tells which ids there are.
            TypeError: It is no number.
        """
        return self.link(joint_link(self.body, joint_id).name)

    def link(self, which: int | str | LinkState) -> LinkState:
        """Return a link by its place in ``body.links`` or its name.

        Raises:
            IndexError: There is no such place.
            KeyError: There is no such name; the message tells a similar one.
            ValueError: It is a link of another body.
            TypeError: It is none of these.
        """
        if isinstance(which, LinkState):
            if which.body.body is not self.body:
                raise ValueError(f"{which!r} is a link of another body than {self!r}")
            which = which.index
        place = link_index(self.body, which)
        joint = int(self._tree.link_joints[place])
        return LinkState(self, place, joint if joint >= 0 else None)

    def sensor(self, sensor_type: SensorType | int | str, sensor_id: int) -> Sensor:
        """Return the sensor of a type that has this id; of equal ids the first one.

        An IMU counts as a rate gyro and as an acceleration sensor, after those proper.

        Args:
            sensor_type: The type or its name or number: SensorType.FORCE, "FORCE" or 1.
            sensor_id: Number among the sensors of that type.

        Raises:
            ValueError: There is no such type; the message tells which there are.
            IndexError: No sensor has that id; the message tells which ids there are.
        """
        kind = known_type(sensor_type)
        return Sensor(self, sensor_device(self.body, kind, sensor_id), kind)

    def num_sensors(self, sensor_type: SensorType | int | str) -> int:
        """Return the greatest id of the sensors of a type plus one, as hrp::Body counts.

        Raises:
            ValueError: There is no such type.
        """
        return max(sensors_by_id(self.body, known_type(sensor_type)), default=-1) + 1

    def joint_path(self, base: int | str | LinkState, target: int | str | LinkState) -> JointPath:
        """Return the joints between two links: hrp::Body::getJointPath.

        Raises:
            IndexError, KeyError: There is no such link.
        """
        return JointPath(self, self.link(base), self.link(target))

    # Kinematics.

    def calc_forward_kinematics(self, velocity: bool = False, acceleration: bool = False) -> None:
        """Compute ``p`` and ``R`` of every link from ``q`` and the root's.

        Args:
            velocity: Also compute ``v`` and ``w``, and so ``vo``, from ``dq`` and the root's.
            acceleration: Also compute ``dv`` and ``dw``, and so ``dvo``, from ``ddq`` and the
                root's, and the velocities, which they depend on.
        """
        a, tree = self._arrays, self._tree
        if self.batch is None:
            T = tree.poses(a.q, a.p[0], a.R[0])
            a.p[1:], a.R[1:] = T[1:, :3, 3], T[1:, :3, :3]
        else:
            tree.fill_poses(a.q, a.p, a.R)
        if not (velocity or acceleration):
            return
        for _, part in self._parts():
            T = dynamics.link_frames(part)
            G = dynamics.joint_motions(tree, T)
            if not acceleration:
                dynamics.write_velocities(part, T, dynamics.velocities(tree, part, G))
                continue
            found = dynamics.motions(tree, part, G)
            dynamics.write_velocities(part, T, found.velocity)
            dynamics.write_accelerations(part, T, found)

    def calc_total_mass(self) -> float:
        """Return the sum of the links' masses in [kg]."""
        return self._tree.total_mass

    def calc_cm(self) -> Array:
        """Return the centre of mass in the world in [m] at ``p`` and ``R``, shape (3,) or (m, 3).

        Raises:
            ValueError: The body has no mass.
        """
        self._need_mass()
        return self._computed(lambda a: dynamics.center_of_mass(self._tree, a))

    # Dynamics.

    def calc_mass_matrix(self) -> Array:
        """Return the joint-space inertia matrix at ``p`` and ``R``, by composite rigid bodies.

        Returns:
            With a free root, shape (6 + n, 6 + n): rows and columns are the root's linear
            acceleration, its angular acceleration about the root's origin, both in world
            axes, then the joints. With a fixed root, shape (n, n). Equivalent rotor
            inertias are on the diagonal. A batch has a leading axis.
        """
        first = 6 if self.fix_root else 0

        def matrix(a: Arrays) -> Array:
            T = dynamics.link_frames(a)
            P = dynamics.pseudo_inertias(self._tree, T)
            M = dynamics.mass_matrix(self._tree, P, dynamics.joint_motions(self._tree, T))
            return M[..., first:, first:]

        return self._computed(matrix)

    def calc_root_inertia(self) -> Array:
        """Return the first six rows and columns of ``calc_mass_matrix`` with a free root."""
        return self._computed(
            lambda a: dynamics.root_inertia(
                dynamics.pseudo_inertias(self._tree, dynamics.link_frames(a))
            )
        )

    def calc_joint_inertias(self) -> Array:
        """Return the diagonal of ``calc_mass_matrix`` for the joints, shape (n,), or of a batch."""

        def diagonal(a: Arrays) -> Array:
            T = dynamics.link_frames(a)
            P = dynamics.pseudo_inertias(self._tree, T)
            return dynamics.joint_inertias(self._tree, P, dynamics.joint_motions(self._tree, T))

        return self._computed(diagonal)

    def calc_inverse_dynamics(self, link: int | str | LinkState = 0) -> tuple[Array, Array]:
        """Compute ``u`` from ``q``, ``dq``, ``ddq`` and the root's motion, and every link's motion.

        Gravity is felt by accelerating the root upwards: add 9.80665 to ``root_link.dv[2]``. A
        joint's ``u`` also accelerates its rotor, by ``Jm2 * ddq``.

        Args:
            link: Whose branch to support; the root by default.

        Returns:
            Force in [N] and moment about the world's origin in [N m] that carry this link and
            all beyond it: for the root, what the world has to apply. Each of shape (3,) or
            (m, 3).

        Raises:
            IndexError, KeyError: There is no such link.
        """
        tree, branch = self._tree, self._tree.branch(self.link(link).index)
        self.calc_forward_kinematics()

        def wrench(a: Arrays) -> Array:
            T = dynamics.link_frames(a)
            G = dynamics.joint_motions(tree, T)
            found = dynamics.motions(tree, a, G)
            dynamics.write_velocities(a, T, found.velocity)
            dynamics.write_accelerations(a, T, found)
            forces = found.acceleration @ dynamics.pseudo_inertias(tree, T)
            a.u[...] = dynamics.joint_efforts(tree, G, forces) + tree.rotor_inertia * a.ddq
            return dynamics.wrench_at_origin(a, forces[..., branch, :, :])

        both = self._computed(wrench)
        return both[..., :3], both[..., 3:]

    def gravity_torque(self, gravity: float = STANDARD_GRAVITY) -> Array:
        """Return the joint torques that hold the body still at ``p`` and ``R``, shape as ``q``.

        Args:
            gravity: Along -Z of the world, in [m/s^2].
        """
        return self._computed(lambda a: dynamics.gravity_efforts(self._tree, a, gravity))

    # Momentum.

    def calc_total_momentum(self, about: ArrayLike = (0.0, 0.0, 0.0)) -> tuple[Array, Array]:
        """Return the momentum at ``p``, ``R``, ``dq`` and the root's ``v`` and ``w``.

        Args:
            about: Point of the world, in [m], that the angular momentum is about, shape (3,) or
                (m, 3). Its origin by default, as in hrp::Body.

        Returns:
            Linear momentum in [kg m/s] and angular momentum in [kg m^2/s], (3,) or (m, 3) each.

        Raises:
            ValueError: ``about`` is not finite or of another shape.
        """
        origin = self.p[..., 0, :]
        point = finite("about", about, (3,), origin.shape)
        both = self._computed(lambda a: total_momentum(self._tree, a))
        P, L = both[..., :3], both[..., 3:]
        arm = skews(origin - point)
        return P, L + (arm @ P[..., None])[..., 0]

    def calc_cm_jacobian(self, base: int | str | LinkState | None = None) -> Array:
        """Return the Jacobian of the centre of mass in the world at ``p`` and ``R``.

        Args:
            base: The link that stands still, for instance on the ground; by default the
                root if it is fixed, else none.

        Returns:
            Shape (3, n): columns are the joints, of ``dq``. If no link stands still, shape
            (3, n + 6): then the root's ``v``, then its ``w``. A batch has a leading axis.

        Raises:
            ValueError: The body has no mass.
            IndexError, KeyError: There is no such link.
        """
        self._need_mass()
        return self._momentum_jacobian(base)[..., :3, :] / self.total_mass

    def calc_angular_momentum_jacobian(self, base: int | str | LinkState | None = None) -> Array:
        """Return the Jacobian of the angular momentum about the centre of mass.

        In [kg m^2/s] per unit of ``dq``, ``v`` and ``w``; rotors do not count. Arguments, shape
        and errors as of ``calc_cm_jacobian``; a body without mass is none.
        """
        return self._momentum_jacobian(base)[..., 3:, :]

    def _momentum_jacobian(self, base: int | str | LinkState | None) -> Array:
        if base is None and self.fix_root:
            base = 0
        still = None if base is None else self.link(base).index
        return self._computed(lambda a: momentum_jacobian(self._tree, a, still))

    def _need_mass(self) -> None:
        if self.total_mass == 0.0:
            raise ValueError(f"body '{self.body.name}' has no mass, so no centre of mass")

    def _parts(self) -> Iterator[tuple[slice, Arrays]]:
        """Yield the postures, in parts if they are many."""
        if self.batch is None:
            yield slice(None), self._arrays
            return
        for start in range(0, self.batch, _PART):
            chosen = slice(start, start + _PART)
            yield chosen, self._arrays.part(chosen)

    def _computed(self, compute: Callable[[Arrays], Array]) -> Array:
        """Return what a function computes of all postures."""
        if self.batch is None:
            return compute(self._arrays)
        found: Array | None = None
        for chosen, part in self._parts():
            values = compute(part)
            if found is None:
                found = np.empty((self.batch, *values.shape[1:]))
            found[chosen] = values
        assert found is not None, "a batch has at least one posture"
        return found
