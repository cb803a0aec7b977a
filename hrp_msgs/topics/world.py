"""Topics of a world: its time, and the poses of the roots of its bodies."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable

import numpy as np

from .. import names, qos
from ..convert.cdr import Template
from ..convert.tf import FramePose, tf_message, transform
from ..messages import Clock, TFMessage
from .topic import TopicMaker

_STATIC_NS = 0  # stamp of static transforms, in [ns]
MIN_CLOCK_NS = 1  # nodes interpret a clock of 0 as not started


class WorldTopics:
    """Publishes ``/clock``, ``/tf`` and ``/tf_static``; callable from any thread.

    Args:
        topics: Creates the topics.

    Attributes:
        tf: Topic of moving roots.
        all: All three topics.
    """

    def __init__(self, topics: TopicMaker) -> None:
        self._clock = topics.create(Clock, names.CLOCK, qos.CLOCK)
        self._clock_template = Template(Clock())
        self._kept = array("q")  # [ns]
        self.tf = topics.create(TFMessage, names.TF, qos.TF)
        self._static = topics.create(TFMessage, names.TF_STATIC, qos.TF_STATIC)
        self.all = [self._clock, self.tf, self._static]
        self._static_frames: list[FramePose] | None = None
        self._publishing, self._filling_clock = threading.Lock(), threading.Lock()

    def publish_clock(self, time_ns: int) -> None:
        """Publish a simulation time in [ns]; zero as 1 ns, since 0 means that there is no time."""
        if self._clock.has_subscribers():
            with self._filling_clock:
                message = self._clock_template.data(max(time_ns, MIN_CLOCK_NS))
            self._clock.publish(message)

    def keep_clock(self, time_ns: int) -> None:
        """Keep a simulation time in [ns] for ``publish_kept_clocks``."""
        self._kept.append(time_ns)

    def publish_kept_clocks(self) -> None:
        """Publish the times that were kept; see ``publish_clock``."""
        times_ns, self._kept = np.frombuffer(self._kept, np.int64), array("q")
        if len(times_ns):
            stamps = np.maximum(times_ns, MIN_CLOCK_NS)
            self._clock.publish_all(times_ns, self._clock_template.rows(stamps, ()))

    def publish_static(self, get_frames: Callable[[], list[FramePose]]) -> None:
        """Publish all static frames in one message, if they have changed.

        Args:
            get_frames: Returns the frames. Called under a lock, so that of several threads the
                last one publishes the newest frames.
        """
        with self._publishing:
            frames = get_frames()
            if frames != self._static_frames:
                self._static_frames = frames
                self._static.publish(tf_message(transform(_STATIC_NS, *x) for x in frames))
