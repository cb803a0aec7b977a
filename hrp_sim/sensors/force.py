"""Six-axis force sensor in the joint above a link."""

from __future__ import annotations

from dataclasses import dataclass

from hrp_model import Pose
from hrp_model.rigid import Array

from ..state import WorldState
from .base import saturated


@dataclass(frozen=True, slots=True, eq=False)
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

    def read(self, world: WorldState) -> WrenchReading:
        """Turn what the parent applies to the link about L into what S feels of the link."""
        motion, i = world.bodies[self.body].motion, self.link
        # On arrays this small ``dot`` takes half the time of ``@``.
        R_WS = motion.R[i].dot(self.X_LS.R)
        fx, fy, fz = (-f for f in motion.force[i].dot(R_WS).tolist())
        tx, ty, tz = (-t for t in motion.torque[i].dot(R_WS).tolist())
        x, y, z = self.X_LS.p.dot(self.X_LS.R).tolist()
        # torque about S = torque about L - p_LS x force
        torque = (tx - y * fz + z * fy, ty - z * fx + x * fz, tz - x * fy + y * fx)
        return WrenchReading(
            world.time_ns,
            self.body,
            saturated((fx, fy, fz), self.max_force),
            saturated(torque, self.max_torque),
        )
