"""Record the steps of a run in batches."""

from __future__ import annotations

import time
from array import array
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from hrp_msgs.convert.cdr import Times
from hrp_msgs.topics.recorded import TopicRecording

from ..physics.schedule import EARLIEST_NS, NEVER_NS
from ..render import Parts
from ..sensors import ImageReading, Reading
from ..simulation import Simulation
from .world_publisher import WorldPublisher

_BATCH_BYTES = 1 << 20  # of messages
_MAX_STEPS, _FIRST_STEPS = 2000, 10  # in a batch; the first one is of unknown size
_BATCH_PERIOD = 0.4  # [s] of wall time


class StepRecorder:
    """Records the readings of steps: a ``Consumer`` of a run without ROS.

    A step only keeps its readings, which never change. They are converted many at once, which
    takes a tenth of the time.

    Args:
        publisher: Publishes them to the recording.
        recording: The recording.
    """

    def __init__(self, publisher: WorldPublisher, recording: TopicRecording) -> None:
        self._publisher = publisher
        self._recording = recording
        self._most = _FIRST_STEPS
        self._begin()

    def wants(self, simulation: Simulation, sensor: str) -> bool:
        """Return whether a sensor is recorded."""
        return self._publisher.wants(simulation, sensor)

    def wanted_parts(self, camera: str) -> Parts:
        """Return the recorded parts of an image."""
        return self._publisher.wanted_parts(camera)

    def next_ns(self, simulation: Simulation) -> int:
        """Return the time of the next step to record even without readings, in [ns]."""
        return self._publisher.next_ns(simulation)

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Keep the readings of a step."""
        if time_ns < self._recording.time_ns:
            self.flush()
        self._recording.time_ns = time_ns
        clock = self._publisher.clock_ticks
        if time_ns >= clock.due_ns:
            clock.advance(time_ns)
            self._ticks.append(time_ns)
        if readings:
            kept = self._kept
            for name, reading in readings.items():
                times, found = kept[name]
                times.append(time_ns)
                found.append(reading)
            if time_ns >= self._frames_ns:
                self._capture_frames(time_ns, readings)
        self._steps += 1
        if self._steps >= self._most or time.monotonic() > self._flush_at:
            self.flush()

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Record an image; called in the render thread."""
        self._publisher.take_image(camera, image)

    def flush(self) -> None:
        """Record the steps so far; called before changes and at the end, by the run's thread."""
        steps, ticks, kept = self._steps, self._ticks, self._kept
        self._begin()
        if steps and self._recording.is_open:
            readings = {name: (_times(times), found) for name, (times, found) in kept.items()}
            self._publisher.take_steps(_times(ticks), readings)
            if size := self._recording.write_batch():
                fitting = steps * _BATCH_BYTES // size
                self._most = max(1, min(fitting, 2 * self._most, _MAX_STEPS))

    def _begin(self) -> None:
        """Begin a batch."""
        self._steps = 0
        self._ticks = array("q")
        self._kept: defaultdict[str, tuple[array[int], list[Reading]]]
        self._kept = defaultdict(lambda: (array("q"), []))
        self._frames_ns = EARLIEST_NS
        self._flush_at = time.monotonic() + _BATCH_PERIOD

    def _capture_frames(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Keep the poses of the roots whose frames are due at this step."""
        due_ns = NEVER_NS
        for body in self._publisher.bodies.values():
            if (frames := body.link_frames) is not None:
                if body.joints in readings:
                    frames.capture(time_ns, readings.get(body.odometry))
                due_ns = min(due_ns, frames.due_ns)
        self._frames_ns = due_ns


def _times(times: array[int]) -> Times:
    return np.frombuffer(times, np.int64)
