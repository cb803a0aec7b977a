"""Records data for the result of a run, with little cost per step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrp_model.rigid import Array

from ...engine.schedule import NS_PER_S
from ...engine.state import SimulatedBody
from ...sensors import Reading
from ...simulation import Simulation
from ..run import Consumer, Run
from .posture import CollisionExtent, Posture, posture_of

# Contact forces are read when the number of contacts changes, as it does in impacts, and else at
# this interval of simulation time, in [ns]: that costs a twentieth of a step of a humanoid.
_CONTACT_INTERVAL_NS = NS_PER_S // 100


class Efforts(NamedTuple):
    """The minimum and maximum effort of each joint of a body so far, in [N m] or [N]."""

    minimum: Array
    maximum: Array


class PeakForce(NamedTuple):
    """The largest contact force of a run.

    Attributes:
        force: In [N].
        time_ns: Simulation time, in [ns].
        between: Names of both bodies, each with its link.
    """

    force: float
    time_ns: int
    between: tuple[tuple[str, str], tuple[str, str]]


class RunRecorder(Consumer):
    """Records data of a run, without affecting it, to the last bit.

    Args:
        simulation: To be recorded.
        reads_all: Whether also sensors are read that nobody else wants, without images.

    Attributes:
        simulation: The recorded simulation.
        simulated_ns: Total time of all steps, in [ns], including those before a reset or of an
            earlier world.
        counts: Number of readings of each sensor, by name.
        last: The last reading of each sensor, by name.
        starts: Initial posture of each body, by name.
        extents: Collision extent of each body, by name.
        efforts: Of each body with joints, by name.
        max_contacts: Maximum number of contact points in one step.
        peak_force: The largest contact force, None if there was no contact.
    """

    def __init__(self, simulation: Simulation, *, reads_all: bool = False) -> None:
        self.simulated_ns = 0
        self._reads_all = reads_all
        self._run: Run | None = None
        self._begin(simulation)

    def attach(self, run: Run) -> None:
        """Record a run."""
        self._run = run

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return whether a sensor should be read."""
        return self._reads_all

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return 0, as each step is recorded."""
        return 0

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Record a step."""
        assert self._run is not None
        self.step(self._run.simulation, time_ns, readings)

    def step(self, simulation: Simulation, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Record a step; call this after each.

        Args:
            simulation: That has taken the step; if it is another one, recording starts again.
            time_ns: Simulation time at the end of the step, in [ns].
            readings: Of the step.
        """
        self.follow(simulation)
        self.simulated_ns += simulation.engine.settings.step_ns
        self.last.update(readings)
        self.counts.update(readings.keys())
        for efforts, now in self._efforts:
            np.minimum(efforts.minimum, now, out=efforts.minimum)
            np.maximum(efforts.maximum, now, out=efforts.maximum)
        count = self.simulation.engine.contacts
        elapsed_ns = time_ns - self._contacts_ns
        if count != self._count or not 0 <= elapsed_ns < _CONTACT_INTERVAL_NS:
            self._record_contacts(time_ns, count)

    def follow(self, simulation: Simulation) -> None:
        """Start again if this is another simulation, such as of a world just loaded."""
        if simulation is not self.simulation:
            self._begin(simulation)

    def _begin(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.counts: Counter[str] = Counter()
        self.last: dict[str, Reading] = {}
        self.max_contacts = 0
        self.peak_force: PeakForce | None = None
        self.starts: dict[str, Posture] = {}
        self.extents: dict[str, CollisionExtent] = {}
        self.efforts: dict[str, Efforts] = {}
        self._efforts: list[tuple[Efforts, Array]] = []
        self._bodies: Mapping[str, SimulatedBody] = {}
        self._count = 0
        self._contacts_ns = simulation.state.time_ns
        simulation.record_contacts(self, on=True)
        self.add_new_bodies()

    def add_new_bodies(self) -> None:
        """Record the initial postures of new bodies."""
        bodies = self.simulation.bodies
        if bodies is self._bodies:
            return
        self._bodies = bodies
        for name, simulated in bodies.items():
            extent = self.extents.get(name)
            if extent is None or extent.body is not simulated.body:
                self.extents[name] = CollisionExtent(simulated.body)
                self.starts[name] = posture_of(simulated, self.extents[name])
                zeros = np.zeros(len(simulated.body.moving_links))
                self.efforts[name] = Efforts(zeros, zeros.copy())
        known = ((self.efforts[name], simulated) for name, simulated in bodies.items())
        self._efforts = [(e, s.motion.effort) for e, s in known if len(s.motion.effort)]

    def _record_contacts(self, time_ns: int, count: int) -> None:
        self._contacts_ns, self._count = time_ns, count
        self.max_contacts = max(self.max_contacts, count)
        self.add_new_bodies()
        points = self.simulation.contacts()
        if not len(points):
            return
        squares = np.einsum("ij,ij->i", points.force, points.force)
        k = int(np.argmax(squares))
        force = float(np.sqrt(squares[k]))
        if self.peak_force is None or force > self.peak_force.force:
            bodies, links = points.bodies[k], points.links[k].tolist()
            (a, i), (b, j) = zip(bodies, links, strict=True)
            between = (a, self._link(a, i)), (b, self._link(b, j))
            self.peak_force = PeakForce(force, time_ns, between)

    def _link(self, body: str, index: int) -> str:
        return self.simulation.bodies[body].body.links[index].name
