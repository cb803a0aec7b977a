"""Messages as bytes: CDR, as ROS 2 sends them."""

from __future__ import annotations

from functools import cache

from .convert.converter import Message
from .messages import HAS_ROS
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
    if _may_be_too_long(name):
        size = typestore().get_msgdef(name).getsize_cdr(0, message, typestore())
        data = data[: _HEAD_SIZE + size]
    return data


@cache
def _may_be_too_long(name: str) -> bool:
    """Return whether bytes without meaning may follow a message that rclpy serialises.

    rmw_fastrtps does so if sequences of long numbers are empty, and strict readers then fail.
    """
    return any(f"{kind}[]" in definition(name) for kind in ("float64", "int64"))
