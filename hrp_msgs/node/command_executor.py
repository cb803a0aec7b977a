"""Dedicated executor thread for command subscriptions, besides the executor of their node."""

from __future__ import annotations

import threading

from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.event_handler import EventHandler
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.subscription import Subscription

from .executor import ExecutorThread, remove_destroyed


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
