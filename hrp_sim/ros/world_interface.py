"""ROS interface of a world: its topics, and an interface of each body."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from hrp_msgs.names import NameCollisionError
from hrp_msgs.node.executor import remove_destroyed
from hrp_msgs.node.parameters import Settings
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.topic import Topic, TopicMaker

from ..run.run import NotRunningError, Run
from ..simulation import Simulation
from ..topics.options import PublishingOptions
from ..topics.run_recording import RunRecording
from ..topics.world_publisher import WorldPublisher
from ..world.naming import BodyNaming
from .body_interface import BodyInterface
from .command_interface import CommandInterfaces
from .model_interface import SimulatedModelNode

# Period of clock and state while the run is halted, in [s] of wall time.
_PERIOD = 1.0


class WorldInterface:
    """Topics and services of a world, to which bodies can be added and removed.

    ``replace``, ``sync`` and ``close`` are called in the executor thread.

    Args:
        node: The node that offers them.
        topics: Creates the topics.
        settings: Values of its parameters by name.
        shared: ROS arguments for the nodes that describe bodies; see ``shared_ros_arguments``.
        recording: Records the topics.

    Attributes:
        publisher: Publishes the topics; a ``Consumer`` of the run.
        command_interfaces: The interfaces of the commands.

    Raises:
        WrongUseError: A parameter is invalid.
    """

    def __init__(
        self,
        node: Node,
        topics: TopicMaker,
        settings: Settings,
        shared: Sequence[str],
        recording: RunRecording | None = None,
    ) -> None:
        self._node = node
        self._settings = settings
        self._shared = shared
        self._recording = recording
        self._runner: Run | None = None
        self._simulation: Simulation | None = None
        self._interfaces: Mapping[str, BodyInterface] = {}  # by the body's name
        self.publisher = WorldPublisher(
            topics,
            PublishingOptions.from_parameters(settings),
            recording=None if recording is None else recording.topics,
            on_clock=self._set_time,
            on_step=self._poll,
        )
        self.command_interfaces = CommandInterfaces(node, settings)

    @property
    def topics(self) -> list[Topic]:
        """All published topics."""
        of_bodies = (t for interface in self._interfaces.values() for t in interface.topics)
        return [*self.publisher.topics, *of_bodies]

    @property
    def models(self) -> list[SimulatedModelNode]:
        """The nodes that describe the bodies."""
        return [
            interface.model
            for interface in self._interfaces.values()
            if interface.model is not None
        ]

    def replace(self, simulation: Simulation) -> None:
        """Replace the published simulation.

        Raises:
            NameCollisionError: Two bodies or devices would have the same topic.
            OSError: The meshes of a description cannot be written.
            WrongUseError: A parameter of a joint is invalid.
        """
        self._set_interfaces({})
        self._simulation = simulation
        self.publisher.replace(simulation)
        interfaces: dict[str, BodyInterface] = {}
        try:
            for name, naming in self.publisher.namings(simulation).items():
                interfaces[name] = self._make_interface(name, naming)
        finally:
            self._set_interfaces(interfaces)
        # Initial positions that the node was started with; a restored state goes on as it is.
        if simulation.placements.has_set_positions and simulation.state.time_ns == 0:
            (simulation if self._runner is None else self._runner).reset()

    def sync(self) -> None:
        """Create the interfaces of new bodies, and close those of deleted ones."""
        assert self._simulation is not None
        bodies = self._simulation.bodies
        interfaces = {
            k: f for k, f in self._interfaces.items() if bodies.get(k) is f.publisher.simulated
        }
        self._set_interfaces(interfaces)
        if self._runner is not None:
            with suppress(NotRunningError):
                self._runner.call(self._simulation.apply_pending)  # e.g. gains set by parameters
                for interface in interfaces.values():
                    interface.update_joint_params()
        for name, body in bodies.items():
            if name not in interfaces:
                try:
                    namespace = self._simulation.namespace(name)
                    naming = self.publisher.spawned_naming(name, namespace)
                    interfaces = {**interfaces, name: self._make_interface(name, naming)}
                except (NameCollisionError, OSError, WrongUseError) as error:
                    self._node.get_logger().error(f"cannot create topics of body '{name}': {error}")
                except KeyError:
                    if self._simulation.bodies.get(name) is body:
                        raise
                    # otherwise it was deleted meanwhile, and ``sync`` will be called again
        self._set_interfaces(interfaces)

    def check_names(self, simulation: Simulation, names: Collection[str]) -> None:
        """Check that the topics of new bodies collide with no others.

        Raises:
            NameCollisionError: Two bodies or devices would have the same topic.
        """
        self.publisher.check_names(simulation, names)

    def serve(self, runner: Run) -> None:
        """Follow the changes of a run, and offer the services of the bodies."""
        self._runner = runner
        runner.add(self.publisher)
        for interface in self._interfaces.values():
            interface.serve(runner)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._node.create_timer(_PERIOD, self._publish_halted, clock=steady)

    def close(self) -> None:
        """Close all topics and services of bodies."""
        self._set_interfaces({})
        self.command_interfaces.close()

    def _make_interface(self, name: str, naming: BodyNaming) -> BodyInterface:
        """Create the topics and services of a body."""
        assert self._simulation is not None
        publisher = self.publisher.make_body(name, naming)
        interface = BodyInterface(self._node, self._simulation, publisher, self.command_interfaces)
        try:
            if self._settings["describe"]:
                model = interface.describe(self._shared, self._recording)
                if self._node.executor is not None:
                    self._node.executor.add_node(model)
            if self._runner is not None:
                interface.serve(self._runner)
        except (KeyError, OSError, WrongUseError):
            interface.close()
            raise
        return interface

    def _set_interfaces(self, interfaces: Mapping[str, BodyInterface]) -> None:
        """Replace the interfaces of bodies, and close the removed ones."""
        gone = [
            interface
            for name, interface in self._interfaces.items()
            if interfaces.get(name) is not interface
        ]
        self._interfaces = interfaces
        self.publisher.set_bodies({k: f.publisher for k, f in interfaces.items()})
        for interface in gone:
            interface.close()
        if gone:
            remove_destroyed(self._node.default_callback_group)

    def _set_time(self, time_ns: int) -> None:
        """Set the clock of the nodes that describe bodies, to a time in [ns]."""
        for model in self.models:
            model.set_time(time_ns)

    def _poll(self) -> None:
        """Publish the progress of actions; called in the stepping thread."""
        for interface in self._interfaces.values():
            interface.poll()

    def _publish_halted(self) -> None:
        """Publish clock and state while the run is halted, for new subscribers."""
        runner = self._runner
        assert runner is not None
        if runner.paused or runner.error is not None:
            with suppress(NotRunningError):  # in the stepping thread, so that time never decreases
                runner.call(self.publisher.publish_halted)
