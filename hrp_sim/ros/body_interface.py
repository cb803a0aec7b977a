"""ROS interface of one body: sensors, switches, commands and description."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from hrp_model import Diagnostics
from hrp_model.frames import Base, BodyFrames, FrameOptions, body_frames
from hrp_model.rigid import matrix_quaternion
from hrp_model.ros.model_node import ModelNode
from hrp_msgs import names
from hrp_msgs.convert.converter import Frames, Reading, make_converter
from hrp_msgs.node import qos
from hrp_msgs.node.parameters import Settings
from hrp_msgs.node.start import WrongUseError, destroy
from hrp_msgs.topics.robot import FramePose
from hrp_msgs.topics.sensors import Output, TopicOutput
from hrp_msgs.topics.topic import Topic

from ..render import Parts
from ..running.runner import Runner
from ..sensors import JointReading, JointSensor, OdometrySensor, Sensor, StatefulSensor
from ..sensors.registry import AnyTopic, kind_of
from ..simulation import Simulation
from ..world.naming import BodyNaming
from .command_interface import BodyCommandInterface, CommandInterfaces
from .model_interface import SimulatedModelNode
from .run_services import SwitchServices
from .topics import device_topics

_ROOT_TRANSFORM = "hrp_msgs.convert.tf:RootTransformConverter"


@dataclass(frozen=True)
class SensorOutputs:
    """Outputs of one sensor.

    Attributes:
        sensor: The sensor.
        is_always_read: Whether it is read without subscribers, too, as sensors with filters, whose
            readings must not depend on subscribers.
        topics: Its own topics, by their rows in the registry.
        outputs: All outputs of its readings: its topics, and publishers of TF.
    """

    sensor: Sensor
    is_always_read: bool
    topics: dict[AnyTopic, TopicOutput] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)

    def open(self, node: Node, topics: Mapping[AnyTopic, str], frames: Frames) -> None:
        """Create the topics of the sensor.

        Args:
            node: The publishing node.
            topics: Names of the topics, by their rows in the registry.
            frames: Frames of the messages.

        Raises:
            WrongUseError: A topic name or quality of service is invalid.
        """
        for spec, name in topics.items():
            converter = make_converter(spec.converter, frames)
            size = None if spec.size is None else spec.size(self.sensor)
            profile = qos.IMAGE if size is None else qos.sensor(self.sensor.rate_hz, size)
            topic = Topic(node, converter.message_type, name, profile)
            self.topics[spec] = TopicOutput(topic, converter)
        self.outputs.extend(self.topics.values())

    def is_wanted(self) -> bool:
        """Return whether the sensor should be read."""
        if self.is_always_read:
            return True
        for output in self.outputs:  # noqa: SIM110 - any() takes twice as long
            if output.has_subscribers():
                return True
        return False

    def wanted_parts(self) -> Parts:
        """Return the parts of an image that have subscribers."""
        wanted = [spec.parts for spec, output in self.topics.items() if output.has_subscribers()]
        return Parts(any(x.color for x in wanted), any(x.depth for x in wanted))


class _LinkFrames:
    """Publishes the frames of links from joint readings.

    Args:
        model: The publishing node.
        simulation: The simulation.
        above: Returns frames to publish in the same message, such as the root's.
    """

    def __init__(
        self,
        model: SimulatedModelNode,
        simulation: Simulation,
        above: Callable[[], Sequence[FramePose]],
    ) -> None:
        self._model = model
        self._simulation = simulation
        self._above = above

    def has_subscribers(self) -> bool:
        """Return whether frames of the present time would be published."""
        return self._model.is_due(self._simulation.state.time_ns)

    def publish(self, reading: Reading) -> None:
        """Publish the frames of the links, if they are due."""
        assert isinstance(reading, JointReading)
        if self._model.is_due(reading.time_ns):
            positions = reading.position.tolist()
            self._model.move(reading.time_ns, reading.names, positions, self._above())


class BodyInterface:
    """Topics and services of one body.

    Args:
        node: The node that offers them.
        simulation: The simulation with the body.
        name: Name of the body.
        naming: Naming of its topics and frames.
        tf: Topic for the transform of its root.
        settings: Values of the node's parameters ``base`` and ``world_frame``.
        command_interfaces: Creates the interface of the commands to it.

    Attributes:
        simulated: The body.
        naming: As given.
        outputs: Outputs of each sensor, by its name in the simulation.
        model: Node that publishes description and link frames, after ``describe``.

    Raises:
        KeyError: The body was deleted meanwhile.
        NameCollisionError: Two of its sensors would have the same topic.
        OSError: The meshes of its description cannot be written.
        WrongUseError: A joint parameter, topic name or quality of service is invalid.
    """

    def __init__(
        self,
        node: Node,
        simulation: Simulation,
        name: str,
        naming: BodyNaming,
        tf: Topic,
        settings: Settings,
        command_interfaces: CommandInterfaces,
    ) -> None:
        self.simulated = simulation.bodies[name]
        self.naming = naming
        self.outputs: dict[str, SensorOutputs] = {}
        self.model: SimulatedModelNode | None = None
        self._node = node
        self._simulation = simulation
        self._switches: SwitchServices | None = None
        self._command_interfaces = command_interfaces
        self._commands: BodyCommandInterface | None = None
        self._devices = device_topics(simulation, name, naming)
        self._world = settings["world_frame"]
        self._tf = tf
        body = self.simulated.body
        frames = self._frames(Base.NONE)
        # A root with the name of the world frame has no transform to it.
        self._is_world = self._frame_name(frames.root) == self._world
        if not self._is_world:
            frames = self._frames(Base(settings["base"]))
        self._base = frames.base
        self._root = self._frame_name(frames.root)
        self._is_fixed = simulation.is_fixed(name)
        self._has_moving_root = not (self._is_fixed or self._is_world)
        if self._is_world:
            self._report_world_root()
        sensors = {k: s for k, s in simulation.sensors.items() if s.body == name}
        self._joints = next((k for k, s in sensors.items() if isinstance(s, JointSensor)), "")
        framed = reversed(list(zip(body.devices, frames.data, strict=True)))
        data_frames = {d.name: frame for d, frame in framed}  # the first of equal names
        links = {self._frame_name(f): k for k, f in frames.links.items()} | {
            self._root: body.root.name
        }
        try:
            for key, sensor in sensors.items():
                self._add_sensor(key, sensor, self._frame_name(data_frames.get(sensor.name, "")))
            if not body.is_static:
                self._commands = command_interfaces.open(simulation, name, naming, links)
        except (KeyError, WrongUseError):
            self.close()
            raise

    @property
    def topics(self) -> list[Topic]:
        """All published topics."""
        of_model = [] if self.model is None else self.model.topics
        own = (x.topic for found in self.outputs.values() for x in found.topics.values())
        return [*own, *of_model]

    def _frames(self, base: Base) -> BodyFrames:
        quiet = Diagnostics(listener=lambda _: None)
        return body_frames(self.simulated.body, quiet, FrameOptions(base=base))

    def _frame_name(self, name: str) -> str:
        return names.frame(name, self.naming.frame_prefix)

    def static_frames(self) -> list[FramePose]:
        """Return the static frames, except those of the description."""
        found = []
        if self._is_fixed and not self._is_world:
            found.append(self._root_pose())
        if self.model is None:
            found += [
                (
                    self._frame_name(x.parent),
                    self._frame_name(x.name),
                    x.pose.p.tolist(),  # a list, to be compared with ==
                    matrix_quaternion(x.pose.R),
                )
                for x in self._base
            ]
        return found

    def _root_pose(self) -> FramePose:
        """Return the pose of the topmost frame; a base link coincides with the root."""
        motion = self.simulated.motion
        return self._world, self._root, motion.p[0].tolist(), matrix_quaternion(motion.R[0])

    def _moving_root(self) -> Sequence[FramePose]:
        """Return the pose of the topmost frame, if it moves."""
        return [self._root_pose()] if self._has_moving_root else []

    def _root_has_subscribers(self) -> bool:
        """Return whether to publish the root's transform, unless it is published with the links."""
        is_with_links = (
            self.model is not None
            and self.model.moves
            and self._joints != ""
            and self._simulation.is_enabled(self._joints)
        )
        return not is_with_links and self._tf.has_subscribers()

    def describe(self, arguments: Sequence[str]) -> ModelNode:
        """Publish the description of the body, and the frames of its links after each step.

        Args:
            arguments: ROS arguments for its node; see ``shared_ros_arguments``.
        """
        overrides = [
            Parameter("frame_prefix", value=self.naming.frame_prefix),
            Parameter("base", value=(Base.LINK if self._base else Base.NONE).value),
            Parameter("use_sim_time", value=True),
        ]
        if self._command_interfaces.hardware and self.simulated.body.moving_links:
            # The description identifies the body of these topics.
            overrides.append(Parameter("ros2_control", value="topic"))
        self.model = SimulatedModelNode(
            namespace=self.naming.absolute_namespace(self._node.get_namespace()),
            parameter_overrides=overrides,
            context=self._node.context,
            cli_args=list(arguments),
            use_global_arguments=False,
        )
        self.model.start(self.simulated.body)
        if self._joints:
            frames = _LinkFrames(self.model, self._simulation, self._moving_root)
            self.outputs[self._joints].outputs.insert(0, frames)
        return self.model

    def serve(self, runner: Runner) -> None:
        """Offer the services and commands of the body for a run."""
        if switches := {key: x.switch for key, x in self._devices.items() if x.switch}:
            topic = self.naming.qualified(names.DEVICES)
            self._switches = SwitchServices(
                self._node, runner, self._simulation, self.simulated.name, topic, switches
            )
            self._switches.publish()
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

    def publish_switches(self) -> None:
        """Publish which sensors and lights are on."""
        if self._switches is not None:
            self._switches.publish()

    @property
    def devices(self) -> Collection[str]:
        """Names of the sensors and lights in the simulation."""
        return self._devices.keys()

    def close(self) -> None:
        """Close all topics and services."""
        if self._switches is not None:
            self._switches.close()
        if self._commands is not None:
            self._commands.close()
        for topic in self.topics:
            topic.close()  # including those of the model, where the stepping thread may publish
        if self.model is not None:
            if self.model.executor is not None:
                self.model.executor.remove_node(self.model)
            destroy(self.model)

    def _report_world_root(self) -> None:
        """Log that a root with the name of the world frame has no transform to it."""
        motion, logger = self.simulated.motion, self._node.get_logger()
        cause = (
            f"the root of body '{self.simulated.name}' has the name of the frame '{self._world}'"
        )
        is_at_origin = np.array_equal(motion.R[0], np.eye(3)) and not motion.p[0].any()
        if self._is_fixed and is_at_origin:
            logger.info(f"{cause} and coincides with it: its transform is not published")
            return
        logger.warning(
            f"{cause}: its transform cannot be published; set world_frame or frame_prefix, so that "
            "the names differ"
        )

    def _add_sensor(self, key: str, sensor: Sensor, frame: str) -> None:
        """Create the outputs of a sensor with this data frame."""
        kind, frames = kind_of(sensor), Frames(frame, self._world, self._root)
        filters = isinstance(sensor, StatefulSensor) and bool(sensor.memory)
        found = SensorOutputs(sensor, filters and not kind.skips_unsubscribed)
        self.outputs[key] = found  # early, so that ``close`` finds them if one fails
        topics = self._devices[key].of_sensor
        if isinstance(sensor, JointSensor) and self._command_interfaces.hardware:
            topics = dict.fromkeys(topics, self.naming.topic(names.HARDWARE_STATES))
        found.open(self._node, topics, frames)
        if isinstance(sensor, OdometrySensor) and self._has_moving_root:
            transforms = make_converter(_ROOT_TRANSFORM, frames)
            found.outputs.append(TopicOutput(self._tf, transforms, self._root_has_subscribers))
