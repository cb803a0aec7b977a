"""Messages as bytes whose numbers are replaced in place, compared with rosbags and rclpy."""

from types import SimpleNamespace

import numpy as np
import pytest
from message_bytes import read
from message_samples import TYPES, as_ros, filled, ros_class

from hrp_msgs import messages
from hrp_msgs.convert._cdr import any_beyond
from hrp_msgs.convert.cdr import Template
from hrp_msgs.messages.definitions import StandIn, message_class, typestore

TIME_NS = 12_000_000_345
NUMBERS = {"boolean": "bool", "octet": "uint8", "float": "float32", "double": "float64"}
NUMBERS |= {f"{x}int{bits}": f"{x}int{bits}" for x in ("", "u") for bits in (8, 16, 32, 64)}


def our_class(name):
    return ros_class(name) if messages.HAS_ROS else message_class(name)


def template(message):
    """Return the template of a stand-in, made from ROS's own message where there is ROS."""
    return Template(as_ros(message) if messages.HAS_ROS else message)


def numbers_of(message, path=""):
    """Yield path, type and value of all fields with numbers."""
    for name, kind in message.get_fields_and_field_types().items():
        value, here = getattr(message, name), f"{path}.{name}".lstrip(".")
        element = kind.removeprefix("sequence<").partition("[")[0].rstrip(">")
        if element in NUMBERS:
            yield here, NUMBERS[element], value
        elif isinstance(value, StandIn):
            yield from numbers_of(value, here)
        elif element != "string":
            for index, entry in enumerate(value):
                yield from numbers_of(entry, f"{here}[{index}]")


def blank(value):
    """Return a copy of a message whose numbers are zero, and whose strings are the same."""
    if isinstance(value, StandIn):
        fields = value.get_fields_and_field_types()
        return type(value)(**{name: blank(getattr(value, name)) for name in fields})
    if isinstance(value, list):
        return [blank(entry) for entry in value]
    return value if isinstance(value, str) else np.zeros_like(value)[()]


def stamped(message):
    """Return a message after setting all its stamps."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if kind == "builtin_interfaces/Time":
            value.sec, value.nanosec = 12, 345
        elif "/" in kind:
            for inner in value if isinstance(value, list) else [value]:
                stamped(inner)
    return message


def serialized(name, message):
    return bytes(typestore().serialize_cdr(message, name))


@pytest.mark.parametrize("name", TYPES)
def test_a_template_has_the_bytes_of_its_message(name):
    for message in (message_class(name)(), *(filled(name, seed) for seed in range(5))):
        data = template(stamped(message)).data(TIME_NS)
        assert data == serialized(name, message)
        read(data, our_class(name))


@pytest.mark.parametrize("way", ["view", "filler"])
@pytest.mark.parametrize("name", TYPES)
def test_all_numbers_of_a_message_are_replaced_in_their_places(name, way):
    message = filled(name)
    found = template(blank(message))
    values = {}
    for path, kind, value in numbers_of(message):
        view = found.view(path)
        assert view.dtype == kind
        assert not view.any()
        values[path] = np.atleast_1d(np.asarray(value, kind))
        if way == "view":
            view[:] = value
    if way == "view":
        data = found.data(TIME_NS)
        stamped(message)
    else:  # also the stamps
        data = found.filler(*values)(TIME_NS, *values.values())
    assert data == serialized(name, message)
    read(data, our_class(name))


def test_fields_of_equal_numbers_are_replaced_at_once():
    name = "tf2_msgs/msg/TFMessage"
    found = template(filled(name))
    fields = [f"transforms[{index}].transform" for index in range(2)]
    found.view(fields[0])[:] = 9.0  # also replaced
    ordered = np.arange(14.0).reshape(2, 7)
    for values in (ordered, ordered.tobytes(), range(14), np.arange(28.0)[::2] / 2.0):
        message = read(found.filler(fields)(TIME_NS, values), our_class(name))
        numbers = []
        for transform in message.transforms[:2]:
            p, q = transform.transform.translation, transform.transform.rotation
            numbers += [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
        assert numbers == list(range(14))


def test_float64_becomes_float32_in_any_form():
    found = template(filled("sensor_msgs/msg/LaserScan"))
    count = found.view("ranges").size
    values = np.linspace(0.1, 3.0, count)
    narrow = values.astype(np.float32)
    fill = found.filler("ranges")
    for given in (values, narrow, values.tolist(), values.tobytes(), np.repeat(values, 2)[::2]):
        assert narrow.tobytes() in fill(TIME_NS, given)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([np.zeros(2)], ValueError),
        ([np.zeros(4)], ValueError),
        ([bytes(23)], ValueError),
        ([bytes(25)], ValueError),
        ([[0.0, 0.0]], ValueError),
        ([[0.0] * 4], ValueError),
        ([[0.0, 0.0, "x"]], TypeError),
        ([None], TypeError),
        ([], TypeError),
        ([np.zeros(3), np.zeros(3)], TypeError),
    ],
)
def test_values_that_do_not_fit_are_an_error(values, error):
    fill = template(filled("geometry_msgs/msg/Wrench")).filler("force")
    with pytest.raises(error):
        fill(TIME_NS, *values)


def test_numbers_of_another_type_are_an_error():
    fill = template(filled("sensor_msgs/msg/PointCloud2")).filler("width")
    with pytest.raises(TypeError, match="a field of type 'I' needs an array of that type"):
        fill(TIME_NS, [1])


@pytest.mark.parametrize("seconds", [-(2**31), -1, 0, 2**31 - 1])
def test_stamps_have_seconds_and_nanoseconds(seconds):
    data = template(filled("std_msgs/msg/Header")).data(seconds * 10**9 + 7)
    stamp = read(data, our_class("std_msgs/msg/Header")).stamp
    assert (stamp.sec, stamp.nanosec) == (seconds, 7)


@pytest.mark.parametrize("seconds", [-(2**31) - 1, 2**31, 2**60])
def test_a_time_that_a_stamp_cannot_hold_is_an_error(seconds):
    found = template(filled("std_msgs/msg/Header"))
    with pytest.raises(OverflowError):
        found.data(seconds * 10**9)


@pytest.mark.parametrize(
    "field", ["no_such_field", "header", "header.frame_id", "header.stamp", "name"]
)
def test_what_is_not_equal_numbers_without_gaps_has_no_view(field):
    found = template(filled("sensor_msgs/msg/JointState"))
    with pytest.raises(KeyError):
        found.view(field)
    with pytest.raises(KeyError):
        found.filler(field)


def test_structures_of_sequences_have_no_view():
    found = template(filled("trajectory_msgs/msg/JointTrajectoryPoint"))
    assert found.view("positions").size
    with pytest.raises(KeyError):
        found.view("")


def test_bytes_do_not_change_with_the_numbers():
    found = template(filled("geometry_msgs/msg/Wrench"))
    before = found.data(0)
    copy = bytes(bytearray(before))
    found.view("force")[:] = 0.0
    assert found.data(0) != before
    assert before == copy


def test_an_unsupported_type_is_named():
    message = SimpleNamespace(text="", get_fields_and_field_types=lambda: {"text": "wstring"})
    with pytest.raises(ValueError, match="type wstring of the field text is not supported"):
        Template(message)


def test_numbers_beyond_bounds_are_found_as_numpy_finds_them():
    rng = np.random.default_rng(7)
    values = np.array([-np.inf, -1.0, 0.0, 1.0, np.inf, np.nan])
    for _ in range(500):
        count = rng.integers(0, 4)
        numbers = rng.choice(values, 5)
        lowest, highest = rng.choice(values[:3], count), rng.choice(values[3:5], count)
        found = any_beyond(numbers.tobytes(), lowest.tobytes(), highest.tobytes())
        first = numbers[:count]
        assert found == bool(np.any((first <= lowest) | (first >= highest)))


@pytest.mark.parametrize("sizes", [(16, 16, 8), (16, 8, 16), (8, 16, 16), (16, 12, 12)])
def test_each_number_needs_two_bounds(sizes):
    with pytest.raises(ValueError, match="each number needs two bounds"):
        any_beyond(*map(bytes, sizes))
