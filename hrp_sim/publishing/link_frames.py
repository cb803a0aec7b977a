"""Frames of the links of one body, from its joint readings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from hrp_model.description.publisher import MAX_FREQUENCY
from hrp_model.rigid import Array
from hrp_msgs.convert.cdr import Times
from hrp_msgs.convert.converter import Reading
from hrp_msgs.convert.tf import FramePose

from ..physics.schedule import EARLIEST_NS, NS_PER_S
from ..sensors import JointReading
from ..simulation import Simulation

_PERIOD_NS = round(NS_PER_S / MAX_FREQUENCY)


class LinkPublisher(Protocol):
    """Publishes the frames of the links of a robot."""

    @property
    def moves(self) -> bool:
        """Whether joint positions determine published frames."""

    def is_due(self, time_ns: int) -> bool:
        """Return whether ``move`` at this time in [ns] would publish something."""

    def move(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
        above: Sequence[FramePose] = (),
    ) -> None:
        """Publish the frames of links; see ``DescriptionPublisher.move``."""

    def move_all(
        self,
        times_ns: Times,
        joints: Sequence[str],
        positions: Array,
        above: Sequence[Sequence[FramePose]],
    ) -> None:
        """Publish the frames of links at times; see ``DescriptionPublisher.move_all``."""


class LinkFrames:
    """Publishes the frames of links from joint readings.

    Args:
        links: Publishes them.
        simulation: The simulation.
        above: Returns frames to publish in the same message, such as the root's; gets the reading
            of the root's motion at the present time, if there is one.

    Attributes:
        due_ns: Time of the next step to ``capture``, in [ns].
    """

    def __init__(
        self,
        links: LinkPublisher,
        simulation: Simulation,
        above: Callable[[Reading | None], Sequence[FramePose]],
    ) -> None:
        self._links = links
        self._simulation = simulation
        self._above = above
        self.due_ns = EARLIEST_NS
        self._captured: dict[int, Sequence[FramePose]] = {}  # frames above by time

    def has_subscribers(self) -> bool:
        """Return whether frames of the present time would be published."""
        return self._links.is_due(self._simulation.state.time_ns)

    def publish(self, reading: Reading) -> None:
        """Publish the frames of the links, if they are due."""
        assert isinstance(reading, JointReading)
        if self._links.is_due(reading.time_ns):
            positions = reading.position.tolist()
            self._links.move(reading.time_ns, reading.names, positions, self._above(None))

    def capture(self, time_ns: int, root: Reading | None) -> None:
        """Keep the frames above at a step, if its frames are due, for ``publish_all``.

        As for single messages, they are due once in each period, and after a reset.

        Args:
            time_ns: Time of the step, in [ns].
            root: The motion of the root, if it is read.
        """
        if not self.due_ns - _PERIOD_NS <= time_ns < self.due_ns:
            self._captured[time_ns] = self._above(root)
            self.due_ns = (time_ns // _PERIOD_NS + 1) * _PERIOD_NS

    def publish_all(self, times_ns: Times, readings: Sequence[Reading]) -> None:
        """Publish the frames of the readings whose times in [ns] were captured."""
        captured, self._captured = self._captured, {}
        due = [(t, r) for t, r in zip(times_ns.tolist(), readings, strict=True) if t in captured]
        if due and self._links.moves:
            names = [r.names for _, r in due if isinstance(r, JointReading)]
            positions = np.array([r.position for _, r in due if isinstance(r, JointReading)])
            times = np.array([t for t, _ in due])
            self._links.move_all(times, names[0], positions, [captured[t] for t, _ in due])
