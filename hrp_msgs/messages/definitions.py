"""Names and definitions of message types, those of ROS 2 Jazzy and of Gazebo's contacts."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

_CONTACTS = "ros_gz_interfaces"  # which rosbags lacks


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
