"""Frames of the links of one body, from its joint readings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from hrp_model.description.publisher import MAX_FREQUENCY
from hrp_model.rigid import Array
from hrp_msgs.convert.cdr import Times
from hrp_msgs.convert.tf import FramePose
from hrp_msgs.readings import Reading

from ..engine.schedule import EARLIEST_NS, NS_PER_S
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

    def publish_posture(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
        above: Sequence[FramePose] = (),
    ) -> None:
        """Publish the frames of links; see ``DescriptionPublisher.publish_posture``."""

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
        above: Returns frames to publish in the same message, such as the root's.
    """

    def __init__(
        self,
        links: LinkPublisher,
        simulation: Simulation,
        above: Callable[[], Sequence[FramePose]],
    ) -> None:
        self._links = links
        self._simulation = simulation
        self._above = above
        self._due_ns = EARLIEST_NS
        # Times of steps, and their readings and frames above.
        self._kept: list[tuple[int, JointReading, Sequence[FramePose]]] = []

    def has_subscribers(self) -> bool:
        """Return whether frames of the present time would be published."""
        return self._links.is_due(self._simulation.state.time_ns)

    def publish(self, reading: Reading) -> None:
        """Publish the frames of the links, if they are due."""
        assert isinstance(reading, JointReading)
        if self._links.is_due(reading.time_ns):
            positions = reading.position.tolist()
            self._links.move(reading.time_ns, reading.names, positions, self._above())

    def repeat(self, reading: Reading) -> None:
        """Publish the frames of the links; see ``Output``."""
        assert isinstance(reading, JointReading)
        positions = reading.position.tolist()
        self._links.publish_posture(reading.time_ns, reading.names, positions, self._above())

    def keep(self, time_ns: int, reading: Reading) -> None:
        """Keep a reading for ``publish_kept``, if the frames are due.

        As for single messages, they are due once in each period, and after a reset.
        """
        if not self._due_ns - _PERIOD_NS <= time_ns < self._due_ns:
            self._due_ns = (time_ns // _PERIOD_NS + 1) * _PERIOD_NS
            assert isinstance(reading, JointReading)
            self._kept.append((time_ns, reading, self._above()))

    def publish_kept(self) -> None:
        """Publish the frames of the readings that were kept."""
        kept, self._kept = self._kept, []
        if kept and self._links.moves:
            times_ns = np.array([time_ns for time_ns, _, _ in kept])
            positions = np.array([reading.position for _, reading, _ in kept])
            above = [frames for _, _, frames in kept]
            self._links.move_all(times_ns, kept[0][1].names, positions, above)
