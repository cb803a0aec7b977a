"""A body of a simulation in ROS: its topics, with commands and services."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import Bool, Float64

from hrp_msgs.node import qos
from hrp_msgs.node.start import WrongUseError, creating
from hrp_msgs.topics.topic import Topic, TopicMaker

from ..engine.engine import PhysicsError
from ..run.run import Run
from ..simulation import Simulation
from ..topics.body import BodyTopics
from ..topics.options import TopicOptions
from ..world.naming import BodyNaming
from .command_interface import BodyCommandInterface, CommandInterfaces
from .run_services import SwitchServices

_TOOL_MESSAGES = {"holder": Bool, "conveyor": Float64}


class NodeBody(BodyTopics):
    """Topics of one body, with the commands to it and the services of its devices.

    Args:
        node: The node that offers them.
        command_interfaces: Creates the interface of the commands to it.
        topics, tf, options, simulation, name, naming: See ``BodyTopics``.

    Raises:
        KeyError: The body was deleted meanwhile.
        NameCollisionError: Two of its sensors would have the same topic.
        WrongUseError: A joint parameter, a topic name or quality of service is invalid.
    """

    def __init__(
        self,
        node: Node,
        command_interfaces: CommandInterfaces,
        topics: TopicMaker,
        tf: Topic,
        options: TopicOptions,
        simulation: Simulation,
        name: str,
        naming: BodyNaming,
    ) -> None:
        self._node = node
        self._switch_services: SwitchServices | None = None
        self._tools: ToolTopics | None = None
        self._commands: BodyCommandInterface | None = None
        super().__init__(topics, tf, options, simulation, name, naming)
        try:
            if not self.simulated.body.is_static:
                self._commands = command_interfaces.open(simulation, name, naming, self.links)
        except (KeyError, WrongUseError):
            self.close()
            raise

    def serve(self, run: Run) -> None:
        """Publish which devices are on, and offer the services and commands for a run."""
        super().serve(run)
        if self.switches:
            self._switch_services = SwitchServices(self._node, run, self.switches)
        if self.tool_commands:
            self._tools = ToolTopics(self._node, run, self.tool_commands)
        if self._commands is not None:
            self._commands.serve(run)

    def poll(self) -> None:
        """Publish the progress of actions; called in the stepping thread."""
        if self._commands is not None:
            self._commands.poll()

    def close(self) -> None:
        """Close all topics and services."""
        for part in (self._switch_services, self._tools, self._commands):
            if part is not None:
                part.close()
        super().close()


class ToolTopics:
    """Lets holders hold and conveyors run as messages ask for, also while the run is halted.

    Subscribes: one topic for each holder (std_msgs/Bool) and conveyor (std_msgs/Float64).
    A command that cannot be obeyed is a throttled warning.

    Args:
        node: The node that subscribes.
        run: The run.
        topics: Names of the topics, by the names of the devices in the simulation.
    """

    def __init__(self, node: Node, run: Run, topics: Mapping[str, str]) -> None:
        self._node = node
        self._run = run
        self._subscriptions: list[Subscription] = []
        tools = run.simulation.handling.tools
        for key, topic in topics.items():
            with creating(f"topic '{topic}'"):
                subscription = node.create_subscription(
                    _TOOL_MESSAGES[tools[key].kind],
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
            simulation = self._run.simulation
            try:
                if isinstance(message, Bool):
                    simulation.set_enabled(key, message.data)
                else:
                    simulation.handling.set_speed(key, message.data)
            except (PhysicsError, ValueError) as error:
                self._warn(str(error))
            except KeyError as error:  # its body was just deleted
                self._warn(str(error.args[0]))

        self._run.call_soon(act)

    def _warn(self, problem: str) -> None:
        self._node.get_logger().warning(problem, throttle_duration_sec=1.0)
