"""ROS interface of a world: clock, static frames, contacts, and an interface of each body."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from hrp_model.rigid import Array
from hrp_msgs.names import NameCollisionError
from hrp_msgs.node.executor import remove_destroyed
from hrp_msgs.node.parameters import Settings
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.contacts import ContactTopic
from hrp_msgs.topics.robot import FramePose
from hrp_msgs.topics.topic import Topic
from hrp_msgs.topics.world import WorldTopics

from ..physics.contact_points import ContactPoints
from ..physics.schedule import SampleClock
from ..render import NO_PARTS, Parts
from ..running.contact_sampler import ContactSampler
from ..running.lock_step import LockStep
from ..running.runner import Change, NotRunningError, Runner
from ..sensors import CameraSensor, ImageReading, Reading, RenderRequest
from ..simulation import Simulation
from ..world.naming import BodyNaming, name_bodies, spawned_naming
from .body_interface import BodyInterface, SensorOutputs
from .command_interface import CommandInterfaces
from .model_interface import SimulatedModelNode
from .topics import device_topics

# Period of the clock while the run is halted, in [s] of wall time.
_PERIOD = 1.0


class WorldInterface:
    """Topics and services of a world, to which bodies can be added and removed.

    It is a ``Consumer`` of a run; ``replace``, ``sync`` and ``close`` are called in the executor
    thread.

    Args:
        node: The node that offers them.
        settings: Values of its parameters by name.
        shared: ROS arguments for the nodes that describe bodies; see ``shared_ros_arguments``.

    Raises:
        WrongUseError: A parameter is invalid.
    """

    def __init__(self, node: Node, settings: Settings, shared: Sequence[str]) -> None:
        self._node = node
        self._settings = settings
        self._shared = shared
        self._runner: Runner | None = None
        self._simulation: Simulation | None = None
        self._time_ns = 0
        self._readings: Mapping[str, Reading] = {}  # of the last step
        self._in_step = bool(settings["lock_step"])
        self._interfaces: Mapping[str, BodyInterface] = {}  # by the body's name
        # By names in the simulation; replaced instead of changed, because two threads use them.
        self._outputs: Mapping[str, SensorOutputs] = {}
        self._owners: Mapping[str, BodyInterface] = {}
        self._topics = WorldTopics(node)
        self.command_interfaces = CommandInterfaces(node, settings)
        self._clock_ticks = SampleClock(settings["clock_rate"])
        self._contacts = _Contacts(node, settings) if settings["contact_rate"] > 0.0 else None

    @property
    def topics(self) -> list[Topic]:
        """All published topics."""
        of_world = [*self._topics.all, *([] if self._contacts is None else [self._contacts.topic])]
        return [
            *of_world,
            *(t for interface in self._interfaces.values() for t in interface.topics),
        ]

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
        simulation.switched = self._publish_switches
        interfaces: dict[str, BodyInterface] = {}
        try:
            for name, naming in self._namings(simulation).items():
                interfaces[name] = self._make_interface(name, naming)
        finally:
            self._set_interfaces(interfaces)

    def sync(self) -> None:
        """Create the interfaces of new bodies, and close those of deleted ones."""
        assert self._simulation is not None
        bodies = self._simulation.bodies
        interfaces = {k: f for k, f in self._interfaces.items() if bodies.get(k) is f.simulated}
        self._set_interfaces(interfaces)
        if self._runner is not None:
            with suppress(NotRunningError):
                self._runner.call(self._simulation.apply_pending)  # e.g. gains set by parameters
                for interface in interfaces.values():
                    interface.update_joint_params()
        for name, body in bodies.items():
            if name not in interfaces:
                try:
                    naming = self._spawned_naming(name, self._simulation.namespace(name))
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
        if simulation is self._simulation:
            namings = {k: self._spawned_naming(k, simulation.namespace(k)) for k in names}
        else:
            namings = self._namings(simulation)
        for name in names:
            device_topics(simulation, name, namings[name])

    def serve(self, runner: Runner) -> None:
        """Follow the changes of a run, and offer the services of the bodies."""
        self._runner = runner
        runner.on_change.append(self._follow_change)
        for interface in self._interfaces.values():
            interface.serve(runner)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._node.create_timer(_PERIOD, self._publish_halted_clock, clock=steady)

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Publish the readings of one step, and the clock when it is due.

        Readings of bodies without topics, such as those just added, are skipped.
        """
        self._time_ns, self._readings = time_ns, readings
        gate = None if self._runner is None else self._runner.gate
        lock_step = gate if isinstance(gate, LockStep) else None
        is_waited_for = lock_step is not None and lock_step.is_boundary(time_ns)
        is_paced = lock_step is not None and lock_step.paces_clock
        if self._clock_ticks.is_due(time_ns) and not is_waited_for and not is_paced:
            self._publish_clock(time_ns)
        for interface in self._interfaces.values():
            interface.poll()
        outputs = self._outputs
        for name, reading in readings.items():
            if (found := outputs.get(name)) is None or isinstance(reading, RenderRequest):
                continue
            for output in found.outputs:
                output.publish(reading)
        stepped = self._simulation if self._runner is None else self._runner.simulation
        if self._contacts is not None and stepped is not None:
            self._contacts.sampler.after_step(stepped)
        if is_waited_for:
            # At any clock_rate, because a controller manager sleeps until this time; and last, so
            # that controllers are likely to have received the readings.
            self._publish_clock(time_ns)

    def republish(self) -> None:
        """Publish the readings of the last step again, for new subscribers."""
        self.take_step(self._time_ns, self._readings)

    def close(self) -> None:
        """Close all topics and services of bodies."""
        self._set_interfaces({})
        self.command_interfaces.close()

    def wants(self, simulation: Simulation, sensor: str) -> bool:
        """Return whether a sensor should be read."""
        found = self._outputs.get(sensor)
        # The topics may still be those of a deleted sensor of the same name.
        if found is None or found.sensor is not simulation.sensors[sensor]:
            return False
        # In lock-step, noise and filters must not depend on the times of subscriptions.
        if self._in_step and not isinstance(found.sensor, CameraSensor):
            return True
        return found.is_wanted()

    def _publish_switches(self, name: str, on: bool) -> None:  # noqa: ARG002
        if (owner := self._owners.get(name)) is not None:
            owner.publish_switches()

    def wanted_parts(self, camera: str) -> Parts:
        """Return the parts of an image that have subscribers."""
        found = self._outputs.get(camera)
        return NO_PARTS if found is None else found.wanted_parts()

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Publish an image; called in the render thread."""
        if (found := self._outputs.get(camera)) is not None:
            for output in found.outputs:
                output.publish(image)

    def _namings(self, simulation: Simulation) -> dict[str, BodyNaming]:
        """Return the naming of all bodies of a new simulation."""
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        namespaces = {name: simulation.namespace(name) for name in bodies}
        prefix, preset = self._settings["frame_prefix"], self._settings["naming"]
        return name_bodies(bodies, prefix, namespaces, preset)

    def _spawned_naming(self, name: str, namespace: str | None) -> BodyNaming:
        """Return the naming of a new body of the present simulation.

        Bodies added before it that have no interface yet are taken into account.
        """
        assert self._simulation is not None
        prefix, preset = self._settings["frame_prefix"], self._settings["naming"]
        bodies = self._simulation.bodies
        interfaces = {k: f for k, f in self._interfaces.items() if bodies.get(k) is f.simulated}
        taken = {
            other: interface.naming for other, interface in interfaces.items() if other != name
        }
        for other in takewhile(lambda k: k != name, bodies):
            if other not in taken:
                with suppress(NameCollisionError):  # it will have no topics
                    wanted = self._simulation.namespace(other)
                    taken[other] = spawned_naming(other, wanted, taken, prefix, preset)
        return spawned_naming(name, namespace, taken, prefix, preset)

    def _make_interface(self, name: str, naming: BodyNaming) -> BodyInterface:
        """Create the topics and services of a body."""
        assert self._simulation is not None
        interface = BodyInterface(
            self._node,
            self._simulation,
            name,
            naming,
            self._topics.tf,
            self._settings,
            self.command_interfaces,
        )
        try:
            if self._settings["describe"]:
                model = interface.describe(self._shared)
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
        self._outputs = {k: found for f in interfaces.values() for k, found in f.outputs.items()}
        self._owners = {k: f for f in interfaces.values() for k in f.devices}
        for interface in gone:
            interface.close()
        if gone:
            remove_destroyed(self._node.default_callback_group)
        if interfaces or gone:
            self._topics.publish_static(self._static_frames)

    def _follow_change(self, change: Change) -> None:
        """Publish changes without waiting for the next step; called in the stepping thread."""
        assert self._runner is not None
        simulation = self._runner.simulation
        time_ns = simulation.state.time_ns
        if time_ns < self._time_ns or change in (Change.RESET, Change.REPLACE):
            self._clock_ticks.wait(time_ns)
            if self._contacts is not None:
                self._contacts.sampler.restart(time_ns)
        self._time_ns = time_ns
        self._publish_clock(time_ns)
        for interface in self._interfaces.values():
            interface.poll()
        if simulation is self._simulation:
            self._topics.publish_static(self._static_frames)

    def _static_frames(self) -> list[FramePose]:
        """Return all static frames, except those of descriptions."""
        return [
            frame for interface in self._interfaces.values() for frame in interface.static_frames()
        ]

    def _publish_clock(self, time_ns: int) -> None:
        """Publish a simulation time in [ns], and set it in the nodes of this process."""
        for model in self.models:
            model.set_time(time_ns)
        self._topics.publish_clock(time_ns)

    def _publish_halted_clock(self) -> None:
        """Publish the clock while the run is halted, for new subscribers."""
        runner = self._runner
        assert runner is not None
        if runner.paused or runner.error is not None:
            with suppress(NotRunningError):  # in the stepping thread, so that time never decreases
                runner.call(lambda: self._publish_clock(runner.simulation.state.time_ns))


class _Contacts:
    """Publishes the contacts of a world.

    Attributes:
        topic: Topic of the markers.
        sampler: Sampler to be called after every step.
    """

    def __init__(self, node: Node, settings: Settings) -> None:
        self._settings = settings  # contact_scale may change
        self._markers = ContactTopic(node, settings["world_frame"])
        self.topic = self._markers.topic
        self.sampler = ContactSampler(
            settings["contact_rate"], self.topic.has_subscribers, self._publish
        )

    def _publish(self, points: ContactPoints, force: Array) -> None:
        scale = self._settings["contact_scale"]
        self._markers.publish(points.time_ns, points.position, force, scale)
