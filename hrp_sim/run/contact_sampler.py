"""Sample the contacts of a running simulation for subscribers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hrp_model.rigid import Array

from ..engine.contact_points import ContactPoints
from ..engine.schedule import SampleClock
from ..simulation import Simulation


class ContactSampler:
    """Samples contacts at a given rate while they are needed.

    Contacts are recorded in the sampled steps only, so that the other steps cost nothing. Several
    samplers of one simulation do not affect each other.

    Args:
        rate_hz: Maximum number of samples per simulated second.
        is_wanted: Returns whether the contacts are needed.
        publish: Called with the contacts of a step and their forces on the movable body of each
            pair, or on the first if both are movable, in W, in [N], shape (n, 3).

    Raises:
        ValueError: The rate is not positive and finite.
    """

    def __init__(
        self,
        rate_hz: float,
        is_wanted: Callable[[], bool],
        publish: Callable[[ContactPoints, Array], None],
    ) -> None:
        self._ticks = SampleClock(rate_hz)
        self._is_wanted = is_wanted
        self._publish = publish
        self._recording: Simulation | None = None  # that records the next step for this sampler

    def next_ns(self, step_ns: int) -> int:
        """Return the time of the next step that ``after_step`` must be called for, in [ns].

        Args:
            step_ns: Time step, in [ns]. The step before a sample is needed to record that.
        """
        due_ns = self._ticks.due_ns
        return due_ns if self._recording is not None else due_ns - step_ns

    def restart(self, time_ns: int) -> None:
        """Continue from another time, in [ns]."""
        self._ticks.wait(time_ns)

    def after_step(self, simulation: Simulation) -> None:
        """Publish the contacts of the last step if they are due; called after steps.

        After each step, or at least after those of ``next_ns``.
        """
        time_ns = simulation.engine.time_ns
        is_due = self._ticks.is_due(time_ns)
        if self._recording is simulation and is_due:
            points = simulation.contacts()
            self._publish(points, _forces_on_movable(points, simulation))
        next_ns = time_ns + simulation.engine.settings.step_ns
        wanted = self._ticks.due_ns <= next_ns and self._is_wanted()
        if (self._recording is simulation) != wanted:
            simulation.record_contacts(self, wanted)
            self._recording = simulation if wanted else None


def _forces_on_movable(points: ContactPoints, simulation: Simulation) -> Array:
    static = {name for name, simulated in simulation.bodies.items() if simulated.body.is_static}
    reversed_ = np.array([a in static and b not in static for a, b in points.bodies], dtype=bool)
    force: Array = np.where(reversed_[:, np.newaxis], -points.force, points.force)
    return force
