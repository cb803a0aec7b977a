"""Writing of MCAP files; many messages of a channel at once, which mcap's own writer cannot."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, Protocol

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    Schema,
    Statistics,
    SummaryOffset,
)
from numpy.typing import NDArray

_MAGIC = b"\x89MCAP0\r\n"
# Head of a message.
_MESSAGE = np.dtype(
    [
        ("opcode", "<u1"),
        ("length", "<u8"),
        ("channel_id", "<u2"),
        ("sequence", "<u4"),
        ("log_time", "<u8"),
        ("publish_time", "<u8"),
    ]
)
_HEAD_SIZE = 9  # of a record: kind and length
# Head of an index of messages: kind, length, channel, size of the entries in bytes.
_INDEX = struct.Struct("<BQHI")
_FOOTER = struct.Struct("<BQQQ")  # the part of the footer that its checksum covers
_FOOTER_FIELDS = 20
_LEVEL = -5  # of the compression; level -1 takes half as long again and saves an eighth

Bytes = NDArray[np.uint8]
Entries = NDArray[np.int64]  # of an index: time and offset in the chunk, shape (messages, 2)


class _Record(Protocol):
    """A record of mcap."""

    def write(self, stream: RecordBuilder, /) -> None:
        """Write it."""


class McapWriter:
    """Writes the records of an MCAP file in compressed chunks with indexes.

    Schemas and channels are also in the chunks, so that a file without an end can be read.

    Args:
        stream: The open file.
        profile: Its profile, such as "ros2".

    Raises:
        OSError: The file cannot be written; likewise all methods.
    """

    def __init__(self, stream: BinaryIO, profile: str) -> None:
        self._stream = stream
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._position = 0
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._attachments: list[AttachmentIndex] = []
        self._counts: dict[int, int] = {}
        # The present chunk.
        self._records: Bytes = np.empty(1 << 20, np.uint8)
        self._size = 0
        self._indexes: dict[int, list[Entries]] = {}  # by channel
        self._write(_MAGIC + _bytes([Header(profile, "hrp_ros")]))

    @property
    def chunk_size(self) -> int:
        """Size of the records that are not written yet, in bytes."""
        return self._size

    def add_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Add the definition of a type; return its number."""
        schema = Schema(id=len(self._schemas) + 1, data=data, encoding=encoding, name=name)
        self._schemas.append(schema)
        self._add(_bytes([schema]))
        return schema.id

    def add_channel(
        self, topic: str, encoding: str, schema: int, metadata: Mapping[str, str]
    ) -> int:
        """Add a topic; return its number."""
        channel = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding=encoding,
            schema_id=schema,
            metadata=dict(metadata),
        )
        self._channels.append(channel)
        self._add(_bytes([channel]))
        return channel.id

    def add_messages(
        self, channel: int, times_ns: Sequence[int], messages: Sequence[bytes]
    ) -> None:
        """Add messages of a channel, at least one.

        Args:
            channel: Its number.
            times_ns: Their log times, in [ns].
            messages: Their bytes; those of equal length take less time.
        """
        sizes = np.fromiter(map(len, messages), np.int64, len(messages))
        heads = np.zeros(len(messages), _MESSAGE)
        heads["opcode"] = Opcode.MESSAGE
        heads["length"] = sizes + (_MESSAGE.itemsize - _HEAD_SIZE)
        heads["channel_id"] = channel
        heads["log_time"] = heads["publish_time"] = times_ns
        ends = np.cumsum(sizes + _MESSAGE.itemsize)
        begins = self._size + ends - sizes - _MESSAGE.itemsize
        entries = np.stack([np.array(times_ns), begins], axis=1)
        self._indexes.setdefault(channel, []).append(entries)
        room = self._room(int(ends[-1]))
        if (sizes == sizes[0]).all():
            records = room.reshape(len(messages), -1)
            records[:, : _MESSAGE.itemsize] = heads.view(np.uint8).reshape(len(messages), -1)
            data = np.frombuffer(b"".join(messages), np.uint8)
            records[:, _MESSAGE.itemsize :] = data.reshape(len(messages), -1)
            return
        memory, end = room.data, 0
        for head, message in zip(heads, messages, strict=True):
            for part in (head.tobytes(), message):
                begin, end = end, end + len(part)
                memory[begin:end] = part

    def add_attachment(self, time_ns: int, name: str, media_type: str, data: bytes) -> None:
        """Add an attachment, outside of the chunks."""
        offset = self._position
        self._write(
            _bytes(
                [
                    Attachment(
                        create_time=time_ns,
                        log_time=time_ns,
                        name=name,
                        media_type=media_type,
                        data=data,
                    )
                ]
            )
        )
        self._attachments.append(
            AttachmentIndex(
                offset=offset,
                length=self._position - offset,
                create_time=time_ns,
                log_time=time_ns,
                data_size=len(data),
                name=name,
                media_type=media_type,
            )
        )

    def flush(self) -> None:
        """Write the present chunk, unless it has no messages."""
        if self._indexes:
            self._write_chunk()
        self._stream.flush()

    def finish(self) -> None:
        """Write the present chunk, and the end of the file with the index of all chunks."""
        self.flush()
        self._write(_bytes([DataEnd(0)]))
        start = self._position
        groups: tuple[tuple[Opcode, Iterable[_Record]], ...] = (
            (Opcode.SCHEMA, self._schemas),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [self._statistics()]),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.ATTACHMENT_INDEX, self._attachments),
        )
        summary, offsets = b"", []
        for kind, records in groups:
            if group := _bytes(records):
                offsets.append(
                    SummaryOffset(
                        group_opcode=kind,
                        group_start=start + len(summary),
                        group_length=len(group),
                    )
                )
                summary += group
        offsets_start = start + len(summary)
        summary += _bytes(offsets)
        head = _FOOTER.pack(Opcode.FOOTER, _FOOTER_FIELDS, start, offsets_start)
        crc = zlib.crc32(head, zlib.crc32(summary))
        footer = Footer(summary_start=start, summary_offset_start=offsets_start, summary_crc=crc)
        self._write(summary + _bytes([footer]) + _MAGIC)
        self._stream.flush()

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self._position += len(data)

    def _add(self, record: bytes) -> None:
        """Add a record to the present chunk."""
        self._room(len(record)).data[:] = record

    def _room(self, size: int) -> Bytes:
        """Return the place of records of this size in the present chunk."""
        begin, self._size = self._size, self._size + size
        if self._size > len(self._records):
            grown = np.empty(max(self._size, 2 * len(self._records)), np.uint8)
            grown[:begin] = self._records[:begin]
            self._records = grown
        return self._records[begin : self._size]

    def _write_chunk(self) -> None:
        indexes = {channel: np.concatenate(x) for channel, x in self._indexes.items()}
        start_ns = min(int(x[:, 0].min()) for x in indexes.values())
        end_ns = max(int(x[:, 0].max()) for x in indexes.values())
        records = self._records[: self._size].data
        data = self._compressor.compress(records)
        chunk = Chunk(
            compression="zstd",
            data=data,
            message_start_time=start_ns,
            message_end_time=end_ns,
            uncompressed_crc=zlib.crc32(records),
            uncompressed_size=len(records),
        )
        start = self._position
        self._write(_bytes([chunk]))
        end = self._position
        offsets = {}
        for channel, entries in indexes.items():
            offsets[channel] = self._position
            body = entries.tobytes()
            head = _INDEX.pack(Opcode.MESSAGE_INDEX, 6 + len(body), channel, len(body))
            self._write(head + body)
            self._counts[channel] = self._counts.get(channel, 0) + len(entries)
        self._chunks.append(
            ChunkIndex(
                message_start_time=start_ns,
                message_end_time=end_ns,
                chunk_start_offset=start,
                chunk_length=end - start,
                message_index_offsets=offsets,
                message_index_length=self._position - end,
                compression="zstd",
                compressed_size=len(data),
                uncompressed_size=len(records),
            )
        )
        self._indexes, self._size = {}, 0

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=max((x.message_end_time for x in self._chunks), default=0),
            message_start_time=min((x.message_start_time for x in self._chunks), default=0),
            metadata_count=0,
            schema_count=len(self._schemas),
        )


def _bytes(records: Iterable[_Record]) -> bytes:
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    data: bytes = builder.end()
    return data
