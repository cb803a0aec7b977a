"""Record a world without ROS, as ``sim_node`` publishes it."""

from __future__ import annotations

from collections.abc import Callable

from hrp_model import Diagnostics
from hrp_model.description.description import DescriptionOptions, describe
from hrp_model.description.publisher import DescriptionPublisher
from hrp_model.files.writer import mesh_folder
from hrp_model.frames import FrameOptions
from hrp_msgs.topics.recorded import RecordedTopics
from hrp_msgs.topics.robot import RobotTopics

from ..run.run import Change, Consumer, Run
from ..simulation import Simulation
from ..world.naming import BodyNaming
from .body_publisher import BodyPublisher
from .options import PublishingOptions
from .run_recording import RunRecording
from .step_recorder import StepRecorder
from .world_publisher import WorldPublisher


class RecordedWorld(Consumer):
    """Records the topics that ``sim_node`` publishes by default, with descriptions.

    Bodies that come later are added, and all of a world that replaces this one.

    Args:
        recording: The recording; its owner closes it.
        simulation: The simulation.
        diagnostics: Receives warnings of the descriptions.
        warn: Called with other warnings.
        images: Whether images are recorded.

    Attributes:
        consumer: Records the readings; ``attach`` makes it a consumer of the run, too.

    Raises:
        NameCollisionError: Two bodies or devices would have the same topic.
        OSError: The meshes of a description cannot be written.
    """

    def __init__(
        self,
        recording: RunRecording,
        simulation: Simulation,
        diagnostics: Diagnostics,
        warn: Callable[[str], object],
        *,
        images: bool = True,
    ) -> None:
        self._recording = recording
        self._diagnostics = diagnostics
        self._warn = warn
        self._runner: Run | None = None
        topics = RecordedTopics(recording.topics)
        self._publisher = WorldPublisher(topics, PublishingOptions(), recording=recording.topics)
        self.consumer = StepRecorder(self._publisher, recording.topics, images=images)
        recording.before_close = self.consumer.flush
        self._replace(simulation)

    def attach(self, run: Run) -> None:
        """Record a run and the changes of its world."""
        self._runner = run
        run.add(self.consumer)
        for body in self._publisher.bodies.values():
            body.serve()

    def _replace(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._recording.topics.time_ns = simulation.state.time_ns
        self._publisher.replace(simulation)
        namings = self._publisher.namings(simulation)
        self._publisher.set_bodies({k: self._make_body(k, v) for k, v in namings.items()})

    def _make_body(self, name: str, naming: BodyNaming) -> BodyPublisher:
        """Return the topics of a body, with its description."""
        publisher = self._publisher.make_body(name, naming)
        publisher.report_root(lambda _: None, self._warn)
        body = publisher.simulated.body
        options = DescriptionOptions().with_frames(FrameOptions(base=publisher.base))
        description = describe(body, options, mesh_folder(), self._diagnostics)
        topics = RecordedTopics(self._recording.topics, naming.absolute_namespace("/"))
        robot = RobotTopics(topics, semantics=bool(description.srdf), tf=True)
        links = DescriptionPublisher(robot, self._warn, frame_prefix=naming.frame_prefix)
        links.publish(description)
        self._recording.attach_meshes(description.urdf)
        publisher.describe(links)
        if self._runner is not None:
            publisher.serve()
        return publisher

    def changed(self, change: Change) -> None:
        """Follow the bodies of the world; called in the stepping thread."""
        assert self._runner is not None
        self.consumer.flush()
        simulation = self._runner.simulation
        try:
            if change is Change.REPLACE:
                self._replace(simulation)
            elif change is Change.WORLD:
                self._sync()
        except (OSError, ValueError) as error:
            self._warn(f"some topics of this world cannot be recorded: {error}")

    def _sync(self) -> None:
        """Add the topics of new bodies, and remove those of deleted ones."""
        bodies = self._simulation.bodies
        known = self._publisher.bodies
        kept = {k: b for k, b in known.items() if bodies.get(k) is b.simulated}
        if kept.keys() == known.keys() == bodies.keys():
            return
        self._publisher.set_bodies(kept)
        for name in bodies.keys() - kept.keys():
            naming = self._publisher.spawned_naming(name, self._simulation.namespace(name))
            self._publisher.set_bodies(
                {**self._publisher.bodies, name: self._make_body(name, naming)}
            )
