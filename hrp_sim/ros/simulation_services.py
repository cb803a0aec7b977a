"""The standard simulation services of ``simulation_interfaces``.

Services under the node's name, such as ``~/spawn_entity``, and the action ``~/simulate_steps``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from action_msgs.msg import GoalStatus
from rclpy.action import CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from hrp_msgs.messages import Message, not_installed
from hrp_msgs.node.executor import DeferredActionServer, DeferredService, Send

from ..run.calls import Stepping, execute_for
from ..run.requests.standard import Code, RequestError
from ..run.requests.world_control import WorldControl
from .simulation_requests import (
    PACKAGE,
    ROWS,
    STEPS,
    Fields,
    Row,
    installed_type,
    respond,
    set_result,
)

STEP = "step_simulation"
STEPS_ACTION = "simulate_steps"
# Depth of the feedback topic: steps may be faster than a client that needs to see each of them.
_FEEDBACK_DEPTH = 1000
_T = TypeVar("_T")


class SimulationServices:
    """Offers the standard simulation services for a run.

    Requests are handled in the executor thread, except those that read files or create worlds,
    which are handled in sequence in a worker thread. The response to a request for steps is sent
    after the last step. So no request blocks the executor.

    Args:
        node: The node that offers the services.
        control: Executes the requests.
    """

    def __init__(self, node: Node, control: WorldControl) -> None:
        self._node = node
        self._control = control
        self._executor_thread: int | None = None
        self._cancel_pending: Callable[[], object] = lambda: None
        self._closed = False
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="simulation services")
        self._services: list[DeferredService] = []
        self._action: StepsAction | None = None
        self._create()

    def close(self) -> None:
        """Close the services; to be called after the end of the node's executor."""
        self._closed = True
        self._cancel_pending()
        self._worker.shutdown(cancel_futures=True)
        if self._action is not None:
            self._action.close()
        for service in self._services:
            service.close()

    def _create(self) -> None:
        """Create the services and the action whose types are installed."""
        for row in ROWS:
            if (kind := installed_type("srv", row.type_name)) is not None:
                self._offer(row.name, kind, partial(self._receive, row))
        if (kind := installed_type("srv", "StepSimulation")) is not None:
            self._offer(STEP, kind, self._step)
        if (kind := installed_type("action", "SimulateSteps")) is not None:
            self._action = StepsAction(self._node, kind, f"~/{STEPS_ACTION}", self._control)
        needed = [("srv", row.type_name) for row in ROWS] + list(STEPS)
        missing = ["/".join(key) for key in needed if installed_type(*key) is None]
        if not missing:
            return
        logger = self._node.get_logger()
        if not self._services:  # an optional package: most runs do without its services
            logger.info(f"{not_installed(PACKAGE)}: there are none of its services")
        else:
            lacking = ", ".join(missing)
            logger.warning(f"the installed {PACKAGE} has no {lacking}: these are not available")

    def _offer(
        self, name: str, kind: type, handle: Callable[[Message, Message, Send], None]
    ) -> None:
        self._services.append(DeferredService(self._node, kind, f"~/{name}", handle))

    def _receive(self, row: Row, request: Fields, response: Fields, send: Send) -> None:
        self._executor_thread = threading.get_ident()
        if row.is_slow(request):
            self._worker.submit(self._respond, row, request, response, send)
        else:
            self._respond(row, request, response, send)

    def _respond(self, row: Row, request: Fields, response: Fields, send: Send) -> None:
        try:
            respond(row, self._control, request, response)
        except CancelledError:
            return  # the node is being closed
        except Exception as error:  # a bug, which must not end the node
            self._node.get_logger().error(f"{row.type_name} has failed: {error!r}")
            if hasattr(response, "result"):
                problem = RequestError(Code.OPERATION_FAILED, f"unexpected error: {error!r}")
                set_result(response, problem)
        send()

    def _step(self, request: Fields, response: Fields, send: Send) -> None:
        self._executor_thread = threading.get_ident()

        def end(error: RequestError | None) -> None:
            set_result(response, error)
            send()

        try:
            self._control.step(request.steps, None, end)
        except RequestError as error:
            end(error)

    def call_in_executor(self, action: Callable[[], _T]) -> _T:
        """Execute an action in the executor thread; return its result.

        Raises:
            CancelledError: The node is being closed.
        """
        executor = self._node.executor
        if executor is None or threading.get_ident() == self._executor_thread:
            return action()
        future: Future[_T] = Future()
        self._cancel_pending = future.cancel
        if self._closed:
            future.cancel()
        executor.create_task(partial(execute_for, future, action))
        return future.result()


class StepsAction:
    """Takes the requested steps with feedback, until they are done or cancelled.

    Impossible goals are accepted and aborted, because a rejected goal carries no message.

    Args:
        node: The node that offers the action.
        action_type: The type SimulateSteps.
        name: Name of the action.
        control: Takes the steps.
    """

    def __init__(self, node: Node, action_type: Fields, name: str, control: WorldControl) -> None:
        self._type = action_type
        self._control = control
        self._running: dict[bytes, Stepping] = {}
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

        def end(error: RequestError | None) -> None:
            self._server.finish(handle, partial(self._conclude, error))

        handle.execute()
        try:
            steps = self._control.step(requested, publish_feedback, end)
        except RequestError as error:
            end(error)
            return
        if steps is not None:
            self._running[bytes(handle.goal_id.uuid)] = steps

    def _conclude(self, error: RequestError | None, handle: ServerGoalHandle) -> Fields:
        self._running.pop(bytes(handle.goal_id.uuid), None)
        result = self._type.Result()
        set_result(result, error)
        if error is None:
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
