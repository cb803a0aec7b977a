"""The services by which others pause, reset and switch a run, and how it goes in /diagnostics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from hrp_msgs import names
from hrp_msgs.convert.diagnostics import PERIOD, diagnostic_array, diagnostic_status
from hrp_msgs.node import qos
from hrp_msgs.node.start import WrongUseError, creating
from hrp_msgs.topics.topic import Topic

from ..physics.engine import PhysicsError
from ..physics.schedule import NS_PER_S
from ..running.health import command_health, lock_step_health, run_health, state_health
from ..running.lock_step import LockStep
from ..running.runner import NotRunningError, Runner
from ..sensors import Sensor
from ..sensors.sensor_schedule import Light
from ..simulation import Simulation
from ..simulator.errors import RequestError
from ..simulator.simulator import Simulator

# Between two warnings of the same kind, in [s].
LONG_PERIOD = 5.0
_SLOW_MANAGER = " (lock_step_rate must not exceed the update_rate of its controller manager)"


class RunServices:
    """Lets others pause and reset a run.

    Services: ~/reset (std_srvs/Trigger), ~/pause (std_srvs/SetBool; false goes on).
    Publishes: /diagnostics, once a second of wall time.

    Args:
        node: Whose services they are.
        runner: The run. Calls are answered while it stands still, too.
        simulator: What pauses and resets it.
        hint: Tells what to look for if the physics of the present world fails.

    Attributes:
        topic: Of the diagnostics.
    """

    def __init__(
        self, node: Node, runner: Runner, simulator: Simulator, hint: Callable[[], str]
    ) -> None:
        self._node = node
        self._runner = runner
        self._simulator = simulator
        self._hint = hint
        with creating("services"):
            node.create_service(Trigger, names.RESET, self._reset)
            node.create_service(SetBool, names.PAUSE, self._pause)
        self.topic = Topic(node, DiagnosticArray, names.DIAGNOSTICS, qos.DIAGNOSTICS)
        node.create_timer(PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def report_failure(self, error: PhysicsError) -> None:
        """Say in one line what happened and what to do; called in the thread that steps."""
        self._node.get_logger().error(self._failure(error))

    def _failure(self, error: PhysicsError) -> str:
        service = self._node.resolve_service_name(names.RESET)
        start = "" if self._simulator.keeps_time else " from time zero"
        return (
            f"the simulation stands still: {error}; {self._hint()}; "
            f"then start again{start} with: "
            f"ros2 service call {service} std_srvs/srv/Trigger"
        )

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        done = "the world is back at its start, at time zero"
        if self._simulator.keeps_time:
            done = (
                "the world is back at its start, and time goes on, since controllers of "
                "ros2_control would stand still if it went back (reset_simulation with scope 3 "
                "puts it back all the same)"
            )
        if self._runner.paused:
            done += ", and still paused"
        response.success, response.message = _outcome(self._simulator.restart, done)
        return response

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        simulator = self._simulator
        act, done = (simulator.pause, "paused") if request.data else (simulator.resume, "running")
        response.success, response.message = _outcome(act, done)
        return response

    def _report(self) -> None:
        runner = self._runner
        failure = "" if runner.error is None else self._failure(runner.error)
        parts = [
            run_health(runner, failure),
            command_health(runner.simulation.command_counts),
            state_health(runner.states),
        ]
        if isinstance(runner.gate, LockStep):
            parts.append(lock_step_health(runner.gate))
        name = self._node.get_fully_qualified_name().lstrip("/")
        statuses = [
            diagnostic_status(p.level, f"{name}: {p.part}", p.message, p.values) for p in parts
        ]
        self.topic.publish(diagnostic_array(self._node.get_clock().now().nanoseconds, statuses))


def start_lock_step(
    node: Node, settings: Mapping[str, Any], runner: Runner, republish: Callable[[], None]
) -> list[str]:
    """Let a run wait for the commands that parameters of the node name; return their topics.

    Args:
        node: Whose log tells whom the run waits for.
        settings: Values of the parameters ``lock_step``, ``_rate`` and ``_timeout``,
            ``hardware_topics`` and ``naming``.
        runner: The run, before it begins.
        republish: Publishes the last readings once more.

    Raises:
        WrongUseError: ROS takes no topic of such a name, or it is an action's.
    """
    with creating("lock_step"):
        topics = [node.resolve_topic_name(topic) for topic in settings["lock_step"].split()]
    action = names.topic_name(names.FOLLOW_JOINT_TRAJECTORY, settings["naming"])
    for topic in topics:
        if topic.endswith(f"/{action}"):
            raise WrongUseError(
                f"lock_step: '{topic}' is an action, of which no goal comes in each period; name "
                "topics of commands"
            )
    if not topics:
        return []
    hardware = names.topic_name(names.HARDWARE_COMMANDS, settings["naming"])
    is_hardware = settings["hardware_topics"]
    by_arrival = [t for t in topics if is_hardware and t.endswith(f"/{hardware}")]
    logger = node.get_logger()

    def named(missing: list[str]) -> str:
        strays = lock_step.misstamped
        doubts = {topic: _doubt(node, topic, strays.get(topic)) for topic in missing}
        return ", ".join(
            topic + (doubt or (_SLOW_MANAGER if topic in by_arrival else ""))
            for topic, doubt in doubts.items()
        )

    def go_on(missing: list[str], now_ns: int) -> None:
        logger.warning(
            f"at {now_ns / NS_PER_S:.9g} s the run goes on without a command on {named(missing)}; "
            "it is no longer the same on every machine",
            throttle_duration_sec=LONG_PERIOD,
        )

    def wait() -> None:
        logger.warning(
            f"the run waits for a command on {named(lock_step.missing)}",
            throttle_duration_sec=LONG_PERIOD,
        )
        republish()

    lock_step = LockStep(
        topics,
        settings["lock_step_rate"],
        settings["lock_step_timeout"],
        by_arrival=by_arrival,
        on_timeout=go_on,
        republish=wait,
        wake=runner.wake,
    )
    runner.gate = lock_step
    return topics


def _doubt(node: Node, topic: str, stray_ns: int | None) -> str:
    """Return why no command comes by a topic, if that is known.

    Args:
        node: Knows who publishes it.
        topic: Its full name.
        stray_ns: What the last one was stamped with that came for another time, in [ns].
    """
    if stray_ns is not None:
        return f" (the last one was stamped {stray_ns / NS_PER_S:.9g} s)"
    if not node.count_subscribers(topic):
        return " (by which no body is commanded)"
    return "" if node.count_publishers(topic) else " (which nobody publishes)"


class SwitchServices:
    """Lets others switch the sensors and lights of a body, also while the run stands still.

    Services: one for each device (std_srvs/SetBool).
    Publishes: devices (diagnostic_msgs/DiagnosticStatus), latched: "on" or "off" for each device,
    whenever one has changed.

    Args:
        node: Whose services they are.
        runner: The run.
        simulation: The world that the body is in.
        body: Its name.
        topic: Name of the topic.
        switches: Names of the services, by the names of the devices in the simulation.
    """

    def __init__(
        self,
        node: Node,
        runner: Runner,
        simulation: Simulation,
        body: str,
        topic: str,
        switches: Mapping[str, str],
    ) -> None:
        self._node = node
        self._runner = runner
        self._simulation = simulation
        self._body = body
        devices: dict[str, Sensor | Light] = {**simulation.sensors, **simulation.lights}
        self._names = {key: devices[key].name for key in switches}
        self._publishing = threading.Lock()
        self._topic = Topic(node, DiagnosticStatus, topic, qos.LATCHED)
        self._services: list[Any] = []
        for key, name in switches.items():
            with creating(f"service '{name}'"):
                service = node.create_service(SetBool, name, partial(self._answer, key))
            self._services.append(service)

    def show(self) -> None:
        """Publish which devices are on now. For any thread."""
        states: dict[str, str] = {}
        with self._publishing:  # so that the newest states are published last
            for key, name in self._names.items():
                with suppress(KeyError):  # its body has just gone
                    states[name] = "on" if self._simulation.is_enabled(key) else "off"
            count = sum(1 for state in states.values() if state == "on")
            message = f"{count} of {len(states)} devices are on"
            name = f"{self._body}: devices"
            self._topic.publish(diagnostic_status("ok", name, message, states, self._body))

    def close(self) -> None:
        """End the services and the topic."""
        for service in self._services:
            self._node.destroy_service(service)
        self._topic.close()

    def _answer(
        self, key: str, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        def act() -> None:
            self._runner.simulation.set_enabled(key, request.data)

        done = f"{key} is {'on' if request.data else 'off'}"
        response.success, response.message = _outcome(lambda: self._runner.call(act), done)
        return response


def _outcome(act: Callable[[], object], done: str) -> tuple[bool, str]:
    """Do something; return whether it could be done, and a sentence about it."""
    try:
        act()
    except (NotRunningError, PhysicsError, RequestError) as error:
        return False, str(error)
    except KeyError as error:  # its body has just gone
        return False, str(error.args[0])
    return True, done
