"""simulation_interfaces/SimulateSteps: an action server for whatever can be stepped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from action_msgs.msg import GoalStatus
from rclpy.action import CancelResponse
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ..node.deferred_action import DeferredActionServer
from .convert import set_result

# What is told in the end: a code of Result, and words.
Outcome = tuple[int, str]
_OK = 1
# Steps come faster than a client may listen, which wants to hear of each.
_FEEDBACK = 1000


class Steps(Protocol):
    """Steps that are being taken."""

    def cancel(self) -> None:
        """Take no further one; the end is told as always."""


# Begins to take steps: called with their number, with what is called after each with how many
# there were, and with what is called in the end. Returns None if that was called already.
Begin = Callable[[int, Callable[[int], None], Callable[[Outcome], None]], Steps | None]


class StepsAction:
    """Takes as many steps as a client asks for, tells of each, and stops when it is cancelled.

    What is not possible is accepted, and aborted at once: a refused goal has no words.

    Args:
        node: Whose action it is.
        kind: The type of the action.
        name: Of the action.
        begin: Begins to take steps.
    """

    def __init__(self, node: Node, kind: Any, name: str, begin: Begin) -> None:
        self._kind = kind
        self._begin = begin
        self._running: dict[bytes, Steps] = {}
        self._server = DeferredActionServer(
            node,
            kind,
            name,
            self._accept,
            cancel_callback=self._cancel,
            feedback_pub_qos_profile=QoSProfile(depth=_FEEDBACK),
        )

    def close(self) -> None:
        """End the action and the steps that are being taken for it."""
        for steps in list(self._running.values()):
            steps.cancel()
        self._server.destroy()

    def _accept(self, handle: Any) -> None:
        wanted = handle.request.steps
        feedback = self._kind.Feedback()

        def tell(done: int) -> None:
            feedback.completed_steps, feedback.remaining_steps = done, wanted - done
            handle.publish_feedback(feedback)

        def end(outcome: Outcome) -> None:
            self._server.conclude(handle, partial(self._conclude, outcome))

        handle.execute()
        if (steps := self._begin(wanted, tell, end)) is not None:
            self._running[bytes(handle.goal_id.uuid)] = steps

    def _conclude(self, outcome: Outcome, handle: Any) -> Any:
        self._running.pop(bytes(handle.goal_id.uuid), None)
        result = self._kind.Result()
        set_result(result.result, *outcome)
        if outcome[0] == _OK:
            handle.succeed()
        elif handle.status == GoalStatus.STATUS_CANCELING:
            handle.canceled()
        else:
            handle.abort()
        return result

    def _cancel(self, handle: Any) -> Any:
        steps = self._running.get(bytes(handle.goal_id.uuid))
        if steps is None:
            return CancelResponse.REJECT
        steps.cancel()
        return CancelResponse.ACCEPT
