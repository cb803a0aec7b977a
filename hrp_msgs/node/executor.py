"""Executor threads that survive exceptions in callbacks, for a node and for its commands.

Services and actions can send their answers later, from any thread, without blocking rclpy.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle, default_goal_callback
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.event_handler import EventHandler
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from ..messages import Message
from .start import creating

_FAILURE_DELAY = 0.01  # [s] after a failure, so that repeated ones do not occupy a whole core
_ALIVE_PERIOD = 0.1  # [s] between checks whether the thread is alive
_LOG_PERIOD = 5.0  # [s] between logs of the same failure


class ExecutorThread:
    """Spins an executor in a background thread until ``close``.

    An exception in a callback is logged with its traceback, and the executor continues. A
    repeated exception is logged at most once in a while.

    Args:
        executor: The executor with its nodes.
        logger: Logger of failures, such as that of a node.
        name: Name of the thread.
    """

    def __init__(self, executor: Executor, logger: RcutilsLogger, name: str = "executor") -> None:
        self._executor = executor
        self._logger = logger
        self._logged: dict[str, float] = {}  # time by location of the failure
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)
        self._thread.start()

    def do(self, action: Callable[[], None]) -> None:
        """Execute an action in the thread between two callbacks; return when it is done."""
        done = threading.Event()

        def act() -> None:
            action()
            done.set()

        self._executor.create_task(act)
        while not done.wait(_ALIVE_PERIOD):
            if not self._thread.is_alive():  # ended with its context: no concurrent callbacks
                action()
                return

    def close(self) -> None:
        """End the thread, then shut down the executor; its nodes are not destroyed.

        The thread ends first: shutting down an executor destroys the guard condition that would
        wake its thread, which may be just about to wait.
        """
        self._ended.set()
        self._executor.create_task(lambda: None)  # ends a ``spin_once``; ``wake`` does not
        self._thread.join()
        self._executor.shutdown()

    def _spin(self) -> None:
        while not self._ended.is_set() and self._spin_once():
            pass

    def _spin_once(self) -> bool:
        """Execute one callback; return False after a shutdown."""
        try:
            self._executor.spin_once()
        except ExternalShutdownException:
            return False
        except Exception as error:
            self._log(error)
            time.sleep(_FAILURE_DELAY)
        return True

    def _log(self, error: Exception) -> None:
        # Identified by its location, because messages may vary.
        location = traceback.format_tb(error.__traceback__)[-1]
        if time.monotonic() - self._logged.get(location, -_LOG_PERIOD) >= _LOG_PERIOD:
            self._logged[location] = time.monotonic()
            text = "".join(traceback.format_exception(error))
            self._logger.error(f"a callback has failed; the node continues\n{text}")


def remove_destroyed(group: CallbackGroup) -> None:
    """Remove destroyed entities from a callback group, which rclpy keeps as dead references.

    To be called in the thread that creates entities of the group, after some were destroyed.
    """
    entities = group.entities
    entities.difference_update([entity for entity in entities if entity() is None])


class CommandExecutor:
    """Executes the callbacks of some subscriptions of a node in a dedicated thread.

    Whenever an executor of rclpy waits, it first iterates over all entities of its nodes. A
    simulator has about a hundred, mostly services, so that takes longer than handling a command,
    and delays the stepping thread. This executor iterates over its subscriptions only.

    Args:
        node: The node of the subscriptions.

    Attributes:
        group: Callback group for the subscriptions, with which they must be created.
    """

    def __init__(self, node: Node) -> None:
        self.group = _ThreadCallbackGroup()
        self._entities = _SubscriptionEntities()
        executor = _SubscriptionExecutor(self._entities, node.context)
        self._serving = ExecutorThread(executor, node.get_logger(), name="commands")
        self._serving.do(self.group.bind_to_thread)

    def add(self, subscription: Subscription) -> None:
        """Execute the callbacks of a subscription of the group from now on."""
        self._serving.do(lambda: self._entities.add(subscription))

    def remove(self, subscription: Subscription) -> None:
        """Stop executing its callbacks; afterwards any thread may destroy it."""
        self._serving.do(lambda: self._entities.remove(subscription))
        remove_destroyed(self.group)

    def close(self) -> None:
        """End the thread."""
        self._serving.close()


class _ThreadCallbackGroup(CallbackGroup):
    """Callback group that only one thread executes; other executors skip it."""

    def __init__(self) -> None:
        super().__init__()
        self._thread: int | None = None

    def bind_to_thread(self) -> None:
        """Allow only the calling thread to execute callbacks of the group."""
        self._thread = threading.get_ident()

    def can_execute(self, entity: Subscription | EventHandler) -> bool:  # noqa: ARG002
        return threading.get_ident() == self._thread

    def beginning_execution(self, entity: Subscription | EventHandler) -> bool:  # noqa: ARG002
        return True

    def ending_execution(self, entity: Subscription | EventHandler) -> None:
        """Do nothing: the thread executes one callback at a time."""


class _SubscriptionEntities:
    """The part of a node that the executor sees; changed in its thread only."""

    def __init__(self) -> None:
        self.subscriptions: list[Subscription] = []
        self.waitables: list[EventHandler] = []  # report publishers with incompatible QoS
        self.timers = self.clients = self.services = self.guards = ()

    def add(self, subscription: Subscription) -> None:
        self.subscriptions = [*self.subscriptions, subscription]
        self.waitables = [*self.waitables, *subscription.event_handlers]

    def remove(self, subscription: Subscription) -> None:
        self.subscriptions = [s for s in self.subscriptions if s is not subscription]
        self.waitables = [h for s in self.subscriptions for h in s.event_handlers]


class _SubscriptionExecutor(SingleThreadedExecutor):
    """Executor for a few entities of a node, since a whole node can have one executor only."""

    def __init__(self, entities: _SubscriptionEntities, context: Context) -> None:
        self._entities_of_node = entities
        super().__init__(context=context)

    def get_nodes(self) -> list[_SubscriptionEntities]:
        return [self._entities_of_node]


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
