"""Names and definitions of message types, those of ROS 2 Jazzy."""

from __future__ import annotations

from functools import cache

from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore


@cache
def typestore() -> Typestore:
    """Return the definitions of the standard messages; not to be changed."""
    return get_typestore(Stores.ROS2_JAZZY)


@cache
def type_name(message_type: type) -> str:
    """Return the name of the type of a message class, such as "sensor_msgs/msg/Imu"."""
    return f"{message_type.__module__.partition('.')[0]}/msg/{message_type.__name__}"


def definition(name: str) -> str:
    """Return the definition of a type, followed by those of all types that it contains.

    Raises:
        ValueError: The type is not in ROS 2 Jazzy.
    """
    if name not in typestore().types:
        raise ValueError(f"the message type {name} is unknown")
    return typestore().generate_msgdef(name, ros_version=2)[0]
