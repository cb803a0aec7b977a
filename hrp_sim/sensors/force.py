"""Six-axis force sensor in the joint above a link."""

from __future__ import annotations

from dataclasses import dataclass, field

from hrp_model import Pose
from hrp_model.rigid import Array

from ..state import WorldState
from .base import Rows, Vector, rows_of, saturated, turned, unless_identity, unrotated


@dataclass(slots=True, eq=False)
class WrenchReading:
    """The wrench that the link, and all it carries, exerts on its parent side.

    In the sensor frame S, about its origin: a mass that hangs on the sensor pulls it down.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body that carries the sensor.
        force: In [N], shape (3,).
        torque: In [N m], shape (3,).
    """

    time_ns: int
    body: str
    force: Array
    torque: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ForceSensor:
    """An ideal force sensor whose frame S is fixed to a link L.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Samples per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        max_force: Where it saturates per axis, in [N], shape (3,).
        max_torque: Where it saturates per axis, in [N m], shape (3,).
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    max_force: Array
    max_torque: Array
    _R_LS: Rows | None = field(init=False, repr=False)
    _p_LS: Vector = field(init=False, repr=False)
    _limits: tuple[Vector, Vector] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        limits = tuple(self.max_force.tolist()), tuple(self.max_torque.tolist())
        object.__setattr__(self, "_R_LS", unless_identity(rows_of(self.X_LS.R)))
        object.__setattr__(self, "_p_LS", tuple(self.X_LS.p.tolist()))
        object.__setattr__(self, "_limits", limits)

    def read(self, world: WorldState) -> WrenchReading:
        """Turn what the parent applies to the link about L into what S feels of the link."""
        motion, i = world.bodies[self.body].motion, self.link
        R_WL = motion.R[i].tolist()
        fx, fy, fz = unrotated(R_WL, motion.force[i].tolist())
        tx, ty, tz = unrotated(R_WL, motion.torque[i].tolist())
        x, y, z = self._p_LS
        # torque about S = torque about L - p_LS x force
        torque = (y * fz - z * fy - tx, z * fx - x * fz - ty, x * fy - y * fx - tz)
        max_force, max_torque = self._limits
        return WrenchReading(
            world.time_ns,
            self.body,
            saturated(turned(self._R_LS, (-fx, -fy, -fz)), max_force),
            saturated(turned(self._R_LS, torque), max_torque),
        )
