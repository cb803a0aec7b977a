"""Messages as bytes: CDR, as ROS 2 sends them."""

from __future__ import annotations

import re
from functools import cache

from .messages import HAS_ROS, Message
from .messages.definitions import definition, type_name, typestore

if HAS_ROS:
    from rclpy.serialization import serialize_message

_HEAD_SIZE = 4  # bytes that state the encoding


def serialize(message: Message) -> bytes:
    """Return the bytes that ROS 2 sends for a message; valid messages only."""
    name = type_name(type(message))
    if not HAS_ROS:
        return bytes(typestore().serialize_cdr(message, name))
    data: bytes = serialize_message(message)
    if (may_be_empty := _long_sequences(name)) is None or not all(
        len(getattr(message, field)) for field in may_be_empty
    ):
        size = typestore().get_msgdef(name).getsize_cdr(0, message, typestore())
        data = data[: _HEAD_SIZE + size]
    return data


@cache
def _long_sequences(name: str) -> tuple[str, ...] | None:
    """Return the sequences of long numbers of a message; None if messages in it have some, too.

    If one of them is empty, bytes without meaning may follow a message that rclpy serialises with
    rmw_fastrtps, and strict readers then fail.
    """
    own, *inner = definition(name).split("=" * 80)
    pattern = re.compile(r"^(?:float64|u?int64)\[\] (\w+)", re.MULTILINE)
    if any(pattern.search(part) for part in inner):
        return None
    return tuple(pattern.findall(own))
