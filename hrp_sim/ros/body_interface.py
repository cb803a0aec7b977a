"""What ROS 2 sees of one body: what its sensors read, its switches, its commands, its model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.robot import FramePose
from hrp_msgs.topics.sensors import Output, TopicOutput
from hrp_msgs.topics.topic import Topic

from ..render import Parts
from ..running.runner import Runner
from ..sensors import JointReading, JointSensor, OdometrySensor, Remembering, Sensor
from ..sensors.registry import AnyTopic, kind_of
from ..simulation import Simulation
from ..world.naming import BodyNaming
from .command_interface import Commanding, CommandPort
from .model_interface import SimulatedModelNode
from .run_services import SwitchServices
from .topics import device_topics

_ROOT_TRANSFORM = "hrp_msgs.convert.tf:RootTransformConverter"


@dataclass(frozen=True)
class SensorOutputs:
    """Everything that takes the readings of one sensor.

    Attributes:
        sensor: The sensor.
        is_always_read: Whether it is read without listeners, too: one that filters, so that
            listeners do not change its readings.
        topics: Its own topics, by their rows in the registry.
        outputs: All that takes its readings: its topics, and what publishes TF.
    """

    sensor: Sensor
    is_always_read: bool
    topics: dict[AnyTopic, TopicOutput] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)

    def open(self, node: Node, topics: Mapping[AnyTopic, str], frames: Frames) -> None:
        """Make the topics of the sensor.

        Args:
            node: Publishes.
            topics: Their names, by their rows in the registry.
            frames: That the messages refer to.

        Raises:
            WrongUseError: ROS takes no topic of such a name or quality of service.
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
        """Return which parts of a picture somebody listens to."""
        wanted = [spec.parts for spec, output in self.topics.items() if output.has_subscribers()]
        return Parts(any(x.color for x in wanted), any(x.depth for x in wanted))


class _LinkFrames:
    """Publishes the frames of links, which follow the joints.

    Args:
        model: Publishes them.
        simulation: The world.
        above: Returns the frames that go with them, such as the root's.
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
        """Return whether frames of now would be published."""
        return self._model.is_due(self._simulation.state.time_ns)

    def publish(self, reading: Reading) -> None:
        """Publish where joints have moved the links, if that is due."""
        assert isinstance(reading, JointReading)
        if self._model.is_due(reading.time_ns):
            positions = reading.position.tolist()
            self._model.move(reading.time_ns, reading.names, positions, self._above())


class BodyInterface:
    """The topics and services of one body, from when it appears to when it goes.

    Args:
        node: Whose topics and services they are.
        simulation: The world that the body is in.
        name: Of the body.
        naming: Where its topics and frames live.
        tf: Where the transform of its root is published.
        settings: Values of the node's parameters ``base`` and ``world_frame``.
        commanding: By which others command it.

    Attributes:
        simulated: The body.
        naming: As given.
        outputs: Of each sensor, by its name in the simulation.
        model: Publishes the description and the links' frames, once ``describe`` was called.

    Raises:
        KeyError: It has gone out of the world meanwhile.
        NameCollisionError: Two of its sensors would have one topic.
        OSError: The meshes of its description cannot be written.
        WrongUseError: A parameter of one of its joints makes no sense, or ROS takes no topic of
            such a name or quality of service.
    """

    def __init__(
        self,
        node: Node,
        simulation: Simulation,
        name: str,
        naming: BodyNaming,
        tf: Topic,
        settings: Mapping[str, Any],
        commanding: Commanding,
    ) -> None:
        self.simulated = simulation.bodies[name]
        self.naming = naming
        self.outputs: dict[str, SensorOutputs] = {}
        self.model: SimulatedModelNode | None = None
        self._node = node
        self._simulation = simulation
        self._switches: SwitchServices | None = None
        self._commanding = commanding
        self._commands: CommandPort | None = None
        self._devices = device_topics(simulation, name, naming)
        self._world = settings["world_frame"]
        self._tf = tf
        body = self.simulated.body
        frames = self._frames(Base.NONE)
        # By its name: no transform leads from it to itself, and so none from anything above it.
        self._is_world = self._framed(frames.root) == self._world
        if not self._is_world:
            frames = self._frames(Base(settings["base"]))
        self._base = frames.base
        self._root = self._framed(frames.root)
        self._is_fixed = simulation.is_fixed(name)
        self._has_moving_root = not (self._is_fixed or self._is_world)
        if self._is_world:
            self._tell_world()
        sensors = {k: s for k, s in simulation.sensors.items() if s.body == name}
        self._joints = next((k for k, s in sensors.items() if isinstance(s, JointSensor)), "")
        framed = reversed(list(zip(body.devices, frames.data, strict=True)))
        data_frames = {d.name: frame for d, frame in framed}  # of equal names the first counts
        links = {self._framed(f): k for k, f in frames.links.items()} | {self._root: body.root.name}
        try:
            for key, sensor in sensors.items():
                self._add(key, sensor, self._framed(data_frames.get(sensor.name, "")))
            if not body.is_static:
                self._commands = commanding.open(simulation, name, naming, links)
        except (KeyError, WrongUseError):
            self.close()
            raise

    @property
    def topics(self) -> list[Topic]:
        """Everything that is published of it."""
        of_model = [] if self.model is None else self.model.topics
        own = (x.topic for found in self.outputs.values() for x in found.topics.values())
        return [*own, *of_model]

    def _frames(self, base: Base) -> BodyFrames:
        quiet = Diagnostics(listener=lambda _: None)
        return body_frames(self.simulated.body, quiet, FrameOptions(base=base))

    def _framed(self, name: str) -> str:
        return names.frame(name, self.naming.frame_prefix)

    def fixed_frames(self) -> list[FramePose]:
        """Return the frames that never move, but for those that a description has."""
        found = []
        if self._is_fixed and not self._is_world:
            found.append(self._root_pose())
        if self.model is None:
            found += [
                (
                    self._framed(x.parent),
                    self._framed(x.name),
                    x.pose.p.tolist(),  # compared with those before
                    matrix_quaternion(x.pose.R),
                )
                for x in self._base
            ]
        return found

    def _root_pose(self) -> FramePose:
        """Return where the topmost frame is; a base is where the root is."""
        motion = self.simulated.motion
        return self._world, self._root, motion.p[0].tolist(), matrix_quaternion(motion.R[0])

    def _moving_root(self) -> Sequence[FramePose]:
        """Return where the topmost frame is, if it moves."""
        return [self._root_pose()] if self._has_moving_root else []

    def _root_has_listener(self) -> bool:
        """Return whether anybody listens to the root's transform, unless it goes with the links."""
        is_with_links = (
            self.model is not None
            and self.model.moves
            and self._joints != ""
            and self._simulation.is_enabled(self._joints)
        )
        return not is_with_links and self._tf.has_subscribers()

    def describe(self, arguments: Sequence[str]) -> ModelNode:
        """Publish the description of the body and, from now on, the frames of its links.

        Args:
            arguments: Of the command line that its node shares; see ``shared_ros_arguments``.
        """
        overrides = [
            Parameter("frame_prefix", value=self.naming.frame_prefix),
            Parameter("base", value=(Base.LINK if self._base else Base.NONE).value),
            Parameter("use_sim_time", value=True),
        ]
        if self._commanding.hardware and self.simulated.body.moving_links:
            # The description tells whose topics these are.
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
        """Let others switch what the body has."""
        if switches := {key: x.switch for key, x in self._devices.items() if x.switch}:
            topic = self.naming.qualified(names.DEVICES)
            self._switches = SwitchServices(
                self._node, runner, self._simulation, self.simulated.name, topic, switches
            )
            self._switches.show()
        if self._commands is not None:
            self._commands.serve(runner)

    def show_joints(self) -> None:
        """Let parameters say how its joints are driven now."""
        if self._commands is not None:
            self._commands.show_joints()

    def poll(self) -> None:
        """Tell how far what others asked for has come; called by the thread that steps."""
        if self._commands is not None:
            self._commands.poll()

    def show_switches(self) -> None:
        """Publish which of its sensors and lights are on, for one of them was switched."""
        if self._switches is not None:
            self._switches.show()

    @property
    def devices(self) -> Collection[str]:
        """Names of its sensors and lights in the simulation."""
        return self._devices.keys()

    def close(self) -> None:
        """End all of it."""
        if self._switches is not None:
            self._switches.close()
        if self._commands is not None:
            self._commands.close()
        for topic in self.topics:
            topic.close()  # those of the model too: the thread that steps may still publish there
        if self.model is not None:
            if self.model.executor is not None:
                self.model.executor.remove_node(self.model)
            self.model.destroy_node()

    def _tell_world(self) -> None:
        """Say once that no transform tells where the root is, and whether that is wrong."""
        motion, logger = self.simulated.motion, self._node.get_logger()
        what = f"the root of body '{self.simulated.name}' is the frame '{self._world}' by its name"
        stands_there = np.array_equal(motion.R[0], np.eye(3)) and not motion.p[0].any()
        if self._is_fixed and stands_there:
            logger.info(f"{what}, and stands there: it has no transform of its own")
            return
        logger.warning(
            f"{what}: no transform tells where it is; set world_frame or frame_prefix, so that "
            "their names differ"
        )

    def _add(self, key: str, sensor: Sensor, frame: str) -> None:
        """Publish the readings of a sensor, which are expressed in a frame."""
        kind, frames = kind_of(sensor), Frames(frame, self._world, self._root)
        filters = isinstance(sensor, Remembering) and bool(sensor.memory)
        found = SensorOutputs(sensor, filters and not kind.rests_unheard)
        self.outputs[key] = (
            found  # before it has topics: ``close`` ends those there are if one fails
        )
        topics = self._devices[key].of_sensor
        if isinstance(sensor, JointSensor) and self._commanding.hardware:
            topics = dict.fromkeys(topics, self.naming.topic(names.HARDWARE_STATES))
        found.open(self._node, topics, frames)
        if isinstance(sensor, OdometrySensor) and self._has_moving_root:
            transforms = make_converter(_ROOT_TRANSFORM, frames)
            found.outputs.append(TopicOutput(self._tf, transforms, self._root_has_listener))
