"""ROS interface of one body: its topics, switches, commands and description."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from rclpy.parameter import Parameter

from hrp_model.ros.model_node import ModelNode
from hrp_msgs.node.start import WrongUseError, destroy
from hrp_msgs.topics.topic import Topic

from ..run.run import Run
from ..simulation import Simulation
from ..topics.body_publisher import BodyPublisher
from ..topics.run_recording import RunRecording
from .command_interface import BodyCommandInterface, CommandInterfaces
from .model_interface import SimulatedModelNode
from .run_services import SwitchServices
from .tool_topics import ToolTopics


class BodyInterface:
    """Topics and services of one body.

    Args:
        node: The node that offers them.
        simulation: The simulation with the body.
        publisher: Publishes the body; closed with this interface.
        command_interfaces: Creates the interface of the commands to it.

    Attributes:
        publisher: As given.
        model: Node that publishes description and link frames, after ``describe``.

    Raises:
        KeyError: The body was deleted meanwhile.
        WrongUseError: A joint parameter is invalid.
    """

    def __init__(
        self,
        node: Node,
        simulation: Simulation,
        publisher: BodyPublisher,
        command_interfaces: CommandInterfaces,
    ) -> None:
        self.publisher = publisher
        self.model: SimulatedModelNode | None = None
        self._node = node
        self._simulation = simulation
        self._switches: SwitchServices | None = None
        self._tools: ToolTopics | None = None
        self._command_interfaces = command_interfaces
        self._commands: BodyCommandInterface | None = None
        logger, simulated = node.get_logger(), publisher.simulated
        publisher.report_root(logger.info, logger.warning)
        try:
            if not simulated.body.is_static:
                self._commands = command_interfaces.open(
                    simulation, simulated.name, publisher.naming, publisher.links
                )
        except (KeyError, WrongUseError):
            self.close()
            raise

    @property
    def topics(self) -> list[Topic]:
        """All published topics."""
        of_model = [] if self.model is None else self.model.topics
        return [*self.publisher.topics, *of_model]

    def describe(self, arguments: Sequence[str], recording: RunRecording | None) -> ModelNode:
        """Publish the description of the body, and the frames of its links after each step.

        Args:
            arguments: ROS arguments for its node; see ``shared_ros_arguments``.
            recording: Records its topics and meshes.

        Raises:
            OSError: The meshes of its description cannot be written.
            WrongUseError: An argument is invalid.
        """
        publisher = self.publisher
        overrides = [
            Parameter("frame_prefix", value=publisher.naming.frame_prefix),
            Parameter("base", value=publisher.base.value),
            Parameter("world_frame", value=""),  # the simulation publishes the pose of the root
            Parameter("use_sim_time", value=True),
        ]
        if self._command_interfaces.hardware and publisher.simulated.body.moving_links:
            # The description identifies the body of these topics.
            overrides.append(Parameter("ros2_control", value="topic"))
        self.model = SimulatedModelNode(
            None if recording is None else recording.topics,
            namespace=publisher.naming.absolute_namespace(self._node.get_namespace()),
            parameter_overrides=overrides,
            context=self._node.context,
            cli_args=list(arguments),
            use_global_arguments=False,
        )
        self.model.start(publisher.simulated.body)
        publisher.describe(self.model)
        if recording is not None:
            recording.attach_meshes(self.model.publisher.description.urdf)
        return self.model

    def serve(self, runner: Run) -> None:
        """Offer the services and commands of the body for a run."""
        self.publisher.serve()
        if switches := self.publisher.switches:
            self._switches = SwitchServices(self._node, runner, switches)
        if topics := self.publisher.tool_commands:
            self._tools = ToolTopics(self._node, runner, topics)
        if self._commands is not None:
            self._commands.serve(runner)

    def update_joint_params(self) -> None:
        """Set the parameters of its joints to their present gains and modes."""
        if self._commands is not None:
            self._commands.update_joint_params()

    def poll(self) -> None:
        """Publish the progress of actions; called in the stepping thread."""
        if self._commands is not None:
            self._commands.poll()

    def close(self) -> None:
        """Close all topics and services."""
        if self._switches is not None:
            self._switches.close()
        if self._tools is not None:
            self._tools.close()
        if self._commands is not None:
            self._commands.close()
        self.publisher.close()
        if self.model is not None:
            for topic in self.model.topics:
                topic.close()  # where the stepping thread may publish
            if self.model.executor is not None:
                self.model.executor.remove_node(self.model)
            destroy(self.model)
