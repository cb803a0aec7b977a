"""How surfaces touch: ``ode/_core_materials.c``, ``_core_friction.c`` and ``_core_boxes.c``."""

from __future__ import annotations

from math import sqrt
from typing import Any

import ode

from ..ode.guard import guarded
from .binding import BOUNCE, FDIR1, MU2, axis_angle_rotation
from .vectors import Vector, dot, product

BOUNCING_STEPS, SLOWEST_BOUNCE = 2.0, 1e-4  # the latter in [m/s]
STILL = 1e-6  # slower than this has no direction, in [m/s]
BRAKING = 10.0  # what friction of mu = 1 about takes from a speed, in [m/s^2]
PARALLEL, TILT = 1e-8, 1e-7  # [rad]
FLAT = 3  # boxes that lie flat on each other touch in as many points at least
DEEPER = 1e-6  # than what the tilt does to the depth, in [m]


class Surfaces:
    """Finds contacts, and says how they bounce and rub.

    Args:
        world: Of PyODE, with its settings.
        step: In [s].
    """

    def __init__(self, world: Any, step: float) -> None:
        self._gravity, self._step = world.getGravity(), step
        self._stand_in = ode.GeomBox(None, (1.0, 1.0, 1.0))
        self._tilt = axis_angle_rotation((1.0, 2.0, 3.0), TILT)

    def collide(self, a: Any, b: Any, *, are_boxes: bool) -> list[Any]:
        """Return the contacts of two shapes, also of boxes of which ODE loses some."""
        found: list[Any] = guarded(ode.collide, a, b)
        if not are_boxes or len(found) >= FLAT or not _are_nearly_parallel(a, b):
            return found
        stand_in = self._stand_in
        stand_in.setLengths(b.getLengths())
        stand_in.setPosition(b.getPosition())
        stand_in.setRotation(product(b.getRotation(), self._tilt))
        now: list[Any] = guarded(ode.collide, a, stand_in)
        if len(now) > len(found) and any(c.getContactGeomParams()[2] > DEEPER for c in now):
            return now
        return found

    def set_bounce(self, restitution: float, contact: Any, normal: Vector) -> int:
        """Let a contact bounce; return what its mode gains."""
        pull = abs(dot(self._gravity, normal))
        contact.setBounce(restitution)
        contact.setBounceVel(max(BOUNCING_STEPS * pull * self._step, SLOWEST_BOUNCE))
        return BOUNCE

    def set_slip(
        self, contact: Any, at: Vector, normal: Vector, bodies: tuple[Any, Any], mu: float
    ) -> int:
        """Let friction act along the slip; return what the mode of the contact gains."""
        x = y = z = 0.0
        for body, sign in zip(bodies, (1.0, -1.0), strict=True):
            if body is not None:
                u, v, w = self._unheld(body, at)
                x, y, z = x + sign * u, y + sign * v, z + sign * w
        nx, ny, nz = normal
        parting = x * nx + y * ny + z * nz
        x, y, z = x - parting * nx, y - parting * ny, z - parting * nz
        speed = sqrt(x * x + y * y + z * z)
        if speed < STILL:
            return 0
        contact.setFDir1((x / speed, y / speed, z / speed))
        stopped = BRAKING * min(mu, 1.0) * self._step
        contact.setMu2(mu * min(1.0, stopped / speed))
        return FDIR1 | MU2

    def _unheld(self, body: Any, at: Vector) -> Vector:
        """Return the velocity that a point would have after the step if nothing held it."""
        (gx, gy, gz), step, mass = self._gravity, self._step, body.ode_mass
        (u, v, w), (fx, fy, fz) = body.getPointVel(at), body.getForce()
        return (
            u + (gx + fx / mass) * step,
            v + (gy + fy / mass) * step,
            w + (gz + fz / mass) * step,
        )


def _are_nearly_parallel(a: Any, b: Any) -> bool:
    """Whether edges of two boxes are parallel but for rounding."""
    R, Q = a.getRotation(), b.getRotation()
    for i in range(3):
        for j in range(3):
            cosine = R[i] * Q[j] + R[3 + i] * Q[3 + j] + R[6 + i] * Q[6 + j]
            if cosine != 0.0 and abs(cosine) < PARALLEL:
                return True
    return False
