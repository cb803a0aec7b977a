"""Decoding of messages by the definitions in their recording."""

from __future__ import annotations

import re
from collections.abc import Callable

from mcap.records import Schema
from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import Typesdict
from rosbags.typesys import get_types_from_msg
from rosbags.typesys.store import Typestore

from ..messages.definitions import typestore

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
