"""A service whose responses can be sent later, from any thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rclpy.node import Node

from ..convert.converter import Message
from ..node.start import creating

# Sends the response.
Send = Callable[[], None]


class DeferredService:
    """A service that does not block the executor while a response is being computed.

    rclpy sends the value that a callback returns, and polls callbacks that await. Here the
    callback returns request and response, and the replaced ``send_response`` of rclpy calls
    ``handle``, which sends the response at once or later.

    Args:
        node: The node that offers the service.
        service_type: Type of the service.
        name: Name of the service.
        handle: Called with a request, a response to fill, and a function that sends the response.

    Raises:
        WrongUseError: The name is invalid.
    """

    def __init__(
        self,
        node: Node,
        service_type: type,
        name: str,
        handle: Callable[[Message, Message, Send], None],
    ) -> None:
        self._node = node
        with creating(f"service '{name}'"):
            self._service = node.create_service(service_type, name, lambda *exchange: exchange)
        self._send_now = self._service.send_response
        self._handle = handle
        self._service.send_response = self._respond

    def close(self) -> None:
        """Close the service; later responses are dropped."""
        self._node.destroy_service(self._service)

    def _respond(self, exchange: tuple[Message, Message], header: object) -> None:
        request, response = exchange

        def send() -> None:
            # Fails if the service was closed or the client has gone, which does no harm.
            with suppress(RuntimeError):  # base of all errors of rclpy's C++ part
                self._send_now(response, header)

        self._handle(request, response, send)
