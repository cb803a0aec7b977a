"""Throttled warnings about refused commands in the log of a node."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from rclpy.node import Node

from ..sanitize import one_line

PERIOD = 5.0  # [s] of wall time between two warnings of one kind about one topic
# Kinds of warnings per topic and period: whoever sends ever new nonsense gets no more.
MAX_KINDS = 10

_NUMBER = re.compile(r"(?<!\w)[-+]?\d[\d.e+-]*")  # on its own: not part of a name


@dataclass
class _Kind:
    """When a kind of warning was logged last, and how many were suppressed since then."""

    logged: float
    suppressed: int = 0


class ThrottledWarnings:
    """Logs why commands are refused: the first at once, then one per period.

    Warnings about a topic are of one kind if they differ in numbers at most.

    Args:
        node: Whose logger is used.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._kinds: dict[str, dict[str, _Kind]] = {}  # by topic, by message without numbers

    def warn(self, topic: str, reason: str) -> None:
        """Log that a command on a topic was refused, and why."""
        now = time.monotonic()
        key = _NUMBER.sub("#", reason)
        kinds = self._kinds.setdefault(topic, {})
        last = kinds.get(key)
        if last is not None and now - last.logged < PERIOD:
            last.suppressed += 1
            return
        if last is None and not _has_room(kinds, now):
            return
        more = 0 if last is None else last.suppressed
        since = f" ({more} more like it since the last warning)" if more else ""
        kinds[key] = _Kind(now)
        self._logger.warning(f"{topic}: {one_line(reason)}{since}")


def _has_room(kinds: dict[str, _Kind], now: float) -> bool:
    """Remove kinds that were logged long ago if there are many; return whether one more fits."""
    if len(kinds) >= MAX_KINDS:
        for key in [k for k, kind in kinds.items() if now - kind.logged >= PERIOD]:
            del kinds[key]
    return len(kinds) < MAX_KINDS
