"""A service whose answers may come later, from any thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.node import Node

from ..node.start import creating

Answer = Callable[[], None]


class DeferredService:
    """A service that does not hold up the executor while its answer is worked out.

    rclpy sends what a callback returns, and busily asks for the result of one that awaits. So
    here the callback only hands on the request, and what rclpy then does to send it is to ask
    for an answer: ``take`` may send it at once or later.

    Args:
        node: Whose service it is.
        kind: Its type.
        name: Of the service.
        take: Called with a request, a response to be filled, and what sends the response.

    Raises:
        WrongUseError: ROS does not take its name.
    """

    def __init__(
        self, node: Node, kind: Any, name: str, take: Callable[[Any, Any, Answer], None]
    ) -> None:
        self._node = node
        with creating(f"service '{name}'"):
            self._service = node.create_service(kind, name, lambda *exchange: exchange)
        self._send_now = self._service.send_response
        self._take = take
        self._service.send_response = self._send

    def close(self) -> None:
        """End the service; answers that come later go nowhere."""
        self._node.destroy_service(self._service)

    def _send(self, exchange: tuple[Any, Any], header: Any) -> None:
        request, response = exchange

        def answer() -> None:
            # The service is closed, or whoever asked is gone: nobody misses the answer.
            with suppress(InvalidHandle, RCLError):
                self._send_now(response, header)

        self._take(request, response, answer)
