"""Topics of a world: clock, static frames, contacts, and those of its bodies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from hrp_model import Diagnostics
from hrp_model.description.description import DescriptionOptions
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.rigid import Array
from hrp_msgs.convert.tf import FramePose
from hrp_msgs.messages import not_installed
from hrp_msgs.names import NameCollisionError
from hrp_msgs.topics.topic import Topic, TopicMaker
from hrp_msgs.topics.world import MIN_CLOCK_NS, ContactMarkerTopic, ContactTopic, SharedTopics

from ..engine.schedule import SampleClock
from ..engine.state import ContactPoints, SimulatedBody, WorldState
from ..render import Parts
from ..run.lock_step import LockStep
from ..run.run import Change, Consumer, Run
from ..run.samplers import ContactSampler
from ..sensors import (
    CameraSensor,
    ForceSensor,
    ImageReading,
    Reading,
    RenderRequest,
    TorqueSensor,
)
from ..simulation import Simulation
from ..world.naming import BodyNaming, name_bodies, spawned_naming
from .body import BodyTopics, TopicOptions
from .devices import SensorOutputs, device_topics

if TYPE_CHECKING:
    from .run_recording import RunRecording

_log = logging.getLogger("hrp_sim")
# Why the topics of a body cannot be created.
TOPIC_ERRORS = (OSError, ValueError, MissingLibraryError)


class MakeBody(Protocol):
    """Creates the topics of a body; its arguments are those of ``BodyTopics``."""

    def __call__(
        self,
        topics: TopicMaker,
        tf: Topic,
        options: TopicOptions,
        simulation: Simulation,
        name: str,
        naming: BodyNaming,
    ) -> BodyTopics:
        """Create them."""


class WorldTopics(Consumer):
    """Topics of a world, whose bodies can be added and removed; a ``Consumer`` of its run.

    A node and a recording differ in what creates the topics. ``replace``, ``sync`` and ``close``
    are called by one thread.

    Args:
        topics: Creates the topics.
        options: Options of the topics.
        warn: Called with each warning about a body.
        inform: Called with each note about a body.
        make_diagnostics: Returns what receives the problems of a description.
        make_body: Creates the topics of a body.
        recording: Records the topics; gets the time of each step.
        images: Whether images are published.
        follows: Whether it follows the worlds of the run and their bodies, in its thread.
            Otherwise ``replace`` and ``sync`` are called.

    Raises:
        ValueError: A topic name or quality of service is invalid.
    """

    def __init__(
        self,
        topics: TopicMaker,
        options: TopicOptions,
        *,
        warn: Callable[[str], object],
        inform: Callable[[str], object] = lambda _: None,
        make_diagnostics: Callable[[], Diagnostics] = Diagnostics,
        make_body: MakeBody = BodyTopics,
        recording: RunRecording | None = None,
        images: bool = True,
        follows: bool = False,
    ) -> None:
        self._maker, self._options = topics, options
        self._warn, self._inform = warn, inform
        self._make_diagnostics, self._make_body = make_diagnostics, make_body
        self._attach_meshes = (lambda _: None) if recording is None else recording.attach_meshes
        self._recording = None if recording is None else recording.topics
        self._time_ns = self._clock_ns = 0  # of the last step, and as last published
        self._images, self._follows = images, follows
        self._run: Run | None = None
        self._simulation: Simulation | None = None
        self._readings: Mapping[str, Reading] = {}  # of the last step
        self._reads_all = bool(options.lock_step)
        # By names in the simulation; replaced instead of changed, because two threads use them.
        self._bodies: Mapping[str, BodyTopics] = {}
        self._outputs: Mapping[str, SensorOutputs] = {}
        self._after_step: Sequence[Callable[[], None]] = ()
        self._owners: Mapping[str, BodyTopics] = {}
        self._shared = SharedTopics(topics)
        self._clock_ticks = SampleClock(options.clock_rate)
        self._contacts = _Contacts(topics, options) if options.contact_rate > 0.0 else None

    @property
    def topics(self) -> list[Topic]:
        """All topics."""
        contacts = [] if self._contacts is None else self._contacts.topics
        of_bodies = [topic for body in self._bodies.values() for topic in body.topics]
        return [*self._shared.all, *contacts, *of_bodies]

    @property
    def bodies(self) -> Mapping[str, BodyTopics]:
        """Topics of the bodies by name."""
        return self._bodies

    def set_contact_scale(self, scale: float) -> None:
        """Set the length of the arrow of a contact force, in [m/N]."""
        if self._contacts is not None:
            self._contacts.scale = scale

    def set_publish_frequency(self, frequency: float) -> None:
        """Set the maximum rate of the frames of links, in [Hz]; 0 means at each joint reading."""
        self._options = replace(self._options, publish_frequency=frequency)
        for body in self._bodies.values():
            if body.link_frames is not None:
                body.link_frames.set_frequency(frequency)

    def replace(self, simulation: Simulation) -> None:
        """Create the topics of another simulation, in place of those of the present one.

        Raises:
            NameCollisionError: Two bodies or devices would have the same topic.
            MissingLibraryError: A library for the descriptions is not installed.
            OSError: The meshes of a description cannot be written.
            ValueError: A topic name, its quality of service or a parameter of a joint is invalid.
        """
        self._set_bodies({})
        self._simulation = simulation
        if self._recording is not None and self._run is None:
            self._recording.time_ns = simulation.state.time_ns
        simulation.switched = self._publish_switches
        bodies: dict[str, BodyTopics] = {}
        try:
            for name, naming in self.namings(simulation).items():
                bodies[name] = self._make(simulation, name, naming)
        finally:
            self._set_bodies(bodies)

    def sync(self) -> None:
        """Create the topics of new bodies, and close those of deleted ones.

        Topics that cannot be created are reported.
        """
        simulation = self._simulation
        assert simulation is not None
        known = self._bodies
        self._set_bodies(
            {k: b for k, b in known.items() if simulation.bodies.get(k) is b.simulated}
        )
        for name, simulated in simulation.bodies.items():
            if name in self._bodies:
                continue
            try:
                naming = self.spawned_naming(name, simulation.namespace(name))
                self._set_bodies({**self._bodies, name: self._make(simulation, name, naming)})
            except TOPIC_ERRORS as error:
                self._warn(f"cannot create topics of body '{name}': {error}")
            except KeyError:
                if simulation.bodies.get(name) is simulated:
                    raise
                # Otherwise it was deleted meanwhile, and ``sync`` will be called again.

    def close(self) -> None:
        """Close the topics of all bodies."""
        bodies, self._bodies, self._outputs = self._bodies, {}, {}
        self._after_step = ()
        for body in bodies.values():
            body.close()

    def _make(self, simulation: Simulation, name: str, naming: BodyNaming) -> BodyTopics:
        """Create the topics of a body, with its description."""
        body = self._make_body(
            self._maker, self._shared.tf, self._options, simulation, name, naming
        )
        try:
            body.report_root(self._inform, self._warn)
            if self._options.description is not None:
                description = body.describe(self._make_diagnostics())
                self._attach_meshes(description.urdf)
                for link in description.tree.floating:
                    self._warn(f"no transform for link '{link}', which floats freely")
            if self._run is not None:
                body.serve(self._run)
        except (KeyError, *TOPIC_ERRORS):
            body.close()
            raise
        return body

    def _set_bodies(self, bodies: Mapping[str, BodyTopics]) -> None:
        """Replace the bodies, and close the removed ones."""
        gone = [body for name, body in self._bodies.items() if bodies.get(name) is not body]
        is_changed = bool(bodies or self._bodies)
        self._bodies = bodies
        self._outputs = {k: found for b in bodies.values() for k, found in b.outputs.items()}
        self._owners = {k: b for b in bodies.values() for k in b.devices}
        self._after_step = [call for body in bodies.values() for call in body.after_step]
        if is_changed:
            self.publish_static()
        for body in gone:
            body.close()

    def publish_static(self) -> None:
        """Publish the static frames, if they have changed."""
        self._shared.publish_static(self._static_frames)

    def namings(self, simulation: Simulation) -> dict[str, BodyNaming]:
        """Return the naming of all bodies of a new simulation.

        Raises:
            NameCollisionError: Two bodies would have the same namespace.
        """
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        namespaces = {name: simulation.namespace(name) for name in bodies}
        return name_bodies(bodies, self._options.frame_prefix, namespaces, self._options.naming)

    def spawned_naming(self, name: str, namespace: str | None) -> BodyNaming:
        """Return the naming of a new body of the present simulation.

        Bodies added before it that have no topics yet are taken into account.

        Raises:
            NameCollisionError: Another body has the namespace.
        """
        assert self._simulation is not None
        prefix, preset = self._options.frame_prefix, self._options.naming
        bodies = self._simulation.bodies
        published = {k: b for k, b in self._bodies.items() if bodies.get(k) is b.simulated}
        taken = {other: body.naming for other, body in published.items() if other != name}
        for other in takewhile(lambda k: k != name, bodies):
            if other not in taken:
                with suppress(NameCollisionError):  # it will have no topics
                    wanted = self._simulation.namespace(other)
                    taken[other] = spawned_naming(other, wanted, taken, prefix, preset)
        return spawned_naming(name, namespace, taken, prefix, preset)

    def check_names(self, simulation: Simulation, names: Collection[str]) -> None:
        """Check that the topics of new bodies collide with no others.

        Raises:
            NameCollisionError: Two bodies or devices would have the same topic.
        """
        if simulation is self._simulation:
            namings = {k: self.spawned_naming(k, simulation.namespace(k)) for k in names}
        else:
            namings = self.namings(simulation)
        for name in names:
            device_topics(simulation, name, namings[name])

    def attach(self, run: Run) -> None:
        """Publish for a run, and serve its bodies."""
        self._run = run
        for body in self._bodies.values():
            body.serve(run)

    def wants(self, simulation: Simulation, sensor: str) -> bool:
        """Return whether a sensor should be read."""
        found = self._outputs.get(sensor)
        # The topics may still be those of a deleted sensor of the same name.
        if found is None or found.sensor is not simulation.sensors[sensor]:
            return False
        # In lock-step, noise and filters must not depend on the times of subscriptions.
        if found.is_always_read or (self._reads_all and not isinstance(found.sensor, CameraSensor)):
            return True
        for output in found.outputs:  # noqa: SIM110 - any() takes twice as long
            if output.has_subscribers():
                return True
        return False

    def wanted_parts(self, camera: str) -> Parts | None:
        """Return the parts of an image that have subscribers."""
        found = self._outputs.get(camera)
        return None if found is None or not self._images else found.wanted_parts()

    def next_ns(self, simulation: Simulation) -> int:
        """Return the time of the next step with something to publish besides readings, in [ns]."""
        due_ns = self._clock_ticks.due_ns
        if self._contacts is None:
            return due_ns
        return min(due_ns, self._contacts.sampler.next_ns(simulation.engine.settings.step_ns))

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Publish the readings of one step, and the clock when it is due.

        Readings of bodies without topics, such as those just added, are skipped.
        """
        self._set_time(time_ns)
        self._readings = readings
        gate = None if self._run is None else self._run.gate
        lock_step = gate if isinstance(gate, LockStep) else None
        is_waited_for = lock_step is not None and lock_step.is_boundary(time_ns)
        is_paced = lock_step is not None and lock_step.paces_clock
        if self._clock_ticks.is_due(time_ns) and not is_waited_for and not is_paced:
            self.publish_clock(time_ns)
        for call in self._after_step:
            call()
        outputs = self._outputs
        for name, reading in readings.items():
            if (found := outputs.get(name)) is None or isinstance(reading, RenderRequest):
                continue
            for output in found.outputs:
                output.publish(reading)
        stepped = self._simulation if self._run is None else self._run.simulation
        if self._contacts is not None and stepped is not None:
            self._contacts.after_step(stepped)
        if is_waited_for:
            # At any clock_rate, because a controller manager sleeps until this time; and last, so
            # that controllers are likely to have received the readings.
            self.publish_clock(time_ns)
            self._maker.flush()  # before the run waits

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Publish an image; called in the render thread."""
        if (found := self._outputs.get(camera)) is not None:
            for output in found.outputs:
                output.publish(image)

    def republish(self) -> None:
        """Publish the readings of the last step again, for new subscribers."""
        self.take_step(self._time_ns, self._readings)

    def publish_halted(self) -> None:
        """Publish clock and state of a halted run, for new subscribers."""
        assert self._run is not None
        self.publish_clock(self._run.simulation.state.time_ns)
        for call in self._after_step:
            call()
        self._publish_state()

    def _publish_state(self) -> None:
        """Publish the state of a halted run: frames and readings, without images.

        They are not recorded. In lock-step controllers respond to readings, so there are none.
        """
        run = self._run
        if run is None or not run.is_halted or run.simulation is not self._simulation:
            return
        simulation, frames_only = run.simulation, isinstance(run.gate, LockStep)
        state, recording = simulation.state, self._recording
        left_out: tuple[type, ...] = (CameraSensor,)  # images take long
        if state.time_ns == 0:
            left_out += (ForceSensor, TorqueSensor)  # forces are known after a step
        # The clock is never 0, either: nodes interpret that as no stamp.
        world = WorldState(max(state.time_ns, MIN_CLOCK_NS), state.bodies)
        with nullcontext() if recording is None else recording.suspended():
            for name, found in self._outputs.items():
                sensor = simulation.sensors.get(name)
                is_present = sensor is found.sensor and simulation.is_enabled(name)
                if is_present and not isinstance(sensor, left_out):
                    found.repeat(world, frames_only=frames_only)

    def publish_clock(self, time_ns: int) -> None:
        """Publish a simulation time in [ns]."""
        self._clock_ns = time_ns
        self._shared.publish_clock(time_ns)

    def _set_time(self, time_ns: int) -> None:
        self._time_ns = time_ns
        if self._recording is not None:
            self._recording.time_ns = time_ns

    def _publish_switches(self, name: str, on: bool) -> None:  # noqa: ARG002
        if (owner := self._owners.get(name)) is not None:
            owner.publish_switches()

    def changed(self, change: Change) -> None:
        """Publish changes without waiting for the next step; called in the stepping thread."""
        assert self._run is not None
        if self._follows:
            self._follow_world(self._run.simulation, change)
        simulation = self._run.simulation
        time_ns = simulation.state.time_ns
        if change is Change.END:  # whose readings were published
            if time_ns != self._clock_ns:
                self._set_time(time_ns)
                self.publish_clock(time_ns)
            self._maker.flush()
            return
        if time_ns < self._time_ns or change in (Change.RESET, Change.REPLACE):
            self._clock_ticks.wait(time_ns)
            if self._contacts is not None:
                self._contacts.sampler.restart(time_ns)
        if change is Change.RESET:
            for body in self._bodies.values():
                body.restart()
        self._set_time(time_ns)
        self.publish_clock(time_ns)
        for call in self._after_step:
            call()
        if simulation is self._simulation:
            self.publish_static()
        if change is not Change.STEPS:  # whose readings were published
            self._publish_state()
        self._maker.flush()  # before who asked for the change gets an answer

    def _follow_world(self, simulation: Simulation, change: Change) -> None:
        """Follow the bodies of the world; called in the stepping thread."""
        try:
            if change is Change.REPLACE:
                self.replace(simulation)
            elif change is Change.WORLD:
                self.sync()
        except TOPIC_ERRORS as error:
            self._warn(f"some topics of this world cannot be recorded: {error}")

    def _static_frames(self) -> list[FramePose]:
        """Return the static frames of all bodies."""
        return [frame for body in self._bodies.values() for frame in body.static_frames()]


def recorded_world(
    recording: RunRecording,
    simulation: Simulation,
    diagnostics: Diagnostics,
    warn: Callable[[str], object],
    *,
    images: bool = True,
) -> WorldTopics:
    """Return the topics that ``sim_node`` publishes by default, with descriptions, as a recording.

    Args:
        recording: The recording; its owner closes it.
        simulation: The simulation.
        diagnostics: Receives warnings of the descriptions.
        warn: Called with other warnings.
        images: Whether images are recorded.

    Raises:
        NameCollisionError: Two bodies or devices would have the same topic.
        OSError: The meshes of a description cannot be written.
    """
    topics = WorldTopics(
        recording.maker(),
        TopicOptions(description=DescriptionOptions()),
        warn=warn,
        make_diagnostics=lambda: diagnostics,
        recording=recording,
        images=images,
        follows=True,
    )
    topics.replace(simulation)
    return topics


class _Contacts:
    """Publishes the contacts of a world, as numbers and as markers.

    Attributes:
        topics: The topics.
        sampler: Samples the contacts.
        scale: Length of the arrow of a force, in [m/N].
    """

    def __init__(self, topics: TopicMaker, options: TopicOptions) -> None:
        self.scale = options.contact_scale
        self._markers = ContactMarkerTopic(topics, options.world_frame)
        self._numbers: ContactTopic | None = None
        try:
            self._numbers = ContactTopic(topics, options.world_frame)
        except ImportError:
            _log.warning("%s: there is no topic 'contacts'", not_installed("ros_gz_interfaces"))
        numbers = [] if self._numbers is None else [self._numbers.topic]
        self.topics = [*numbers, self._markers.topic]
        self.sampler = ContactSampler(
            options.contact_rate,
            lambda: any(topic.has_subscribers() for topic in self.topics),
            self._publish,
        )
        self._bodies: Mapping[str, SimulatedBody] = {}

    def after_step(self, simulation: Simulation) -> None:
        """Publish the contacts if they are due; called after every step."""
        self._bodies = simulation.bodies
        self.sampler.after_step(simulation)

    def _publish(self, points: ContactPoints, force: Array) -> None:
        time_ns, position = points.time_ns, points.position
        if self._markers.topic.has_subscribers():
            self._markers.publish(time_ns, position, force, self.scale)
        if self._numbers is not None and self._numbers.topic.has_subscribers():
            links = [
                (self._link(a, i), self._link(b, j))
                for (a, b), (i, j) in zip(points.bodies, points.links.tolist(), strict=True)
            ]
            self._numbers.publish(
                time_ns, links, position, points.normal, points.depth, points.force
            )

    def _link(self, body: str, index: int) -> str:
        """Return the name of a link, as services name its frame."""
        return f"{body}/{self._bodies[body].body.links[index].name}"
