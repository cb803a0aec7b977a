"""Why commands are refused, in the log of a node: not once for each of a thousand a second."""

from __future__ import annotations

import time

from rclpy.node import Node

from .words import one_line

PERIOD = 5.0  # [s] of wall time between two warnings about one topic


class Refusals:
    """Warns of what is refused, at most once in a while for each topic.

    Args:
        node: Whose log it is.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._told: dict[str, float] = {}
        self._untold: dict[str, int] = {}

    def tell(self, topic: str, why: str) -> None:
        """Say that something on a topic was refused, and why."""
        now = time.monotonic()
        if now - self._told.get(topic, now - PERIOD) < PERIOD:
            self._untold[topic] = self._untold.get(topic, 0) + 1
            return
        self._told[topic] = now
        more = self._untold.pop(topic, 0)
        since = f" ({more} more were refused since the last warning)" if more else ""
        self._logger.warning(f"{topic}: {one_line(why)}{since}")
