"""The state of a Body, with the algorithms of OpenHRP's hrp::Body on it."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike

from ..rigid import Array
from . import dynamics
from .arrays import Arrays, cross, finite
from .joint_path import JointPath
from .kinematic_state import KinematicState
from .link_state import LinkState

STANDARD_GRAVITY = 9.80665

_POSTURES_AT_A_TIME = 256  # so that what is computed on the way stays in the cache


class BodyState(KinematicState):
    """Position and motion of a Body, in one posture or a batch of postures: hrp::Body.

    Joint vectors ``q, dq, ddq, u`` have one element per moving link, in the order of
    ``body.moving_links``. Link arrays ``p, R, v, w, dv, dw`` have one row per link, in the
    order of ``body.links``; row 0, the root, is input, the others are computed. All vectors
    are in world axes. The arrays are views: writing into them changes the state.

    Assigning an array of shape (m, n) to ``q`` makes a batch of m postures: all arrays and
    results then have a leading axis of length m. A new number of postures allocates new arrays,
    which repeat the first posture in everything that is not assigned.

    The motion of the root is input, so its joint has no effect. Any other joint that is
    neither revolute nor prismatic is fixed.

    Args:
        body: The model.
        fix_root: Whether the root is fixed to the world, so that matrices have no rows and
            columns for it; None to take it from the model.
        batch: Number of postures; None for one, without a leading axis.

    Attributes:
        body: The model.
        fix_root: Whether the root is fixed to the world.

    Raises:
        TypeError: ``body`` is not a Body.
        ValueError: ``batch`` is less than one.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        many = "" if self.batch is None else f", {self.batch} postures"
        return f"<BodyState of '{self.name}': {self.num_links} links, n = {len(self.joints)}{many}>"

    def joint_path(self, base: int | str | LinkState, target: int | str | LinkState) -> JointPath:
        """Return the joints between two links: hrp::Body::getJointPath.

        Raises:
            IndexError, KeyError: There is no such link.
        """
        return JointPath(self, self.link(base), self.link(target))

    def calc_total_mass(self) -> float:
        """Return the sum of the links' masses in [kg]."""
        return self._tree.total_mass

    def calc_cm(self) -> Array:
        """Return the centre of mass in the world in [m] at ``p`` and ``R``, shape (3,) or (m, 3).

        Raises:
            ValueError: The body has no mass.
        """
        self._need_mass()
        return dynamics.center_of_mass(self._tree, self._arrays)

    # Dynamics.

    def calc_mass_matrix(self) -> Array:
        """Return the joint-space inertia matrix at ``p`` and ``R``, by composite rigid bodies.

        Returns:
            With a free root, shape (6 + n, 6 + n): rows and columns are the root's linear
            acceleration, its angular acceleration about the root's origin, both in world
            axes, then the joints. With a fixed root, shape (n, n). Equivalent rotor
            inertias are on the diagonal. A batch has a leading axis.
        """
        return dynamics.mass_matrix(self._tree, self._arrays, self.fix_root)

    def calc_root_inertia(self) -> Array:
        """Return the first six rows and columns of ``calc_mass_matrix`` with a free root."""
        return dynamics.momenta(self._tree, self._arrays)[..., :6, :]

    def calc_joint_inertias(self) -> Array:
        """Return the diagonal of ``calc_mass_matrix`` for the joints, shape (n,), or of a batch."""
        return self._computed(lambda a: dynamics.joint_inertias(self._tree, a))

    def calc_inverse_dynamics(self, link: int | str | LinkState = 0) -> tuple[Array, Array]:
        """Compute ``u`` from ``q``, ``dq``, ``ddq`` and the root's motion, and every link's motion.

        To include gravity, accelerate the root upwards: add 9.80665 to ``root_link.dv[2]``.
        ``u`` includes the torque that accelerates the rotor, ``Jm2 * ddq``.

        Args:
            link: The link whose branch is supported; the root by default.

        Returns:
            Force in [N] and moment about the world's origin in [N m] that support this link and
            its descendants: for the root, the wrench that the world applies. Each of shape (3,)
            or (m, 3).

        Raises:
            IndexError, KeyError: There is no such link.
        """
        base = self.link(link).index
        self.calc_forward_kinematics()
        wrench = dynamics.inverse_dynamics(self._tree, self._arrays, base)
        return wrench[..., :3], wrench[..., 3:]

    def gravity_torque(self, gravity: float = STANDARD_GRAVITY) -> Array:
        """Return the joint torques that balance gravity at ``p`` and ``R``, shape as ``q``.

        Args:
            gravity: Acceleration of gravity along -Z of the world, in [m/s^2].
        """
        return dynamics.gravity_efforts(self._tree, self._arrays, gravity)

    # Momentum.

    def calc_total_momentum(self, about: ArrayLike = (0.0, 0.0, 0.0)) -> tuple[Array, Array]:
        """Return the momentum at ``p``, ``R``, ``dq`` and the root's ``v`` and ``w``.

        Args:
            about: Point in the world that the angular momentum is about, in [m], shape (3,) or
                (m, 3). The world's origin by default, as in hrp::Body.

        Returns:
            Linear momentum in [kg m/s] and angular momentum in [kg m^2/s], (3,) or (m, 3) each.

        Raises:
            ValueError: ``about`` is not finite or of another shape.
        """
        origin = self.p[..., 0, :]
        point = finite("about", about, (3,), origin.shape)
        both = self._computed(lambda a: dynamics.total_momentum(self._tree, a))
        P, L = both[..., :3], both[..., 3:]
        return P, L + cross(origin - point, P)

    def calc_cm_jacobian(self, base: int | str | LinkState | None = None) -> Array:
        """Return the Jacobian of the centre of mass in the world at ``p`` and ``R``.

        Args:
            base: The link that does not move, for instance a foot on the ground; by default
                the root if it is fixed, else none.

        Returns:
            Shape (3, n), columns of ``dq``. Without a fixed link, shape (3, n + 6), with
            columns of the root's ``v`` and ``w`` appended. A batch has a leading axis.

        Raises:
            ValueError: The body has no mass.
            IndexError, KeyError: There is no such link.
        """
        self._need_mass()
        still = self._still(base)
        return self._computed(lambda a: dynamics.cm_jacobian(self._tree, a, still))

    def calc_angular_momentum_jacobian(self, base: int | str | LinkState | None = None) -> Array:
        """Return the Jacobian of the angular momentum about the centre of mass.

        In [kg m^2/s] per unit of ``dq``, ``v`` and ``w``, without rotors. Arguments, shape and
        errors as of ``calc_cm_jacobian``, but a body without mass is allowed.
        """
        still = self._still(base)
        return self._computed(lambda a: dynamics.angular_momentum_jacobian(self._tree, a, still))

    def _still(self, base: int | str | LinkState | None) -> int | None:
        """Return the link that does not move: this one, or a fixed root."""
        if base is None:
            return 0 if self.fix_root else None
        return self.link(base).index

    def _computed(self, compute: Callable[[Arrays], Array]) -> Array:
        return dynamics.in_parts(self._arrays, compute, _POSTURES_AT_A_TIME)

    def _need_mass(self) -> None:
        if self.total_mass == 0.0:
            raise ValueError(f"body '{self.body.name}' has no mass, so no centre of mass")
