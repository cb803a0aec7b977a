"""How surfaces touch: ``ode/_core_materials.c``, ``_core_friction.c`` and ``_core_boxes.c``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import ode

from ..ode.guard import guarded
from .binding import BOUNCE, axis_angle_rotation
from .vectors import Vector, dot, product

VelocityAt = Callable[[Vector], Vector]
# Velocity of its points, force, mass, and the sign with which it counts.
Mover = tuple[VelocityAt, Callable[[], Vector], float, float]
# Velocity of its points, what a step adds to it along x, y and z, and the sign.
Way = tuple[VelocityAt, float, float, float, float]

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

    def ways(self, movers: Sequence[Mover]) -> Sequence[Way]:
        """Return how bodies would move on in this step if nothing held them; see ``set_slip``."""
        (gx, gy, gz), step, ways = self._gravity, self._step, []
        for velocity_at, force, mass, sign in movers:
            fx, fy, fz = force()
            gain = (gx + fx / mass) * step, (gy + fy / mass) * step, (gz + fz / mass) * step
            ways.append((velocity_at, *gain, sign))
        return ways

    def set_slip(
        self, contact: Any, at: Vector, normal: Vector, ways: Sequence[Way], mu: float
    ) -> bool:
        """Let friction act along the slip; return whether there is any.

        It is the velocity that the point would have after the step if nothing held it.
        """
        x = y = z = 0.0
        for velocity_at, gx, gy, gz, sign in ways:
            u, v, w = velocity_at(at)
            x += sign * (u + gx)
            y += sign * (v + gy)
            z += sign * (w + gz)
        nx, ny, nz = normal
        parting = x * nx + y * ny + z * nz
        x -= parting * nx
        y -= parting * ny
        z -= parting * nz
        speed = sqrt(x * x + y * y + z * z)
        if speed < STILL:
            return False
        contact.setFDir1((x / speed, y / speed, z / speed))
        stopped = BRAKING * (mu if mu < 1.0 else 1.0) * self._step / speed
        contact.setMu2(mu * stopped if stopped < 1.0 else mu)
        return True


def movers(bodies: tuple[Any, Any]) -> Sequence[Mover]:
    """Return what moves on the two sides of a contact."""
    return [
        (body.getPointVel, body.getForce, body.ode_mass, sign)
        for body, sign in zip(bodies, (1.0, -1.0), strict=True)
        if body is not None
    ]


def _are_nearly_parallel(a: Any, b: Any) -> bool:
    """Whether edges of two boxes are parallel but for rounding."""
    R, Q = a.getRotation(), b.getRotation()
    for i in range(3):
        for j in range(3):
            cosine = R[i] * Q[j] + R[3 + i] * Q[3 + j] + R[6 + i] * Q[6 + j]
            if cosine != 0.0 and abs(cosine) < PARALLEL:
                return True
    return False
