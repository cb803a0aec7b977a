"""An action server for what takes its time elsewhere, as in the thread that steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer
from rclpy.node import Node

# How often the executor looks for work until the last results of an action that ends are sent:
# it concludes, then it sends. A result that is sent by what was destroyed would end it.
_PASSES = 4


class DeferredActionServer(ActionServer):
    """An action server whose goals execute while nothing of rclpy waits for them.

    A callback that executes a goal would block the executor, or keep it busy if it awaits. Here
    there is none: who takes a goal calls ``handle.execute()``, from when on clients see that it is
    executing, has the work done wherever that is, and calls ``conclude`` when it is over. Until
    then the executor serves all else.

    Args:
        node: Whose action it is.
        kind: The type of the action.
        name: Of the action.
        accept: Called in the executor's thread with the handle of each goal that is accepted.
        options: What else ``ActionServer`` takes, such as ``cancel_callback``.
    """

    def __init__(
        self, node: Node, kind: Any, name: str, accept: Callable[[Any], None], **options: Any
    ) -> None:
        self._had_goals = False

        def take(handle: Any) -> None:
            self._had_goals = True
            accept(handle)

        # Nobody calls what executes: see ``notify_execute``.
        super().__init__(
            node, kind, name, lambda _handle: None, handle_accepted_callback=take, **options
        )

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Leave it to ``conclude``; rclpy would begin to execute here."""

    def conclude(self, goal_handle: Any, conclusion: Callable[[Any], Any]) -> None:
        """Have the executor's thread end a goal and send its result. For any thread.

        Args:
            goal_handle: Of the goal.
            conclusion: Called with the handle; sets the goal's last state, and returns its
                result. It is not called where nobody serves the node any more.
        """
        if self.is_served:
            super().notify_execute(goal_handle, conclusion)

    @property
    def is_served(self) -> bool:
        """Whether somebody executes what the node has to do."""
        executor = self._node.executor
        return executor is not None and self._node in executor.get_nodes()

    def retire(self) -> None:
        """Destroy the server when results that ``conclude`` was called for are sent.

        To be called in the thread that serves the node, or when nobody does. Goals that come
        meanwhile are the caller's to reject.
        """
        self._end(_PASSES if self._had_goals else 0)

    def _end(self, passes: int) -> None:
        """Destroy it when the executor has looked for work so many times."""
        if passes > 0 and self.is_served:
            self._node.executor.create_task(self._end, passes - 1)
        else:
            self.destroy()
