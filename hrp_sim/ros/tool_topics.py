"""Topics of commands to the holders and conveyors of a body."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import Bool, Float64

from hrp_msgs.node import qos
from hrp_msgs.node.start import creating

from ..engine.engine import PhysicsError
from ..run.run import Run

_KINDS = {"holder": Bool, "conveyor": Float64}


class ToolTopics:
    """Lets holders hold and conveyors run as messages ask for, also while the run is halted.

    Subscribes: one topic for each holder (std_msgs/Bool) and conveyor (std_msgs/Float64).
    A command that cannot be obeyed is a throttled warning.

    Args:
        node: The node that subscribes.
        runner: The run.
        topics: Names of the topics, by the names of the devices in the simulation.
    """

    def __init__(self, node: Node, runner: Run, topics: Mapping[str, str]) -> None:
        self._node = node
        self._runner = runner
        self._subscriptions: list[Subscription] = []
        tools = runner.simulation.handling.tools
        for key, topic in topics.items():
            with creating(f"topic '{topic}'"):
                subscription = node.create_subscription(
                    _KINDS[tools[key].kind],
                    topic,
                    partial(self._receive, key),
                    **qos.changeable(qos.COMMAND_IN_STEP),
                )
            self._subscriptions.append(subscription)

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            topic = str(subscription.topic_name)
            self._node.destroy_subscription(subscription)
            qos.undeclare_qos_overrides(self._node, topic, "subscription")

    def _receive(self, key: str, message: Bool | Float64) -> None:
        def act() -> None:
            simulation = self._runner.simulation
            try:
                if isinstance(message, Bool):
                    simulation.set_enabled(key, message.data)
                else:
                    simulation.handling.set_speed(key, message.data)
            except (PhysicsError, ValueError) as error:
                self._warn(str(error))
            except KeyError as error:  # its body was just deleted
                self._warn(str(error.args[0]))

        self._runner.call_soon(act)

    def _warn(self, problem: str) -> None:
        self._node.get_logger().warning(problem, throttle_duration_sec=1.0)
