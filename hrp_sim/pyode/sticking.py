"""Contacts that stick, solved as joints: ``ode/_core_sticking.c``."""

from __future__ import annotations

from math import inf
from typing import Any

import ode

from .binding import set_second_anchor
from .vectors import Vector, dot, into_group

AT_REST = 0.01  # [m/s], about what gravity adds in a step
LEAST_SOFTNESS = 1e-13  # cfm / h beside 1 / mass: what rounding errors leave
LONGEST_WAIT = 127
MOST_TAKES = 3


class Sticking:
    """What is supposed of the contacts of a step, and remembered from step to step.

    Attributes:
        is_on: Whether contacts may be supposed to stick at all.

    Args:
        world: Of PyODE, with its settings.
        step: In [s].
        is_on: Whether contacts may be supposed to stick at all.
    """

    def __init__(self, world: Any, step: float, *, is_on: bool) -> None:
        self._world = world
        self.is_on, self._softness = is_on, world.getCFM() / step
        self._layer = world.getContactSurfaceLayer()
        self._rate = world.getERP() / step
        self._fastest = world.getContactMaxCorrectingVel()
        self._grows = is_on
        self._room = self._touches = self._takes = 0
        self._none_sticks = False
        self._waits: dict[int, tuple[int, int]] = {}  # by number in the step: wait, patience
        self._before: tuple[int, dict[int, tuple[int, int]]] = 0, {}
        self._joints: list[tuple[int, Any, Vector, float]] = []
        self._forces: list[tuple[int, Vector, Vector, float]] = []

    def reset(self) -> None:
        """Forget everything: a run begins."""
        self._touches = 0
        self._waits.clear()

    def begin(self) -> None:
        """Begin a step. Its room for sticking contacts depends on the last step alone."""
        self._none_sticks, self._takes = False, 0
        self._before = self._touches, dict(self._waits)
        if self._grows:
            self._room = 2 * self._touches + 64

    def undo(self) -> None:
        """Forget the step that could not be taken."""
        self._touches, self._waits = self._before

    @property
    def habits(self) -> bytes:
        """What is remembered of the contacts: wait and patience of each, a byte each."""
        waits = [self._waits.get(i, (0, 0)) for i in range(self._touches)]
        return bytes(value for pair in waits for value in pair)

    @habits.setter
    def habits(self, values: bytes) -> None:
        self.reset()
        self._touches = len(values) // 2
        pairs = enumerate(zip(values[::2], values[1::2], strict=True))
        self._waits = {i: pair for i, pair in pairs if any(pair)}

    def begin_take(self) -> None:
        """Begin to make the contacts of a step, maybe once more."""
        self._touches = 0

    @property
    def newest(self) -> Any:
        """The joint of the contact that was last made to stick."""
        return self._joints[-1][1]

    def skip(self, count: int) -> None:
        """Count contacts of which none may stick."""
        self._touches += count

    def add(
        self,
        p: Vector,
        normal: Vector,
        depth: float,
        bodies: tuple[Any, Any],
        mu: float,
        *,
        may_stick: bool,
    ) -> bool:
        """Make the joint of a contact if it shall stick; return whether it shall.

        Args:
            p: Where it is.
            normal: Points into the first body.
            depth: In [m].
            bodies: Those of its shapes, None for the environment.
            mu: Coulomb coefficient.
            may_stick: False where the surface runs or the contact bounces.
        """
        number = self._touches
        self._touches += 1
        if not (may_stick and not self._none_sticks and number < self._room):
            return False
        if mu <= 0.0 or (self._waits and self._waits.get(number, (0, 0))[0]):
            return False
        first, second = bodies
        if not (_is_at_rest(p, first, second) and self._is_soft(first, second)):
            return False
        if first is None:
            first, second = second, None
            normal = (-1.0 * normal[0], -1.0 * normal[1], -1.0 * normal[2])
        self._joints.append((number, self._stick(p, normal, depth, first, second), normal, mu))
        return True

    def _stick(self, p: Vector, normal: Vector, depth: float, first: Any, second: Any) -> Any:
        """Make a ball joint that moves as a sticking contact does; see ``stick`` in C."""
        rate = self._rate
        speed = min(rate * (depth - self._layer), self._fastest)
        joint = ode.BallJoint(self._world)
        joint.attach(first, second)
        joint.setAnchor(p)
        joint.setFeedback(True)
        if speed > 0.0:
            (x, y, z), (a, b, c) = p, normal
            away = (x + a * speed / rate, y + b * speed / rate, z + c * speed / rate)
            set_second_anchor(first, into_group(second, away, is_point=True))
        return joint

    def _is_soft(self, *bodies: Any) -> bool:
        """Whether cfm is large enough beside 1 / mass for redundant joints to have a solution."""
        lightest = min(body.ode_mass for body in bodies if body is not None)
        return bool(self._softness * lightest >= LEAST_SOFTNESS)

    def end_take(self) -> None:
        """Take in the forces of the step, and remove the joints."""
        self._forces = [(n, j.getFeedback()[0], normal, mu) for n, j, normal, mu in self._joints]
        self._joints.clear()

    def fails(self) -> bool:
        """Tell whether a contact was wrongly supposed to stick in the step that was just taken.

        It waits the longer before it is again the more often that happens.
        """
        fails = False
        for number, force, normal, mu in self._forces:
            if not _holds(force, normal, mu):
                patience = self._waits.get(number, (0, 0))[1]
                longer = min(2 * patience + 1, LONGEST_WAIT)
                self._waits[number] = longer, longer
                fails = True
        self._takes += fails
        self._none_sticks |= self._takes >= MOST_TAKES
        return fails

    def end(self) -> None:
        """Remember how the contacts behaved in the step that is now done."""
        for number, (wait, patience) in list(self._waits.items()):
            if number >= self._touches or wait == patience == 0:
                del self._waits[number]
            elif wait > 0:
                self._waits[number] = wait - 1, patience
            else:
                self._waits[number] = 0, patience - 1


def _is_at_rest(p: Vector, a: Any, b: Any) -> bool:
    x = y = z = 0.0
    if a is not None:
        x, y, z = a.getPointVel(p)
    if b is not None:
        u, v, w = b.getPointVel(p)
        x, y, z = x - u, y - v, z - w
    return bool(x * x + y * y + z * z < AT_REST * AT_REST)


def _holds(force: Vector, normal: Vector, mu: float) -> bool:
    """Whether a contact can exert the force that made it stick: within the cone of friction."""
    push = dot(force, normal)
    most = mu * push
    if not push >= 0.0:
        return False
    return mu == inf or dot(force, force) - push * push <= most * most
