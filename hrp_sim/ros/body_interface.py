"""What ROS 2 sees of one body: what its sensors read, its switches, its commands, its model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from hrp_model import Diagnostics
from hrp_model.frames import Base, BodyFrames, FrameOptions, body_frames
from hrp_model.rigid import matrix_quaternion
from hrp_model.ros.model_node import ModelNode
from hrp_msgs import names
from hrp_msgs.node import qos
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics import sensors as outputs
from hrp_msgs.topics.robot import FramePose
from hrp_msgs.topics.topic import Topic

from ..running.runner import Runner
from ..sensors import (
    CameraSensor,
    ForceSensor,
    ImuSensor,
    JointSensor,
    OdometrySensor,
    RangeSensor,
    RangeSensor3D,
    Remembering,
    Sensor,
)
from ..simulation import Simulation
from ..world.naming import BodyNaming
from .command_interface import Commanding, CommandPort
from .model_interface import SimulatedModelNode
from .run_services import SwitchServices
from .topics import DeviceTopics, device_topics, message_size

# A new sensor is one entry here. Odometry and cameras say more than one message.
ROUTES: dict[type, outputs.Route] = {
    JointSensor: outputs.JOINTS,
    ImuSensor: outputs.IMU,
    ForceSensor: outputs.WRENCH,
    RangeSensor: outputs.SCAN,
    RangeSensor3D: outputs.POINTS,
}
# These remember too, but cost much, and begin anew where they find that time has passed.
_PAUSING = RangeSensor, RangeSensor3D, CameraSensor


class BodyFace:
    """The topics and services of one body, from when it appears to when it goes.

    Args:
        node: Whose topics and services they are.
        simulation: The world that the body is in.
        name: Of the body.
        naming: Where its topics and frames live.
        tf: Where it is told how its root moves.
        settings: Values of the node's parameters ``base`` and ``world_frame``.
        commanding: By which others command it.

    Attributes:
        simulated: The body.
        naming: As given.
        outputs: One of ``hrp_msgs.topics.sensors`` for each sensor, by its name in the simulation.
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
        self.outputs: dict[str, Any] = {}
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
        if self._is_world:
            self._tell_world()
        self._sensors = {k: s for k, s in simulation.sensors.items() if s.body == name}
        self._joints = ""  # the joint sensor
        self._remembering: set[str] = set()
        framed = reversed(list(zip(body.devices, frames.data, strict=True)))
        data_frames = {d.name: frame for d, frame in framed}  # of equal names the first counts
        links = {self._framed(f): k for k, f in frames.links.items()} | {self._root: body.root.name}
        try:
            for key, sensor in self._sensors.items():
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
        return [*(t for output in self.outputs.values() for t in output.topics), *of_model]

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

    def _tf_of_root(self) -> Topic | None:
        """Return the topic of the root's transform alone; None if it goes with the links."""
        if self._is_fixed or self._is_world:
            return None
        is_with_links = (
            self.model is not None
            and self.model.moves
            and self._joints != ""
            and self._simulation.is_enabled(self._joints)
        )
        return None if is_with_links else self._tf

    def describe(self, arguments: Sequence[str]) -> ModelNode:
        """Publish the description of the body and, from now on, the frames of its links.

        Args:
            arguments: Of the command line that its node shares; see ``shared_arguments``.
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
            namespace=self.naming.below(self._node.get_namespace()),
            parameter_overrides=overrides,
            context=self._node.context,
            cli_args=list(arguments),
            use_global_arguments=False,
        )
        self.model.start(self.simulated.body)
        return self.model

    def shows(self, name: str, sensor: Sensor) -> bool:
        """Tell whether this is what a sensor of this name reads, and not one of another body."""
        return self._sensors.get(name) is sensor

    def is_wanted(self, sensor: str, time_ns: int) -> bool:
        """Tell whether a sensor of the body should be read at a time in [ns].

        What filters goes on without listeners, so that these do not change what it tells.
        """
        if sensor in self._remembering or self.outputs[sensor].is_wanted():
            return True
        return sensor == self._joints and self.model is not None and self.model.is_due(time_ns)

    def publish(self, sensor: str, reading: Any) -> None:
        """Publish a reading, and where joints have moved the links of a body with a model."""
        model = self.model
        if sensor == self._joints and model is not None and model.is_due(reading.time_ns):
            is_moving = not (self._is_fixed or self._is_world)
            root = [self._root_pose()] if is_moving else []
            model.move(reading.time_ns, reading.names, reading.position.tolist(), root)
        self.outputs[sensor].publish(reading)

    def serve(self, runner: Runner) -> None:
        """Let others switch what the body has."""
        if switches := {key: x.switch for key, x in self._devices.items() if x.switch}:
            topic = self.naming.place(names.DEVICES)
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
        """Publish what a sensor reads, told in a frame."""
        self.outputs[key] = self._output(sensor, self._devices[key], frame)
        if isinstance(sensor, JointSensor):
            self._joints = key
        if not isinstance(sensor, _PAUSING) and isinstance(sensor, Remembering):
            self._remembering |= {key} if sensor.memory else set()

    def _output(self, sensor: Sensor, topics: DeviceTopics, frame: str) -> Any:
        profile = qos.sensor(sensor.rate_hz, message_size(sensor))
        if isinstance(sensor, OdometrySensor):
            return outputs.OdometryOutput(
                self._node, topics.data[0], self._world, self._root, self._tf_of_root, profile
            )
        if isinstance(sensor, CameraSensor):
            return outputs.CameraOutput(self._node, frame, topics.data, topics.depth)
        topic = topics.data[0]
        if isinstance(sensor, JointSensor) and self._commanding.hardware:
            topic = self.naming.topic(names.HARDWARE_STATES)
        if isinstance(sensor, RangeSensor3D):
            profile = qos.IMAGE
        return outputs.SensorOutput(self._node, ROUTES[type(sensor)], topic, frame, profile)
