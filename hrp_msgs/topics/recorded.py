"""Topics of a recording."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..messages import Message
from ..messages.definitions import serialize
from ..qos import Qos
from ..recording import Channel, Recorder
from .topic import type_name


class TopicRecording:
    """Records the messages of topics; callable from any thread.

    Log times are simulation times, but continue where the simulation time is set back.

    Args:
        recorder: Writes them.

    Attributes:
        count: Number of messages so far.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.count = 0
        self._is_open = True
        self._suspended: int | None = None  # the thread whose messages are not recorded
        self._time_ns = self._offset_ns = self._log_ns = 0
        self._recorder = recorder

    @property
    def is_open(self) -> bool:
        """Whether messages of the calling thread are recorded; may be set to False for all."""
        return self._is_open and (
            self._suspended is None or self._suspended != threading.get_ident()
        )

    @is_open.setter
    def is_open(self, is_open: bool) -> None:
        self._is_open = is_open

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Leave out what the calling thread publishes meanwhile; for one thread at a time."""
        self._suspended = threading.get_ident()
        try:
            yield
        finally:
            self._suspended = None

    @property
    def time_ns(self) -> int:
        """Simulation time of the messages that follow, in [ns]; set by one thread."""
        return self._time_ns

    @time_ns.setter
    def time_ns(self, time_ns: int) -> None:
        if time_ns < self._time_ns:
            self._offset_ns += self._time_ns - time_ns
        self._time_ns = time_ns
        self._log_ns = time_ns + self._offset_ns

    def channel(self, message_type: type[Message], name: str, qos: Qos) -> Channel:
        """Return the channel of a topic.

        Args:
            message_type: Class of its messages.
            name: Its full name.
            qos: Its quality of service.

        Raises:
            ValueError: The topic has a channel with another type.
        """
        return self._recorder.channel(name, message_type, latched=qos.latched)

    def record(self, channel: Channel, message: Message | bytes) -> bytes:
        """Record a message; return its bytes, as ROS 2 sends them."""
        data = message if isinstance(message, bytes) else serialize(message)
        self._recorder.write(channel, self._log_ns, data)
        self.count += 1
        return data


class RecordedTopic:
    """A topic of a recording.

    Args:
        recording: The recording.
        message_type: Class of the messages.
        name: Full name of the topic.
        qos: Quality of service.

    Attributes:
        name, type_name, count: See ``Topic``.

    Raises:
        ValueError: The topic is recorded with another type.
    """

    def __init__(
        self, recording: TopicRecording, message_type: type[Message], name: str, qos: Qos
    ) -> None:
        self.name = name
        self.type_name = type_name(message_type)
        self.count = 0
        self._recording = recording
        self._channel = recording.channel(message_type, name, qos)
        self._is_closed = False

    def publish(self, message: Message | bytes) -> None:
        """Record a message, unless the topic is closed."""
        if not self._is_closed and self._recording.is_open:
            self._recording.record(self._channel, message)
            self.count += 1

    def has_subscribers(self) -> bool:
        """Return whether messages are recorded."""
        return self._recording.is_open

    def close(self) -> None:
        """Close the topic; messages that other threads publish later are dropped."""
        self._is_closed = True


class RecordedTopics:
    """Creates the topics of a recording.

    Args:
        recording: The recording.
    """

    def __init__(self, recording: TopicRecording) -> None:
        self._recording = recording

    def create(self, message_type: type[Message], name: str, qos: Qos) -> RecordedTopic:
        """Create a topic; see ``TopicMaker``."""
        full_name = name if name.startswith("/") else f"/{name}"
        return RecordedTopic(self._recording, message_type, full_name, qos)

    def flush(self) -> None:
        """Do nothing: the recorder keeps every message."""

    @property
    def unrecorded(self) -> None:
        """Always None."""
        return
