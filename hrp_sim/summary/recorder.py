"""Records the values for the result of a run, in very little time per step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrp_model.rigid import Array

from ..physics.schedule import NS_PER_S
from ..physics.state import SimulatedBody
from ..sensors import Reading
from ..simulation import Simulation
from .posture import CollisionExtent, Posture, posture_of

# Contacts are looked at in steps that change their number, which blows do, and else in simulated
# time as often as this, in [ns]: to look costs a twentieth of the step of a humanoid.
_LOOK_EVERY = NS_PER_S // 100


class Efforts(NamedTuple):
    """The least and the greatest effort of each joint of a body so far, in [N m] or [N]."""

    least: Array
    greatest: Array


class PeakForce(NamedTuple):
    """The largest force that was seen at a contact.

    Attributes:
        force: In [N].
        time_ns: When, in [ns].
        between: Names of both bodies, each with its link.
    """

    force: float
    time_ns: int
    between: tuple[tuple[str, str], tuple[str, str]]


class RunRecorder:
    """Follows a run. It changes nothing in it, to the last bit.

    Attributes:
        simulation: What is followed now.
        simulated_ns: Simulated time of all steps, in [ns]; a reset or another world leaves it.
        counts: How often each sensor was read, by its name.
        last: The last reading of each sensor.
        starts: How each body stood when it was first seen, by its name.
        outlines: How far each body reaches.
        efforts: Of each body with joints that was seen, by its name.
        most_contacts: The greatest number of contact points in one step.
        peak_force: The largest force at a contact, None if there was none.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulated_ns = 0
        self._begin(simulation)

    def step(self, simulation: Simulation, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Note a step; to be called after each.

        Args:
            simulation: That has taken it; another one than before begins anew.
            time_ns: When it has ended, in [ns].
            readings: What fell due.
        """
        self.follow(simulation)
        self.simulated_ns += simulation.engine.settings.step_ns
        self.last.update(readings)
        self.counts.update(readings.keys())
        for efforts, now in self._efforts:
            np.minimum(efforts.least, now, out=efforts.least)
            np.maximum(efforts.greatest, now, out=efforts.greatest)
        count = self.simulation.engine.contacts
        if count != self._count or not self._looked_ns <= time_ns < self._looked_ns + _LOOK_EVERY:
            self._look(time_ns, count)

    def follow(self, simulation: Simulation) -> None:
        """Begin anew if this is another simulation than before, such as of a world just loaded."""
        if simulation is not self.simulation:
            self._begin(simulation)

    def _begin(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.counts: Counter[str] = Counter()
        self.last: dict[str, Reading] = {}
        self.most_contacts = 0
        self.peak_force: PeakForce | None = None
        self.starts: dict[str, Posture] = {}
        self.outlines: dict[str, CollisionExtent] = {}
        self.efforts: dict[str, Efforts] = {}
        self._efforts: list[tuple[Efforts, Array]] = []
        self._bodies: Mapping[str, SimulatedBody] = {}
        self._count = 0
        self._looked_ns = simulation.state.time_ns
        simulation.engine.record_contacts = True
        self.add_new_bodies()

    def add_new_bodies(self) -> None:
        """Note how bodies stand that were not seen before."""
        bodies = self.simulation.bodies
        if bodies is self._bodies:
            return
        self._bodies = bodies
        for name, simulated in bodies.items():
            outline = self.outlines.get(name)
            if outline is None or outline.body is not simulated.body:
                self.outlines[name] = CollisionExtent(simulated.body)
                self.starts[name] = posture_of(simulated, self.outlines[name])
                zeros = np.zeros(len(simulated.body.moving_links))
                self.efforts[name] = Efforts(zeros, zeros.copy())
        known = ((self.efforts[name], simulated) for name, simulated in bodies.items())
        self._efforts = [(e, s.motion.effort) for e, s in known if len(s.motion.effort)]

    def _look(self, time_ns: int, count: int) -> None:
        self._looked_ns, self._count = time_ns, count
        self.most_contacts = max(self.most_contacts, count)
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
