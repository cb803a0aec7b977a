"""The services by which others pause and reset a run, and how it goes in /diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from hrp_msgs import names, qos
from hrp_msgs.diagnostics import PERIOD, diagnostic_array, diagnostic_status
from hrp_msgs.topic import Topic

from .engine import PhysicsError
from .runner import NotRunningError, Runner
from .schedule import NS_PER_S


@dataclass(frozen=True)
class _Health:
    level: str
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


class RunServices:
    """Lets others pause and reset a run.

    Services: reset (std_srvs/Trigger), pause (std_srvs/SetBool; false goes on).
    Publishes: /diagnostics, once a second of wall time.

    Args:
        node: Whose services they are.
        runner: The run. Calls are answered while it stands still, too.
        hint: What to look for if the physics fails.

    Attributes:
        topic: Of the diagnostics.
    """

    def __init__(self, node: Node, runner: Runner, hint: str) -> None:
        self._node = node
        self._runner = runner
        self._hint = hint
        node.create_service(Trigger, names.RESET, self._reset)
        node.create_service(SetBool, names.PAUSE, self._pause)
        self.topic = Topic(node, DiagnosticArray, names.DIAGNOSTICS, qos.DIAGNOSTICS)
        node.create_timer(PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def tell_failure(self, error: PhysicsError) -> None:
        """Say in one line what happened and what to do; called in the thread that steps."""
        self._node.get_logger().error(self._failure(error))

    def _failure(self, error: PhysicsError) -> str:
        service = self._node.resolve_service_name(names.RESET)
        return (
            f"the simulation stands still: {error}; {self._hint}; "
            "then start again from time zero with: "
            f"ros2 service call {service} std_srvs/srv/Trigger"
        )

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        done = "the world is back at its start, at time zero"
        if self._runner.paused:
            done += ", and still paused"
        response.success, response.message = _outcome(self._runner.reset, done)
        return response

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        runner = self._runner
        act, done = (runner.pause, "paused") if request.data else (runner.resume, "running")
        # Through ``call``, so that the answer comes when it is so.
        response.success, response.message = _outcome(lambda: runner.call(act), done)
        return response

    def _health(self) -> _Health:
        runner = self._runner
        values = {
            "time [s]": runner.simulation.state.time_ns / NS_PER_S,
            "real-time factor": runner.measured_factor,
        }
        if (error := runner.error) is not None:
            return _Health("error", self._failure(error), values)
        if runner.paused:
            return _Health("warn", "paused", values)
        return _Health("ok", "running", values)

    def _report(self) -> None:
        name = self._node.get_fully_qualified_name().lstrip("/")
        health = self._health()
        part = (health.level, f"{name}: simulation", health.message, health.values)
        now = self._node.get_clock().now().nanoseconds
        self.topic.publish(diagnostic_array(now, [diagnostic_status(*part)]))


def _outcome(act: Callable[[], object], done: str) -> tuple[bool, str]:
    """Do something; return whether it could be done, and a sentence about it."""
    try:
        act()
    except (NotRunningError, PhysicsError) as error:
        return False, str(error)
    return True, done
