"""Topics of a world: clock, static frames, contacts, and those of its bodies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from hrp_model.rigid import Array
from hrp_msgs.convert.tf import FramePose
from hrp_msgs.names import NameCollisionError
from hrp_msgs.topics.contacts import ContactMarkerTopic, ContactTopic
from hrp_msgs.topics.topic import Topic, TopicMaker
from hrp_msgs.topics.world import MIN_CLOCK_NS, WorldTopics

from ..engine.contact_points import ContactPoints
from ..engine.schedule import SampleClock
from ..engine.state import SimulatedBody, WorldState
from ..render import NO_PARTS, Parts
from ..run.contact_sampler import ContactSampler
from ..run.lock_step import LockStep
from ..run.run import Change, Consumer, Run
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
from .body_publisher import BodyPublisher
from .device_topics import device_topics
from .options import PublishingOptions
from .sensor_outputs import SensorOutputs

if TYPE_CHECKING:
    from hrp_msgs.topics.recorded import TopicRecording

_log = logging.getLogger("hrp_sim")


class WorldPublisher(Consumer):
    """Publishes a world, whose bodies can be added and removed; a ``Consumer`` of its run.

    Args:
        topics: Creates the topics.
        options: Options of the topics.
        recording: Records the topics; gets the time of each step.
        on_clock: Called with each time in [ns], before it is published on ``/clock``.
        on_step: Called after steps, before their readings are published.

    Raises:
        ValueError: A topic name or quality of service is invalid.
    """

    def __init__(
        self,
        topics: TopicMaker,
        options: PublishingOptions,
        *,
        recording: TopicRecording | None = None,
        on_clock: Callable[[int], None] = lambda _: None,
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._time_ns = 0
        self._recording = recording
        self._maker = topics
        self._options = options
        self._on_clock = on_clock
        self._on_step = on_step
        self._runner: Run | None = None
        self._simulation: Simulation | None = None
        self._readings: Mapping[str, Reading] = {}  # of the last step
        self._reads_all = bool(options.lock_step)
        self._bodies: Mapping[str, BodyPublisher] = {}  # by name
        # By names in the simulation; replaced instead of changed, because two threads use them.
        self._outputs: Mapping[str, SensorOutputs] = {}
        self._owners: Mapping[str, BodyPublisher] = {}
        self._keepers: Mapping[str, tuple[Callable[[int, Reading], None], ...]] = {}
        self._topics = WorldTopics(topics)
        self._clock_ticks = SampleClock(options.clock_rate)
        self._contacts = _Contacts(topics, options) if options.contact_rate > 0.0 else None

    @property
    def topics(self) -> list[Topic]:
        """The topics of the world, without those of its bodies."""
        return [*self._topics.all, *([] if self._contacts is None else self._contacts.topics)]

    @property
    def bodies(self) -> Mapping[str, BodyPublisher]:
        """Publishers of the bodies by name."""
        return self._bodies

    def set_contact_scale(self, scale: float) -> None:
        """Set the length of the arrow of a contact force, in [m/N]."""
        if self._contacts is not None:
            self._contacts.scale = scale

    def replace(self, simulation: Simulation) -> None:
        """Replace the published simulation; its bodies are set afterwards."""
        self.set_bodies({})
        self._simulation = simulation
        simulation.switched = self._publish_switches

    def make_body(self, name: str, naming: BodyNaming) -> BodyPublisher:
        """Create the topics of a body, for ``set_bodies``.

        Raises:
            KeyError: The body was deleted meanwhile.
            NameCollisionError: Two of its sensors would have the same topic.
            ValueError: A topic name or quality of service is invalid.
        """
        assert self._simulation is not None
        return BodyPublisher(
            self._maker, self._simulation, name, naming, self._topics.tf, self._options
        )

    def set_bodies(self, bodies: Mapping[str, BodyPublisher]) -> None:
        """Replace the bodies; removed ones are published no more, but not closed."""
        is_changed = bool(bodies or self._bodies)
        self._bodies = bodies
        self._outputs = {k: found for b in bodies.values() for k, found in b.outputs.items()}
        self._keepers = {
            name: tuple(output.keep for output in found.outputs)
            for name, found in self._outputs.items()
            if not isinstance(found.sensor, CameraSensor)
        }
        self._owners = {k: b for b in bodies.values() for k in b.devices}
        if is_changed:
            self.publish_static()

    def publish_static(self) -> None:
        """Publish the static frames, if they have changed."""
        self._topics.publish_static(self._static_frames)

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
        """Publish for a run."""
        self._runner = run

    def wants(self, simulation: Simulation, sensor: str) -> bool:
        """Return whether a sensor should be read."""
        found = self._outputs.get(sensor)
        # The topics may still be those of a deleted sensor of the same name.
        if found is None or found.sensor is not simulation.sensors[sensor]:
            return False
        # In lock-step, noise and filters must not depend on the times of subscriptions.
        if self._reads_all and not isinstance(found.sensor, CameraSensor):
            return True
        return found.is_wanted()

    def wanted_parts(self, camera: str) -> Parts:
        """Return the parts of an image that have subscribers."""
        found = self._outputs.get(camera)
        return NO_PARTS if found is None else found.wanted_parts()

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
        gate = None if self._runner is None else self._runner.gate
        lock_step = gate if isinstance(gate, LockStep) else None
        is_waited_for = lock_step is not None and lock_step.is_boundary(time_ns)
        is_paced = lock_step is not None and lock_step.paces_clock
        if self._clock_ticks.is_due(time_ns) and not is_waited_for and not is_paced:
            self.publish_clock(time_ns)
        self._on_step()
        outputs = self._outputs
        for name, reading in readings.items():
            if (found := outputs.get(name)) is None or isinstance(reading, RenderRequest):
                continue
            for output in found.outputs:
                output.publish(reading)
        stepped = self._simulation if self._runner is None else self._runner.simulation
        if self._contacts is not None and stepped is not None:
            self._contacts.after_step(stepped)
        if is_waited_for:
            # At any clock_rate, because a controller manager sleeps until this time; and last, so
            # that controllers are likely to have received the readings.
            self.publish_clock(time_ns)

    def keep_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Keep the readings of one step, and the clock when it is due, for ``publish_kept``.

        That is cheaper than ``take_step``; contacts are not published.
        """
        if time_ns >= self._clock_ticks.due_ns:
            self._clock_ticks.advance(time_ns)
            self._topics.keep_clock(time_ns)
        for name, reading in readings.items():
            for keep in self._keepers.get(name, ()):
                keep(time_ns, reading)

    def publish_kept(self) -> None:
        """Publish the steps that were kept, topic by topic."""
        self._topics.publish_kept_clocks()
        for found in self._outputs.values():
            for output in found.outputs:
                output.publish_kept()

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
        assert self._runner is not None
        self.publish_clock(self._runner.simulation.state.time_ns)
        self._publish_state()

    def _publish_state(self) -> None:
        """Publish the state of a halted run: frames and readings, without images.

        They are not recorded. In lock-step controllers respond to readings, so there are none.
        """
        runner = self._runner
        if runner is None or not runner.is_halted or runner.simulation is not self._simulation:
            return
        simulation, frames_only = runner.simulation, isinstance(runner.gate, LockStep)
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
        self._on_clock(time_ns)
        self._topics.publish_clock(time_ns)

    def _set_time(self, time_ns: int) -> None:
        self._time_ns = time_ns
        if self._recording is not None:
            self._recording.time_ns = time_ns

    def _publish_switches(self, name: str, on: bool) -> None:  # noqa: ARG002
        if (owner := self._owners.get(name)) is not None:
            owner.publish_switches()

    def changed(self, change: Change) -> None:
        """Publish changes without waiting for the next step; called in the stepping thread."""
        assert self._runner is not None
        simulation = self._runner.simulation
        time_ns = simulation.state.time_ns
        if time_ns < self._time_ns or change in (Change.RESET, Change.REPLACE):
            self._clock_ticks.wait(time_ns)
            if self._contacts is not None:
                self._contacts.sampler.restart(time_ns)
        self._set_time(time_ns)
        self.publish_clock(time_ns)
        self._on_step()
        if simulation is self._simulation:
            self.publish_static()
        if change is not Change.STEPS:  # whose readings were published
            self._publish_state()

    def _static_frames(self) -> list[FramePose]:
        """Return all static frames, except those of descriptions."""
        return [frame for body in self._bodies.values() for frame in body.static_frames()]


class _Contacts:
    """Publishes the contacts of a world, as numbers and as markers.

    Attributes:
        topics: The topics.
        sampler: Samples the contacts.
        scale: Length of the arrow of a force, in [m/N].
    """

    def __init__(self, topics: TopicMaker, options: PublishingOptions) -> None:
        self.scale = options.contact_scale
        self._markers = ContactMarkerTopic(topics, options.world_frame)
        self._numbers: ContactTopic | None = None
        try:
            self._numbers = ContactTopic(topics, options.world_frame)
        except ImportError:
            _log.warning("ros_gz_interfaces is not installed: there is no topic 'contacts'")
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
