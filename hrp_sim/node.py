"""The ROS 2 face of a Simulation: publishes what it reads, and hands it commands.

Published: what the sensors of each robot read (topics in ``hrp_msgs.names``), ``/clock``,
``ground_truth/odom``, and on ``/tf`` and ``/tf_static`` where the roots of the bodies are.
Subscribed: ``joint_commands`` of each robot. Services: ``reset`` and ``pause``, once a run is
served, and ``<sensor>/set_enabled`` of each sensor and light. Parameters:
``hrp_msgs.params.SIM_NODE``, the options of ``SensorSettings`` for all sensors, and those of single
ones as ``<sensor>.<option>``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from itertools import chain
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.diagnostics import did_you_mean
from hrp_model.frames import body_frames
from hrp_model.node import ModelNode, logged_diagnostics
from hrp_model.rigid import matrix_quaternion
from hrp_msgs import names, outputs, qos
from hrp_msgs.clock import clock
from hrp_msgs.joint_command import joint_command
from hrp_msgs.names import NameCollisionError
from hrp_msgs.params import (
    SIM_NODE,
    Param,
    declare,
    declare_options,
    option_param,
    take_overrides,
)
from hrp_msgs.start import WrongUseError, init_ros
from hrp_msgs.tf import tf_message, transform
from hrp_msgs.topic import Topic

from .advice import advise, after_failure
from .config import WorldConfig
from .control import JointCommand
from .darkroom import Darkroom
from .engine import PHYSICS_RANGES, PhysicsError, Solver
from .engines import make_engine
from .load import load_world
from .naming import name_bodies
from .render import Parts
from .runner import Change, Runner, StopSignals
from .schedule import SampleClock
from .sensor_options import COMMON_OPTIONS, OPTIONS, single_options, targets
from .sensors import (
    CameraSensor,
    Exposure,
    ForceSensor,
    ImuSensor,
    JointSensor,
    OdometrySensor,
    RangeSensor,
    RangeSensor3D,
)
from .services import RunServices, SwitchServices
from .simulation import Simulation
from .state import SimulatedBody
from .topics import device_topics

PARAMETERS = (
    *SIM_NODE,
    *(option_param(option.name, option.default, option) for option in COMMON_OPTIONS),
    Param("<sensor>.<option>", "", "The same for one sensor, and its rate in [Hz]."),
)
# A new sensor is one entry here. Odometry and cameras say more than one message.
ROUTES: dict[type, outputs.Route] = {
    JointSensor: outputs.JOINTS,
    ImuSensor: outputs.IMU,
    ForceSensor: outputs.WRENCH,
    RangeSensor: outputs.SCAN,
    RangeSensor3D: outputs.POINTS,
}


class SimNode(Node):
    """Publishes a simulation. Whoever steps it calls ``publish`` after every step.

    Attributes:
        settings: Values of the parameters by name.
        after_failure: What to look for if the physics fails.
    """

    def __init__(self, **node_options: Any) -> None:
        given = {"automatically_declare_parameters_from_overrides": True}
        super().__init__("sim_node", **given, **node_options)
        self._given = take_overrides(self)
        self.settings = declare(self, SIM_NODE)
        self.after_failure = ""
        self._run_services: RunServices | None = None
        self._time_ns = 0
        self._outputs: dict[str, Any] = {}  # one of ``hrp_msgs.outputs`` for each sensor
        self._places: dict[str, str] = {}  # where each sensor and light has its topics
        self._simulation: Simulation | None = None

    def load(self) -> Simulation:
        """Make the simulation that the parameters ask for.

        Raises:
            ModelError: The world or a model in it cannot be used.
            PhysicsError: The physics cannot take a body.
            WrongUseError: A parameter makes no sense.
        """
        settings = self.settings
        if not settings["world"]:
            raise WrongUseError("no world is named; start with: --ros-args -p world:=FILE")
        least, most = PHYSICS_RANGES["time_step"]
        if 0.0 < (time_step := settings["time_step"]) < least:
            raise WrongUseError(f"time_step is 0 or from {least:g} to {most:g}, not {time_step:g}")
        diagnostics = logged_diagnostics(self)
        world = load_world(settings["world"], diagnostics)
        config = self._with_sensor_options(world, diagnostics).with_physics(
            solver=Solver(settings["solver"]) if settings["solver"] else None,
            time_step=time_step or None,
            iterations=settings["iterations"] or None,
            joint_limits=None if settings["joint_limits"] else False,
            seed=settings["seed"] if settings["seed"] >= 0 else None,
        )
        engine = make_engine(settings["engine"], config.physics)
        simulation = Simulation(config, engine=engine, defer_images=True, diagnostics=diagnostics)
        self._warn_of_typos()
        found = advise(config)
        for advice in found:
            diagnostics.add(advice)
        self.after_failure = after_failure(found)
        return simulation

    def _with_sensor_options(self, config: WorldConfig, diagnostics: Diagnostics) -> WorldConfig:
        """Declare the options of sensors as parameters; return a world that has their values.

        Declared are those of all sensors, and of single ones what is said of them anywhere.
        """
        doubtful = Diagnostics(listener=lambda d: diagnostics.warn(d.code, d.message))
        given = [k for k in self._given if "." in k or k in OPTIONS]
        given = [k for k in given if not k.startswith("qos_overrides.")]
        found = targets(config, (*(option.name for option in COMMON_OPTIONS), *given), doubtful)
        config = declare_options(self, found, config)
        known = Diagnostics(listener=lambda _: None)
        return declare_options(self, targets(config, single_options(config), known), config)

    def _warn_of_typos(self) -> None:
        known = (*self.settings, *OPTIONS)
        for name in self._given:
            if "." not in name and name not in known and (hint := did_you_mean(name, known)):
                self.get_logger().warning(f"there is no parameter '{name}'.{hint}")

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
        self._darkroom = Darkroom(lambda name, image: self._outputs[name].publish(image))
        simulation.wanted = lambda name: self._outputs[name].is_wanted()

    def serve(self, runner: Runner) -> None:
        """Let others pause, reset and switch the run that publishes here."""
        runner.on_change.append(self._has_changed)
        self._run_services = RunServices(self, runner, self.after_failure)
        self._switch_services = SwitchServices(self, runner, self._places)

    def _has_changed(self, change: Change) -> None:
        if change is Change.RESET:
            self._darkroom.clear()

    def tell_failure(self, error: PhysicsError) -> None:
        """Say that the physics failed, and what to do."""
        if self._run_services is not None:
            self._run_services.tell_failure(error)

    @property
    def topics(self) -> list[Topic]:
        """Everything that is published."""
        own = [self._clock_topic, self._tf, self._tf_static]
        own += [] if self._run_services is None else [self._run_services.topic]
        return own + [topic for output in self._outputs.values() for topic in output.topics]

    def publish(self, time_ns: int, readings: Mapping[str, Any]) -> None:
        """Publish the readings of one step, and the clock when it is due."""
        if time_ns < self._time_ns:  # time began anew
            self._clock_ticks.reset()
        self._time_ns = time_ns
        if self._clock_ticks.is_due(time_ns):
            self._clock_topic.publish(clock(time_ns))
        for name, reading in readings.items():
            if isinstance(reading, Exposure):
                self._develop(name, reading)
            else:
                self._outputs[name].publish(reading)

    def close(self) -> None:
        """End the drawing of images and the simulation, then the node."""
        if self._simulation is not None:
            self._darkroom.close()
            self._simulation.close()
        self.destroy_node()

    def _develop(self, name: str, exposure: Exposure) -> None:
        """Have those parts of a picture drawn that somebody wants."""
        assert self._simulation is not None
        camera, parts = self._simulation.sensors[name], Parts(*self._outputs[name].wanted_parts())
        assert isinstance(camera, CameraSensor)
        self._darkroom.submit(name, lambda: camera.develop(exposure, parts))

    def _start_body(self, simulated: SimulatedBody) -> Any:
        """Make the topics of a body; return the transform of its root if that is fixed."""
        assert self._simulation is not None
        name, body = simulated.name, simulated.body
        naming, world = self.naming[name], self.settings["world_frame"]
        frames = body_frames(body, Diagnostics(listener=lambda _: None))
        root = names.frame(frames.links[body.root.name], naming.frame_prefix)
        is_fixed = self._simulation.is_fixed(name)
        framed = reversed(list(zip(body.devices, frames.data, strict=True)))
        data_frames = {d.name: frame for d, frame in framed}  # of equal names the first counts
        topics = device_topics(self._simulation, name, naming)
        self._places |= {key: found.place for key, found in topics.items()}
        sensors = {k: s for k, s in self._simulation.sensors.items() if s.body == name}
        for key, sensor in sensors.items():
            frame = names.frame(data_frames.get(sensor.name, ""), naming.frame_prefix)
            data, depth = topics[key].data, topics[key].depth
            if isinstance(sensor, OdometrySensor):
                tf = None if is_fixed else self._tf
                self._outputs[key] = outputs.OdometryOutput(self, data[0], world, root, tf)
            elif isinstance(sensor, CameraSensor):
                self._outputs[key] = outputs.CameraOutput(self, frame, data, depth)
            else:
                route = ROUTES[type(sensor)]
                self._outputs[key] = outputs.SensorOutput(self, route, data[0], frame)
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

    def serve(self, runner: Runner) -> None:
        """Let others pause and reset a run of this simulation from now on."""
        self.node.serve(runner)

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
        runner = Runner(
            session.simulation,
            session.publish,
            real_time_factor=factor,
            on_failure=session.node.tell_failure,
        )
        session.serve(runner)
        signals.stop(runner)
        runner.run()
        return 0 if runner.error is None else 1


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
