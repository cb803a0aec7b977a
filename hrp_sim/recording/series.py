"""Numbers in recorded messages as curves over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, is_dataclass
from dataclasses import fields as dataclass_fields

import numpy as np
from numpy.typing import NDArray

from hrp_model.diagnostics import names_with_hint
from hrp_model.late_dataclass import dataclass
from hrp_msgs.recording import RecordedTopic, Recording

from ..engine.schedule import NS_PER_S

_METRES_OR_RADIANS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}
_DISTANCES = dict.fromkeys(("ranges", "range_min", "range_max", "range"), "m")
_ANGLES = dict.fromkeys(("angle_min", "angle_max", "angle_increment", "field_of_view"), "rad")
# By type of the message that contains the field, and the field.
_UNITS = {
    "geometry_msgs/msg/Accel": {"linear": "m/s²", "angular": "rad/s²"},
    "geometry_msgs/msg/Inertia": {"m": "kg", "com": "m"},
    "geometry_msgs/msg/Pose": {"position": "m"},
    "geometry_msgs/msg/PointStamped": {"point": "m"},
    "geometry_msgs/msg/Pose2D": {"x": "m", "y": "m", "theta": "rad"},
    "geometry_msgs/msg/Transform": {"translation": "m"},
    "geometry_msgs/msg/Twist": {"linear": "m/s", "angular": "rad/s"},
    "geometry_msgs/msg/Wrench": {"force": "N", "torque": "N m"},
    "sensor_msgs/msg/BatteryState": {
        "voltage": "V",
        "temperature": "°C",
        "current": "A",
        **dict.fromkeys(("charge", "capacity", "design_capacity"), "A h"),
    },
    "sensor_msgs/msg/FluidPressure": {"fluid_pressure": "Pa"},
    "sensor_msgs/msg/Illuminance": {"illuminance": "lx"},
    "sensor_msgs/msg/Imu": {"angular_velocity": "rad/s", "linear_acceleration": "m/s²"},
    "sensor_msgs/msg/JointState": _METRES_OR_RADIANS,
    "sensor_msgs/msg/LaserScan": {
        **_DISTANCES,
        **_ANGLES,
        "time_increment": "s",
        "scan_time": "s",
    },
    "sensor_msgs/msg/MagneticField": {"magnetic_field": "T"},
    "sensor_msgs/msg/NavSatFix": {"latitude": "°", "longitude": "°", "altitude": "m"},
    "sensor_msgs/msg/Range": {**_DISTANCES, **_ANGLES},
    "sensor_msgs/msg/Temperature": {"temperature": "°C"},
}


def unit(path: Iterable[tuple[str, str]]) -> str:
    """Return the unit of a number, or "" if it has none or an unknown one.

    Args:
        path: From the message to the number: the type of each message, and its field.
    """
    known = (_UNITS.get(type_name, {}).get(field, "") for type_name, field in path)
    return next(filter(None, known), "")


Values = NDArray[np.float64]

MAX_CURVES = 100
MAX_POINTS = 10_000  # of a curve; of more, the least and the greatest value of each part are kept
_MAX_ROWS = 20_000  # messages that are held until they are reduced
# Fields that are no quantities: time stamps, and contents of files and pictures.
_LEFT_OUT_TYPES = frozenset(
    (
        *("std_msgs/msg/Header", "builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration"),
        *("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"),
        *("sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/CameraInfo"),
    )
)
_NAME_FIELDS = ("name", "joint_names")  # that name the elements of arrays beside them
_SELECTION = re.compile(r"\.?([\w.]*)(?:\[(.*)\])?", re.DOTALL)


class SelectionError(ValueError):
    """A selected curve does not exist; the message lists those that do."""


@dataclass(frozen=True)
class NumberField:
    """A number, or an array of numbers, in the messages of a topic.

    Attributes:
        name: Names of the fields that lead to it, such as "linear_acceleration.x".
        unit: Its unit; "" if it has none.
        size: Number of elements; None if it is no array.
        elements: Names of the elements; empty if they have none.
    """

    name: str
    unit: str
    size: int | None = None
    elements: tuple[str, ...] = ()


@dataclass
class Curve:
    """A number over time.

    Attributes:
        topic: Name of the topic.
        number: The number, or the array of numbers.
        element: Index of the element; None if it is no array.
        label: What the user writes to select it.
        times: In [s] of log time, increasing.
        values: In its unit; NaN where a message lacks the element.
    """

    topic: str
    number: NumberField
    element: int | None
    label: str
    times: Values = field(default_factory=lambda: np.empty(0))
    values: Values = field(default_factory=lambda: np.empty(0))


def number_fields(recording: Recording, topic: str) -> list[NumberField]:
    """Return the numbers in the first message of a topic, in their order."""
    for message in recording.messages([topic]):
        return list(_fields(message.message, ()))
    return []


def select(recording: Recording, selections: Iterable[str]) -> list[Curve]:
    """Return the curves that a user selects, without their values.

    Args:
        recording: The recording.
        selections: Such as "joint_states.position[LARM_ELBOW]". Without an element, all elements;
            without a field, or with the first part of one, all fields with this beginning.

    Raises:
        RecordingError: A message cannot be decoded.
        SelectionError: A topic, field or element does not exist, or there are too many curves.
    """
    curves: dict[str, Curve] = {}
    for selection in selections:
        topic, rest = _split(selection, recording.topics)
        for curve in _curves(recording, topic, rest):
            curves[curve.label] = curve
            if len(curves) > MAX_CURVES:  # an array may have millions of elements
                raise SelectionError(
                    f"more than {MAX_CURVES} curves: select fewer, such as '{next(iter(curves))}'"
                )
    return list(curves.values())


def fill(recording: Recording, curves: Sequence[Curve], max_points: int = MAX_POINTS) -> None:
    """Read the values of curves, reduced to a number of points each.

    Raises:
        OSError, RecordingError: The recording cannot be read.
    """
    for topic in dict.fromkeys(curve.topic for curve in curves):
        chosen = [curve for curve in curves if curve.topic == topic]
        # Two points of each part: the least and the greatest value.
        part = -(-2 * recording.topics[topic].count // max_points)
        blocks = list(_blocks(recording, chosen, max(part, 1)))
        for number, curve in enumerate(chosen):
            curve.times, curve.values = (
                np.concatenate([block[row][:, number] for block in blocks] or [np.empty(0)])
                for row in (0, 1)
            )


def rows(recording: Recording, curves: Sequence[Curve]) -> Iterator[tuple[float, dict[int, float]]]:
    """Yield the time in [s] and the values by number of the curve, for each message.

    Raises:
        OSError, RecordingError: The recording cannot be read.
    """
    readers: dict[str, list[tuple[int, Callable[[object], float]]]] = {}
    for number, curve in enumerate(curves):
        readers.setdefault(curve.topic, []).append((number, _reader(curve)))
    for entry in recording.messages(list(readers)):
        message = entry.message
        yield (
            entry.time_ns / NS_PER_S,
            {number: read(message) for number, read in readers[entry.topic]},
        )


def _fields(message: object, path: tuple[tuple[str, str], ...]) -> Iterator[NumberField]:
    """Yield the numbers in a message, which lies at a path of types and fields."""
    type_name = getattr(message, "__msgtype__", "")
    if type_name in _LEFT_OUT_TYPES or not is_dataclass(message):
        return
    for each in dataclass_fields(message):
        if each.default is not MISSING:  # a constant
            continue
        value = getattr(message, each.name)
        inner = (*path, (type_name, each.name))
        name = ".".join(part for _, part in inner)
        if isinstance(value, bool | int | float):
            yield NumberField(name, unit(inner))
        elif isinstance(value, np.ndarray):
            if value.size:
                yield NumberField(
                    name, unit(inner), value.size, _element_names(message, value.size)
                )
        else:
            yield from _fields(value, inner)


def _element_names(message: object, size: int) -> tuple[str, ...]:
    for name in _NAME_FIELDS:
        names = getattr(message, name, None)
        if isinstance(names, list) and len(names) == size:
            return tuple(map(str, names))
    return ()


def _split(selection: str, topics: Mapping[str, RecordedTopic]) -> tuple[RecordedTopic, str]:
    """Return the topic of a selection, and the rest of it."""
    known = {spelling: topic for topic in topics.values() for spelling in _spellings(topic.name)}
    matches = [s for s in known if re.match(rf"{re.escape(s)}(?=[.\[]|$)", selection)]
    if not matches:
        shown = [name.removeprefix("/") for name in topics]
        name = selection.partition(".")[0]
        raise SelectionError(f"no topic '{name}'; there is {names_with_hint(name, shown)}")
    name = max(matches, key=len)
    return known[name], selection[len(name) :]


def _spellings(topic: str) -> set[str]:
    return {topic, topic.removeprefix("/")}


def _curves(recording: Recording, topic: RecordedTopic, rest: str) -> Iterator[Curve]:
    """Yield the curves of a topic that the rest of a selection names."""
    if not topic.readable:
        raise SelectionError(f"messages of '{topic.name}' ({topic.type_name}) cannot be decoded")
    found = number_fields(recording, topic.name)
    match = _SELECTION.fullmatch(rest)
    name, element = match.groups() if match else (rest, None)
    chosen = [f for f in found if not name or f.name == name or f.name.startswith(f"{name}.")]
    if not chosen:
        if not topic.count:
            raise SelectionError(f"topic '{topic.name}' has no messages")
        if not found:
            raise SelectionError(f"topic '{topic.name}' has no numbers")
        known = names_with_hint(name, [number.name for number in found])
        raise SelectionError(f"topic '{topic.name}' has no number '{name}'; there is {known}")
    for each in chosen:
        for index in _indices(each, element):
            yield Curve(topic.name, each, index, _label(topic.name, each, index))


def _indices(each: NumberField, element: str | None) -> Iterable[int | None]:
    """Return the indices of the elements of a field that a selection names."""
    if each.size is None:
        if element is not None:
            raise SelectionError(f"'{each.name}' is a single number, without elements")
        return (None,)
    if element is None:
        return range(each.size)
    if element in each.elements:
        return (each.elements.index(element),)
    if element.isdecimal() and int(element) < each.size:
        return (int(element),)
    if each.elements:
        known = names_with_hint(element, each.elements)
        raise SelectionError(f"'{each.name}' has no element '{element}'; there is {known}")
    raise SelectionError(f"'{each.name}' has the elements 0 to {each.size - 1}, not '{element}'")


def _label(topic: str, each: NumberField, index: int | None) -> str:
    label = f"{topic.removeprefix('/')}.{each.name}"
    if index is None:
        return label
    return f"{label}[{each.elements[index] if each.elements else index}]"


def _reader(curve: Curve) -> Callable[[object], float]:
    """Return what reads the value of a curve from a message."""
    *parents, last = curve.number.name.split(".")
    element = curve.element
    wanted = (
        curve.number.elements[element] if curve.number.elements and element is not None else None
    )
    names: tuple[str, ...] = ()
    index = None if wanted else element

    def read(message: object) -> float:
        nonlocal names, index
        for name in parents:
            message = getattr(message, name)
        value = getattr(message, last)
        if element is None:
            return float(value)
        if wanted is not None:
            present = _element_names(message, len(value))
            if present != names:  # which is rare
                names = present
                index = present.index(wanted) if wanted in present else None
        return float(value[index]) if index is not None and index < len(value) else np.nan

    return read


def _blocks(
    recording: Recording, curves: Sequence[Curve], part: int
) -> Iterator[tuple[Values, Values]]:
    """Yield times and values of some messages each, shape (points, curves).

    Args:
        recording: The recording.
        curves: Of one topic.
        part: Number of messages of which two points of each curve are kept; 1 keeps all.
    """
    length = max(_MAX_ROWS // part, 1) * part
    times: list[float] = []
    values: list[list[float]] = []
    for time, row in rows(recording, curves):
        times.append(time)
        values.append(list(row.values()))
        if len(times) == length:
            yield _reduced(np.array(times), np.array(values), part)
            times, values = [], []
    if times:
        yield _reduced(np.array(times), np.array(values), part)


def _reduced(times: Values, values: Values, part: int) -> tuple[Values, Values]:
    """Return the least and the greatest value of each part of so many rows, in order of time."""
    count, width = values.shape
    if part <= 2:
        return np.broadcast_to(times[:, None], values.shape), values
    missing = -count % part
    values = np.concatenate([values, np.repeat(values[-1:], missing, axis=0)])
    times = np.concatenate([times, np.repeat(times[-1:], missing)])
    parts = values.reshape(-1, part, width)
    least = np.where(np.isnan(parts), np.inf, parts).argmin(axis=1)
    greatest = np.where(np.isnan(parts), -np.inf, parts).argmax(axis=1)
    first = np.arange(0, len(values), part)[:, None]
    order = np.sort(np.stack([least, greatest], axis=1), axis=1) + first[:, None]
    chosen = order.reshape(-1, width)
    return times[chosen], np.take_along_axis(values, chosen, axis=0)
