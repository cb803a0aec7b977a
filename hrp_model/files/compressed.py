"""VRML files compressed by gzip, as its standard allows: ``.wrz``, ``.wrl.gz``, or as ``.wrl``."""

from __future__ import annotations

import errno
import zlib
from pathlib import PurePath

_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_VRML = ".wrl"
_COMPRESSED = (".wrz", f"{_VRML}.gz")


def format_suffix(path: PurePath) -> str:
    """Return the suffix that selects the reader of a file, in lower case."""
    name = path.name.lower()
    return _VRML if name.endswith(_COMPRESSED) else path.suffix.lower()


def format_stem(path: PurePath) -> str:
    """Return the name of a file without the suffixes of its format and compression."""
    name = path.name
    lengths = [len(x) for x in _COMPRESSED if name.lower().endswith(x)]
    return name[: -lengths[0]] if lengths else path.stem


def is_compressed(data: bytes) -> bool:
    """Return whether data begins as that of gzip."""
    return data.startswith(_MAGIC)


def unpacked(data: bytes, path: PurePath, limit: int) -> bytes:
    """Return the content of a file without its compression by gzip, if it has any.

    Raises:
        OSError: The compressed data is damaged, or is larger than the limit, in [B].
    """
    parts = []
    size = 0
    while is_compressed(data):  # a file may consist of several parts
        unpacker = zlib.decompressobj(_GZIP)
        try:
            part = unpacker.decompress(data, limit + 1 - size)
        except zlib.error as error:
            raise OSError(errno.EIO, f"Damaged gzip data: {error}", str(path)) from None
        parts.append(part)
        size += len(part)
        if size > limit:
            message = f"Larger than {limit / 2**20:g} MiB when unpacked"
            raise OSError(errno.EFBIG, message, str(path))
        if not unpacker.eof:
            raise OSError(errno.EIO, "Truncated gzip data", str(path))
        data = unpacker.unused_data
    return b"".join(parts) if parts else data
