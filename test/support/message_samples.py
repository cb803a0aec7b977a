"""Messages of every type, with seeded random contents in every field."""

import string

import numpy as np
import pytest

from hrp_msgs.messages import CLASSES
from hrp_msgs.messages.definitions import StandIn, message_class, type_name

TYPES = [f"{package}/msg/{name}" for package, names in CLASSES.items() for name in names]
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def filled(name, seed=1):
    """Return a stand-in whose fields have values that all differ."""
    return _filled(message_class(name), np.random.default_rng(seed))


def ros_class(name):
    package, _, short = name.split("/")
    found = pytest.importorskip(f"{package}.msg", reason=f"{package} is not installed")
    return getattr(found, short)


def as_ros(message):
    """Return ROS's own message with the values of a stand-in."""
    made = ros_class(type_name(type(message)))()
    for field, kind in message.get_fields_and_field_types().items():
        value = _as_ros(getattr(message, field))
        setattr(made, field, bytes([value]) if kind == "octet" else value)
    return made


def _as_ros(value):
    if isinstance(value, list):
        return [_as_ros(x) for x in value]
    return as_ros(value) if isinstance(value, StandIn) else value


def _filled(cls, rng):
    return cls(**{n: _value(k, rng) for n, k in cls.get_fields_and_field_types().items()})


def _value(kind, rng):
    if kind.startswith("sequence<"):
        return [_value(kind[9:-1], rng) for _ in range(rng.integers(1, 6))]
    if kind.endswith("]"):
        element, length = kind[:-1].split("[")
        return [_value(element, rng) for _ in range(int(length))]
    if "/" in kind:
        return _filled(message_class(kind.replace("/", "/msg/")), rng)
    if kind in _INTEGERS:
        limits = np.iinfo(kind)
        return int(rng.integers(limits.min, limits.max, dtype=kind))
    return {
        "string": lambda: "".join(rng.choice(list(string.ascii_letters + "äµ日"), rng.integers(9))),
        "boolean": lambda: bool(rng.integers(2)),
        "octet": lambda: int(rng.integers(128)),
        "float": lambda: float(np.float32(rng.normal())),
        "double": lambda: float(rng.normal()),
    }[kind]()
