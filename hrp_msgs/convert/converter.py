"""The seam between sensors and messages: converters, which any publisher or recorder can use."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import NamedTuple, Protocol, TypeVar


class Message(Protocol):
    """A ROS message, of a class that rosidl has generated."""

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Return the types of its fields by name."""


class Reading(Protocol):
    """What the readings of all sensors have."""

    @property
    def time_ns(self) -> int:
        """Simulation time of the sample, in [ns]."""


class Frames(NamedTuple):
    """TF frames that the messages of one sensor refer to, with their prefixes.

    Attributes:
        data: The frame that the numbers are expressed in.
        world: The world W.
        root: The topmost frame of the body.
    """

    data: str
    world: str = ""
    root: str = ""


R_contra = TypeVar("R_contra", bound=Reading, contravariant=True)
M_co = TypeVar("M_co", bound=Message, covariant=True)


class Converter(Protocol[R_contra, M_co]):
    """Converts the readings of one sensor to the messages of one topic; made with ``Frames``."""

    @property
    def message_type(self) -> type[M_co]:
        """Class of the messages."""

    def convert(self, reading: R_contra, /) -> M_co | None:
        """Return the message of a reading, or None if the reading has nothing for this topic.

        It is the same object every time, filled again: valid until the next call.
        """


def make_converter(name: str, frames: Frames) -> Converter[Reading, Message]:
    """Return a new converter.

    Args:
        name: Of its class, such as "hrp_msgs.convert.imu:ImuConverter"; its module is imported
            now. It must be given readings of its own type only.
        frames: Of the sensor.
    """
    make: Callable[[Frames], Converter[Reading, Message]] = resolve_name(name)
    return make(frames)
