"""Definitions of messages, and their bytes: CDR, as ROS 2 sends them."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from . import HAS_ROS, Message

if HAS_ROS:
    from rclpy.serialization import serialize_message

_CONTACTS = "ros_gz_interfaces"  # which rosbags lacks
_HEAD_SIZE = 4  # bytes that state the encoding


@cache
def typestore() -> Typestore:
    """Return the definitions of the standard messages; not to be changed."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for path in (files("hrp_msgs.interfaces") / _CONTACTS / "msg").iterdir():
        name = f"{_CONTACTS}/msg/{path.name.removesuffix('.msg')}"
        store.register(get_types_from_msg(path.read_text(encoding="utf-8"), name))
    return store


@cache
def type_name(message_type: type) -> str:
    """Return the name of the type of a message class, such as "sensor_msgs/msg/Imu"."""
    return f"{message_type.__module__.partition('.')[0]}/msg/{message_type.__name__}"


def definition(name: str) -> str:
    """Return the definition of a type, followed by those of all types that it contains.

    Raises:
        ValueError: The type is not among them.
    """
    if name not in typestore().types:
        raise ValueError(f"the message type {name} is unknown")
    return typestore().generate_msgdef(name, ros_version=2)[0]


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
