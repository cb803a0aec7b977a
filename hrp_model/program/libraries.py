"""Optional libraries of commands, and the message for a missing ROS 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..diagnostics import MissingLibraryError

_ROS_REMEDY = (
    "source a ROS 2 installation (its setup.bash), or install ROS 2 from PyPI: "
    "pip install 'hrp_ros[ros]' && python -m hrp_msgs.interfaces.build"
)


def missing_ros(error: ImportError) -> str:
    """Return the message for ROS 2 that cannot be imported, with two remedies."""
    return f"ROS 2 cannot be imported ({error}): {_ROS_REMEDY}"


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Report a library that a block imports and that is not installed.

    Args:
        extra: The extra of this package that brings it, such as "record".

    Raises:
        MissingLibraryError: It names the library and the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"{error.name} is not installed: pip install 'hrp_ros[{extra}]'"
        ) from None
