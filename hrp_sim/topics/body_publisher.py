"""Topics of one body: sensors, switches, and frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from operator import matmul

import numpy as np

from hrp_model import Diagnostics, Pose
from hrp_model.frames import Base, BodyFrames, FrameOptions, body_frames
from hrp_model.rigid import matrix_quaternion
from hrp_msgs import names
from hrp_msgs.convert.converter import Frames, make_converter
from hrp_msgs.convert.tf import FramePose
from hrp_msgs.topics.sensors import TopicOutput
from hrp_msgs.topics.topic import Topic, TopicMaker

from ..sensors import JointSensor, OdometrySensor, Sensor
from ..sensors.body_state import motion_of_fixed_frame
from ..sensors.kinds import kind_of
from ..simulation import Simulation
from ..world.naming import BodyNaming
from .device_topics import device_topics
from .link_frames import LinkFrames, LinkPublisher
from .options import PublishingOptions
from .sensor_outputs import SensorOutputs
from .switch_topic import SwitchTopic

_ROOT_TRANSFORM = "tf:RootTransformConverter"


class BodyPublisher:
    """Topics of one body.

    Args:
        topics: Creates the topics.
        simulation: The simulation with the body.
        name: Name of the body.
        naming: Naming of its topics and frames.
        tf: Topic for the transform of its root.
        options: Options of the topics.

    Attributes:
        simulated: The body.
        base: Massless links above the root, for its description; not AUTO.
        naming: As given.
        outputs: Outputs of each sensor, by its name in the simulation.
        links: Names of its links by the names of their frames.
        switches: Services that switch its devices, by the names of the devices in the simulation.
        tool_commands: Topics of commands to its holders and conveyors, likewise.

    Raises:
        KeyError: The body was deleted meanwhile.
        NameCollisionError: Two of its sensors would have the same topic.
        ValueError: A topic name or quality of service is invalid.
    """

    def __init__(
        self,
        topics: TopicMaker,
        simulation: Simulation,
        name: str,
        naming: BodyNaming,
        tf: Topic,
        options: PublishingOptions,
    ) -> None:
        self.simulated = simulation.bodies[name]
        self.naming = naming
        self.outputs: dict[str, SensorOutputs] = {}
        self._maker = topics
        self._simulation = simulation
        self._link_publisher: LinkPublisher | None = None
        self._switch_topic: SwitchTopic | None = None
        self._devices = device_topics(simulation, name, naming)
        self.switches = {key: x.switch for key, x in self._devices.items() if x.switch}
        self.tool_commands = {key: x.command for key, x in self._devices.items() if x.command}
        self._world = options.world_frame
        self._hardware = options.hardware_topics
        self._tf = tf
        body = self.simulated.body
        frames = self._frames(Base.NONE)
        # A root with the name of the world frame has no transform to it.
        self._is_world = self._frame_name(frames.root) == self._world
        self.base = Base.NONE if self._is_world else Base(options.base)
        if self.base is not Base.NONE:
            frames = self._frames(self.base)
        if self.base is Base.AUTO:
            self.base = Base.LINK if frames.base else Base.NONE
        self._base = frames.base
        self._root = self._frame_name(frames.root)
        self._X_LB = reduce(matmul, (x.pose for x in frames.base), Pose()).inverse()
        self._is_footprint = bool(self._X_LB.p.any() or (np.eye(3) != self._X_LB.R).any())
        self._is_fixed = simulation.is_fixed(name)
        self._has_moving_root = not (self._is_fixed or self._is_world)
        sensors = {k: s for k, s in simulation.sensors.items() if s.body == name}
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

    @property
    def topics(self) -> list[Topic]:
        """The topics of its sensors."""
        return [
            output.topic
            for found in self.outputs.values()
            for output in (*found.topics.values(), *found.compressed.values())
        ]

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
        motion = self.simulated.motion
        cause = (
            f"the root of body '{self.simulated.name}' has the name of the frame '{self._world}'"
        )
        is_at_origin = np.array_equal(motion.R[0], np.eye(3)) and not motion.p[0].any()
        if self._is_fixed and is_at_origin:
            inform(f"{cause} and coincides with it: its transform is not published")
            return
        warn(
            f"{cause}: its transform cannot be published; set world_frame or frame_prefix, so that "
            "the names differ"
        )

    def static_frames(self) -> list[FramePose]:
        """Return the static frames, except those of the description."""
        found = []
        if self._is_fixed and not self._is_world:
            found.append(self._root_pose())
        if self._link_publisher is None:
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

    def describe(self, links: LinkPublisher) -> None:
        """Publish the frames of the links after each step, as the body is described now."""
        self._link_publisher = links
        if self._joints:
            frames = LinkFrames(links, self._simulation, self._moving_root)
            self.outputs[self._joints].outputs.insert(0, frames)

    def serve(self) -> None:
        """Publish which sensors and lights are on; called when the run begins.

        Raises:
            ValueError: The name or the quality of service of the topic is invalid.
        """
        if self.switches and self._switch_topic is None:
            topic, body = self.naming.qualified(names.DEVICES), self.simulated.name
            self._switch_topic = SwitchTopic(
                self._maker, topic, self._simulation, body, self.switches
            )
        self.publish_switches()

    def publish_switches(self) -> None:
        """Publish which sensors and lights are on, after ``serve``."""
        if self._switch_topic is not None:
            self._switch_topic.publish()

    def close(self) -> None:
        """Close all topics."""
        if self._switch_topic is not None:
            self._switch_topic.close()
        for topic in self.topics:
            topic.close()

    def _frames(self, base: Base) -> BodyFrames:
        quiet = Diagnostics.silent()
        return body_frames(self.simulated.body, quiet, FrameOptions(base=base))

    def _frame_name(self, name: str) -> str:
        return names.frame(name, self.naming.frame_prefix)

    def _root_pose(self) -> FramePose:
        """Return the pose of the topmost frame."""
        motion = self.simulated.motion
        pose = Pose(motion.R[0], motion.p[0]) @ self._X_LB
        return self._world, self._root, pose.p.tolist(), matrix_quaternion(pose.R)

    def _moving_root(self) -> Sequence[FramePose]:
        """Return the pose of the topmost frame, if it moves."""
        return [self._root_pose()] if self._has_moving_root else []

    def _root_has_subscribers(self) -> bool:
        """Return whether to publish the root's transform, unless it is published with the links."""
        is_with_links = (
            self._link_publisher is not None
            and self._link_publisher.moves
            and self._joints != ""
            and self._simulation.is_enabled(self._joints)
        )
        return not is_with_links and self._tf.has_subscribers()

    def _add_sensor(self, key: str, sensor: Sensor, frame: str) -> None:
        """Create the outputs of a sensor with this data frame."""
        moved = partial(motion_of_fixed_frame, X_LB=self._X_LB) if self._is_footprint else None
        kind, frames = kind_of(sensor), Frames(frame, self._world, self._root, moved)
        filters = bool(sensor.memory)
        found = SensorOutputs(sensor, filters and not kind.skips_unsubscribed)
        self.outputs[key] = found  # early, so that ``close`` finds them if one fails
        topics = self._devices[key].of_sensor
        if isinstance(sensor, JointSensor) and self._hardware:
            topics = dict.fromkeys(topics, self.naming.topic(names.HARDWARE_STATES))
        found.open(self._maker, topics, frames)
        if isinstance(sensor, OdometrySensor) and self._has_moving_root:
            transforms = make_converter(_ROOT_TRANSFORM, frames)
            found.outputs.append(TopicOutput(self._tf, transforms, self._root_has_subscribers))
