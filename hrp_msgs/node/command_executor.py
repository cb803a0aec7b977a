"""Subscriptions that are served in a thread of their own, beside the one of their node."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.subscription import Subscription

from .executor import ExecutorThread, remove_destroyed


class HearingThread:
    """Hears some subscriptions of a node, whoever serves the rest of it.

    Before an executor of rclpy waits it looks at everything that its nodes have, and a simulator
    has a hundred services and the like: that takes longer than a command itself, for which it
    holds up the thread that steps. Here only the subscriptions are looked at.

    Args:
        node: Whose subscriptions they are.

    Attributes:
        group: The callback group that they are to be made with.
    """

    def __init__(self, node: Node) -> None:
        self.group = _GroupOfThread()
        self._heard = _Heard()
        executor = _Executor(self._heard, context=node.context)
        self._serving = ExecutorThread(executor, node.get_logger(), name="commands")
        self._serving.do(self.group.take)

    def add(self, subscription: Subscription) -> None:
        """Hear a subscription of the group from now on."""
        self._serving.do(lambda: self._heard.add(subscription))

    def remove(self, subscription: Subscription) -> None:
        """Hear it no more; now it may be destroyed, as by the thread that serves its node."""
        self._serving.do(lambda: self._heard.remove(subscription))
        remove_destroyed(self.group)

    def close(self) -> None:
        """End the thread."""
        self._serving.close()


class _GroupOfThread(CallbackGroup):
    """Lets only one thread execute what is in it: the others do not even wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._thread: int | None = None

    def take(self) -> None:
        """Let it be the thread that calls this."""
        self._thread = threading.get_ident()

    def can_execute(self, entity: Any) -> bool:  # noqa: ARG002
        return threading.get_ident() == self._thread

    def beginning_execution(self, entity: Any) -> bool:  # noqa: ARG002
        return True

    def ending_execution(self, entity: Any) -> None:
        """Have nothing to do: only one is executed at a time."""


class _Heard:
    """That part of a node which an executor sees. It is changed by the executor's thread alone."""

    def __init__(self) -> None:
        self.subscriptions: list[Subscription] = []
        self.waitables: list[Any] = []  # tell of publishers that do not match
        self.timers = self.clients = self.services = self.guards = ()

    def add(self, subscription: Subscription) -> None:
        self.subscriptions = [*self.subscriptions, subscription]
        self.waitables = [*self.waitables, *subscription.event_handlers]

    def remove(self, subscription: Subscription) -> None:
        self.subscriptions = [s for s in self.subscriptions if s is not subscription]
        self.waitables = [h for s in self.subscriptions for h in s.event_handlers]


class _Executor(SingleThreadedExecutor):
    """Executes what is heard; a whole node could only be served by one executor."""

    def __init__(self, heard: _Heard, **options: Any) -> None:
        self._only = heard
        super().__init__(**options)

    def get_nodes(self) -> list[Any]:
        return [self._only]
