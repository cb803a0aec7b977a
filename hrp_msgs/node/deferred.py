"""Services and actions whose answers are sent later, from any thread, without blocking rclpy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle, default_goal_callback
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ..messages import Message
from .start import creating

# Sends the response.
Send = Callable[[], None]

# Iterations of the executor until the last results of an action are sent: one finishes the goal, a
# later one sends the result. Sending a result of a destroyed server would crash the executor.
_PASSES = 4


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


class DeferredActionServer(ActionServer):
    """Action server whose goals are executed elsewhere, such as in the stepping thread.

    A callback that executes a goal would block the executor, or occupy it if it awaits. Here there
    is none: the owner of the server calls ``handle.execute()``, which reports to clients that the
    goal is executing, starts the work elsewhere, and calls ``finish`` when it is over. Meanwhile
    the executor serves everything else.

    Args:
        node: The node of the action.
        action_type: Type of the action.
        name: Name of the action.
        accepted: Called in the executor thread with the handle of each accepted goal.
        goal_callback: Accepts or rejects a request; accepts all by default.
        cancel_callback: Accepts or rejects the cancellation of a goal.
        feedback_depth: Feedback messages kept for slow clients.
    """

    def __init__(
        self,
        node: Node,
        action_type: type,
        name: str,
        accepted: Callable[[ServerGoalHandle], None],
        *,
        goal_callback: Callable[[Message], GoalResponse] = default_goal_callback,
        cancel_callback: Callable[[ServerGoalHandle], CancelResponse],
        feedback_depth: int = 10,
    ) -> None:
        self._had_goals = False

        def take(handle: ServerGoalHandle) -> None:
            self._had_goals = True
            accepted(handle)

        super().__init__(
            node,
            action_type,
            name,
            lambda _handle: None,  # never called: see ``notify_execute``
            goal_callback=goal_callback,
            handle_accepted_callback=take,
            cancel_callback=cancel_callback,
            feedback_pub_qos_profile=QoSProfile(depth=feedback_depth),
        )

    def notify_execute(
        self,
        goal_handle: ServerGoalHandle,
        execute_callback: Callable[[ServerGoalHandle], Message] | None,
    ) -> None:
        """Do nothing, as ``finish`` ends the goal; rclpy would start the execution here."""

    def finish(
        self, goal_handle: ServerGoalHandle, conclude: Callable[[ServerGoalHandle], Message]
    ) -> None:
        """Finish a goal and send its result, in the executor thread. May be called from any thread.

        Args:
            goal_handle: Handle of the goal.
            conclude: Called with the handle; sets the goal's final state and returns its result.
                Not called if the node has no executor any more.
        """
        if self.has_executor:
            super().notify_execute(goal_handle, conclude)

    @property
    def has_executor(self) -> bool:
        """Whether an executor has the node."""
        executor = self._node.executor
        return executor is not None and self._node in executor.get_nodes()

    def destroy_later(self) -> None:
        """Destroy the server once the results of all finished goals have been sent.

        To be called in the executor thread, or when there is none. The owner must reject goals that
        arrive meanwhile.
        """
        self._destroy_after(_PASSES if self._had_goals else 0)

    def _destroy_after(self, passes: int) -> None:
        """Destroy the server after this number of iterations of the executor."""
        if passes > 0 and self.has_executor:
            self._node.executor.create_task(self._destroy_after, passes - 1)
        else:
            self.destroy()
