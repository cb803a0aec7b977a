"""The ROS 2 face of a Simulation: publishes what it reads, and hands it commands.

Published: what the sensors of each robot read (topics in ``hrp_msgs.names``), ``/clock``,
``ground_truth/odom``, and on ``/tf`` and ``/tf_static`` where the roots of the bodies are.
Subscribed: ``joint_commands`` of each robot. Services: ``reset`` and ``pause``, once a run is
served, and ``<sensor>/set_enabled`` of each sensor and light. Parameters:
``hrp_msgs.node_params.SIM_NODE``, the options of ``SensorSettings`` for all sensors, and those of
single ones as ``<sensor>.<option>``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from hrp_model import Diagnostic, ModelError, Severity
from hrp_model.node import ModelNode
from hrp_msgs import names, qos
from hrp_msgs.clock import clock
from hrp_msgs.names import NameCollisionError
from hrp_msgs.node_params import SIM_NODE
from hrp_msgs.outputs import CameraOutput
from hrp_msgs.params import Param, option_param
from hrp_msgs.robot import FramePose
from hrp_msgs.start import WrongUseError, init_ros
from hrp_msgs.tf import tf_message, transform
from hrp_msgs.topic import Topic

from .darkroom import Darkroom
from .engine import PhysicsError
from .faces.node import BodyFace, fixed_roots
from .loading.node import WorldLoader
from .naming import BodyNaming, late_naming, name_bodies
from .render import Parts
from .runner import Change, Runner, StopSignals
from .schedule import SampleClock
from .sensor_options import COMMON_OPTIONS
from .sensors import CameraSensor, Exposure
from .services import RunServices, start_lock_step
from .simulation import Simulation

PARAMETERS = (
    *SIM_NODE,
    *(option_param(option.name, option.default, option) for option in COMMON_OPTIONS),
    Param("<sensor>.<option>", "", "The same for one sensor, and its rate in [Hz]."),
)


class SimNode(Node):
    """Publishes a simulation. Whoever steps it calls ``publish`` after every step.

    Attributes:
        settings: Values of the parameters by name.
        after_failure: What to look for if the physics fails.
    """

    def __init__(self, **node_options: Any) -> None:
        given = {"automatically_declare_parameters_from_overrides": True}
        super().__init__("sim_node", **given, **node_options)
        self._loader = WorldLoader(self)
        self.settings = self._loader.settings
        self._run_services: RunServices | None = None
        self._runner: Runner | None = None
        self._time_ns = 0
        self._readings: Mapping[str, Any] = {}
        self._naming: dict[str, BodyNaming] = {}  # of the bodies that were there first
        self._faces: dict[str, BodyFace] = {}  # by the body's name
        # By names in the simulation; never changed, but replaced, since two threads use them.
        self._outputs: Mapping[str, Any] = {}
        self._owners: Mapping[str, BodyFace] = {}
        self._followers: Mapping[str, BodyFace] = {}
        self._fixed: list[FramePose] | None = None  # what was told last
        self._simulation: Simulation | None = None

    @property
    def after_failure(self) -> str:
        """What to look for if the physics fails."""
        return self._loader.after_failure

    def load(self) -> Simulation:
        """Make the simulation that the parameters ask for.

        Raises:
            ModelError: The world or a model in it cannot be used.
            PhysicsError: The physics cannot take a body.
            WrongUseError: A parameter makes no sense.
        """
        return self._loader.load()

    def start(self, simulation: Simulation) -> None:
        """Make the topics of a simulation, and publish what does not change.

        Raises:
            ModelError: Two names would become one topic.
            OSError: The meshes of a description cannot be written.
        """
        self._clock_topic = Topic(self, Clock, names.CLOCK, qos.CLOCK)
        self._tf = Topic(self, TFMessage, names.TF, qos.TF)
        self._tf_static = Topic(self, TFMessage, names.TF_STATIC, qos.TF_STATIC)
        self._clock_ticks = SampleClock(self.settings["clock_rate"])
        self._darkroom = Darkroom(self._publish_image)
        self.replace(simulation)

    def replace(self, simulation: Simulation) -> None:
        """Show another world in place of the one that was there, if any.

        Raises:
            ModelError: Two names would become one topic.
            OSError: The meshes of a description cannot be written.
        """
        self._keep({})
        self._simulation = simulation
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        faces: dict[str, BodyFace] = {}
        try:
            tokens = names.topic_tokens(bodies)
            self._naming = name_bodies(bodies, self.settings["frame_prefix"], tokens)
            for name in bodies:
                faces[name] = self._face(name)
        except NameCollisionError as error:
            problem = Diagnostic(Severity.ERROR, "name-collision", str(error))
            raise ModelError([problem]) from None
        finally:
            self._keep(faces)
        simulation.wanted = self._is_wanted
        simulation.switched = self._tell

    def sync(self) -> None:
        """Give new bodies their topics, and end those of bodies that have gone.

        To be called in the thread that serves ROS, whenever bodies came or went.
        """
        assert self._simulation is not None
        bodies = self._simulation.bodies
        faces = {k: f for k, f in self._faces.items() if bodies.get(k) is f.simulated}
        for name in bodies:
            if name not in faces:
                try:
                    faces[name] = self._face(name)
                except (NameCollisionError, OSError) as error:
                    self.get_logger().error(f"body '{name}' has no topics: {error}")
        self._keep(faces)

    def serve(self, runner: Runner) -> None:
        """Let others pause, reset and switch the run that publishes here."""
        self._runner = runner
        runner.on_change.append(self._has_changed)
        self._run_services = RunServices(self, runner, self.after_failure)
        start_lock_step(self, self.settings, runner, self._tell_again)
        for face in self._faces.values():
            face.serve(runner)

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
        return own + [topic for face in self._faces.values() for topic in face.topics]

    @property
    def models(self) -> list[ModelNode]:
        """The nodes that describe the bodies."""
        return [face.model for face in self._faces.values() if face.model is not None]

    def publish(self, time_ns: int, readings: Mapping[str, Any]) -> None:
        """Publish the readings of one step, and the clock when it is due.

        What has no topics yet, as of a body that has just appeared, is left out.
        """
        if time_ns < self._time_ns:  # time began anew
            self._clock_ticks.reset()
        self._time_ns, self._readings = time_ns, readings
        if self._clock_ticks.is_due(time_ns):
            self._clock_topic.publish(clock(time_ns))
        outputs, followers = self._outputs, self._followers
        for name, reading in readings.items():
            if isinstance(reading, Exposure):
                self._develop(name, reading)
            elif name in outputs:
                outputs[name].publish(reading)
                if name in followers:
                    followers[name].follow(reading)

    def _tell_again(self) -> None:
        """Publish once more what was read last, for those who have only just come."""
        self._clock_topic.publish(clock(self._time_ns))
        again = {k: r for k, r in self._readings.items() if not isinstance(r, Exposure)}
        self.publish(self._time_ns, again)

    def close(self) -> None:
        """End the drawing of images and the simulation, then the node."""
        if self._simulation is not None:
            self._darkroom.close()
            self._simulation.close()
        for face in self._faces.values():
            face.close()
        self.destroy_node()

    def _is_wanted(self, name: str) -> bool:
        output = self._outputs.get(name)
        if output is None:
            return False
        # In lock-step what noise and filters did must not depend on when somebody came to listen.
        return output.is_wanted() or (
            bool(self.settings["lock_step"]) and not isinstance(output, CameraOutput)
        )

    def _tell(self, name: str, on: bool) -> None:
        if (face := self._owners.get(name)) is not None:
            face.tell(name, on)

    def _develop(self, name: str, exposure: Exposure) -> None:
        """Have those parts of a picture drawn that somebody wants."""
        assert self._simulation is not None
        camera, output = self._simulation.sensors.get(name), self._outputs.get(name)
        if output is None or not isinstance(camera, CameraSensor):
            return
        parts = Parts(*output.wanted_parts())
        self._darkroom.submit(name, lambda: camera.develop(exposure, parts))

    def _publish_image(self, name: str, image: Any) -> None:
        if (output := self._outputs.get(name)) is not None:
            output.publish(image)

    def _face(self, name: str) -> BodyFace:
        """Make the topics and services of a body."""
        assert self._simulation is not None
        naming = self._naming.get(name) or late_naming(name, self.settings["frame_prefix"])
        face = BodyFace(
            self,
            self._simulation,
            name,
            naming,
            self._tf,
            self.settings["world_frame"],
            in_step=bool(self.settings["lock_step"]),
        )
        if self.settings["describe"]:
            try:
                model = face.describe()
            except OSError:
                face.close()
                raise
            if self.executor is not None:
                self.executor.add_node(model)
        if self._runner is not None:
            face.serve(self._runner)
        return face

    def _keep(self, faces: dict[str, BodyFace]) -> None:
        """Have these faces from now on, and end all others."""
        gone = [face for name, face in self._faces.items() if faces.get(name) is not face]
        self._faces = faces
        self._outputs = {k: output for f in faces.values() for k, output in f.outputs.items()}
        self._owners = {k: f for f in faces.values() for k in f.devices}
        self._followers = {f.joints: f for f in faces.values() if f.model is not None and f.joints}
        for face in gone:
            face.close()
        self._tell_fixed()

    def _tell_fixed(self) -> None:
        """Publish where the fixed roots stand, all in one message, if that has changed."""
        roots = fixed_roots(self._faces.values())
        if roots != self._fixed:
            self._fixed = roots
            self._tf_static.publish(tf_message(transform(0, *root) for root in roots))


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
        self._executor = SingleThreadedExecutor()
        self._thread = threading.Thread(target=self._serve, name="executor", daemon=True)
        try:
            self.node = SimNode(parameter_overrides=overrides)
            self.simulation = self.node.load()
            self.node.start(self.simulation)
        except BaseException:
            rclpy.try_shutdown()
            raise
        for node in (self.node, *self.node.models):
            self._executor.add_node(node)
        self._thread.start()

    def serve(self, runner: Runner) -> None:
        """Let others pause and reset a run of this simulation from now on."""
        self.node.serve(runner)

    def publish(self, time_ns: int, readings: Mapping[str, Any]) -> None:
        """Publish the readings of one step, and where they have moved the links."""
        self.node.publish(time_ns, readings)

    def published(self) -> dict[str, tuple[str, int]]:
        """Return the type and the number of messages so far, by topic."""
        totals: dict[str, tuple[str, int]] = {}
        for topic in self.node.topics:
            count = totals.get(topic.name, ("", 0))[1]
            totals[topic.name] = (topic.type_name, count + topic.count)
        return totals

    def close(self) -> None:
        """End the nodes and their thread."""
        self._executor.shutdown()  # first, so that nothing is published after its end
        self._thread.join()
        self.node.close()
        rclpy.try_shutdown()

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
