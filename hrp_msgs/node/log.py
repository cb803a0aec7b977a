"""Forward records of Python loggers to the log of a node."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import ClassVar

from rclpy.node import Node


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
