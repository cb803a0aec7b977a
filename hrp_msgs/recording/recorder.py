"""Writing of recordings."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..messages import Message
from ..messages.definitions import definition, type_name
from .mcap_writer import McapWriter

# As "ros2 bag" writes them.
PROFILE, ENCODING, SCHEMA_ENCODING = "ros2", "cdr", "ros2msg"
QOS_KEY = "offered_qos_profiles"
# With numbers, as before Iron, which all versions of "ros2 bag" read; durations are infinite.
_QOS = """\
- history: 1
  depth: {depth}
  reliability: 1
  durability: {durability}
  deadline: {{sec: 9223372036, nsec: 854775807}}
  lifespan: {{sec: 9223372036, nsec: 854775807}}
  liveliness: 1
  liveliness_lease_duration: {{sec: 9223372036, nsec: 854775807}}
  avoid_ros_namespace_conventions: false
"""
_TRANSIENT_LOCAL, _VOLATILE = 1, 2

_CHUNK_BYTES = 1 << 20  # before compression
_FLUSH_PERIOD = 0.45  # [s] of wall time between chunks; batches add as much
_BATCH_PERIOD = 0.1  # [s] of wall time; small batches do not delay other threads
_BATCH_BYTES = 4 << 20  # queued bytes that start a batch at once
_MAX_QUEUED_BYTES = 256 << 20
_MESSAGE_OVERHEAD = 300  # [bytes] of memory of a queued message besides its data


class Recorder:
    """Writes an MCAP file; a background thread compresses and writes.

    Messages wait in a queue. While it is full, ``Channel.write`` waits, so none is lost. A process
    that is killed loses the messages of the last second of wall time at most. After an error, such
    as a full disk, the file keeps what it has, and what is written later is ignored.

    Args:
        path: The file, which is created or overwritten.
        on_error: Called at most once, in the background thread, with the error that ended the
            recording, most likely an OSError.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: Path, *, on_error: Callable[[Exception], None]) -> None:
        self._file = path.open("wb")
        self._on_error = on_error
        try:
            self._writer = McapWriter(self._file, PROFILE)
            self._file.flush()
        except OSError:
            with suppress(OSError):
                self._file.close()
            raise
        self._channels: dict[str, Channel] = {}
        self._schema_ids: dict[str, int] = {}  # used in the background thread only
        self._lock = threading.Lock()  # guards all that follows
        self._changed = threading.Condition(self._lock)
        # Single messages, and actions of the background thread.
        self._queue: list[tuple[Channel, int, bytes] | Callable[[], object]] = []
        self._queued_bytes = self._now_ns = 0
        self._is_closing = self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def channel(self, topic: str, message_type: type[Message], *, latched: bool) -> Channel:
        """Return the channel of a topic.

        Args:
            topic: Full name of the topic.
            message_type: Class of its messages.
            latched: Whether late subscribers receive the last message, also when it is replayed.

        Raises:
            ValueError: The type is unknown, or the topic has a channel with another type.
        """
        name = type_name(message_type)
        text = definition(name)
        with self._changed:
            channel = self._channels.get(topic)
            if channel is None:
                channel = Channel(self, topic, name, latched=latched)
                self._channels[topic] = channel
                self._do(partial(self._register, channel, text.encode()), len(text))
        if channel.type_name != name:
            raise ValueError(f"topic {topic} has the type {channel.type_name}, not {name}")
        return channel

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """Add an attachment, such as the file of the world."""
        with self._changed:
            self._wait_for_room()
            add = partial(self._writer.add_attachment, self._now_ns, name, media_type, data)
            self._do(add, len(data))

    def write(self, channel: Channel, time_ns: int, data: bytes) -> None:
        """Record a message; callable from any thread, and cheap.

        Args:
            channel: Its topic.
            time_ns: Log time, in [ns].
            data: The serialised message.
        """
        with self._lock:  # the condition itself takes three times as long
            if self._queued_bytes > _MAX_QUEUED_BYTES:
                self._wait_for_room()
            if not (self._is_closing or self._has_ended):
                self._now_ns = time_ns
                self._queue.append((channel, time_ns, data))
                before = self._queued_bytes
                self._queued_bytes = after = before + len(data) + _MESSAGE_OVERHEAD
                if before <= _BATCH_BYTES < after:
                    self._changed.notify_all()

    def close(self) -> None:
        """Write what is queued and the index, and close the file; idempotent."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()

    def _wait_for_room(self) -> None:
        while self._queued_bytes > _MAX_QUEUED_BYTES and not self._has_ended:
            self._changed.wait()

    def _do(self, action: Callable[[], object], size: int) -> None:
        """Let the background thread do something with so many bytes, if it accepts that."""
        if not (self._is_closing or self._has_ended):
            self._queue.append(action)
            self._queued_bytes += size

    def _register(self, channel: Channel, text: bytes) -> None:
        schema = self._schema_ids.get(channel.type_name)
        if schema is None:
            schema = self._writer.add_schema(channel.type_name, SCHEMA_ENCODING, text)
            self._schema_ids[channel.type_name] = schema
        qos = _QOS.format(
            depth=1 if channel.latched else 10,
            durability=_TRANSIENT_LOCAL if channel.latched else _VOLATILE,
        )
        channel.id = self._writer.add_channel(channel.topic, ENCODING, schema, {QOS_KEY: qos})

    def _run(self) -> None:
        """Write until the recording is closed or an error ends it."""
        try:
            with self._file:
                self._write_batches()
                self._writer.finish()
        except (
            Exception
        ) as error:  # a full disk, or what cannot be written, such as a 65536th topic
            self._end()
            self._on_error(error)
        finally:
            self._end()

    def _write_batches(self) -> None:
        next_flush = time.monotonic() + _FLUSH_PERIOD
        writer = self._writer
        is_closing = False
        while not is_closing:
            with self._changed:
                if not self._is_closing and self._queued_bytes <= _BATCH_BYTES:
                    self._changed.wait(_BATCH_PERIOD)
                is_closing = self._is_closing
                batch, self._queue = self._queue, []
                size = self._queued_bytes
            self._write_batch(batch)
            with self._changed:
                self._queued_bytes -= size
                self._changed.notify_all()
            if time.monotonic() > next_flush:
                writer.flush()
                next_flush = time.monotonic() + _FLUSH_PERIOD

    def _write_batch(
        self, batch: Iterable[tuple[Channel, int, bytes] | Callable[[], object]]
    ) -> None:
        """Write messages grouped by channel, which takes less time, and do the actions."""
        messages: defaultdict[Channel, tuple[list[int], list[bytes]]] = defaultdict(
            lambda: ([], [])
        )
        size = 0
        for item in batch:
            if isinstance(item, tuple):
                channel, time_ns, data = item
                times, found = messages[channel]
                times.append(time_ns)
                found.append(data)
                size += len(data)
            else:
                self._add(messages)  # in the order of their times
                item()
            if size + self._writer.chunk_size > _CHUNK_BYTES:
                self._add(messages)
                self._writer.flush()
                size = 0
        self._add(messages)

    def _add(self, messages: dict[Channel, tuple[list[int], list[bytes]]]) -> None:
        """Add messages, given as times and bytes by channel, to the present chunk."""
        for channel, (times_ns, data) in messages.items():
            self._writer.add_messages(channel.id, times_ns, data)
        messages.clear()

    def _end(self) -> None:
        with self._changed:
            self._has_ended = True
            self._queue = []
            self._changed.notify_all()


class Channel:
    """One topic of a recording, made by ``Recorder.channel``.

    Attributes:
        topic: Name of the topic.
        type_name: Type of its messages, such as "sensor_msgs/msg/Imu".
        latched: Whether late subscribers receive the last message.
        id: Number in the file, once it is registered there.
    """

    def __init__(self, recorder: Recorder, topic: str, type_name: str, *, latched: bool) -> None:
        self.topic, self.type_name, self.latched = topic, type_name, latched
        self.id = 0
        self._recorder = recorder

    def write(self, time_ns: int, data: bytes) -> None:
        """Record a message; callable from any thread, and cheap.

        Args:
            time_ns: Log time, in [ns].
            data: The serialised message.
        """
        self._recorder.write(self, time_ns, data)
