"""Why commands are refused, in the log of a node: not once for each of a thousand a second."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from rclpy.node import Node

from ..sanitize import one_line

PERIOD = 5.0  # [s] of wall time between two warnings of one kind about one topic
# Whoever sends ever new nonsense on a topic gets no more warnings in a period than this.
MAX_KINDS = 10

_NUMBER = re.compile(r"(?<!\w)[-+]?\d[\d.e+-]*")  # on its own: that in a name is part of it


@dataclass
class _Kind:
    """When a kind of warning was told last, and how many were not since then."""

    told: float
    untold: int = 0


class ThrottledWarnings:
    """Warns of what is refused: at once, and while it goes on, once in a while.

    Warnings about a topic are of one kind if they differ in numbers at most.

    Args:
        node: Whose log it is.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._kinds: dict[str, dict[str, _Kind]] = {}  # by topic and words

    def tell(self, topic: str, why: str) -> None:
        """Say that something on a topic was refused, and why."""
        now = time.monotonic()
        words = _NUMBER.sub("#", why)
        kinds = self._kinds.setdefault(topic, {})
        known = kinds.get(words)
        if known is not None and now - known.told < PERIOD:
            known.untold += 1
            return
        if known is None and not _has_room(kinds, now):
            return
        more = 0 if known is None else known.untold
        since = f" ({more} more like it since the last warning)" if more else ""
        kinds[words] = _Kind(now)
        self._logger.warning(f"{topic}: {one_line(why)}{since}")


def _has_room(kinds: dict[str, _Kind], now: float) -> bool:
    """Forget what was told long ago if there is much; tell whether there may be more."""
    if len(kinds) >= MAX_KINDS:
        for words in [w for w, kind in kinds.items() if now - kind.told >= PERIOD]:
            del kinds[words]
    return len(kinds) < MAX_KINDS
