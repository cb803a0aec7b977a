"""ROS 2 node of a simulation.

Publishes: sensor readings of each robot (topics in ``hrp_msgs.names``), ``/clock``,
``ground_truth/odom``, and the roots of the bodies on ``/tf`` and ``/tf_static``.
Subscribes: commands of each robot (``hrp_msgs.topics.commands``).
Action: ``follow_joint_trajectory`` of each robot.
Services: ``~/reset`` and ``~/pause``, those of ``simulation_interfaces``, and
``devices/<device>/set_enabled`` of each sensor and light.
Parameters: ``hrp_sim.ros.parameters.SIM_NODE``, the options of ``SensorSettings`` for all sensors,
those of single sensors as ``<sensor>.<option>``, and gains, modes and initial positions of joints
(``hrp_sim.ros.command_parameters``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from hrp_model import Diagnostic, ModelError, Severity
from hrp_model.description.description import DescriptionOptions
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.files.resources import share_folder
from hrp_model.files.writer import is_special
from hrp_model.late_dataclass import dataclass
from hrp_model.program.command import StopSignals, print_problem
from hrp_model.program.console import print_message
from hrp_model.ros.model_node import logged_diagnostics
from hrp_msgs.names import NameCollisionError
from hrp_msgs.node.executor import ExecutorThread, remove_destroyed
from hrp_msgs.node.parameters import Param, Value, option_param
from hrp_msgs.node.start import (
    NodeLogHandler,
    creating,
    destroy,
    fastdds_environment,
    init_ros,
)
from hrp_msgs.node.start import WrongUseError as WrongUseError
from hrp_msgs.topics.node_topics import BLOCKED, PATIENCE, NodeTopics, rcl_sender
from hrp_msgs.topics.topic import Topic
from hrp_sim.ros.command_parameters import JointValues, joint_params
from hrp_sim.ros.parameters import SIM_NODE

from ..engine.engine import PhysicsError
from ..run.health import start_message
from ..run.requests.world_control import ControlOptions, WorldControl
from ..run.run import NotRunningError, Run
from ..sensors.settings import IDEAL
from ..simulation import Simulation
from ..topics.body import TopicOptions
from ..topics.run_recording import RunRecording
from ..topics.world import TOPIC_ERRORS, WorldTopics
from ..world.config import WorldConfig
from ..world.projects import ProjectOptions
from ..world.sensor_options import COMMON_OPTIONS
from .bodies import CommandInterfaces, NodeBody
from .parameters import WorldLoader
from .run_services import RunServices, start_lock_step
from .simulation_services import SimulationServices

_T = TypeVar("_T")
# Period of clock and state while the run is halted, in [s] of wall time.
_PERIOD = 1.0
PARAMETERS = (
    *SIM_NODE,
    *(option_param(option.name, getattr(IDEAL, option.name), option) for option in COMMON_OPTIONS),
    Param("<sensor>.<option>", "", "The same option of one sensor, or its rate [Hz]."),
    *joint_params("<joint>", JointValues()),
)


class SimNode(Node):
    """Node of a simulation: its topics, and the services of its run after ``serve``.

    Args:
        make: Creates the simulation; ``close`` frees it.
        make_recording: Opens a recording of all that is published; by default that of the
            parameter ``record``, if it is not empty.
        node_options: Arguments of ``rclpy.node.Node``, such as ``context``.

    Attributes:
        settings: Values of the parameters by name.
        simulation: The newest simulation.
        recording: The recording; None without one.
        world_topics: Topics of the world and its bodies.

    Raises:
        ModelError: The world cannot be used, or two of its topics would have the same name.
        PhysicsError: The physics cannot simulate a body.
        OSError: The meshes of a description cannot be written.
        MissingLibraryError: A library for recordings or descriptions is not installed.
        ParameterException, WrongUseError: A parameter or the recording is invalid.
    """

    def __init__(
        self,
        make: Callable[[WorldLoader], Simulation] = WorldLoader.load,
        *,
        make_recording: Callable[[], RunRecording] | None = None,
        **node_options: object,
    ) -> None:
        with creating("the node"):
            super().__init__(
                "sim_node", automatically_declare_parameters_from_overrides=True, **node_options
            )
        self._served: _Served | None = None
        with ExitStack() as undo:
            undo.callback(destroy, self)
            undo.callback(NodeLogHandler(self, ["hrp_model", "hrp_sim"]).close)
            self._loader = WorldLoader(self)
            self.settings = self._loader.settings
            self.simulation = make(self._loader)
            undo.callback(lambda: self.simulation.close())  # the newest one
            self.recording = self._open_recording(make_recording)
            if self.recording is not None:
                undo.callback(self.recording.close)
            self._commands = CommandInterfaces(self, self.settings)
            undo.callback(self._commands.close)
            self._sender = rcl_sender()
            undo.callback(self._sender.close, PATIENCE)  # before publishers are destroyed
            self.world_topics = self._make_topics()
            undo.callback(self.world_topics.close)
            self.replace(self.simulation)
            self._undo = undo.pop_all()
        unmatched = self._commands.unmatched_controllers(self.simulation)
        for problem in (*self.unknown_joints(self._loader.given), *unmatched):
            self.get_logger().warning(problem)
        self.add_post_set_parameters_callback(self._follow_parameters)

    def _make_topics(self) -> WorldTopics:
        """Create the topics of the world, without those of its bodies."""
        recording, logger = self.recording, self.get_logger()
        self._maker = NodeTopics(
            self, None if recording is None else recording.topics, self._sender
        )
        if self.settings["describe"] and (conflict := DescriptionOptions.conflict(self.settings)):
            raise WrongUseError(conflict)
        return WorldTopics(
            self._maker,
            TopicOptions.from_parameters(self.settings),
            warn=logger.warning,
            inform=logger.info,
            make_diagnostics=partial(logged_diagnostics, self),
            make_body=partial(NodeBody, self, self._commands),
            recording=recording,
        )

    @property
    def failure_hint(self) -> str:
        """Hint for users if the physics fails."""
        return self._loader.failure_hint

    @property
    def problems(self) -> Sequence[Diagnostic]:
        """Warnings about the world and its models, which were logged when it was loaded."""
        return self._loader.problems

    @property
    def world(self) -> WorldConfig:
        """World of the newest simulation, with the parameters applied."""
        return self._loader.world

    def make_simulation(self, world: WorldConfig) -> Simulation:
        """Create a simulation of another world with the parameters applied.

        If that fails, the parameters of the previous world are restored.

        Raises:
            ModelError: A parameter or a controller of this world is invalid.
            PhysicsError: The physics cannot simulate a body.
        """
        before = self.world
        try:
            config = self._call_in_executor(partial(self._loader.configure, world))
        except WrongUseError as error:
            raise ModelError([Diagnostic(Severity.ERROR, "out-of-range", str(error))]) from None
        try:
            return self._loader.build(config)
        except (ModelError, PhysicsError):
            self._call_in_executor(partial(self._loader.configure, before))
            raise

    def _call_in_executor(self, action: Callable[[], _T]) -> _T:
        """Execute an action in the executor thread, which iterates over the parameters."""
        served = self._served
        return action() if served is None else served.simulation.call_in_executor(action)

    def _open_recording(self, make: Callable[[], RunRecording] | None) -> RunRecording | None:
        """Open the given recording, or that of the parameter ``record``, if there is one.

        Raises:
            MissingLibraryError: A library for recordings is not installed.
            WrongUseError: The file exists or cannot be written.
        """
        if make is not None or not self.settings["record"]:
            return None if make is None else make()
        path = Path(self.settings["record"])
        logger = self.get_logger()
        try:
            if os.path.lexists(path) and not is_special(path):
                raise WrongUseError(f"record: '{path}' exists already: remove it, or give another")
            return RunRecording(path, warn=logger.warning, on_error=logger.error)
        except OSError as error:
            raise WrongUseError(f"record: cannot write '{path}': {error.strerror}") from None

    def replace(self, simulation: Simulation) -> None:
        """Replace the published simulation; the owner of the previous one closes it.

        To be called in the executor thread, after ``Run.replace``.

        Raises:
            ModelError: Two bodies or devices would have the same topic.
            OSError: The meshes of a description cannot be written.
        """
        self.simulation = simulation
        try:
            self.world_topics.replace(simulation)
        except NameCollisionError as error:
            problem = Diagnostic(Severity.ERROR, "name-collision", str(error))
            raise ModelError([problem]) from None
        remove_destroyed(self.default_callback_group)
        # Initial positions that the node was started with; a restored state goes on as it is.
        if simulation.placements.has_set_positions and simulation.state.time_ns == 0:
            (simulation if self._served is None else self._served.run).reset()

    def check_names(self, simulation: Simulation, names: Collection[str]) -> None:
        """Check that the topics of new bodies collide with no others.

        Raises:
            NameCollisionError: Two bodies or devices would have the same topic.
        """
        self.world_topics.check_names(simulation, names)

    def sync(self) -> None:
        """Update the topics after bodies were added or removed, or the simulation was replaced.

        Callable from any thread.
        """
        self._call_in_executor(self._sync)

    def _sync(self) -> None:
        run = None if self._served is None else self._served.run
        if run is None or run.simulation is self.simulation:
            self.world_topics.sync()
            remove_destroyed(self.default_callback_group)
            if run is not None:
                with suppress(NotRunningError):
                    run.call(run.simulation.apply_pending)  # e.g. gains set by parameters
                    self._commands.update_joint_params()
            return
        try:
            self.replace(run.simulation)
        except (ModelError, *TOPIC_ERRORS) as error:
            self.get_logger().error(f"some topics of this world cannot be created: {error}")

    @property
    def control(self) -> WorldControl:
        """Operations on the run and its world, after ``serve``."""
        assert self._served is not None, "there is no run yet"
        return self._served.control

    def serve(self, run: Run) -> None:
        """Publish a run of this simulation, and offer its services."""
        settings = self.settings
        if run.real_time_factor != settings["real_time_factor"]:  # set by an option
            factor = Parameter("real_time_factor", value=float(run.real_time_factor))
            self.set_parameters([factor])
        if settings["start_paused"]:
            run.pause()
        options = ControlOptions(
            world_frame=settings["world_frame"],
            keeps_time=settings["hardware_topics"],
            run_controllers=settings["run_controllers"] == "all",
            project=ProjectOptions(variables=self._loader.variables),
        )
        control = WorldControl(
            run, self, self.world, settings["world"], options, logged_diagnostics(self)
        )
        self._served = _Served(
            run,
            control,
            SimulationServices(self, control),
            RunServices(self, self._maker, run, control, lambda: self.failure_hint),
        )
        self._undo.callback(self._served.simulation.close)
        run.add(self.world_topics)
        publish_halted = partial(self._publish_halted, run)
        self.create_timer(_PERIOD, publish_halted, clock=Clock(clock_type=ClockType.STEADY_TIME))
        waited_for = start_lock_step(self, settings, run, self.world_topics.republish)
        self.get_logger().info(start_message(run, waited_for, settings["lock_step_rate"]))

    def report_failure(self, error: PhysicsError) -> None:
        """Log a failure of the physics and its remedy."""
        if self._served is not None:
            self._served.services.report_failure(error)

    @property
    def topics(self) -> list[Topic]:
        """All published topics."""
        health = [] if self._served is None else [self._served.services.topic]
        return [*self.world_topics.topics, *health]

    def unknown_joints(self, given: Iterable[str]) -> Iterator[str]:
        """Yield a warning for each given parameter of a joint that does not exist."""
        return self._commands.unknown_joints(given)

    def _follow_parameters(self, changed: Sequence[Parameter]) -> None:
        """Apply parameters that were changed."""
        self.settings.update((p.name, p.value) for p in changed if p.name in self.settings)
        self.world_topics.set_contact_scale(self.settings["contact_scale"])
        self.world_topics.set_publish_frequency(self.settings["publish_frequency"])
        if self._served is not None and any(p.name == "real_time_factor" for p in changed):
            self._served.run.real_time_factor = self.settings["real_time_factor"]

    def _publish_halted(self, run: Run) -> None:
        """Publish clock and state while the run is halted, for new subscribers."""
        if run.paused or run.error is not None:
            with suppress(NotRunningError):  # in the stepping thread, so that time never decreases
                run.call(self.world_topics.publish_halted)

    def close(self) -> None:
        """Publish what is queued; close services, topics and the simulation, destroy the node."""
        if not self._sender.close(PATIENCE):
            self.get_logger().error(f"the last messages are not published: {BLOCKED}")
        self._undo.close()


@dataclass(frozen=True)
class _Served:
    """A run that a node serves.

    Attributes:
        run: The run.
        control: Operations on the run and its world.
        simulation: The services of simulation_interfaces.
        services: The other services of the run.
    """

    run: Run
    control: WorldControl
    simulation: SimulationServices
    services: RunServices


class RosSession:
    """A simulation with its nodes, context and executor thread.

    A process may have several sessions.

    Args:
        parameters: Parameter overrides, which take precedence over the command line.
        arguments: Command line; None for that of the process.
        domain: ROS domain; None for that of the environment.
        make_recording: See ``SimNode``.
        prepare: Called with the simulation before anything of it is published.
        world: The world; None for that of the parameter ``world``.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        ParameterException, WrongUseError: A parameter is invalid.
        OSError: The meshes of a description cannot be written.
    """

    def __init__(
        self,
        parameters: Mapping[str, Value],
        arguments: Sequence[str] | None = None,
        domain: int | None = None,
        make_recording: Callable[[], RunRecording] | None = None,
        prepare: Callable[[Simulation], object] = lambda _: None,
        world: WorldConfig | None = None,
    ) -> None:
        os.environ.update(fastdds_environment(share_folder() / "config"))
        self._context = Context()
        init_ros(
            arguments,
            context=self._context,
            domain_id=domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]

        def make(loader: WorldLoader) -> Simulation:
            with ExitStack() as failed:
                simulation = failed.enter_context(closing(loader.load(world)))
                prepare(simulation)
                failed.pop_all()
            return simulation

        with ExitStack() as undo:
            undo.callback(self._context.try_shutdown)
            self.node = SimNode(
                make,
                context=self._context,
                parameter_overrides=overrides,
                make_recording=make_recording,
            )
            undo.callback(self.node.close)
            self.simulation = self.node.simulation
            executor = SingleThreadedExecutor(context=self._context)
            executor.add_node(self.node)
            self._undo = undo.pop_all()
        self._serving = ExecutorThread(executor, self.node.get_logger())

    def serve(self, run: Run) -> None:
        """Publish a run of this simulation, and offer its services."""
        self.node.serve(run)

    def published(self) -> dict[str, tuple[str, int]]:
        """Return the type and the number of published messages by topic."""
        totals: dict[str, tuple[str, int]] = {}
        for topic in self.node.topics:
            count = totals.get(topic.name, ("", 0))[1]
            totals[topic.name] = (topic.type_name, count + topic.count)
        return totals

    @property
    def context(self) -> Context:
        """Context of the nodes, for further ones."""
        return self._context

    def subscribed(self) -> set[str]:
        """Return the names of the topics with subscribers."""
        return {topic.name for topic in self.node.topics if topic.has_subscribers()}

    def close(self) -> None:
        """Close the nodes and their executor."""
        self._serving.close()  # first, so that no callback uses a closed topic
        self._undo.close()


def _run() -> int:
    """Run until a signal; after a failure of the physics the run is halted, but responds."""
    with (
        StopSignals() as signals,
        closing(RosSession({})) as session,
        Run(
            session.simulation,
            real_time_factor=session.node.settings["real_time_factor"],
            on_failure=session.node.report_failure,
        ) as run,
    ):
        session.serve(run)
        signals.stop(run.stop)
        run.run()
    recording = session.node.recording
    return 1 if run.error is not None or (recording is not None and recording.error) else 0


def main() -> int:
    """Run the node until Ctrl-C; return the exit status: 1 for a bad world, 2 for a usage error."""
    try:
        return _run()
    except KeyboardInterrupt:
        return 0
    except (ParameterException, WrongUseError, MissingLibraryError) as error:
        print_message(f"error: {error}")
        return 2
    except (ModelError, PhysicsError, OSError) as error:
        print_problem(error)
        return 1


if __name__ == "__main__":
    from hrp_model.program.command import run_node

    sys.exit(run_node("hrp_sim.ros.sim_node", "sim_node"))  # handles --help, too
