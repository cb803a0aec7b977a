"""Interface of the converters from sensor readings to messages."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import NamedTuple, Protocol, TypeVar

from ..readings import OdometryReading, Reading


class Message(Protocol):
    """A ROS message, of a class that rosidl has generated."""

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Return the types of its fields by name."""


class Frames(NamedTuple):
    """TF frames of the messages of one sensor, with prefixes.

    Attributes:
        data: Frame in which the data are expressed.
        world: World frame W.
        root: Topmost frame of the body.
        root_motion: Returns the motion of that frame, given that of the root link; None if both
            coincide.
    """

    data: str
    world: str = ""
    root: str = ""
    root_motion: Callable[[OdometryReading], OdometryReading] | None = None


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
