"""ROS 2's standard simulation services, in front of a run.

Services, all under the node's own name: those of ``simulation_interfaces`` that ``Simulator`` can
do, such as ``~/spawn_entity``; and the action ``~/simulate_steps``.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from rclpy.node import Node

from hrp_model import Diagnostics
from hrp_msgs.simulation.convert import set_result
from hrp_msgs.simulation.deferred_service import Answer, DeferredService
from hrp_msgs.simulation.steps_action import Outcome, StepsAction

from ..running.runner import Runner
from ..running.stepping import Stepping
from ..simulation import Simulation
from ..simulator.entity_manager import CheckNames
from ..simulator.errors import RequestError
from ..simulator.resources import WorldResource
from ..simulator.results import Code
from ..simulator.simulator import Simulator, check_steps
from ..world.config import WorldConfig
from .simulation_requests import HANDLERS, Handler

PACKAGE = "simulation_interfaces"
STEP = "step_simulation"
STEPS = "simulate_steps"
_T = TypeVar("_T")


class SimulationServices:
    """Lets others control a run as they control any simulator.

    Requests are answered in the thread that serves the node, but for those that read files or
    make worlds: these come one after the other in a thread of their own, and the answer to a
    request for steps when these are taken. So nothing else has to wait for them.

    Args:
        node: Whose services they are.
        runner: The run.
        make_simulation: Makes a simulation of a world.
        world: What the present simulation was made of.
        resource: Where that came from.
        changed: Called in the thread that serves the node after bodies came, went or jumped, or
            the simulation became another one.
        stopped: Whether the run, which is paused, is as it was launched.
        check_names: Whether bodies can have topics of their own; see ``Simulator``.
        world_frame: What the frame of the world is called.
        diagnostics: Where notes and warnings about models go.
        keeps_time: Whether controllers sleep by the clock; see ``Simulator``.

    Attributes:
        simulator: What does it all.
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
    ) -> None:
        self._node = node
        self._serving: int | None = None  # the thread that serves the node
        self._pending: Future[Any] | None = None
        self._closed = False
        self.simulator = Simulator(
            runner,
            make_simulation,
            world,
            resource=resource,
            changed=lambda: self.in_turn(changed),
            stopped=stopped,
            check_names=check_names,
            world_frame=world_frame,
            diagnostics=diagnostics,
            keeps_time=keeps_time,
        )
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="simulation services")
        self._services: list[DeferredService] = []
        self._action: StepsAction | None = None
        self._offer()

    def close(self) -> None:
        """End the services. To be called when nobody serves the node any more."""
        self._closed = True
        if self._pending is not None:
            self._pending.cancel()
        self._worker.shutdown(cancel_futures=True)
        if self._action is not None:
            self._action.close()
        for service in self._services:
            service.close()

    def _offer(self) -> None:
        """Make the services, as far as their types are there."""
        missing: list[str] = []
        for name, handler in HANDLERS.items():
            kind = _type("srv", handler.type_name)
            if kind is None:
                missing.append(f"srv/{handler.type_name}")
                self.simulator.remove_features(*handler.features)
            else:
                take = partial(self._take, handler)
                self._services.append(DeferredService(self._node, kind, f"~/{name}", take))
        if (kind := _type("srv", "StepSimulation")) is not None:
            self._services.append(DeferredService(self._node, kind, f"~/{STEP}", self._step))
        if (kind := _type("action", "SimulateSteps")) is not None:
            self._action = StepsAction(self._node, kind, f"~/{STEPS}", self._begin)
        if missing:
            problem = f"{PACKAGE} is not installed"
            if len(missing) < len(HANDLERS):
                problem = f"{PACKAGE} is too old and lacks {', '.join(missing)}"
            self._node.get_logger().warning(f"{problem}: services of these types are left out")

    def _take(self, handler: Handler, request: Any, response: Any, answer: Answer) -> None:
        self._serving = threading.get_ident()
        if handler.is_slow(request):
            self._worker.submit(self._handle, handler, request, response, answer)
        else:
            self._handle(handler, request, response, answer)

    def _handle(self, handler: Handler, request: Any, response: Any, answer: Answer) -> None:
        try:
            handler.handle(self.simulator, request, response)
        except RequestError as error:
            set_result(response.result, error.code, str(error))
        except CancelledError:
            return  # the node ends
        except Exception as error:  # a mistake of ours costs one request, not the node
            self._node.get_logger().error(f"{handler.type_name} has failed: {error!r}")
            if hasattr(response, "result"):
                set_result(response.result, Code.OPERATION_FAILED, f"unexpectedly: {error!r}")
        answer()

    def _step(self, request: Any, response: Any, answer: Answer) -> None:
        self._serving = threading.get_ident()

        def end(outcome: Outcome) -> None:
            set_result(response.result, *outcome)
            answer()

        self._begin(request.steps, lambda _: None, end)

    def _begin(
        self, steps: int, tell: Callable[[int], None], end: Callable[[Outcome], None]
    ) -> Stepping | None:
        """Begin to take steps; say in the end how it was."""
        try:
            stepping = self.simulator.step(steps, tell, lambda s: end(_outcome(s)))
        except RequestError as error:
            end((error.code, str(error)))
            return None
        if stepping is None:
            end((Code.OK, ""))
        return stepping

    def in_turn(self, action: Callable[[], _T]) -> _T:
        """Have the thread that serves the node do something; return its result.

        Raises:
            CancelledError: The node ends.
        """
        executor = self._node.executor
        if executor is None or threading.get_ident() == self._serving:
            return action()
        done: Future[_T] = Future()
        self._pending = done
        if self._closed:
            done.cancel()
        executor.create_task(partial(_fulfil, done, action))
        return done.result()


def _fulfil(done: Future[_T], action: Callable[[], _T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = action()
    except Exception as error:  # it belongs to who waits for it
        done.set_exception(error)
    else:
        done.set_result(result)


def _outcome(stepping: Stepping) -> Outcome:
    try:
        check_steps(stepping)
    except RequestError as error:
        return error.code, str(error)
    return Code.OK, ""


def _type(kind: str, name: str) -> Any:
    """Return a type of the package, or None where that, or its version, does not have it."""
    try:
        return getattr(importlib.import_module(f"{PACKAGE}.{kind}"), name, None)
    except ImportError:
        return None
