"""Writing of MCAP files, with a tenth of the time that mcap's own writer takes for a message."""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterable, Mapping
from typing import BinaryIO, Protocol

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

_MAGIC = b"\x89MCAP0\r\n"
# Head of a message: kind, length, channel, sequence number, log time, publication time.
_MESSAGE = struct.Struct("<BQHIQQ")
_HEAD_SIZE = 9  # of a record: kind and length
_MESSAGE_FIELDS = _MESSAGE.size - _HEAD_SIZE
# Head of an index of messages: kind, length, channel, size of the entries in bytes.
_INDEX = struct.Struct("<BQHI")
_FOOTER = struct.Struct("<BQQQ")  # the part of the footer that its checksum covers
_FOOTER_FIELDS = 20
_LEVEL = 1  # of the compression; higher ones take much longer and save little


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
        self._parts: list[bytes] = []
        self._size = 0
        self._indexes: dict[int, array[int]] = {}  # times and offsets by channel
        self._start_ns: int | None = None
        self._end_ns = 0
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

    def add_message(self, channel: int, time_ns: int, data: bytes) -> None:
        """Add a message; times must not decrease."""
        if self._start_ns is None:
            self._start_ns = time_ns
        self._end_ns = time_ns
        index = self._indexes.get(channel)
        if index is None:
            index = self._indexes[channel] = array("Q")
        index.append(time_ns)
        index.append(self._size)
        length = _MESSAGE_FIELDS + len(data)
        self._parts.append(_MESSAGE.pack(Opcode.MESSAGE, length, channel, 0, time_ns, time_ns))
        self._parts.append(data)
        self._size += _HEAD_SIZE + length

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
        if self._start_ns is not None:
            self._write_chunk(self._start_ns)
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
        self._parts.append(record)
        self._size += len(record)

    def _write_chunk(self, start_ns: int) -> None:
        records = b"".join(self._parts)
        data = self._compressor.compress(records)
        chunk = Chunk(
            compression="zstd",
            data=data,
            message_start_time=start_ns,
            message_end_time=self._end_ns,
            uncompressed_crc=zlib.crc32(records),
            uncompressed_size=len(records),
        )
        start = self._position
        self._write(_bytes([chunk]))
        end = self._position
        offsets = {}
        for channel, entries in self._indexes.items():
            offsets[channel] = self._position
            body = entries.tobytes()
            head = _INDEX.pack(Opcode.MESSAGE_INDEX, 6 + len(body), channel, len(body))
            self._write(head + body)
            self._counts[channel] = self._counts.get(channel, 0) + len(entries) // 2
        self._chunks.append(
            ChunkIndex(
                message_start_time=start_ns,
                message_end_time=self._end_ns,
                chunk_start_offset=start,
                chunk_length=end - start,
                message_index_offsets=offsets,
                message_index_length=self._position - end,
                compression="zstd",
                compressed_size=len(data),
                uncompressed_size=len(records),
            )
        )
        self._parts, self._indexes = [], {}
        self._size, self._start_ns = 0, None

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=self._chunks[-1].message_end_time if self._chunks else 0,
            message_start_time=self._chunks[0].message_start_time if self._chunks else 0,
            metadata_count=0,
            schema_count=len(self._schemas),
        )


def _bytes(records: Iterable[_Record]) -> bytes:
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    data: bytes = builder.end()
    return data
