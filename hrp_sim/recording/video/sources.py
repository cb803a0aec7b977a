"""What is filmed: bodies, and their poses at the times of the frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from math import inf
from typing import NamedTuple, Protocol

from hrp_model import Body

from ...engine.schedule import NS_PER_S
from ...engine.state import BodyPoses
from ...run.run import Run
from ...simulation import Simulation

_KNOWN_POSES = 25  # of a recording


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

    @property
    def duration(self) -> float:
        """Simulation time from the first to the last frame, in [s]; inf without an end."""

    @property
    def problem(self) -> str:
        """Why there were fewer frames than asked for, or ""."""

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield the world at the start, and then ``fps`` times per second of simulation time."""

    def known_poses(self, duration: float) -> Iterator[BodyPoses]:
        """Yield poses that are known before the film, spread over its duration in [s].

        A fixed camera has them in the picture.
        """


class SimulationSource:
    """Films a simulation while it runs, without end. Its sensors are not read.

    Args:
        simulation: From its current state.
        hint: Added to the problem if the physics fails.

    Attributes:
        problem: Why the physics failed, which ends the frames; "" if it has not.
    """

    duration = inf

    def __init__(self, simulation: Simulation, hint: str = "") -> None:
        self._simulation = simulation
        self._hint = hint
        self.problem = ""

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The models, by the names of the bodies in the world."""
        return {name: simulated.body for name, simulated in self._simulation.bodies.items()}

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield frames: each shows the first step at or after its time."""
        run = Run(self._simulation)
        start_ns = self._simulation.state.time_ns
        for number in count():
            run.until(start_ns + round(number * NS_PER_S / fps))
            if run.error is not None:
                self.problem = f"{run.error}\nhint: {self._hint}" if self._hint else str(run.error)
                return
            yield Frame(self._simulation.state.time_ns, self._simulation.state.poses())

    def known_poses(self, duration: float) -> Iterator[BodyPoses]:  # noqa: ARG002
        """Yield the present poses."""
        yield self._simulation.state.poses()


class RecordedPoses(Protocol):
    """The robots of a recording, and the poses of their links over time."""

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The robots by name."""

    @property
    def start_ns(self) -> int:
        """Time of the first message, in [ns]."""

    @property
    def end_ns(self) -> int:
        """Time of the last message, in [ns]."""

    def poses(self, time_ns: int) -> BodyPoses:
        """Return the poses of all links by body at a time in [ns]."""


class RecordingSource:
    """Films a recorded run.

    Args:
        run: The run.
    """

    problem = ""

    def __init__(self, run: RecordedPoses) -> None:
        self._run = run

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The robots by name."""
        return self._run.bodies

    @property
    def duration(self) -> float:
        """Time from the first to the last message, in [s]."""
        return (self._run.end_ns - self._run.start_ns) / NS_PER_S

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield the poses at the times of the frames, until the last message."""
        for number in count():
            time_ns = self._run.start_ns + round(number * NS_PER_S / fps)
            if time_ns > self._run.end_ns:
                return
            yield Frame(time_ns, self._run.poses(time_ns))

    def known_poses(self, duration: float) -> Iterator[BodyPoses]:
        """Yield poses at equal intervals."""
        length_ns = round(min(duration, self.duration) * NS_PER_S)
        for number in range(_KNOWN_POSES):
            yield self._run.poses(self._run.start_ns + length_ns * number // (_KNOWN_POSES - 1))
