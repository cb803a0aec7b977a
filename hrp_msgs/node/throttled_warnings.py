"""Throttled warnings about rejected commands."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from rclpy.node import Node

from ..sanitize import one_line

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
