"""An action server whose goals are executed elsewhere, such as in the stepping thread."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from ..convert.converter import Message

# Passes of the executor after which the results of concluded goals are sent: one concludes, the
# next sends. Destroying the server earlier would raise an error in the executor.
_PASSES = 4


class DeferredActionServer(ActionServer):
    """An action server that does not block the executor while goals are being executed.

    An execute callback would block the executor, or keep it busy if it awaits. Here ``accept``
    calls ``handle.execute()`` to set the goal's state to executing and starts the work, in any
    thread, which finally calls ``conclude``. Meanwhile the executor serves other entities.

    Args:
        node: The node that offers the action.
        action_type: Type of the action.
        name: Name of the action.
        accept: Called in the executor's thread with the handle of each accepted goal.
        options: Further arguments of ``ActionServer``, such as ``cancel_callback``.
    """

    def __init__(
        self,
        node: Node,
        action_type: type,
        name: str,
        accept: Callable[[ServerGoalHandle], None],
        **options: object,
    ) -> None:
        self._had_goals = False

        def handle_accepted(handle: ServerGoalHandle) -> None:
            self._had_goals = True
            accept(handle)

        # The execute callback is never called, see ``notify_execute``.
        super().__init__(
            node,
            action_type,
            name,
            lambda _handle: None,
            handle_accepted_callback=handle_accepted,
            **options,
        )

    def notify_execute(
        self,
        goal_handle: ServerGoalHandle,
        execute_callback: Callable[[ServerGoalHandle], Message] | None,
    ) -> None:
        """Do nothing, where rclpy would call the execute callback; see ``conclude``."""

    def conclude(
        self, goal_handle: ServerGoalHandle, conclusion: Callable[[ServerGoalHandle], Message]
    ) -> None:
        """End a goal and send its result in the executor's thread; callable from any thread.

        Args:
            goal_handle: Handle of the goal.
            conclusion: Called with the handle; sets the final state of the goal and returns its
                result. Not called if the node has no executor any more.
        """
        if self.has_executor:
            super().notify_execute(goal_handle, conclusion)

    @property
    def has_executor(self) -> bool:
        """Whether an executor serves the node."""
        executor = self._node.executor
        return executor is not None and self._node in executor.get_nodes()

    def destroy_later(self) -> None:
        """Destroy the server after the results of concluded goals were sent.

        To be called in the executor's thread, or without an executor. The caller must reject new
        goals meanwhile.
        """
        self._destroy_after(_PASSES if self._had_goals else 0)

    def _destroy_after(self, passes: int) -> None:
        """Destroy the server after this number of passes of the executor."""
        if passes > 0 and self.has_executor:
            self._node.executor.create_task(self._destroy_after, passes - 1)
        else:
            self.destroy()
