"""Topics of one body: sensors, switches, description and frames."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial, reduce
from operator import matmul
from typing import Any

import numpy as np

from hrp_model import Diagnostics, Pose
from hrp_model.description.description import Description, DescriptionOptions, describe
from hrp_model.description.frame_tree import FrameTree
from hrp_model.description.publisher import MAX_FREQUENCY
from hrp_model.files.writer import mesh_folder
from hrp_model.frames import Base, BodyFrames, Frame, FrameOptions, body_frames
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, matrix_quaternion
from hrp_msgs import names, qos
from hrp_msgs.convert.basic import diagnostic_status
from hrp_msgs.convert.converter import Frames, make_converter
from hrp_msgs.convert.tf import FramePose, MovingFrames
from hrp_msgs.messages import DiagnosticStatus, Message, String
from hrp_msgs.names import STANDARD
from hrp_msgs.qos import Qos
from hrp_msgs.readings import Reading
from hrp_msgs.topics.topic import Topic, TopicMaker, TopicOutput

from ..engine.schedule import NS_PER_S
from ..run.run import Run
from ..sensors import JointReading, JointSensor, OdometrySensor, Sensor, WheelOdometrySensor
from ..sensors.body_state import motion_of_fixed_frame
from ..sensors.kinds import AnyTopic, kind_of
from ..sensors.settings import TRUTH, WHEELS
from ..simulation import Simulation
from ..world.naming import BodyNaming, is_robot
from .devices import InitialPose, SensorOutputs, device_topics


@dataclass(frozen=True)
class TopicOptions:
    """Options of the topics of a world, most of them parameters of ``sim_node`` of the same names.

    Attributes:
        frame_prefix: Prefix of all TF frame names.
        base: Massless links above the root of each body, a value of ``Base``.
        naming: Naming of the topics, a key of ``hrp_msgs.names.NAMINGS``.
        world_frame: Name of the world frame.
        odom_frame: Frame of the odometry, above the topmost frame of each robot, with its prefix;
            empty for none, but "odom" if a robot follows its wheels.
        odom_topic: Topic of the odometry that a robot follows, in its namespace; empty for none
            besides ``ground_truth/odom``, but "odom" if it follows its wheels.
        initial_pose_topic: Topic of the true pose of each robot at the start and after resets, for
            localization; empty for none.
        clock_rate: Maximum rate of /clock in simulation time, in [Hz].
        contact_rate: Likewise of contacts and contacts/markers; 0 means that neither is published.
        contact_scale: Length of the arrow of a force, in [m/N].
        planning_scene_rate: Maximum rate of planning_scene, in [Hz]; 0 means that it is not
            published.
        hardware_topics: Whether ros2_control reads and commands the joints.
        lock_step: Command topics that the run waits for.
        description: Options of the descriptions of the bodies; None without descriptions.
        publish_tf: Whether the frames of described links are published, too.
        publish_frequency: Maximum rate of the frames of links in simulation time, in [Hz]; 0 means
            at each joint reading.
    """

    frame_prefix: str = ""
    base: str = "auto"
    naming: str = STANDARD
    world_frame: str = "world"
    odom_frame: str = ""
    odom_topic: str = ""
    initial_pose_topic: str = ""
    clock_rate: float = 250.0
    contact_rate: float = 0.0
    contact_scale: float = 0.001
    planning_scene_rate: float = 0.0
    hardware_topics: bool = False
    lock_step: str = ""
    description: DescriptionOptions | None = None
    publish_tf: bool = True
    publish_frequency: float = MAX_FREQUENCY

    @staticmethod
    def from_parameters(settings: Mapping[str, Any]) -> TopicOptions:
        """Return the options that the parameters of ``sim_node`` select."""
        own = {f.name: settings[f.name] for f in fields(TopicOptions) if f.name in settings}
        described = DescriptionOptions.from_parameters(settings) if settings["describe"] else None
        return TopicOptions(**own, description=described)


_AT_ORIGIN = [0.0, 0.0, 0.0], (0.0, 0.0, 0.0, 1.0)
_ROOT_TRANSFORM = "tf:RootTransformConverter"
_INITIAL_POSE = "tf:InitialPoseConverter"


class BodyTopics:
    """Topics of one body.

    Args:
        topics: Creates the topics.
        tf: Topic for the frames of its root and its links.
        options: Options of the topics.
        simulation: The simulation with the body.
        name: Name of the body.
        naming: Naming of its topics and frames.

    Attributes:
        simulated: The body.
        base: Massless links above the root, for its description; not AUTO.
        naming: As given.
        outputs: Outputs of each sensor, by its name in the simulation.
        links: Names of its links by the names of their frames.
        switches: Services that switch its devices, by the names of the devices in the simulation.
        tool_commands: Topics of commands to its holders and conveyors, likewise.
        link_frames: Publishes the frames of its links; None without a description.
        after_step: Called after each step, before its readings are published.

    Raises:
        KeyError: The body was deleted meanwhile.
        NameCollisionError: Two of its sensors would have the same topic.
        ValueError: A topic name or quality of service is invalid.
    """

    def __init__(
        self,
        topics: TopicMaker,
        tf: Topic,
        options: TopicOptions,
        simulation: Simulation,
        name: str,
        naming: BodyNaming,
    ) -> None:
        self.simulated = simulation.bodies[name]
        self.naming = naming
        self.outputs: dict[str, SensorOutputs] = {}
        self.link_frames: LinkFrames | None = None
        self.after_step: list[Callable[[], None]] = []
        self._maker, self._tf, self._options = topics, tf, options
        self._simulation = simulation
        self._own_topics: list[Topic] = []  # besides those of sensors
        self._switch_topic: Topic | None = None
        self._initial_pose: InitialPose | None = None
        self._publishing_switches = threading.Lock()
        self._devices = device_topics(simulation, name, naming)
        self.switches = {key: x.switch for key, x in self._devices.items() if x.switch}
        self.tool_commands = {key: x.command for key, x in self._devices.items() if x.command}
        body = self.simulated.body
        sensors = {k: s for k, s in simulation.sensors.items() if s.body == name}
        followed = [s.followed for s in sensors.values() if isinstance(s, OdometrySensor)]
        # Nothing localizes a robot in a recording without ROS, so its frame is true there.
        is_localized = topics.unrecorded is not None
        self._followed = followed[0] if followed and is_localized else TRUTH
        frames = self._set_frames(simulation.is_fixed(name))
        self._joints = next((k for k, s in sensors.items() if isinstance(s, JointSensor)), "")
        framed = reversed(list(zip(body.devices, frames.data, strict=True)))
        data_frames = {d.name: frame for d, frame in framed}  # the first of equal names
        # A footprint is elsewhere than the root.
        self.links = {self._frame_name(f): k for k, f in frames.links.items()} | {
            self._frame_name(x.parent): body.root.name for x in frames.base[self._is_footprint :]
        }
        try:
            for key, sensor in sensors.items():
                self._add_sensor(key, sensor, self._frame_name(data_frames.get(sensor.name, "")))
        except (KeyError, ValueError):
            self.close()
            raise

    def _set_frames(self, is_fixed: bool) -> BodyFrames:
        """Choose the frames above the root; return the names of all frames."""
        world = self._options.world_frame
        frames = self._frames(Base.NONE)
        # A root with the name of the world frame has no transform to it.
        self._is_world = self._frame_name(frames.root) == world
        self.base = Base.NONE if self._is_world else Base(self._options.base)
        if self.base is not Base.NONE:
            frames = self._frames(self.base)
        if self.base is Base.AUTO:
            self.base = Base.LINK if frames.base else Base.NONE
        self._fixed_frames = self._frame_poses(frames.base)
        self._root = self._frame_name(frames.root)
        self._X_LB = reduce(matmul, (x.pose for x in frames.base), Pose()).inverse()
        self._is_footprint = bool(self._X_LB.p.any() or (np.eye(3) != self._X_LB.R).any())
        self._is_fixed = is_fixed
        self._has_moving_root = not (is_fixed or self._is_world)
        self._odom = self._frame_name(self._options.odom_frame or "odom")
        has_odom = bool(self._options.odom_frame) or self._followed == WHEELS
        has_odom &= self._has_moving_root and is_robot(self.simulated.body)
        self._parent = self._odom if has_odom else world
        return frames

    @property
    def topics(self) -> list[Topic]:
        """Topics of its sensors and its description."""
        of_sensors = [
            output.topic
            for found in self.outputs.values()
            for output in (*found.topics.values(), *found.compressed.values())
        ]
        return [*of_sensors, *self._own_topics]

    @property
    def devices(self) -> Collection[str]:
        """Names of the sensors and lights in the simulation."""
        return self._devices.keys()

    def report_root(self, inform: Callable[[str], object], warn: Callable[[str], object]) -> None:
        """Report if the root has no transform, as it has the name of the world frame.

        Args:
            inform: Called with the message if the root coincides with the world frame.
            warn: Called with the message otherwise.
        """
        if not self._is_world:
            return
        motion, world = self.simulated.motion, self._options.world_frame
        cause = f"the root of body '{self.simulated.name}' has the name of the frame '{world}'"
        is_at_origin = np.array_equal(motion.R[0], np.eye(3)) and not motion.p[0].any()
        if self._is_fixed and is_at_origin:
            inform(f"{cause} and coincides with it: its transform is not published")
            return
        warn(
            f"{cause}: its transform cannot be published; set world_frame or frame_prefix, so that "
            "the names differ"
        )

    def describe(self, diagnostics: Diagnostics) -> Description:
        """Publish the description, latched, and from now on the frames of the links.

        Args:
            diagnostics: Receives the warnings of the conversion to URDF.

        Raises:
            MissingLibraryError: A library for the selected collision shapes is not installed.
            OSError: The meshes cannot be written.
            ValueError: A topic name or quality of service is invalid.
        """
        body, options = self.simulated.body, self._options.description
        assert options is not None
        options = options.with_frames(FrameOptions(base=self.base))
        if self._options.hardware_topics and body.moving_links:
            # The description identifies the body of these topics.
            q = self.simulated.motion.q.tolist()
            moving = [link.name for link in body.moving_links]
            options = options.with_hardware_topics(dict(zip(moving, q, strict=True)))
        description = describe(body, options, mesh_folder(), diagnostics)
        self._publish_text(names.ROBOT_DESCRIPTION, description.urdf)
        if description.srdf:
            self._publish_text(names.ROBOT_DESCRIPTION_SEMANTIC, description.srdf)
        tree = description.tree
        self._fixed_frames = self._frame_poses(tree.fixed) if self._options.publish_tf else []
        sensor = self._simulation.sensors.get(self._joints)
        if self._options.publish_tf and isinstance(sensor, JointSensor):
            links = LinkFrames(self._tf, self._simulation, sensor, tree, self._frame_name)
            links.above = self._moving_root
            links.set_frequency(self._options.publish_frequency)
            if links.joints:
                self.outputs[self._joints].outputs.insert(0, links)
                self.link_frames = links
        return description

    def static_frames(self) -> list[FramePose]:
        """Return the static frames."""
        above: list[FramePose] = []
        if self._is_fixed and not self._is_world:
            above = [self._root_pose()]
        elif self._followed == TRUTH and self._parent != self._options.world_frame:
            above = [(self._options.world_frame, self._parent, *_AT_ORIGIN)]
        return [*above, *self._fixed_frames]

    def serve(self, run: Run) -> None:  # noqa: ARG002
        """Publish which sensors and lights are on; called when the run begins.

        Raises:
            ValueError: The name or the quality of service of the topic is invalid.
        """
        if self.switches and self._switch_topic is None:
            topic = self.naming.qualified(names.DEVICES)
            self._switch_topic = self._maker.create(DiagnosticStatus, topic, qos.LATCHED)
        self.publish_switches()

    def restart(self) -> None:
        """Publish where a robot is, for localization; called after a reset."""
        if self._initial_pose is not None:
            self._initial_pose.restart()

    def publish_switches(self) -> None:
        """Publish which sensors and lights are on, after ``serve``; callable from any thread."""
        if self._switch_topic is None:
            return
        simulation, body = self._simulation, self.simulated.name
        states: dict[str, str] = {}
        with self._publishing_switches:  # so that the newest states are published last
            for key in self.switches:
                with suppress(KeyError):  # its body was just deleted
                    state = "on" if simulation.is_enabled(key) else "off"
                    states[simulation.devices[key].name] = state
            count = sum(1 for state in states.values() if state == "on")
            message = f"{count} of {len(states)} devices are on"
            status = diagnostic_status("ok", f"{body}: devices", message, states, body)
            self._switch_topic.publish(status)

    def close(self) -> None:
        """Close all topics."""
        if self._switch_topic is not None:
            self._switch_topic.close()
        for topic in self.topics:
            topic.close()

    def _publish_text(self, name: str, text: str) -> None:
        topic = self._create(String, name, qos.LATCHED)
        topic.publish(String(data=text))

    def _create(self, message_type: type[Message], name: str, quality: Qos) -> Topic:
        """Create a topic of the body itself."""
        topic = self._maker.create(message_type, self.naming.qualified(name), quality)
        self._own_topics.append(topic)
        return topic

    def _frames(self, base: Base) -> BodyFrames:
        quiet = Diagnostics.silent()
        return body_frames(self.simulated.body, quiet, FrameOptions(base=base))

    def _frame_name(self, name: str) -> str:
        return names.frame(name, self.naming.frame_prefix)

    def _frame_poses(self, frames: Iterable[Frame]) -> list[FramePose]:
        """Return frames with prefixes; positions as lists, to be compared with ==."""
        name = self._frame_name
        return [
            (name(x.parent), name(x.name), x.pose.p.tolist(), matrix_quaternion(x.pose.R))
            for x in frames
        ]

    def _root_pose(self) -> FramePose:
        """Return the pose of the topmost frame."""
        motion = self.simulated.motion
        pose = Pose(motion.R[0], motion.p[0])
        if self._is_footprint:
            pose = pose @ self._X_LB
        return self._parent, self._root, pose.p.tolist(), matrix_quaternion(pose.R)

    def _moving_root(self) -> Sequence[FramePose]:
        """Return the pose of the topmost frame, if it moves and is the true one."""
        is_shown = self._has_moving_root and self._followed == TRUTH
        return [self._root_pose()] if is_shown else []

    def _root_has_subscribers(self) -> bool:
        """Return whether to publish the root's transform, unless it is published with the links."""
        has_links = self.link_frames is not None and self._simulation.is_enabled(self._joints)
        is_with_links = has_links and self._followed == TRUTH
        return not is_with_links and self._tf.has_subscribers()

    def _add_sensor(self, key: str, sensor: Sensor, frame: str) -> None:
        """Create the outputs of a sensor with this data frame."""
        moved = partial(motion_of_fixed_frame, X_LB=self._X_LB) if self._is_footprint else None
        kind = kind_of(sensor)
        is_wheels = isinstance(sensor, WheelOdometrySensor)
        world = self._odom if is_wheels else self._options.world_frame
        frames = Frames(frame, world, self._root, moved, self._limits_of(sensor))
        filters = bool(sensor.memory)
        found = SensorOutputs(sensor, filters and not kind.skips_unsubscribed)
        self.outputs[key] = found  # early, so that ``close`` finds them if one fails
        topics = self._devices[key].of_sensor
        if isinstance(sensor, JointSensor) and self._options.hardware_topics:
            topics = dict.fromkeys(topics, self.naming.topic(names.HARDWARE_STATES))
        elif is_wheels and self._options.odom_topic:
            topics = dict.fromkeys(topics, self._odom_topic)
        found.open(self._maker, topics, frames)
        if isinstance(sensor, OdometrySensor):
            self._add_initial_pose(found, frames)
        measured = {OdometrySensor: TRUTH, WheelOdometrySensor: WHEELS}.get(type(sensor))
        if measured == self._followed:
            self._add_odometry(found, frames._replace(world=self._parent), topics)

    def _add_initial_pose(self, found: SensorOutputs, frames: Frames) -> None:
        name = self._options.initial_pose_topic
        if name and self._has_moving_root and is_robot(self.simulated.body):
            converter = make_converter(_INITIAL_POSE, frames)
            topic = self._create(converter.message_type, name, qos.COMMAND)
            self._initial_pose = InitialPose(topic, converter)
            found.outputs.append(self._initial_pose)
            self.after_step.append(self._initial_pose.send)

    def _add_odometry(
        self, found: SensorOutputs, frames: Frames, topics: Mapping[AnyTopic, str]
    ) -> None:
        """Add what the topmost frame follows: its transform, and a topic beside the true motion."""
        has_topic = bool(self._options.odom_topic) and is_robot(self.simulated.body)
        if has_topic and self._odom_topic not in topics.values():
            copies = {replace(spec): self._odom_topic for spec in topics}  # other keys
            found.open(self._maker, copies, frames)
        if self._has_moving_root:
            transforms = make_converter(_ROOT_TRANSFORM, frames)
            found.outputs.append(TopicOutput(self._tf, transforms, self._root_has_subscribers))

    @property
    def _odom_topic(self) -> str:
        return self.naming.qualified(self._options.odom_topic)

    def _limits_of(self, sensor: Sensor) -> Array | None:
        """Return the position limits that the physics enforces, shape (2, joints)."""
        if not isinstance(sensor, JointSensor) or not self._simulation.engine.settings.joint_limits:
            return None
        links = self.simulated.body.jointed_links
        return np.array([link.joint.position_limits for link in links]).T


class LinkFrames:
    """Publishes the frames of links on ``/tf`` from joint readings; see ``Output``.

    Args:
        topic: Topic of the frames.
        simulation: The simulation.
        sensor: Its readings have the positions of all joints.
        tree: The frames.
        frame_name: Returns the name of a frame with its prefix.

    Attributes:
        joints: The joints that move frames.
        above: Returns frames to publish in the same message, such as the root's.
    """

    def __init__(
        self,
        topic: Topic,
        simulation: Simulation,
        sensor: JointSensor,
        tree: FrameTree,
        frame_name: Callable[[str], str],
    ) -> None:
        self.joints = tuple(name for name in sensor.joints if name in tree.moving)
        self.above: Callable[[], Sequence[FramePose]] = list
        self._columns = [i for i, name in enumerate(sensor.joints) if name in tree.moving]
        self._topic = topic
        self._simulation = simulation
        self._mover = tree.mover(self.joints)
        self._names = tuple((frame_name(a), frame_name(b)) for a, b in self._mover.names)
        self._frames = MovingFrames()
        self._period_ns, self._last_ns = 0, -1

    def set_frequency(self, frequency: float) -> None:
        """Set the maximum rate of the frames, in [Hz]; 0 means that of the readings."""
        self._period_ns = round(NS_PER_S / frequency) if frequency > 0.0 else 0

    def has_subscribers(self) -> bool:
        """Return whether frames of the present time would be published."""
        return self._is_due(self._simulation.state.time_ns) and self._topic.has_subscribers()

    def publish(self, reading: Reading) -> None:
        """Publish the frames of the links, if they are due."""
        time_ns = reading.time_ns
        if self._is_due(time_ns) and self._topic.has_subscribers():
            self._last_ns = time_ns
            self._publish(reading)

    def repeat(self, reading: Reading) -> None:
        """Publish the frames of the links, whatever the rate."""
        if self._topic.has_subscribers():
            self._publish(reading)

    def _publish(self, reading: Reading) -> None:
        assert isinstance(reading, JointReading)
        poses = self._mover.moved(reading.position[self._columns].tolist())
        pairs, above = self._names, self.above()
        if above:
            pairs = (*((parent, name) for parent, name, _, _ in above), *pairs)
            poses = np.concatenate([[[*p, *xyzw] for _, _, p, xyzw in above], poses])
        self._topic.publish(self._frames.message(reading.time_ns, pairs, poses))

    def _is_due(self, time_ns: int) -> bool:
        """Return whether a period has begun since the last frames, or time was reset."""
        last_ns, period_ns = self._last_ns, self._period_ns
        is_same = period_ns and 0 <= last_ns <= time_ns
        return not (is_same and last_ns // period_ns == time_ns // period_ns)
