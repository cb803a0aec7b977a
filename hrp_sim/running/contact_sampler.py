"""Contacts for those who watch them from outside, and for nobody else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hrp_model.rigid import Array

from ..physics.contact_points import ContactPoints
from ..physics.schedule import SampleClock
from ..simulation import Simulation


class ContactSampler:
    """Tells contacts at a rate, while somebody wants them.

    Only the steps that are told are watched: the others cost nothing.

    Args:
        rate_hz: Most times per simulated second that they are told.
        is_wanted: Asked after each step whether anybody wants to know.
        tell: Called with the contacts of a step, and what each exerts on the one of both bodies
            that can move, in W, in [N], shape (n, 3); where both can, on the first.

    Raises:
        ValueError: The rate is not positive and finite.
    """

    def __init__(
        self,
        rate_hz: float,
        is_wanted: Callable[[], bool],
        tell: Callable[[ContactPoints, Array], None],
    ) -> None:
        self._ticks = SampleClock(rate_hz)
        self._is_wanted = is_wanted
        self._tell = tell

    def restart(self, time_ns: int) -> None:
        """Go on from another time, in [ns]."""
        self._ticks.wait(time_ns)

    def follow(self, simulation: Simulation) -> None:
        """Tell the contacts of the last step if they are due; called after every step."""
        engine, time_ns = simulation.engine, simulation.state.time_ns
        is_due = self._ticks.is_due(time_ns)
        if engine.tells_contacts and is_due:
            points = simulation.contacts()
            self._tell(points, _on_what_moves(points, simulation))
        next_ns = time_ns + engine.settings.step_ns
        wanted = self._ticks.due_ns <= next_ns and self._is_wanted()
        if engine.tells_contacts != wanted:
            engine.tells_contacts = wanted


def _on_what_moves(points: ContactPoints, simulation: Simulation) -> Array:
    static = {name for name, simulated in simulation.bodies.items() if simulated.body.is_static}
    turned = np.array([a in static and b not in static for a, b in points.bodies], dtype=bool)
    force: Array = np.where(turned[:, np.newaxis], -points.force, points.force)
    return force
