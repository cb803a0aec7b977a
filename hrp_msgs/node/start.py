"""Start, end and logs of nodes: the middleware, initialization, usage errors, warnings."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import rclpy
from rclpy.context import Context
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.qos_overriding_options import InvalidQosOverridesError
from rclpy.signals import SignalHandlerOptions

from ..sanitize import one_line

_MAX_DOMAIN = 232  # beyond it, the ports of DDS exceed 65535


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
        WrongUseError: The ROS arguments, or the variables of the environment, are invalid.
    """
    domain = os.environ.get("ROS_DOMAIN_ID", "") if domain_id is None else str(domain_id)
    if domain.isdecimal() and float(domain) > _MAX_DOMAIN:  # Fast DDS would end the process
        raise WrongUseError(f"ROS_DOMAIN_ID must be from 0 to {_MAX_DOMAIN}, not {domain[:20]}")
    try:
        rclpy.init(
            args=args,
            context=context,
            domain_id=domain_id,
            signal_handler_options=signal_handler_options,
        )
    except RuntimeError as error:  # base of all errors of rclpy's C++ part
        reason = re.sub(r", at \S+\.c(pp)?:\d+", "", str(error))  # lines of rcl
        if "log directory" in reason:
            reason += "; set ROS_LOG_DIR to a folder that can be written"
        raise WrongUseError(f"ROS cannot start: {reason}") from None


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


class NodeLogHandler(logging.Handler):
    """Forwards warnings and errors of Python loggers to the log of a node until ``close``.

    Loggers belong to the process. If several nodes have such a handler, only the oldest forwards
    records, so that none is logged twice.

    Args:
        node: The node that logs.
        loggers: Names of the loggers. Those below them need not propagate: beside ROS's launch none
            does.
    """

    _open: ClassVar[list[NodeLogHandler]] = []

    def __init__(self, node: Node, loggers: Sequence[str]) -> None:
        super().__init__(logging.WARNING)
        self._logger = node.get_logger()
        self._sources = [logging.getLogger(name) for name in loggers]
        self._open.append(self)
        for logger in self._sources:
            logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        if self._open[:1] != [self]:
            return
        # In separate lines, because rclpy permits one severity per line of code.
        if record.levelno >= logging.ERROR:
            self._logger.error(self.format(record))
        else:
            self._logger.warning(self.format(record))

    def close(self) -> None:
        """Stop forwarding."""
        for logger in self._sources:
            logger.removeHandler(self)
        if self in self._open:
            self._open.remove(self)
        super().close()


WARNING_PERIOD = 5.0  # [s] of wall time between two warnings of one kind about one topic
# Maximum number of kinds of warnings about one topic within a period.
MAX_KINDS = 10

_NUMBER = re.compile(r"(?<!\w)[-+]?\d[\d.e+-]*")  # not within a name


@dataclass
class _Kind:
    """Time of the last logged warning of a kind, and number of suppressed ones since then."""

    logged: float
    suppressed: int = 0


class ThrottledWarnings:
    """Logs the first warning of each kind at once, and further ones at most once a period.

    Warnings about one topic are of the same kind if they differ only in numbers.

    Args:
        node: The node that logs.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._kinds: dict[str, dict[str, _Kind]] = {}  # by topic and message without numbers

    def warn(self, topic: str, message: str) -> None:
        """Log a warning about a topic, unless it is suppressed."""
        now = time.monotonic()
        key = _NUMBER.sub("#", message)
        kinds = self._kinds.setdefault(topic, {})
        kind = kinds.get(key)
        if kind is not None and now - kind.logged < WARNING_PERIOD:
            kind.suppressed += 1
            return
        if kind is None and not _has_room(kinds, now):
            return
        more = 0 if kind is None else kind.suppressed
        since = f" ({more} similar warnings suppressed)" if more else ""
        kinds[key] = _Kind(now)
        self._logger.warning(f"{topic}: {one_line(message)}{since}")


def _has_room(kinds: dict[str, _Kind], now: float) -> bool:
    """Drop old kinds if there are too many; return whether another one is allowed."""
    if len(kinds) >= MAX_KINDS:
        for key in [k for k, kind in kinds.items() if now - kind.logged >= WARNING_PERIOD]:
            del kinds[key]
    return len(kinds) < MAX_KINDS
