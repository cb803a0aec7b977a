"""What modules without ROS log, told as a node tells."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import ClassVar

from rclpy.node import Node


class NodeLogHandler(logging.Handler):
    """Hands warnings and errors of Python's loggers to the log of a node, until ``close``.

    Loggers belong to the process. Where it has several nodes with such a handler the oldest tells,
    so that nothing is told twice.

    Args:
        node: Whose log it is.
        loggers: Names of the loggers.
    """

    _open: ClassVar[list[NodeLogHandler]] = []

    def __init__(self, node: Node, loggers: Sequence[str]) -> None:
        super().__init__(logging.WARNING)
        self._logger = node.get_logger()
        self._heard = [logging.getLogger(name) for name in loggers]
        self._open.append(self)
        for logger in self._heard:
            logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Tell one record."""
        if self._open[:1] != [self]:
            return
        # Apart, since a line of code has one severity for rclpy.
        if record.levelno >= logging.ERROR:
            self._logger.error(self.format(record))
        else:
            self._logger.warning(self.format(record))

    def close(self) -> None:
        """Tell nothing any more."""
        for logger in self._heard:
            logger.removeHandler(self)
        if self in self._open:
            self._open.remove(self)
        super().close()
