"""Action server of simulation_interfaces/SimulateSteps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from action_msgs.msg import GoalStatus
from rclpy.action import CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from ..convert.converter import Message
from ..node.deferred_action import DeferredActionServer
from .convert import set_result

if TYPE_CHECKING:  # the package may be missing
    from simulation_interfaces.action import SimulateSteps

# Code and message of a Result.
Outcome = tuple[int, str]
_OK = 1
# Depth of the feedback topic: steps may be faster than a client that needs to see each of them.
_FEEDBACK_DEPTH = 1000


class Steps(Protocol):
    """Steps being taken."""

    def cancel(self) -> None:
        """Cancel the remaining steps; the end is reported as usual."""


# Begins to take steps. Arguments: number of steps; function called after each step with the
# number taken so far; function called at the end. Returns None if the end was already reached.
Begin = Callable[[int, Callable[[int], None], Callable[[Outcome], None]], Steps | None]


class StepsAction:
    """Takes the requested steps with feedback, until they are done or cancelled.

    Impossible goals are accepted and aborted, because a rejected goal carries no message.

    Args:
        node: The node that offers the action.
        action_type: Type of the action.
        name: Name of the action.
        begin: Begins to take steps.
    """

    def __init__(
        self, node: Node, action_type: type[SimulateSteps], name: str, begin: Begin
    ) -> None:
        self._type = action_type
        self._begin = begin
        self._running: dict[bytes, Steps] = {}
        self._server = DeferredActionServer(
            node,
            action_type,
            name,
            self._accept,
            cancel_callback=self._cancel,
            feedback_depth=_FEEDBACK_DEPTH,
        )

    def close(self) -> None:
        """Close the action, and cancel the steps of its goals."""
        for steps in list(self._running.values()):
            steps.cancel()
        self._server.destroy()

    def _accept(self, handle: ServerGoalHandle) -> None:
        requested = handle.request.steps
        feedback = self._type.Feedback()

        def publish_feedback(done: int) -> None:
            feedback.completed_steps, feedback.remaining_steps = done, requested - done
            handle.publish_feedback(feedback)

        def end(outcome: Outcome) -> None:
            self._server.finish(handle, partial(self._conclude, outcome))

        handle.execute()
        if (steps := self._begin(requested, publish_feedback, end)) is not None:
            self._running[bytes(handle.goal_id.uuid)] = steps

    def _conclude(self, outcome: Outcome, handle: ServerGoalHandle) -> Message:
        self._running.pop(bytes(handle.goal_id.uuid), None)
        result = self._type.Result()
        set_result(result.result, *outcome)
        if outcome[0] == _OK:
            handle.succeed()
        elif handle.status == GoalStatus.STATUS_CANCELING:
            handle.canceled()
        else:
            handle.abort()
        return result

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        steps = self._running.get(bytes(handle.goal_id.uuid))
        if steps is None:
            return CancelResponse.REJECT
        steps.cancel()
        return CancelResponse.ACCEPT
