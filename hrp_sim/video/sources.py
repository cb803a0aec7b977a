"""What is filmed: bodies, and their poses at the times of the frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import NamedTuple, Protocol

from hrp_model import Body

from ..physics.engine import PhysicsError
from ..physics.schedule import NS_PER_S
from ..physics.state import WorldState
from ..render import BodyPoses, LinkPoses
from ..simulation import Simulation


class Frame(NamedTuple):
    """The world at one time.

    Attributes:
        time_ns: Simulation time, in [ns].
        poses: Of all links, by the name of the body.
    """

    time_ns: int
    poses: BodyPoses


class FilmSource(Protocol):
    """A run to film: a simulation, or a recording."""

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The models, by the names of the bodies in the world."""

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield the world at the start, and then ``fps`` times per second of simulation time."""


class SimulationSource:
    """Films a simulation while it runs. Its sensors are not read.

    Attributes:
        error: Why the physics failed, which ended the frames; None if it did not.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.error: PhysicsError | None = None
        simulation.wanted = lambda _name: False

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The models, by the names of the bodies in the world."""
        return {name: simulated.body for name, simulated in self._simulation.bodies.items()}

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield frames without end: each shows the first step at or after its time."""
        start_ns = self._simulation.state.time_ns
        for number in count():
            due_ns = start_ns + round(number * NS_PER_S / fps)
            try:
                while self._simulation.state.time_ns < due_ns:
                    self._simulation.step()
            except PhysicsError as error:
                self.error = error
                return
            yield Frame(self._simulation.state.time_ns, poses_of(self._simulation.state))


def poses_of(state: WorldState) -> dict[str, LinkPoses]:
    """Return a copy of the poses of all links."""
    return {
        name: LinkPoses(simulated.motion.p.copy(), simulated.motion.R.copy())
        for name, simulated in state.bodies.items()
    }
