"""The services by which others pause, reset and switch a run, and how it goes in /diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

from hrp_msgs import names, qos
from hrp_msgs.diagnostics import PERIOD, diagnostic_array, diagnostic_status
from hrp_msgs.start import WrongUseError, creating
from hrp_msgs.topic import Topic

from .engine import PhysicsError
from .health import command_health, lock_step_health, run_health, state_health
from .lockstep import LockStep
from .runner import NotRunningError, Runner
from .schedule import NS_PER_S
from .simulator.results import RefusedError
from .simulator.simulator import Simulator

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

    def tell_failure(self, error: PhysicsError) -> None:
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
    node: Node, settings: Mapping[str, Any], runner: Runner, tell_again: Callable[[], None]
) -> list[str]:
    """Let a run wait for the commands that parameters of the node name; return their topics.

    Args:
        node: Whose log tells whom the run waits for.
        settings: Values of the parameters ``lock_step``, ``_rate`` and ``_timeout``,
            ``hardware_topics`` and ``naming``.
        runner: The run, before it begins.
        tell_again: Publishes the last readings once more.

    Raises:
        WrongUseError: ROS takes no topic of such a name, or it is an action's.
    """
    with creating("lock_step"):
        topics = [node.resolve_topic_name(topic) for topic in settings["lock_step"].split()]
    action = names.renamed(names.FOLLOW_JOINT_TRAJECTORY, settings["naming"])
    for topic in topics:
        if topic.endswith(f"/{action}"):
            raise WrongUseError(
                f"lock_step: '{topic}' is an action, of which no goal comes in each period; name "
                "topics of commands"
            )
    if not topics:
        return []
    hardware = names.renamed(names.HARDWARE_COMMANDS, settings["naming"])
    is_hardware = settings["hardware_topics"]
    by_arrival = [t for t in topics if is_hardware and t.endswith(f"/{hardware}")]
    logger = node.get_logger()

    def named(missing: list[str]) -> str:
        strays = lock_step.strays
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
        tell_again()

    lock_step = LockStep(
        topics,
        settings["lock_step_rate"],
        settings["lock_step_timeout"],
        by_arrival=by_arrival,
        on_timeout=go_on,
        tell_again=wait,
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

    Of each: a service <name>/set_enabled (std_srvs/SetBool), a subscription of the same name
    (std_msgs/Bool), and a latched topic <name>/enabled (std_msgs/Bool), which tells whether it
    is on: at the start, and whenever it is told.

    Args:
        node: Whose services they are.
        runner: The run.
        places: Where each sensor or light has its topics, by its name in the simulation.
    """

    def __init__(self, node: Node, runner: Runner, places: Mapping[str, str]) -> None:
        self._node = node
        self._runner = runner
        self._states: dict[str, Topic] = {}
        self._entities: list[tuple[Any, Any]] = []
        for name, place in places.items():
            topic = names.set_enabled(place)
            with creating(f"service '{topic}'"):
                service = node.create_service(SetBool, topic, partial(self._answer, name))
                heard = node.create_subscription(Bool, topic, partial(self._take, name), qos.SWITCH)
            self._entities.append((service, heard))
            self._states[name] = Topic(node, Bool, names.enabled_topic(place), qos.LATCHED)
            self.tell(name, runner.simulation.is_enabled(name))

    def tell(self, name: str, on: bool) -> None:
        """Tell that a sensor or light is on or off now."""
        self._states[name].publish(Bool(data=on))

    def close(self) -> None:
        """End the services and topics."""
        for service, heard in self._entities:
            self._node.destroy_service(service)
            self._node.destroy_subscription(heard)
        for topic in self._states.values():
            topic.close()

    def _switch(self, name: str, on: bool) -> tuple[bool, str]:
        def act() -> None:
            self._runner.simulation.set_enabled(name, on)

        return _outcome(lambda: self._runner.call(act), f"{name} is {'on' if on else 'off'}")

    def _answer(
        self, name: str, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        response.success, response.message = self._switch(name, request.data)
        return response

    def _take(self, name: str, msg: Bool) -> None:
        done, message = self._switch(name, msg.data)
        if not done:
            self._node.get_logger().warning(f"{name} is not switched: {message}")


def _outcome(act: Callable[[], object], done: str) -> tuple[bool, str]:
    """Do something; return whether it could be done, and a sentence about it."""
    try:
        act()
    except (NotRunningError, PhysicsError, RefusedError) as error:
        return False, str(error)
    except KeyError as error:  # its body has just gone
        return False, str(error.args[0])
    return True, done
