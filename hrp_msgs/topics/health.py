"""Health of the parts of a node on /diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from .. import names, qos
from ..convert.diagnostics import diagnostic_array, diagnostic_status
from .topic import TopicMaker


class Health(Protocol):
    """Health of one part of a node, for ``diagnostic_status``."""

    @property
    def level(self) -> str: ...  # noqa: D102
    @property
    def part(self) -> str: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def values(self) -> Mapping[str, object]: ...  # noqa: D102


class HealthTopic:
    """Publishes the health of the parts of a node on ``/diagnostics``.

    Args:
        node: The node.
        topics: Creates the topic.

    Attributes:
        topic: The topic.

    Raises:
        WrongUseError: The quality of service is invalid.
    """

    def __init__(self, node: Node, topics: TopicMaker) -> None:
        self._node = node
        self.topic = topics.create(DiagnosticArray, names.DIAGNOSTICS, qos.DIAGNOSTICS)

    def report(self, parts: Iterable[Health], robot: str = "") -> None:
        """Publish the health of parts of the node, with the name of the robot."""
        node = self._node.get_fully_qualified_name().lstrip("/")
        statuses = [
            diagnostic_status(x.level, f"{node}: {x.part}", x.message, x.values, robot)
            for x in parts
        ]
        now = self._node.get_clock().now().nanoseconds
        self.topic.publish(diagnostic_array(now, statuses))
