"""Start and end of nodes: settings of the middleware, initialization, usage errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import rclpy
from rclpy.context import Context
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.qos_overriding_options import InvalidQosOverridesError
from rclpy.signals import SignalHandlerOptions

from ..sanitize import one_line


class WrongUseError(ValueError):
    """A node was started with an invalid argument or parameter; the message gives valid ones."""


def init_ros(
    args: Sequence[str] | None = None,
    *,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
) -> None:
    """Call ``rclpy.init``.

    Raises:
        WrongUseError: The ROS arguments are invalid.
    """
    try:
        rclpy.init(
            args=args,
            context=context,
            domain_id=domain_id,
            signal_handler_options=signal_handler_options,
        )
    except RuntimeError as error:  # base of all errors of rclpy's C++ part
        raise WrongUseError(f"ROS cannot start with these arguments: {error}") from None


@contextmanager
def creating(entity: str) -> Iterator[None]:
    """Convert errors in a block that creates a ROS entity with user-defined name or QoS.

    Raises:
        WrongUseError: The name or the ``qos_overrides`` are invalid.
    """
    try:
        yield
    except (NameValidationException, InvalidQosOverridesError, RuntimeError) as error:
        remedy = "check names, remappings and qos_overrides"
        message = f"{entity} cannot be created: {one_line(str(error))}; {remedy}"
        raise WrongUseError(message) from None


def destroy(node: Node) -> None:
    """Destroy a node, so that it leaves the graph.

    If Ctrl-C interrupted rclpy while it created an entity, that is in one list of the node and
    missing in another: the first call removes it from the one and fails, the second destroys the
    rest.
    """
    try:
        node.destroy_node()
    except ValueError:
        node.destroy_node()
    # rclpy 10 does not destroy this service, which keeps the node in the graph until the garbage
    # collector finds both.
    vars(node).pop("_type_description_service", None)


# Variables of Fast DDS 2 and 3; version 3 warns of the old one, and file formats differ.
_OLD, _NEW = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"
_OLD_FILE, _NEW_FILE = "fastrtps.xml", "fastdds.xml"
_FILES_HERE = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")


def fastdds_environment(folder: Path) -> dict[str, str]:
    """Return environment variables that let Fast DDS lose fewer messages.

    The settings increase shared memory, whose default holds two small images, and the rate of
    heartbeats, so that subscribers request missed samples while these are in the history.

    Args:
        folder: Folder of the settings files, one for each version.

    Returns:
        Variables to set; none if the user has own profiles.
    """
    if any(name in os.environ for name in (_OLD, _NEW)) or any(map(os.path.exists, _FILES_HERE)):
        return {}
    prefixes = [sys.prefix, *os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
    # ROS calls its package "fastrtps" up to Fast DDS 2.
    is_new = any((Path(prefix) / "share" / "fastdds").is_dir() for prefix in filter(None, prefixes))
    variable, file = (_NEW, _NEW_FILE) if is_new else (_OLD, _OLD_FILE)
    return {variable: str(folder / file)}
