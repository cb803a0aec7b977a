"""Record the steps of a run in batches."""

from __future__ import annotations

import time
from collections.abc import Mapping

from hrp_msgs.topics.recorded import TopicRecording

from ..render import Parts
from ..run.run import Change, Consumer, Run
from ..sensors import ImageReading, Reading
from ..simulation import Simulation
from .world_publisher import WorldPublisher

_BATCH_BYTES = 1 << 20  # of messages
_MAX_STEPS, _FIRST_STEPS = 2000, 10  # in a batch; the first one is of unknown size
_BATCH_PERIOD = 0.4  # [s] of wall time


class StepRecorder(Consumer):
    """Records the readings of steps: a ``Consumer`` of a run without ROS.

    A step only copies the numbers of its readings. They are converted to messages many at once,
    which takes a tenth of the time.

    Args:
        publisher: Publishes them to the recording.
        recording: The recording.
        images: Whether images are recorded.
    """

    def __init__(
        self, publisher: WorldPublisher, recording: TopicRecording, *, images: bool = True
    ) -> None:
        self._publisher = publisher
        self._images = images
        self._recording = recording
        self._most = _FIRST_STEPS
        self._steps = 0
        self._flush_at = 0.0

    def attach(self, run: Run) -> None:
        """Record a run."""
        self._publisher.attach(run)

    def changed(self, change: Change) -> None:
        """Record a change of the run."""
        self._publisher.changed(change)

    def wants(self, simulation: Simulation, sensor: str) -> bool:
        """Return whether a sensor is recorded."""
        return self._publisher.wants(simulation, sensor)

    def wanted_parts(self, camera: str) -> Parts | None:
        """Return the recorded parts of an image."""
        return self._publisher.wanted_parts(camera) if self._images else None

    def next_ns(self, simulation: Simulation) -> int:
        """Return the time of the next step to record even without readings, in [ns]."""
        return self._publisher.next_ns(simulation)

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Keep the readings of a step."""
        if time_ns < self._recording.time_ns:
            self.flush()
        self._recording.time_ns = time_ns
        self._publisher.keep_step(time_ns, readings)
        self._steps += 1
        if self._steps >= self._most or time.monotonic() > self._flush_at:
            self.flush()

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Record an image; called in the render thread."""
        self._publisher.take_image(camera, image)

    def flush(self) -> None:
        """Record the steps so far; called before changes and at the end, by the run's thread."""
        self._publisher.publish_kept()
        if size := self._recording.write_batch():
            fitting = self._steps * _BATCH_BYTES // size
            self._most = max(1, min(fitting, 2 * self._most, _MAX_STEPS))
        self._steps = 0
        self._flush_at = time.monotonic() + _BATCH_PERIOD
