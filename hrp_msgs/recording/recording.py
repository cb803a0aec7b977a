"""Reading of recordings, and decoding of messages by the definitions in them."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from mcap.records import Schema
from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import Typesdict
from rosbags.typesys import get_types_from_msg
from rosbags.typesys.store import Typestore

from ..messages.definitions import typestore
from .mcap_file import Block, McapFile, RecordingError
from .recorder import ENCODING, QOS_KEY, SCHEMA_ENCODING

Decoder = Callable[[bytes], object]

_TYPE_NAME = re.compile(r"[A-Za-z]\w*/msg/[A-Za-z]\w*", re.ASCII)
_MAX_DEFINITION = 256 << 10  # bytes
_MAX_ARRAY = 1000  # elements of an array of fixed length that are not numbers: code for each
_ENCODINGS = (b"\0\0", b"\0\1")  # CDR, big-endian and little-endian
# Some writers omit these.
_BUILTIN = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")


def make_decoder(schema: Schema) -> Decoder | None:
    """Return what decodes the messages of a type; None if its definition is not usable."""
    if not _TYPE_NAME.fullmatch(schema.name) or len(schema.data) > _MAX_DEFINITION:
        return None
    try:
        types = get_types_from_msg(schema.data.decode(), schema.name)
        types = {**{name: typestore().fielddefs[name] for name in _BUILTIN}, **types}
        if _is_too_big(types):
            return None
        store = Typestore()
        store.register(types)
        store.get_msgdef(schema.name)
    except Exception:  # whatever a broken definition causes in the generator of code
        return None

    def decode(data: bytes) -> object:
        # Unlike Typestore.deserialize_cdr, accept bytes after the message: some writers leave them.
        if data[:2] not in _ENCODINGS:
            raise ValueError("the bytes are not CDR")
        kind = store.get_msgdef(schema.name)
        read = kind.deserialize_cdr_le if data[1] else kind.deserialize_cdr_be
        return read(memoryview(data)[4:], 0, kind.cls, store)[0]

    return decode


def _is_too_big(types: Typesdict) -> bool:
    arrays = (
        kind[1] for _, fields in types.values() for _, kind in fields if kind[0] == Nodetype.ARRAY
    )
    return any(
        length > _MAX_ARRAY and (kind != Nodetype.BASE or name[0] == "string")
        for (kind, name), length in arrays
    )


_LATCHED = re.compile(r"\bdurability:\s*(1|transient_local)\b")
_MAX_UNORDERED_BYTES = 1 << 30  # of messages that are held to be put in order
_MESSAGE_OVERHEAD = 300  # [bytes] of memory of such a message besides its data


@dataclass(frozen=True)
class RecordedTopic:
    """A topic of a recording.

    Attributes:
        name: Name of the topic.
        type_name: Type of its messages, such as "sensor_msgs/msg/Imu"; "" if unknown.
        count: Number of its messages.
        readable: Whether its messages can be decoded.
        latched: Whether late subscribers are to receive the last message.
    """

    name: str
    type_name: str
    count: int
    readable: bool
    latched: bool


class RecordedMessage:
    """A message of a recording, decoded when it is needed.

    Attributes:
        topic: Name of its topic.
        time_ns: Log time, in [ns].
        data: The serialised message.
    """

    __slots__ = ("_decode", "data", "time_ns", "topic")

    def __init__(self, topic: str, time_ns: int, data: bytes, decode: Decoder) -> None:
        self.topic, self.time_ns, self.data = topic, time_ns, data
        self._decode = decode

    @property
    def message(self) -> Any:  # which fields it has is known to the recording only
        """The message, with its fields as attributes; arrays of numbers are numpy arrays.

        Raises:
            RecordingError: It cannot be decoded.
        """
        try:
            return self._decode(self.data)
        except Exception as error:  # whatever broken bytes cause in generated code
            raise RecordingError(
                f"the message on {self.topic} at {self.time_ns / 1e9:.3f} s cannot be decoded: "
                f"{error}"
            ) from None


class Recording:
    """An MCAP file of ROS 2 messages, written by any program.

    A file without an end, as a killed process leaves it, is read as far as it is complete.

    Args:
        path: The file.

    Attributes:
        path: As given.
        topics: All topics, by name.
        start_ns: Log time of the first message, in [ns]; 0 if there is none.
        end_ns: Log time of the last message, in [ns].
        truncated: Whether the file ends before its data do, as after a kill.

    Raises:
        OSError: The file cannot be read.
        RecordingError: It is not an MCAP file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with McapFile(path) as file:
            self._contents = contents = file.contents()
        contents.blocks.sort()
        self.truncated = contents.truncated
        self.start_ns = min((b.start_ns for b in contents.blocks), default=0)
        self.end_ns = max((b.end_ns for b in contents.blocks), default=0)
        decoders = {
            number: make_decoder(schema)
            for number, schema in contents.schemas.items()
            if schema.encoding == SCHEMA_ENCODING
        }
        self._decoders: dict[int, Decoder] = {}  # by channel
        topics: dict[str, RecordedTopic] = {}
        for number, channel in contents.channels.items():
            schema = contents.schemas.get(channel.schema_id)
            decoder = decoders.get(channel.schema_id)
            if decoder is not None and channel.message_encoding == ENCODING:
                self._decoders[number] = decoder
            before = topics.get(channel.topic)
            topics[channel.topic] = RecordedTopic(
                channel.topic,
                schema.name if schema else "",
                contents.counts[number] + (before.count if before else 0),
                number in self._decoders and (before is None or before.readable),
                bool(_LATCHED.search(channel.metadata.get(QOS_KEY, ""))),
            )
        self.topics: Mapping[str, RecordedTopic] = topics

    @property
    def attachments(self) -> Mapping[str, bytes]:
        """Data of the attachments by name, each read from the file when it is needed.

        Reading one raises OSError if the file cannot be read, and RecordingError if the attachment
        is damaged or too big.
        """
        return _Attachments(self.path, self._contents.attachments)

    def messages(
        self,
        topics: Collection[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[RecordedMessage]:
        """Return messages in order of their log times, read as they are needed.

        Args:
            topics: Names of topics; None for all that are readable.
            start_ns: First log time, in [ns]; None for the start.
            end_ns: Last log time, in [ns]; None for the end.

        Raises:
            OSError: The file cannot be read.
            RecordingError: A topic does not exist or is not readable, or the file is damaged.
        """
        for name in topics or ():
            if name not in self.topics:
                raise RecordingError(f"{self.path} has no topic '{name}'")
            if not self.topics[name].readable:
                raise RecordingError(f"messages of topic '{name}' cannot be decoded")
        channels = {
            number: (channel.topic, self._decoders[number])
            for number, channel in self._contents.channels.items()
            if number in self._decoders and (topics is None or channel.topic in topics)
        }
        first = self.start_ns if start_ns is None else start_ns
        last = self.end_ns if end_ns is None else end_ns
        blocks = [
            block
            for block in self._contents.blocks
            if block.start_ns <= last and block.end_ns >= first
            if block.channels is None or not block.channels.isdisjoint(channels)
        ]
        return (
            RecordedMessage(channels[number][0], time_ns, data, channels[number][1])
            for time_ns, number, data in self._in_order(blocks, channels)
            if first <= time_ns <= last
        )

    def _in_order(
        self, blocks: list[Block], channels: Collection[int]
    ) -> Iterator[tuple[int, int, bytes]]:
        """Yield time, channel and data of the messages of blocks, given in order of their start."""
        waiting: list[tuple[int, int, int, bytes]] = []
        order, size = count(), 0
        with McapFile(self.path) as file:
            for block in blocks:
                while waiting and waiting[0][0] < block.start_ns:
                    time_ns, _, number, data = heapq.heappop(waiting)
                    size -= len(data) + _MESSAGE_OVERHEAD
                    yield time_ns, number, data
                for message in file.messages(block):
                    if message.channel_id in channels:
                        entry = message.log_time, next(order), message.channel_id, message.data
                        heapq.heappush(waiting, entry)
                        size += len(message.data) + _MESSAGE_OVERHEAD
                    if size > _MAX_UNORDERED_BYTES:
                        raise RecordingError(
                            f"the messages of {self.path} are not in order of time, or a chunk "
                            "has too many of them"
                        )
        while waiting:
            time_ns, _, number, data = heapq.heappop(waiting)
            yield time_ns, number, data


class _Attachments(Mapping[str, bytes]):
    """The attachments of a recording, which may be too big to hold all of them."""

    def __init__(self, path: Path, places: Mapping[str, int]) -> None:
        self._path, self._places = path, places

    def __getitem__(self, name: str) -> bytes:
        place = self._places[name]
        with McapFile(self._path) as file:
            return file.attachment(place)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
