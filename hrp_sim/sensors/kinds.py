"""What a kind of sensor is: the type of the rows of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hrp_model import Body

from ..render import Parts
from .base import Reading, Sensor
from .context import SensorContext, Source

D = TypeVar("D", bound=Source)
S = TypeVar("S", bound=Sensor)
R = TypeVar("R", bound=Reading)

# Bytes of a message: header, frame, covariances.
FIXED_SIZE = 768
_NO_PARTS = Parts(color=False, depth=False)


@dataclass(frozen=True, eq=False)
class TopicSpec(Generic[S, R]):
    """A topic of the sensors of a kind. It knows no ROS.

    Attributes:
        name: Of ``hrp_msgs.names``; "{}" is the topic token of the device.
        message: Type of its messages, such as "sensor_msgs/Imu".
        reading: Class of the readings that they are made of.
        converter: Class of ``hrp_msgs`` that makes them, as "module:Class"; imported only to
            publish or record.
        only: Name of the topic where the body has one such sensor alone; empty for the same.
        offered: Returns whether a sensor of the kind has this topic.
        size: Returns roughly how many bytes a message has; None for images and clouds.
        parts: Of a picture that must be drawn for this topic.
    """

    name: str
    message: str
    reading: type[R]
    converter: str
    only: str = ""
    offered: Callable[[S], bool] = lambda _: True
    size: Callable[[S], int] | None = lambda _: FIXED_SIZE
    parts: Parts = _NO_PARTS


@dataclass(frozen=True, eq=False)
class Quantity(Generic[S, R]):
    """A number that sums up a reading, in the report of a run and for ``--expect``.

    Attributes:
        name: Such as "turn_rate".
        unit: Its unit; empty for a share of 1.
        value: Returns it, or None if the reading has not measured it.
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
        name: As options and ``hrp-sim sensors`` have it.
        sensors: The classes of its sensors, which belong to no other kind.
        find: Returns what a body has to make such sensors from.
        make: Makes one, or returns None after reporting why there is none; raises ValueError
            if it cannot be.
        topics: Of what it reads.
        quantities: That sum up its readings.
        is_device: Whether it can be switched by a service, as the devices of a model can.
        skips_unsubscribed: Whether it is not read while nobody listens although it remembers: it
            costs much, and starts afresh when it finds that time has passed.
    """

    name: str
    sensors: tuple[type[S], ...]
    find: Callable[[Body], Iterable[D]]
    make: Callable[[D, SensorContext], S | None]
    topics: tuple[TopicSpec[S, R], ...]
    quantities: tuple[Quantity[S, R], ...] = ()
    is_device: bool = True
    skips_unsubscribed: bool = False
