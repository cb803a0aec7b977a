"""Services to pause and reset a run and to switch devices, lock-step, and /diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.service import Service
from std_srvs.srv import SetBool, Trigger

from hrp_model.diagnostics import listed
from hrp_msgs import names
from hrp_msgs.convert.basic import DIAGNOSTICS_PERIOD
from hrp_msgs.node.parameters import Settings
from hrp_msgs.node.start import WrongUseError, creating
from hrp_msgs.topics.node_topics import HealthTopic
from hrp_msgs.topics.topic import TopicMaker

from ..engine.engine import PhysicsError
from ..engine.schedule import NS_PER_S
from ..run.health import command_health, lock_step_health, run_health, state_health
from ..run.lock_step import LockStep
from ..run.requests.standard import RequestError
from ..run.requests.world_control import WorldControl
from ..run.run import NotRunningError, Run

# Period of repeated warnings, in [s].
LONG_PERIOD = 5.0
_SLOW_MANAGER = " (lock_step_rate must not exceed the update_rate of its controller manager)"


class RunServices:
    """Services to pause and reset a run, and its diagnostics.

    Services: ~/reset (std_srvs/Trigger), ~/pause (std_srvs/SetBool; false resumes).
    Publishes: /diagnostics, once per second of wall time.

    Args:
        node: The node that offers the services.
        topics: Creates the topic.
        run: The run, which responds while halted, too.
        control: Pauses and resets the run.
        hint: Returns a hint for users if the physics of the present world fails.

    Attributes:
        topic: Topic of the diagnostics.
    """

    def __init__(
        self,
        node: Node,
        topics: TopicMaker,
        run: Run,
        control: WorldControl,
        hint: Callable[[], str],
    ) -> None:
        self._node = node
        self._run = run
        self._control = control
        self._hint = hint
        with creating("services"):
            node.create_service(Trigger, names.RESET, self._reset)
            node.create_service(SetBool, names.PAUSE, self._pause)
        self._health = HealthTopic(node, topics)
        self.topic = self._health.topic
        self._clock_name, self._is_clock_shared = node.resolve_topic_name(names.CLOCK), False
        node.create_timer(
            DIAGNOSTICS_PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def report_failure(self, error: PhysicsError) -> None:
        """Log a failure of the physics and its remedy; called in the stepping thread."""
        self._node.get_logger().error(self._failure(error))

    def _failure(self, error: PhysicsError) -> str:
        service = self._node.resolve_service_name(names.RESET)
        start = "" if self._control.options.keeps_time else " to time zero"
        return (
            f"the physics has failed and the simulation is halted: {error}; {self._hint()}; "
            f"reset{start} with: ros2 service call {service} std_srvs/srv/Trigger"
        )

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        done = "the world was reset to time zero"
        if self._control.options.keeps_time:
            done = (
                "the world was reset and its time kept, because ros2_control controllers would "
                "otherwise wait until the clock reaches it again (reset_simulation with scope 3 "
                "resets the time, too)"
            )
        if self._run.paused:
            done += "; it is still paused"
        response.success, response.message = _outcome(self._control.restart, done)
        return response

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        control = self._control
        act, done = (control.pause, "paused") if request.data else (control.resume, "running")
        response.success, response.message = _outcome(act, done)
        return response

    def _warn_of_clocks(self) -> None:
        """Warn once if another node publishes the time, too."""
        node, topic = self._node, self._clock_name
        if self._is_clock_shared or node.count_publishers(topic) < 2:
            return
        self._is_clock_shared = True
        found = node.get_publishers_info_by_topic(topic)
        others = [f"{x.node_namespace.rstrip('/')}/{x.node_name}" for x in found]
        with suppress(ValueError):  # another node may have the same name
            others.remove(node.get_fully_qualified_name())
        node.get_logger().warning(
            f"{topic} is also published by {listed([repr(x) for x in others], 3)}, so the time of "
            "nodes with use_sim_time jumps (a node that was killed counts for some seconds): end "
            f"it, or give one of them another topic (-r {names.CLOCK}:=/other/clock) or "
            "ROS_DOMAIN_ID"
        )

    def _report(self) -> None:
        self._warn_of_clocks()
        run = self._run
        failure = "" if run.error is None else self._failure(run.error)
        parts = [
            run_health(run, failure),
            command_health(run.simulation.command_counts),
            state_health(run.states),
        ]
        if isinstance(run.gate, LockStep):
            parts.append(lock_step_health(run.gate))
        self._health.report(parts)


def start_lock_step(
    node: Node, settings: Settings, run: Run, republish: Callable[[], None]
) -> list[str]:
    """Set up the lock-step of the parameters; return the topics that the run waits for.

    Args:
        node: Logs the topics that the run waits for.
        settings: Values of the parameters ``lock_step``, ``lock_step_rate``,
            ``lock_step_timeout``, ``hardware_topics`` and ``naming``.
        run: The run, before it begins.
        republish: Publishes the last readings again.

    Raises:
        WrongUseError: A topic name is invalid, or belongs to an action.
    """
    with creating("lock_step"):
        topics = [node.resolve_topic_name(topic) for topic in settings["lock_step"].split()]
    action = names.topic_name(names.FOLLOW_JOINT_TRAJECTORY, settings["naming"])
    for topic in topics:
        if topic.endswith(f"/{names.SET_JOINT_POSITIONS}"):
            raise WrongUseError(f"lock_step: '{topic}' acts at once; give topics of commands")
        if topic.endswith(f"/{action}"):
            raise WrongUseError(
                f"lock_step: '{topic}' is an action, which has no command in each control period; "
                "give command topics"
            )
    if not topics:
        return []
    hardware = names.topic_name(names.HARDWARE_COMMANDS, settings["naming"])
    is_hardware = settings["hardware_topics"]
    by_arrival = [t for t in topics if is_hardware and t.endswith(f"/{hardware}")]
    logger = node.get_logger()

    def listed(missing: list[str]) -> str:
        misstamped = lock_step.misstamped
        causes = {
            topic: cause_without_command(node, topic, misstamped.get(topic)) for topic in missing
        }
        return ", ".join(
            topic + (cause or (_SLOW_MANAGER if topic in by_arrival else ""))
            for topic, cause in causes.items()
        )

    def warn_timeout(missing: list[str], now_ns: int) -> None:
        logger.warning(
            f"at {now_ns / NS_PER_S:.9g} s the run continues without a command on "
            f"{listed(missing)}; it is no longer reproducible",
            throttle_duration_sec=LONG_PERIOD,
        )

    def warn_and_republish() -> None:
        logger.warning(
            f"the run is waiting for a command on {listed(lock_step.missing)}",
            throttle_duration_sec=LONG_PERIOD,
        )
        republish()

    lock_step = LockStep(
        topics,
        settings["lock_step_rate"],
        settings["lock_step_timeout"],
        by_arrival=by_arrival,
        on_timeout=warn_timeout,
        republish=warn_and_republish,
        wake=run.wake,
    )
    run.gate = lock_step
    return topics


def cause_without_command(node: Node, topic: str, misstamp_ns: int | None) -> str:
    """Return why no command arrives on a topic, in parentheses, if known, or "".

    Args:
        node: Provides the numbers of publishers and subscribers.
        topic: Full name of the topic.
        misstamp_ns: Wrong stamp of the last command, in [ns], or None.
    """
    if misstamp_ns is not None:
        return f" (the last one was stamped {misstamp_ns / NS_PER_S:.9g} s)"
    if not node.count_subscribers(topic):
        return " (not a command topic of any body)"
    return "" if node.count_publishers(topic) else " (without publishers)"


class SwitchServices:
    """Services to switch the sensors and lights of a body, also while the run is halted.

    Services: one for each device (std_srvs/SetBool).

    Args:
        node: The node that offers the services.
        run: The run.
        switches: Names of the services, by the names of the devices in the simulation.
    """

    def __init__(self, node: Node, run: Run, switches: Mapping[str, str]) -> None:
        self._node = node
        self._run = run
        self._services: list[Service] = []
        for key, name in switches.items():
            with creating(f"service '{name}'"):
                service = node.create_service(SetBool, name, partial(self._answer, key))
            self._services.append(service)

    def close(self) -> None:
        """Close the services."""
        for service in self._services:
            self._node.destroy_service(service)

    def _answer(
        self, key: str, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        def act() -> None:
            self._run.simulation.set_enabled(key, request.data)

        done = f"{key} is {'on' if request.data else 'off'}"
        response.success, response.message = _outcome(lambda: self._run.call(act), done)
        return response


def _outcome(act: Callable[[], object], done: str) -> tuple[bool, str]:
    """Execute a request; return success and a message."""
    try:
        act()
    except (NotRunningError, PhysicsError, RequestError, ValueError) as error:
        return False, str(error)
    except KeyError as error:  # its body was just deleted
        return False, str(error.args[0])
    return True, done
