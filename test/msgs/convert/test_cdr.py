"""Messages as bytes whose numbers are replaced in place, compared with two other writers."""

import numpy as np
import pytest
from message_bytes import read
from message_samples import TYPES, as_ros, filled, ros_class

from hrp_msgs import messages
from hrp_msgs.convert.cdr import Template
from hrp_msgs.messages.definitions import typestore
from hrp_msgs.messages.stand_ins import StandIn, message_class

NUMBERS = {"boolean": "bool", "octet": "uint8", "float": "float32", "double": "float64"}
NUMBERS |= {f"{x}int{bits}": f"{x}int{bits}" for x in ("", "u") for bits in (8, 16, 32, 64)}


def our_class(name):
    return ros_class(name) if messages.HAS_ROS else message_class(name)


def template(message):
    """The template of a stand-in, made from ROS's own message where there is ROS."""
    return Template(as_ros(message) if messages.HAS_ROS else message)


def fields(kind, value, path=""):
    """Yield the path, type and value of all fields with numbers."""
    element, length = kind, None
    if kind.startswith("sequence<"):
        element, length = kind[9:-1], len(value)
    elif kind.endswith("]"):
        element, length = kind[: kind.index("[")], len(value)
    if element in NUMBERS:
        yield path, NUMBERS[element], value
    elif length is not None and element != "string":
        for index, entry in enumerate(value):
            yield from fields(element, entry, f"{path}[{index}]")
    elif isinstance(value, StandIn):
        for name, inner in value.get_fields_and_field_types().items():
            yield from fields(inner, getattr(value, name), f"{path}.{name}".lstrip("."))


def stamped(message, sec, nanosec):
    """Set all stamps in a stand-in."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if kind == "builtin_interfaces/Time":
            value.sec, value.nanosec = sec, nanosec
        elif "/" in kind:
            for inner in value if kind.startswith("sequence") else [value]:
                stamped(inner, sec, nanosec)
    return message


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_template_has_the_bytes_of_its_message(name, seed):
    message = message_class(name)() if seed is None else filled(name, seed)
    stamped(message, 12, 345)
    data = template(message).data(12_000_000_345)
    assert data == bytes(typestore().serialize_cdr(message, name))
    read(data, our_class(name))


@pytest.mark.parametrize("name", TYPES)
def test_all_numbers_of_a_message_can_be_replaced(name):
    """Those of one message by those of another one with sequences and texts of the same lengths."""
    rng = np.random.default_rng(5)
    message = filled(name)
    found = template(message)
    wanted = {}
    for path, kind, value in fields("", message):
        view = found.view(path)
        assert view.dtype == kind
        np.testing.assert_array_equal(view, np.atleast_1d(value))
        numbers = rng.integers(0, 2 if kind == "bool" else 100, view.shape).astype(kind)
        if len(path) % 2:
            view[:] = numbers
        else:
            found.setter(path)(*numbers.tolist())
        wanted[path] = numbers
    stamped(message, 12, 345)
    data = found.data(12_000_000_345)
    for path, _, value in fields("", typed(read(data, our_class(name)), message)):
        if ".stamp." not in f".{path}" and not path.startswith("clock."):
            np.testing.assert_array_equal(np.atleast_1d(value), wanted[path], err_msg=path)


def typed(value, like):
    """Return a message of any class as a stand-in like another one."""
    made = type(like)()
    for name in like.get_fields_and_field_types():
        ours, theirs = getattr(like, name), getattr(value, name)
        if isinstance(ours, StandIn):
            theirs = typed(theirs, ours)
        elif isinstance(ours, list) and ours and isinstance(ours[0], StandIn):
            theirs = [typed(*pair) for pair in zip(theirs, ours, strict=True)]
        elif isinstance(theirs, bytes):
            (theirs,) = theirs
        elif isinstance(ours, str):
            assert theirs == ours
        setattr(made, name, theirs)
    return made
