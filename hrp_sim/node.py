"""The ROS 2 face of a Simulation: publishes what it reads, and hands it commands.

Published: what the sensors of each robot read (topics in ``hrp_msgs.names``), ``/clock``,
``ground_truth/odom``, and on ``/tf`` and ``/tf_static`` where the roots of the bodies are.
Subscribed: ``joint_commands`` of each robot. Parameters: ``hrp_msgs.params.SIM_NODE``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import rclpy
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, Imu, JointState, LaserScan
from tf2_msgs.msg import TFMessage

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.frames import body_frames
from hrp_model.node import ModelNode, logged_diagnostics
from hrp_model.rigid import matrix_quaternion
from hrp_msgs import names, qos
from hrp_msgs.clock import clock
from hrp_msgs.image import ImageBuffer, camera_info
from hrp_msgs.imu import imu
from hrp_msgs.joint_command import joint_command
from hrp_msgs.joint_state import joint_state
from hrp_msgs.laser_scan import laser_scan
from hrp_msgs.names import NameCollisionError
from hrp_msgs.odometry import odometry
from hrp_msgs.params import SIM_NODE, declare
from hrp_msgs.start import WrongUseError, init_ros
from hrp_msgs.tf import tf_message, transform
from hrp_msgs.topic import Topic
from hrp_msgs.wrench import wrench

from .control import JointCommand
from .darkroom import Darkroom
from .engine import PhysicsError, Solver
from .engines import make_engine
from .load import load_world
from .naming import name_bodies
from .runner import Runner, StopSignals
from .schedule import SampleClock
from .sensors import (
    CameraSensor,
    Exposure,
    ForceSensor,
    ImageReading,
    ImuSensor,
    JointSensor,
    OdometryReading,
    OdometrySensor,
    RangeSensor,
    ScanReading,
)
from .simulation import Simulation
from .state import SimulatedBody


@dataclass(frozen=True)
class Route:
    """How the readings of one kind of sensor become messages.

    Attributes:
        message: Class of the message.
        topic: Topic from the sensor's token and whether it is the only one of its kind.
        convert: Fills a message with a reading in the frame of this name, and returns it.
        lazy: Whether the sensor is only read when somebody listens.
    """

    message: Any
    topic: Callable[[str, bool], str]
    convert: Callable[[Any, str, Any], Any]
    lazy: bool = False


def _scan_settings(r: ScanReading) -> dict[str, float]:
    keys = ("angle_min", "angle_increment", "scan_time", "range_min", "range_max")
    return {key: getattr(r, key) for key in keys}


# A new sensor is one entry here. Odometry and cameras say more than one message.
ROUTES: dict[type, Route] = {
    JointSensor: Route(
        JointState,
        lambda _token, _alone: names.JOINT_STATES,
        lambda r, _frame, m: joint_state(r.time_ns, r.names, r.position, r.velocity, r.effort, m),
    ),
    ImuSensor: Route(
        Imu,
        lambda token, alone: names.imu_topic(token, only_one=alone),
        lambda r, frame, m: imu(r.time_ns, frame, r.angular_velocity, r.linear_acceleration, m),
    ),
    ForceSensor: Route(
        WrenchStamped,
        lambda token, _alone: names.wrench_topic(token),
        lambda r, frame, m: wrench(r.time_ns, frame, r.force, r.torque, m),
    ),
    RangeSensor: Route(
        LaserScan,
        lambda token, alone: names.scan_topic(token, only_one=alone),
        lambda r, frame, _m: laser_scan(r.time_ns, frame, r.ranges, **_scan_settings(r)),
        lazy=True,
    ),
}


class SensorOutput:
    """The topic of one sensor, and the message that is filled anew for each reading."""

    def __init__(self, node: Node, route: Route, topic: str, frame: str) -> None:
        self.topics = [Topic(node, route.message, topic, qos.SENSOR)]
        self._route = route
        self._frame = frame
        self._message = route.message()

    def is_wanted(self) -> bool:
        """Tell whether the sensor should be read."""
        return not self._route.lazy or self.topics[0].has_listener()

    def publish(self, reading: Any) -> None:
        """Publish a reading."""
        self.topics[0].publish(self._route.convert(reading, self._frame, self._message))


class OdometryOutput:
    """The true motion of a root, as odometry and, unless it is latched elsewhere, on /tf."""

    def __init__(self, node: Node, topic: str, world: str, root: str, tf: Topic | None) -> None:
        self.topics = [Topic(node, Odometry, topic, qos.SENSOR)]
        self._frames = world, root
        self._tf = tf
        self._message = Odometry()

    def is_wanted(self) -> bool:
        """Tell that it is always read."""
        return True

    def publish(self, r: OdometryReading) -> None:
        """Publish where the root is."""
        pose, twist = (r.position, r.orientation), (r.linear_velocity, r.angular_velocity)
        msg = odometry(r.time_ns, *self._frames, *pose, *twist, self._message)
        self.topics[0].publish(msg)
        if self._tf is not None:
            self._tf.publish(tf_message([transform(r.time_ns, *self._frames, *pose)]))


class CameraOutput:
    """The topics of one camera: image and camera_info, with one stamp."""

    def __init__(self, node: Node, topics: tuple[str, str], frame: str) -> None:
        kinds = zip((Image, CameraInfo), topics, strict=True)
        self.topics = [Topic(node, message, topic, qos.SENSOR) for message, topic in kinds]
        self._buffer = ImageBuffer()
        self._frame = frame

    def is_wanted(self) -> bool:
        """Tell whether the camera should take pictures."""
        return any(topic.has_listener() for topic in self.topics)

    def publish(self, r: ImageReading) -> None:
        """Publish a picture."""
        image, info = self.topics
        image.publish(self._buffer.image(r.time_ns, self._frame, r.pixels))
        height, width = r.pixels.shape[:2]
        info.publish(camera_info(r.time_ns, self._frame, width, height, r.field_of_view))


class SimNode(Node):
    """Publishes a simulation. Whoever steps it calls ``publish`` after every step."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__("sim_node", **node_options)
        self.settings = declare(self, SIM_NODE)
        self._outputs: dict[str, Any] = {}  # one of the classes above for each sensor
        self._simulation: Simulation | None = None

    def load(self) -> Simulation:
        """Make the simulation that the parameters ask for.

        Raises:
            ModelError: The world or a model in it cannot be used.
            PhysicsError: The physics cannot take a body.
            WrongUseError: A parameter makes no sense.
        """
        world, solver, seed = (self.settings[key] for key in ("world", "solver", "seed"))
        if not world:
            raise WrongUseError("no world is named; start with: --ros-args -p world:=FILE")
        config = load_world(world, logged_diagnostics(self)).with_physics(
            solver=Solver(solver) if solver else None, seed=seed if seed >= 0 else None
        )
        engine, log = make_engine(self.settings["engine"], config.physics), logged_diagnostics(self)
        return Simulation(config, engine=engine, defer_images=True, diagnostics=log)

    def start(self, simulation: Simulation) -> None:
        """Make the topics of a simulation, and publish what does not change.

        Raises:
            ModelError: Two names would become one topic.
        """
        self._simulation = simulation
        self._clock_topic = Topic(self, Clock, names.CLOCK, qos.CLOCK)
        self._tf = Topic(self, TFMessage, names.TF, qos.TF)
        self._tf_static = Topic(self, TFMessage, names.TF_STATIC, qos.TF_STATIC)
        self._clock_ticks = SampleClock(self.settings["clock_rate"])
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        try:
            tokens = names.topic_tokens(bodies)
            self.naming = name_bodies(bodies, self.settings["frame_prefix"], tokens)
            fixed_roots = [self._start_body(s) for s in simulation.bodies.values()]
        except NameCollisionError as error:
            problem = Diagnostic(Severity.ERROR, "name-collision", str(error))
            raise ModelError([problem]) from None
        self._tf_static.publish(tf_message(root for root in fixed_roots if root))
        cameras = {k: s for k, s in simulation.sensors.items() if isinstance(s, CameraSensor)}
        self._darkroom = Darkroom(cameras, lambda name, image: self._outputs[name].publish(image))
        simulation.wanted = lambda name: self._outputs[name].is_wanted()

    @property
    def topics(self) -> list[Topic]:
        """Everything that is published."""
        own = [self._clock_topic, self._tf, self._tf_static]
        return own + [topic for output in self._outputs.values() for topic in output.topics]

    def publish(self, time_ns: int, readings: Mapping[str, Any]) -> None:
        """Publish the readings of one step, and the clock when it is due."""
        if self._clock_ticks.is_due(time_ns):
            self._clock_topic.publish(clock(time_ns))
        for name, reading in readings.items():
            if isinstance(reading, Exposure):
                self._darkroom.submit(name, reading)
            else:
                self._outputs[name].publish(reading)

    def close(self) -> None:
        """End the drawing of images and the simulation, then the node."""
        if self._simulation is not None:
            self._darkroom.close()
            self._simulation.close()
        self.destroy_node()

    def _start_body(self, simulated: SimulatedBody) -> Any:
        """Make the topics of a body; return the transform of its root if that is fixed."""
        assert self._simulation is not None
        name, body = simulated.name, simulated.body
        naming, world = self.naming[name], self.settings["world_frame"]
        frames = body_frames(body, Diagnostics(listener=lambda _: None))
        root = names.frame(frames.links[body.root.name], naming.frame_prefix)
        devices = reversed(list(zip(body.devices, frames.data, strict=True)))
        data_frames = {d.name: frame for d, frame in devices}  # of equal names the first counts
        sensors = {k: s for k, s in self._simulation.sensors.items() if s.body == name}
        tokens = names.topic_tokens(s.name for s in sensors.values())
        is_fixed = self._simulation.is_fixed(name)
        for key, sensor in sensors.items():
            token = tokens[sensor.name]
            frame = names.frame(data_frames.get(sensor.name, ""), naming.frame_prefix)
            if isinstance(sensor, OdometrySensor):
                topic, tf = naming.topic(names.ODOMETRY), None if is_fixed else self._tf
                self._outputs[key] = OdometryOutput(self, topic, world, root, tf)
            elif isinstance(sensor, CameraSensor):
                image, info = map(naming.topic, names.image_topics(token))
                self._outputs[key] = CameraOutput(self, (image, info), frame)
            else:
                route = ROUTES[type(sensor)]
                alone = sum(type(s) is type(sensor) for s in sensors.values()) == 1
                topic = naming.topic(route.topic(token, alone))
                self._outputs[key] = SensorOutput(self, route, topic, frame)
        if not body.is_static:
            self._listen(name, naming.topic(names.JOINT_COMMANDS))
        if not is_fixed:
            return None
        p, R = simulated.motion.p[0], simulated.motion.R[0]
        return transform(0, world, root, p, matrix_quaternion(R))

    def _listen(self, body: str, topic: str) -> None:
        simulation = self._simulation
        assert simulation is not None

        def take(msg: JointState) -> None:
            simulation.command(body, JointCommand(*joint_command(msg)))

        self.create_subscription(JointState, topic, take, qos.COMMAND)


class RosSession:
    """A simulation with ROS 2 around it: nodes, and a thread that serves them.

    Args:
        parameters: Overrides of ``SIM_NODE``; what is not given may come from the command line.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        ParameterException, WrongUseError: A parameter cannot be used.
        OSError: The meshes of a description cannot be written.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        init_ros(signal_handler_options=SignalHandlerOptions.NO)
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self._models: list[ModelNode] = []
        self._followers: dict[str, ModelNode] = {}  # by the name of the joint sensor that tells
        self._executor = SingleThreadedExecutor()
        self._thread = threading.Thread(target=self._serve, name="executor", daemon=True)
        try:
            self.node = SimNode(parameter_overrides=overrides)
            self.simulation = self.node.load()
            self.node.start(self.simulation)
            if self.node.settings["describe"]:
                self._describe_bodies()
        except BaseException:
            rclpy.try_shutdown()
            raise
        for node in (self.node, *self._models):
            self._executor.add_node(node)
        self._thread.start()

    def publish(self, time_ns: int, readings: Mapping[str, Any]) -> None:
        """Publish the readings of one step, and where they have moved the links."""
        self.node.publish(time_ns, readings)
        for name, model in self._followers.items():
            if (reading := readings.get(name)) is not None:
                model.move(time_ns, reading.names, reading.position.tolist())

    def published(self) -> dict[str, tuple[str, int]]:
        """Return the type and the number of messages so far, by topic."""
        totals: dict[str, tuple[str, int]] = {}
        for topic in chain(self.node.topics, *(model.topics for model in self._models)):
            count = totals.get(topic.name, ("", 0))[1]
            totals[topic.name] = (topic.type_name, count + topic.count)
        return totals

    def close(self) -> None:
        """End the nodes and their thread."""
        self._executor.shutdown()  # first, so that nothing is published after its end
        self._thread.join()
        self.node.close()
        for node in self._models:
            node.destroy_node()
        rclpy.try_shutdown()

    def _describe_bodies(self) -> None:
        for name, simulated in self.simulation.bodies.items():
            naming = self.node.naming[name]
            prefix = Parameter("frame_prefix", value=naming.frame_prefix)
            model = ModelNode(namespace=naming.namespace, parameter_overrides=[prefix])
            self._models.append(model)
            model.start(simulated.body)
            for key, sensor in self.simulation.sensors.items():
                if sensor.body == name and isinstance(sensor, JointSensor):
                    self._followers[key] = model

    def _serve(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()


def _run() -> int:
    """Run to the end; a world whose physics failed stands still until then, and answers."""
    with StopSignals() as signals, closing(RosSession({})) as session:
        factor = session.node.settings["real_time_factor"]
        runner = Runner(session.simulation, session.publish, real_time_factor=factor)
        signals.stop(runner)
        runner.run()
        if runner.error is None:
            return 0
        advice = "mend the world or the commands, end this node with Ctrl-C and start it again"
        session.node.get_logger().error(f"the simulation stands still: {runner.error}; {advice}")
        runner.wait_for_stop()
        return 1


def main() -> int:
    """Run the node until Ctrl-C; return the exit status: 1 for a bad world, 2 for wrong use."""
    try:
        return _run()
    except KeyboardInterrupt:
        return 0
    except (ParameterException, WrongUseError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (ModelError, PhysicsError, OSError) as error:  # a ModelError's lines say "error"
        print(error if isinstance(error, ModelError) else f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
