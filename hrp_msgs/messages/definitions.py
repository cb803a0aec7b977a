"""Definitions of messages: their text, their bytes, and classes for machines without ROS."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import ClassVar

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import FieldDesc
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


# Defaults other than zero, which rosbags does not know.
_DEFAULTS = {("geometry_msgs/msg/Quaternion", "w"): 1.0}
_DTYPES = {"bool": "bool_", "byte": "uint8", "char": "uint8"}  # where numpy has other names
_IDL_NAMES = {
    "bool": "boolean",
    "byte": "octet",
    "char": "uint8",
    "float32": "float",
    "float64": "double",
}


class StandIn:
    """A message; its class has the fields as properties and the constants as attributes.

    Args:
        values: Values of fields by name; others have their defaults.
    """

    __slots__ = ()
    _fields: ClassVar[Mapping[str, FieldDesc]] = {}
    _defaults: ClassVar[Mapping[str, Callable[[], object]]] = {}

    def __init__(self, **values: object) -> None:
        if unknown := values.keys() - self._fields.keys():
            raise TypeError(f"{type(self).__name__} has no field '{min(unknown)}'")
        for name, default in self._defaults.items():
            setattr(self, name, values[name] if name in values else default())

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Return the types of its fields by name, as classes of ROS do."""
        return {name: _idl_type(field) for name, field in cls._fields.items()}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self._fields
        )

    __hash__ = None  # type: ignore[assignment]  # messages can change

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({', '.join(values)})"


@cache
def message_class(name: str) -> type[StandIn]:
    """Return the class of a message type, such as "sensor_msgs/msg/Imu"."""
    constants, fields = typestore().fielddefs[name]
    package, _, short = name.split("/")
    arrays = {field: dtype for field, kind in fields if (dtype := _dtype(kind))}
    made = type(
        short,
        (StandIn,),
        {
            "__slots__": [f"_{field}" if field in arrays else field for field, _ in fields],
            "__module__": f"{package}.msg",
            "__doc__": f"Message ``{name}``.",
            "_fields": dict(fields),
            "_defaults": {
                field: _constant(_DEFAULTS[name, field])
                if (name, field) in _DEFAULTS
                else _default(kind)
                for field, kind in fields
            },
            **{constant: value for constant, _, value in constants},
        },
    )
    for field, dtype in arrays.items():
        setattr(made, field, _array_property(made.__dict__[f"_{field}"], dtype))
    return made


def _array_property(slot: property, dtype: str) -> property:
    """Return a property that keeps numbers as numpy arrays, as views of given buffers."""

    def assign(message: StandIn, value: object) -> None:
        if isinstance(value, bytes | bytearray | memoryview):
            array = np.frombuffer(value, dtype)
        else:
            array = np.asarray(value, dtype)
        slot.__set__(message, array)

    return property(slot.__get__, assign)


def _constant(value: object) -> Callable[[], object]:
    return lambda: value


def _dtype(field: FieldDesc) -> str | None:
    """Return the type of the numbers in an array or sequence; None for another field."""
    if field[0] not in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        return None
    kind, name = field[1][0]
    if kind != Nodetype.BASE or name[0] == "string":
        return None
    return _DTYPES.get(name[0], name[0])


def _default(field: FieldDesc) -> Callable[[], object]:
    """Return what makes the default value of a field."""
    dtype = _dtype(field)
    if field[0] == Nodetype.BASE:
        return {"string": str, "bool": bool, "float32": float, "float64": float}.get(
            field[1][0], int
        )
    if field[0] == Nodetype.NAME:
        return message_class(field[1])
    if field[0] == Nodetype.SEQUENCE:
        return list if dtype is None else lambda: np.zeros(0, dtype)
    element, length = field[1]
    if dtype is not None:
        return lambda: np.zeros(length, dtype)
    make = _default(element)
    return lambda: [make() for _ in range(length)]


def _idl_type(field: FieldDesc) -> str:
    """Return the type of a field as it is written in IDL: "double[9]"."""
    if field[0] == Nodetype.BASE:
        return _IDL_NAMES.get(field[1][0], field[1][0])
    if field[0] == Nodetype.NAME:
        return field[1].replace("/msg/", "/")
    element, length = field[1]
    if field[0] == Nodetype.ARRAY:
        return f"{_idl_type(element)}[{length}]"
    return f"sequence<{_idl_type(element)}{f', {length}' if length else ''}>"
