"""Reading of MCAP files, also of those without an end, within bounds of memory."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

import lz4.frame
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    Footer,
    Message,
    Schema,
    Statistics,
)

_MAGIC = b"\x89MCAP0\r\n"
_HEAD = struct.Struct("<BQ")  # of a record: kind and length
_FOOTER_SIZE = _HEAD.size + 20
_MAX_RECORD_BYTES = 256 << 20  # also of an uncompressed chunk
# Messages without chunks are read in blocks of this size.
_BLOCK_BYTES = 4 << 20
# What broken bytes raise in mcap and in the libraries that decompress.
_DAMAGE = (McapError, ValueError, struct.error, zstandard.ZstdError, RuntimeError, EOFError)


class RecordingError(Exception):
    """A recording cannot be read; the message states the reason."""


class Block(NamedTuple):
    """A part of the file that contains messages: a chunk, or records without chunks.

    Attributes:
        start_ns: First log time, in [ns].
        end_ns: Last log time, in [ns].
        offset: Position in the file, in bytes.
        end: Position of its end, in bytes.
        channels: Identifiers of its channels, all if unknown.
    """

    start_ns: int
    end_ns: int
    offset: int
    end: int
    channels: frozenset[int] | None = None


@dataclass
class Contents:
    """Contents of a file, from its summary or from all its records.

    Attributes:
        schemas: By identifier.
        channels: By identifier.
        counts: Number of messages by identifier of the channel.
        blocks: All parts with messages.
        attachments: Positions by name.
        truncated: Whether the file ends before its data do.
    """

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    blocks: list[Block] = field(default_factory=list)
    attachments: dict[str, int] = field(default_factory=dict)
    truncated: bool = False


class McapFile:
    """An open MCAP file.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be read.
        RecordingError: It is not an MCAP file.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise RecordingError(f"{path} is a folder; give the .mcap file in it")
        self._path = path
        self._file: BinaryIO = path.open("rb")
        try:
            self._size = path.stat().st_size
            start = self._file.read(len(_MAGIC))
            if start != _MAGIC:
                reason = "is empty" if not start else "is not an MCAP file"
                raise RecordingError(f"{path} {reason}")
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> McapFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def contents(self) -> Contents:
        """Return the contents, from the summary where it is complete, else from all records."""
        try:
            found = self._summary()
        except (RecordingError, *_DAMAGE):
            found = None
        return self._scan() if found is None else found

    def messages(self, block: Block) -> Iterator[Message]:
        """Yield the messages of a block.

        Raises:
            RecordingError: The block is damaged or too big.
        """
        try:
            for kind, body in self._records(block.offset, block.end):
                inner = _uncompressed(body) if kind == Opcode.CHUNK else [(kind, body)]
                for k, part in inner:
                    if k == Opcode.MESSAGE:
                        yield Message.read(_stream(part), len(part))
        except _DAMAGE as error:
            raise RecordingError(
                f"{self._path} is damaged at byte {block.offset}: {error}"
            ) from None

    def attachment(self, offset: int) -> bytes:
        """Return the data of an attachment.

        Raises:
            RecordingError: It is damaged or too big.
        """
        try:
            for kind, body in self._records(offset, self._size):
                if kind == Opcode.ATTACHMENT:
                    data: bytes = Attachment.read(_stream(body)).data
                    return data
                break
        except _DAMAGE as error:
            raise RecordingError(f"{self._path} is damaged at byte {offset}: {error}") from None
        raise RecordingError(f"{self._path} has no attachment at byte {offset}")

    def _records(self, offset: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield kind and bytes of the records in a part of the file.

        Raises:
            EOFError: The last one is not complete.
            RecordingError: One is too big.
        """
        while offset < end:
            self._file.seek(offset)
            head = self._file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise EOFError("the file is truncated")
            kind, length = _HEAD.unpack(head)
            offset += _HEAD.size + length
            if offset > self._size:
                raise EOFError("the file is truncated")
            if length > _MAX_RECORD_BYTES:
                raise RecordingError(
                    f"{self._path} has a record of {length} bytes, more than {_MAX_RECORD_BYTES}"
                )
            yield kind, self._file.read(length)

    def _summary(self) -> Contents | None:
        """Return the contents by the summary, or None if there is none or it is not complete."""
        start = self._size - _FOOTER_SIZE - len(_MAGIC)
        if start < len(_MAGIC):
            return None
        self._file.seek(-len(_MAGIC), 2)
        if self._file.read() != _MAGIC:
            return None
        ((kind, body),) = self._records(start, start + _FOOTER_SIZE)
        footer = Footer.read(_stream(body))
        if kind != Opcode.FOOTER or not 0 < footer.summary_start < start:
            return None
        found, statistics = Contents(), None
        for kind, body in self._records(footer.summary_start, start):
            if kind == Opcode.STATISTICS:
                statistics = Statistics.read(_stream(body))
                found.counts.update(statistics.channel_message_counts)
            elif kind == Opcode.CHUNK_INDEX:
                index = ChunkIndex.read(_stream(body))
                place = index.chunk_start_offset, index.chunk_start_offset + index.chunk_length
                channels = frozenset(index.message_index_offsets) or None
                times = index.message_start_time, index.message_end_time
                found.blocks.append(Block(*times, *place, channels))
            elif kind == Opcode.ATTACHMENT_INDEX:
                attachment = AttachmentIndex.read(_stream(body))
                found.attachments[attachment.name] = attachment.offset
            else:
                _note(found, kind, body)
        is_complete = (
            statistics is not None
            and len(found.blocks) == statistics.chunk_count
            and len(found.channels) == statistics.channel_count
            and bool(found.blocks or not statistics.message_count)
            and all(block.end <= start for block in found.blocks)
        )
        return found if is_complete else None

    def _scan(self) -> Contents:
        """Return the contents by all records, up to the first damaged one."""
        found = Contents(truncated=True)
        bare: list[Block] = []  # of messages without chunks
        offset = len(_MAGIC)
        try:
            for kind, body in self._records(offset, self._size):
                end = offset + _HEAD.size + len(body)
                if kind == Opcode.CHUNK:
                    times = _note_chunk(found, body)
                    if times:
                        found.blocks.append(Block(*times, offset, end))
                elif kind == Opcode.MESSAGE:
                    _note_bare(found, bare, Message.read(_stream(body), len(body)), offset, end)
                elif kind == Opcode.ATTACHMENT:
                    found.attachments[Attachment.read(_stream(body)).name] = offset
                elif kind in (Opcode.DATA_END, Opcode.FOOTER):
                    found.truncated = False
                    break
                else:
                    _note(found, kind, body)
                offset = end
        except (RecordingError, *_DAMAGE):
            pass  # the rest cannot be read
        found.blocks += bare
        return found


def _stream(data: bytes) -> ReadDataStream:
    return ReadDataStream(BytesIO(data))


def _note(found: Contents, kind: int, body: bytes) -> None:
    """Add a schema or a channel to the contents."""
    if kind == Opcode.SCHEMA:
        schema = Schema.read(_stream(body))
        found.schemas[schema.id] = schema
    elif kind == Opcode.CHANNEL:
        channel = Channel.read(_stream(body))
        found.channels[channel.id] = channel


def _note_chunk(found: Contents, body: bytes) -> tuple[int, int] | None:
    """Add a chunk to the contents; return first and last time of its messages, in [ns]."""
    inside = Contents()  # nothing of a damaged chunk is added
    times: tuple[int, int] | None = None
    for kind, part in _uncompressed(body):
        if kind == Opcode.MESSAGE:
            message = Message.read(_stream(part), len(part))
            inside.counts[message.channel_id] += 1
            start, end = times or (message.log_time, message.log_time)
            times = min(start, message.log_time), max(end, message.log_time)
        else:
            _note(inside, kind, part)
    found.schemas |= inside.schemas
    found.channels |= inside.channels
    found.counts += inside.counts
    return times


def _note_bare(
    found: Contents, blocks: list[Block], message: Message, offset: int, end: int
) -> None:
    """Add a message without chunk to the contents and to the last block, if that is not full."""
    found.counts[message.channel_id] += 1
    last = blocks[-1] if blocks else None
    time_ns = message.log_time
    if last is None or last.end != offset or end - last.offset > _BLOCK_BYTES:
        blocks.append(Block(time_ns, time_ns, offset, end))
    else:
        times = min(time_ns, last.start_ns), max(time_ns, last.end_ns)
        blocks[-1] = Block(*times, last.offset, end)


def _uncompressed(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and bytes of the records in a chunk.

    Raises:
        Exception: One of ``_DAMAGE``.
    """
    chunk = Chunk.read(_stream(body))
    data = _decompress(chunk)
    if chunk.uncompressed_crc not in (0, zlib.crc32(data)):
        raise ValueError("the checksum of a chunk is wrong")
    offset = 0
    while offset < len(data):
        kind, length = _HEAD.unpack_from(data, offset)
        offset += _HEAD.size
        if length > len(data) - offset:
            raise ValueError("a record is longer than its chunk")
        yield kind, data[offset : offset + length]
        offset += length


def _decompress(chunk: Chunk) -> bytes:
    """Return the records of a chunk."""
    size = chunk.uncompressed_size
    if size > _MAX_RECORD_BYTES:
        raise ValueError(f"a chunk of {size} bytes is longer than {_MAX_RECORD_BYTES}")
    data: bytes
    if chunk.compression == "zstd":
        if zstandard.frame_content_size(chunk.data) > size:  # memory is allocated for it
            raise ValueError("a chunk is longer than it states")
        data = zstandard.ZstdDecompressor().decompress(chunk.data, max_output_size=size)
    elif chunk.compression == "lz4":
        data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, max_length=size)
    elif not chunk.compression:
        data = chunk.data
    else:
        raise ValueError(f"the compression '{chunk.compression}' is unknown")
    if len(data) != size:
        raise ValueError("a chunk is shorter than it states")
    return data
