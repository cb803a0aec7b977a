"""Converters from readings of sensors to messages: their interface, and a base class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from pkgutil import resolve_name
from typing import Generic, NamedTuple, Protocol, TypeVar

from ..messages import Message
from ..readings import Array, OdometryReading, Reading
from .cdr import Template


class Frames(NamedTuple):
    """TF frames of the messages of one sensor, with prefixes, and limits of its values.

    Attributes:
        data: Frame in which the data are expressed.
        world: World frame W.
        root: Topmost frame of the body.
        root_motion: Returns the motion of that frame, given that of the root link; None if both
            coincide.
        position_limits: Of the joints of a ``JointReading``, in [rad] or [m], shape (2, joints);
            None if nothing enforces them.
    """

    data: str
    world: str = ""
    root: str = ""
    root_motion: Callable[[OdometryReading], OdometryReading] | None = None
    position_limits: Array | None = None


# Fields of a message that are filled from one attribute, see ``Template.filler``.
Fields = str | tuple[str, ...]
R = TypeVar("R", bound=Reading)
R_contra = TypeVar("R_contra", bound=Reading, contravariant=True)


class Converter(Protocol[R_contra]):
    """Converts readings of one sensor to messages of one topic; constructed with ``Frames``.

    It must be used by one thread at a time.
    """

    @property
    def message_type(self) -> type[Message]:
        """Class of the messages."""

    def convert(self, reading: R_contra, /) -> bytes | None:
        """Return the message of a reading as the bytes that ROS 2 sends.

        Returns:
            None if the reading has no data for this topic.
        """


def make_converter(name: str, frames: Frames) -> Converter[Reading]:
    """Return a new converter.

    Args:
        name: Its class in this package, such as "sensors:ImuConverter", whose module is imported.
            It must be given readings of its own type only.
        frames: Frames of the sensor.
    """
    make: Callable[[Frames], Converter[Reading]] = resolve_name(f"hrp_msgs.convert.{name}")
    return make(frames)


class FieldConverter(ABC, Generic[R]):
    """Converts readings to messages that differ only in the numbers of some fields.

    Subclasses implement ``_layout``.

    Args:
        get_key: Returns what the layout of the message of a reading depends on, which changes
            rarely; None if it never does.
    """

    def __init__(self, get_key: Callable[[R], object] | None = None) -> None:
        self._get_key = get_key
        self._key: object = None
        self._fill: Callable[..., bytes] | None = None
        self._get_values: Callable[[R], Iterable[object]]

    def convert(self, reading: R) -> bytes:
        """Return the message of a reading."""
        if self._fill is None or (self._get_key and self._get_key(reading) != self._key):
            return self._fit(reading)
        return self._fill(*self._get_values(reading))

    @abstractmethod
    def _layout(self, reading: R) -> tuple[Template, Mapping[Fields, str]]:
        """Return a template, and by the fields of its numbers the attributes of readings."""

    def _fit(self, reading: R) -> bytes:
        """Return the message of a reading, and make a template for it and those that follow."""
        if self._get_key is not None:
            self._key = self._get_key(reading)
        template, fields = self._layout(reading)
        self._fill = template.filler(*fields)
        get = attrgetter("time_ns", *fields.values())  # a number of one name, else a tuple
        self._get_values = get if fields else lambda reading: (get(reading),)
        return self._fill(*self._get_values(reading))
