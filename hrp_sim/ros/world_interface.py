"""What ROS 2 sees of a world: its time, where fixed roots stand, and a face of each body."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from hrp_model.rigid import Array
from hrp_msgs.names import NameCollisionError
from hrp_msgs.node.executor import remove_destroyed
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.contacts import ContactTopic
from hrp_msgs.topics.robot import FramePose
from hrp_msgs.topics.topic import Topic
from hrp_msgs.topics.world import WorldTopics

from ..physics.contact_points import ContactPoints
from ..physics.schedule import SampleClock
from ..running.contact_sampler import ContactSampler
from ..running.lock_step import LockStep
from ..running.render_thread import RenderThread
from ..running.runner import Change, NotRunningError, Runner
from ..sensors import CameraSensor, Exposure, ImageReading, Reading
from ..simulation import Simulation
from ..world.naming import BodyNaming, name_bodies, spawned_naming
from .body_interface import BodyInterface, SensorOutputs
from .command_interface import Commanding
from .model_interface import SimulatedModelNode
from .topics import device_topics

# How often the time of a world that stands still is shown. In [s] of wall time.
_PERIOD = 1.0


class WorldInterface:
    """The topics and services of a world, whose bodies come and go.

    ``publish`` is called by the thread that steps; ``replace``, ``sync`` and ``close`` by the one
    that serves ROS.

    Args:
        node: Whose topics and services they are.
        settings: Values of its parameters by name.
        shared: Of the command line what nodes that describe bodies hear; see
            ``shared_ros_arguments``.

    Raises:
        WrongUseError: A parameter makes no sense.
    """

    def __init__(self, node: Node, settings: Mapping[str, Any], shared: Sequence[str]) -> None:
        self._node = node
        self._settings = settings
        self._shared = shared
        self._runner: Runner | None = None
        self._simulation: Simulation | None = None
        self._time_ns = 0
        self._readings: Mapping[str, Reading] = {}  # of the last step
        self._in_step = bool(settings["lock_step"])
        self._faces: Mapping[str, BodyInterface] = {}  # by the body's name
        # By names in the simulation; never changed, but replaced, since two threads use them.
        self._outputs: Mapping[str, SensorOutputs] = {}
        self._owners: Mapping[str, BodyInterface] = {}
        self._topics = WorldTopics(node)
        self.commanding = Commanding(node, settings)
        self._clock_ticks = SampleClock(settings["clock_rate"])
        self._render_thread = RenderThread(self._publish_image)
        self._contacts = _Contacts(node, settings) if settings["contact_rate"] > 0.0 else None

    @property
    def topics(self) -> list[Topic]:
        """Everything that is published."""
        of_world = [*self._topics.all, *([] if self._contacts is None else [self._contacts.topic])]
        return [*of_world, *(t for face in self._faces.values() for t in face.topics)]

    @property
    def models(self) -> list[SimulatedModelNode]:
        """The nodes that describe the bodies."""
        return [face.model for face in self._faces.values() if face.model is not None]

    def replace(self, simulation: Simulation) -> None:
        """Show another world in place of the one that was there, if any.

        Raises:
            NameCollisionError: Two names would become one topic.
            OSError: The meshes of a description cannot be written.
            WrongUseError: A parameter of a joint makes no sense.
        """
        self._keep({})
        self._simulation = simulation
        simulation.wanted = partial(self._is_wanted, simulation)
        simulation.switched = self._show_switches
        faces: dict[str, BodyInterface] = {}
        try:
            for name, naming in self._namings(simulation).items():
                faces[name] = self._face(name, naming)
        finally:
            self._keep(faces)

    def sync(self) -> None:
        """Give new bodies their topics, and end those of bodies that have gone."""
        assert self._simulation is not None
        bodies = self._simulation.bodies
        faces = {k: f for k, f in self._faces.items() if bodies.get(k) is f.simulated}
        self._keep(faces)
        if self._runner is not None:
            with suppress(NotRunningError):
                self._runner.call(self._simulation.settle)  # what parameters were set to counts
                for face in faces.values():
                    face.show_joints()
        for name, body in bodies.items():
            if name not in faces:
                try:
                    naming = self._spawned_naming(name, self._simulation.namespace(name))
                    faces = {**faces, name: self._face(name, naming)}
                except (NameCollisionError, OSError, WrongUseError) as error:
                    self._node.get_logger().error(f"body '{name}' has no topics: {error}")
                except KeyError:
                    if self._simulation.bodies.get(name) is body:
                        raise
                    # else it has gone again: whoever took it out has this called once more
        self._keep(faces)

    def check_names(self, simulation: Simulation, names: Collection[str]) -> None:
        """Check that bodies which are not shown yet could have topics of their own.

        Raises:
            NameCollisionError: One could not, or two of what it has would have one topic.
        """
        if simulation is self._simulation:
            namings = {k: self._spawned_naming(k, simulation.namespace(k)) for k in names}
        else:
            namings = self._namings(simulation)
        for name in names:
            device_topics(simulation, name, namings[name])

    def serve(self, runner: Runner) -> None:
        """Tell of what changes in a run besides its steps, and let others switch sensors."""
        self._runner = runner
        runner.on_change.append(self._has_changed)
        for face in self._faces.values():
            face.serve(runner)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._node.create_timer(_PERIOD, self._show_standing_time, clock=steady)

    def publish(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Publish the readings of one step, and the clock when it is due.

        What has no topics yet, as of a body that has just appeared, is left out.
        """
        self._time_ns, self._readings = time_ns, readings
        gate = None if self._runner is None else self._runner.gate
        lock_step = gate if isinstance(gate, LockStep) else None
        is_waited_for = lock_step is not None and lock_step.is_boundary(time_ns)
        is_paced = lock_step is not None and lock_step.paces_clock
        if self._clock_ticks.is_due(time_ns) and not is_waited_for and not is_paced:
            self._show(time_ns)
        for face in self._faces.values():
            face.poll()
        outputs = self._outputs
        for name, reading in readings.items():
            if (found := outputs.get(name)) is None:
                continue
            if isinstance(reading, Exposure):
                self._develop(name, found, reading)
            else:
                for output in found.outputs:
                    output.publish(reading)
        stepped = self._simulation if self._runner is None else self._runner.simulation
        if self._contacts is not None and stepped is not None:
            self._contacts.sampler.after_step(stepped)
        if is_waited_for:
            # At any clock_rate, for a controller manager sleeps until it sees this time; and last,
            # so that whoever works when the clock moves is likely to have the readings.
            self._show(time_ns)

    def republish(self) -> None:
        """Publish once more what the last step told, for those who have only just come."""
        again = {k: r for k, r in self._readings.items() if not isinstance(r, Exposure)}
        self.publish(self._time_ns, again)

    def close(self) -> None:
        """End the drawing of images, and all topics and services of bodies."""
        self._render_thread.close()
        self._keep({})
        self.commanding.close()

    def _is_wanted(self, simulation: Simulation, name: str) -> bool:
        found, sensor = self._outputs.get(name), simulation.sensors[name]
        # One of the same name may have come in the place of that whose topics are still there.
        if found is None or found.sensor is not sensor:
            return False
        # What noise and filters do must not depend on when somebody came to listen.
        if self._in_step and not isinstance(sensor, CameraSensor):
            return True
        return found.is_wanted()

    def _show_switches(self, name: str, on: bool) -> None:  # noqa: ARG002
        if (owner := self._owners.get(name)) is not None:
            owner.show_switches()

    def _develop(self, name: str, found: SensorOutputs, exposure: Exposure) -> None:
        """Have those parts of a picture drawn that somebody listens to."""
        camera, parts = found.sensor, found.wanted_parts()
        assert isinstance(camera, CameraSensor)
        self._render_thread.submit(name, lambda: camera.develop(exposure, parts))

    def _publish_image(self, name: str, image: ImageReading) -> None:
        """Publish a picture; called in the thread that draws."""
        if (found := self._outputs.get(name)) is not None:
            for output in found.outputs:
                output.publish(image)

    def _namings(self, simulation: Simulation) -> dict[str, BodyNaming]:
        """Return where the bodies of a simulation live that is not shown yet."""
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        wishes = {name: simulation.namespace(name) for name in bodies}
        prefix, preset = self._settings["frame_prefix"], self._settings["naming"]
        return name_bodies(bodies, prefix, wishes, preset)

    def _spawned_naming(self, name: str, namespace: str | None) -> BodyNaming:
        """Return where a body of the shown simulation is to live; others may wait for it, too."""
        assert self._simulation is not None
        prefix, preset = self._settings["frame_prefix"], self._settings["naming"]
        bodies = self._simulation.bodies
        faces = {k: f for k, f in self._faces.items() if bodies.get(k) is f.simulated}
        taken = {other: face.naming for other, face in faces.items() if other != name}
        for other in takewhile(lambda k: k != name, bodies):
            if other not in taken:
                with suppress(NameCollisionError):  # which will have no topics
                    wish = self._simulation.namespace(other)
                    taken[other] = spawned_naming(other, wish, taken, prefix, preset)
        return spawned_naming(name, namespace, taken, prefix, preset)

    def _face(self, name: str, naming: BodyNaming) -> BodyInterface:
        """Make the topics and services of a body."""
        assert self._simulation is not None
        face = BodyInterface(
            self._node,
            self._simulation,
            name,
            naming,
            self._topics.tf,
            self._settings,
            self.commanding,
        )
        try:
            if self._settings["describe"]:
                model = face.describe(self._shared)
                if self._node.executor is not None:
                    self._node.executor.add_node(model)
            if self._runner is not None:
                face.serve(self._runner)
        except (KeyError, OSError, WrongUseError):
            face.close()
            raise
        return face

    def _keep(self, faces: Mapping[str, BodyInterface]) -> None:
        """Have these faces from now on, and end all others."""
        gone = [face for name, face in self._faces.items() if faces.get(name) is not face]
        self._faces = faces
        self._outputs = {k: found for f in faces.values() for k, found in f.outputs.items()}
        self._owners = {k: f for f in faces.values() for k in f.devices}
        for face in gone:
            face.close()
        if gone:
            remove_destroyed(self._node.default_callback_group)
        if faces or gone:
            self._topics.publish_static(self._fixed_frames)

    def _has_changed(self, change: Change) -> None:
        """Tell what does not wait for the next step; called in the thread that steps."""
        assert self._runner is not None
        simulation = self._runner.simulation
        if simulation is not self._simulation:  # until ``replace`` nobody knows what is in it
            simulation.wanted = partial(self._is_wanted, simulation)
        time_ns = simulation.state.time_ns
        if time_ns < self._time_ns or change in (Change.RESET, Change.REPLACE):
            self._render_thread.clear()
            self._clock_ticks.wait(time_ns)
            if self._contacts is not None:
                self._contacts.sampler.restart(time_ns)
        self._time_ns = time_ns
        self._show(time_ns)
        for face in self._faces.values():
            face.poll()
        if simulation is self._simulation:
            self._topics.publish_static(self._fixed_frames)

    def _fixed_frames(self) -> list[FramePose]:
        """Return where all frames are that never move, but for those of descriptions."""
        return [frame for face in self._faces.values() for frame in face.fixed_frames()]

    def _show(self, time_ns: int) -> None:
        """Show a simulation time in [ns] to all other nodes, those of this process too."""
        for model in self.models:
            model.show_time(time_ns)
        self._topics.publish_clock(time_ns)

    def _show_standing_time(self) -> None:
        """Show the time of a world that stands still to those who have come since."""
        runner = self._runner
        assert runner is not None
        if runner.paused or runner.error is not None:
            with suppress(NotRunningError):  # in its own thread, so that time never goes back
                runner.call(lambda: self._show(runner.simulation.state.time_ns))


class _Contacts:
    """Shows the contacts of a world.

    Attributes:
        topic: Where they are shown.
        watch: To be told of every step.
    """

    def __init__(self, node: Node, settings: Mapping[str, Any]) -> None:
        self._settings = settings  # some may change
        self._markers = ContactTopic(node, settings["world_frame"])
        self.topic = self._markers.topic
        self.sampler = ContactSampler(
            settings["contact_rate"], self.topic.has_subscribers, self._tell
        )

    def _tell(self, points: ContactPoints, force: Array) -> None:
        scale = self._settings["contact_scale"]
        self._markers.publish(points.time_ns, points.position, force, scale)
