"""The standard simulation services of ``simulation_interfaces``.

Services under the node's name, such as ``~/spawn_entity``, and the action ``~/simulate_steps``.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rclpy.node import Node

from hrp_model import Diagnostics
from hrp_msgs.convert.converter import Message
from hrp_msgs.simulation.convert import set_result
from hrp_msgs.simulation.deferred_service import DeferredService, Send
from hrp_msgs.simulation.steps_action import Outcome, StepsAction

from ..run.mailbox import execute_for
from ..run.runner import Runner
from ..run.stepping import Stepping
from ..simulation import Simulation
from ..simulator.entity_manager import CheckNames
from ..simulator.errors import RequestError
from ..simulator.resources import WorldResource
from ..simulator.results import Code, Feature
from ..simulator.simulator import Simulator, check_steps
from ..world.config import WorldConfig
from ..world.projects import ProjectOptions
from .simulation_requests import HANDLERS, Handler

if TYPE_CHECKING:  # the package may be missing
    from simulation_interfaces.srv import StepSimulation

PACKAGE = "simulation_interfaces"
STEP = "step_simulation"
STEPS = "simulate_steps"
_T = TypeVar("_T")


class SimulationServices:
    """Offers the standard simulation services for a run.

    Requests are handled in the executor thread, except those that read files or create worlds,
    which are handled in sequence in a worker thread. The response to a request for steps is sent
    after the last step. So no request blocks the executor.

    Args:
        node: The node that offers the services.
        runner: The run.
        make_simulation: Creates a simulation of a world.
        world: Configuration of the present simulation.
        resource: Source of that configuration.
        changed: Called in the executor thread after bodies were added, removed or moved, or the
            simulation was replaced.
        stopped: Whether the run is paused in its initial state.
        check_names: Checks the topics of new bodies; see ``Simulator``.
        world_frame: Name of the world frame.
        diagnostics: Receives notes and warnings about models.
        keeps_time: Whether controllers sleep by the clock; see ``Simulator``.
        run_controllers: Whether loaded worlds may run the code of their controllers.
        project: How loaded projects are read.

    Attributes:
        simulator: Executes the requests.
    """

    def __init__(
        self,
        node: Node,
        runner: Runner,
        make_simulation: Callable[[WorldConfig], Simulation],
        world: WorldConfig,
        resource: WorldResource,
        changed: Callable[[], None],
        stopped: bool,
        check_names: CheckNames,
        world_frame: str,
        diagnostics: Diagnostics,
        *,
        keeps_time: bool,
        run_controllers: bool,
        project: ProjectOptions,
    ) -> None:
        self._node = node
        self._executor_thread: int | None = None
        self._cancel_pending: Callable[[], object] = lambda: None
        self._closed = False
        self.simulator = Simulator(
            runner,
            make_simulation,
            world,
            resource=resource,
            changed=lambda: self.call_in_executor(changed),
            stopped=stopped,
            check_names=check_names,
            world_frame=world_frame,
            diagnostics=diagnostics,
            keeps_time=keeps_time,
            run_controllers=run_controllers,
            project=project,
        )
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
        missing: list[str] = []

        def installed(kind: str, name: str, *features: Feature) -> type | None:
            found = _type(kind, name)
            if found is None:
                missing.append(f"{kind}/{name}")
                self.simulator.remove_features(*features)
            return found

        for name, handler in HANDLERS.items():
            if (kind := installed("srv", handler.type_name, *handler.features)) is not None:
                self._offer(name, kind, partial(self._receive, handler))
        stepping = Feature.STEP_SIMULATION_SINGLE, Feature.STEP_SIMULATION_MULTIPLE
        if (kind := installed("srv", "StepSimulation", *stepping)) is not None:
            self._offer(STEP, kind, self._step)
        kind = installed("action", "SimulateSteps", Feature.STEP_SIMULATION_ACTION)
        if kind is not None:
            self._action = StepsAction(self._node, kind, f"~/{STEPS}", self._begin)
        if not missing:
            return
        problem = f"{PACKAGE} is not installed: its services are not available"
        if self._services:
            lacking = ", ".join(missing)
            problem = f"the installed {PACKAGE} has no {lacking}: these are not available"
        self._node.get_logger().warning(problem)

    def _offer(
        self, name: str, kind: type, handle: Callable[[Message, Message, Send], None]
    ) -> None:
        self._services.append(DeferredService(self._node, kind, f"~/{name}", handle))

    def _receive(self, handler: Handler, request: Message, response: Message, send: Send) -> None:
        self._executor_thread = threading.get_ident()
        if handler.is_slow(request):
            self._worker.submit(self._handle, handler, request, response, send)
        else:
            self._handle(handler, request, response, send)

    def _handle(self, handler: Handler, request: Message, response: Message, send: Send) -> None:
        try:
            handler.handle(self.simulator, request, response)
        except CancelledError:
            return  # the node is being closed
        except Exception as error:
            code: IntEnum = Code.OPERATION_FAILED
            message = f"unexpected error: {error!r}"
            if isinstance(error, RequestError):
                code, message = error.code, str(error)
            else:  # a bug, which must not end the node
                self._node.get_logger().error(f"{handler.type_name} has failed: {error!r}")
            if hasattr(response, "result"):
                set_result(response.result, code, message)
        send()

    def _step(
        self, request: StepSimulation.Request, response: StepSimulation.Response, send: Send
    ) -> None:
        self._executor_thread = threading.get_ident()

        def end(outcome: Outcome) -> None:
            set_result(response.result, *outcome)
            send()

        self._begin(request.steps, None, end)

    def _begin(
        self, steps: int, on_each: Callable[[int], None] | None, end: Callable[[Outcome], None]
    ) -> Stepping | None:
        """Begin to take steps; ``end`` receives the outcome."""
        try:
            stepping = self.simulator.step(steps, on_each, lambda s: end(_outcome(s)))
        except RequestError as error:
            end((error.code, str(error)))
            return None
        if stepping is None:
            end((Code.OK, ""))
        return stepping

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


def _outcome(stepping: Stepping) -> Outcome:
    try:
        check_steps(stepping)
    except RequestError as error:
        return error.code, str(error)
    return Code.OK, ""


def _type(kind: str, name: str) -> type | None:
    """Return a type of the package, or None if the installed version lacks it."""
    try:
        found: type | None = getattr(importlib.import_module(f"{PACKAGE}.{kind}"), name, None)
    except ImportError:
        return None
    return found
