"""Topics that all bodies of a world share: its time, and TF."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .. import names, qos
from ..convert.cdr import Template
from ..convert.tf import FramePose, tf_message, transform
from ..messages import Clock, TFMessage
from .topic import TopicMaker

_STATIC_NS = 0  # stamp of static transforms, in [ns]
MIN_CLOCK_NS = 1  # nodes interpret a clock of 0 as not started


class SharedTopics:
    """Publishes ``/clock``, ``/tf`` and ``/tf_static``; callable from any thread.

    Args:
        topics: Creates the topics.

    Attributes:
        tf: Topic of moving frames.
        all: All three topics.
    """

    def __init__(self, topics: TopicMaker) -> None:
        self._clock = topics.create(Clock, names.CLOCK, qos.CLOCK)
        self._clock_template = Template(Clock())
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
