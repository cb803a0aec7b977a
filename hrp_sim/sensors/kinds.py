"""Types of the rows of the sensor registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hrp_model import Body
from hrp_msgs.readings import Reading

from ..render import Parts
from .base import Sensor, SensorContext, Source

D = TypeVar("D", bound=Source)
S = TypeVar("S", bound=Sensor)
R = TypeVar("R", bound=Reading)

# Approximate size of a message without arrays, in [byte]: header, frame, covariances.
FIXED_SIZE = 768
_NO_PARTS = Parts(color=False, depth=False)


@dataclass(frozen=True, eq=False)
class TopicSpec(Generic[S, R]):
    """A topic of the sensors of a kind, independent of ROS.

    Attributes:
        name: From ``hrp_msgs.names``; "{}" is replaced by the topic token of the device.
        message: Type of its messages, such as "sensor_msgs/Imu".
        reading: Class of the readings that are converted.
        converter: Class of ``hrp_msgs`` that converts them, as "module:Class"; imported only to
            publish or record.
        only: Name of the topic if the body has only one such sensor; empty for the same.
        offered: Returns whether a sensor of the kind has this topic.
        size: Returns the approximate size of a message in [byte]; None for images and clouds.
        parts: Parts of an image that must be rendered for this topic.
        compressed: Of images: last level of the topic below with the same images compressed, and
            their converter. They are published, but not recorded.
    """

    name: str
    message: str
    reading: type[R]
    converter: str
    only: str = ""
    offered: Callable[[S], bool] = lambda _: True
    size: Callable[[S], int] | None = lambda _: FIXED_SIZE
    parts: Parts = _NO_PARTS
    compressed: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Quantity(Generic[S, R]):
    """A scalar that summarizes a reading, in the report of a run and for ``--expect``.

    Attributes:
        name: Such as "turn_rate".
        unit: Its unit; empty for a ratio.
        value: Returns it, or None if the reading does not contain it.
        offered: Returns whether a sensor of the kind has it.
    """

    name: str
    unit: str
    value: Callable[[R], float | None]
    offered: Callable[[S], bool] = lambda _: True


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorKind(Generic[D, S, R]):
    """A kind of sensor, from the model to topics.

    Attributes:
        name: Used in options and by ``hrp-sim sensors``.
        sensors: The classes of its sensors, which belong to no other kind.
        find: Returns the sources of such sensors in a body.
        make: Creates a sensor from a source, or returns None after reporting why there is none;
            raises ValueError if the source is invalid.
        topics: Of its readings.
        quantities: That summarize its readings.
        is_device: Whether it is a device of the model, which a service can switch.
        skips_unsubscribed: Whether a stateful sensor is not read without subscribers: it is
            expensive, and restarts by itself after a gap in time.
    """

    name: str
    sensors: tuple[type[S], ...]
    find: Callable[[Body], Iterable[D]]
    make: Callable[[D, SensorContext], S | None]
    topics: tuple[TopicSpec[S, R], ...]
    quantities: tuple[Quantity[S, R], ...] = ()
    is_device: bool = True
    skips_unsubscribed: bool = False
