"""Logs of nodes: records of Python loggers, and throttled warnings about commands."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rclpy.node import Node

from ..sanitize import one_line


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


PERIOD = 5.0  # [s] of wall time between two warnings of one kind about one topic
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
        if kind is not None and now - kind.logged < PERIOD:
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
        for key in [k for k, kind in kinds.items() if now - kind.logged >= PERIOD]:
            del kinds[key]
    return len(kinds) < MAX_KINDS
