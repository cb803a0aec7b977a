"""The simulation of a scenario, with or without ROS nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from hrp_model import Diagnostics
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.program.command import missing_ros
from hrp_sim import Simulation
from hrp_sim.engine.engines import ENGINES
from hrp_sim.run.build import build_simulation
from hrp_sim.run.scenarios import Course, CourseOutcome, CourseRun, Scenario, run_scenario
from hrp_sim.sensors import CameraSensor
from hrp_sim.topics.run_recording import RunRecording

from .problems import Problem
from .ros_file import RosSetup

OnStep = Callable[[CourseRun], None]


class Stage(Protocol):
    """A simulation in its initial state, in which the course of a scenario can run once.

    All sensors are read, except for cameras that no expectation needs.
    """

    @property
    def simulation(self) -> Simulation:
        """The simulation."""

    @property
    def hint(self) -> str:
        """Hint for users if its physics fails."""

    def run(self, course: Course, on_step: OnStep) -> CourseOutcome:
        """Run a course; ``on_step`` is called after each step."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Why the run does not pass, besides its outcome."""

    @property
    def outputs(self) -> Mapping[str, str]:
        """The end of the output of each node, by its command."""


@contextmanager
def stage_of(
    name: str,
    scenario: Scenario,
    ros: RosSetup | None,
    recording: RunRecording | None = None,
) -> Iterator[Stage]:
    """Yield the simulation of a scenario, with its ROS nodes if it has any.

    Args:
        name: Path of the scenario, for messages.
        scenario: The scenario.
        ros: Its ROS side; None for a simulation without ROS.
        recording: Records all topics of the simulation; only with ROS.

    Raises:
        ModelError: A controller of the world cannot be used.
        PhysicsError: The world cannot be simulated.
        MissingLibraryError: ROS is needed, and not installed.
        ScenarioError: The ROS side cannot be used.
    """
    if ros is not None:
        try:
            from .ros.stage import ros_stage
        except ImportError as error:
            raise MissingLibraryError(f"{name}: {missing_ros(error)}") from None
        with ros_stage(name, scenario.world, ros, recording) as stage:
            yield stage
        return
    diagnostics = Diagnostics(listener=lambda _found: None)
    simulation, hint = build_simulation(scenario.world, ENGINES[0], diagnostics)
    with simulation:
        yield _Alone(simulation, hint)


class _Alone:
    """A simulation without ROS.

    Args:
        simulation: The simulation.
        hint: See ``Stage``.
    """

    def __init__(self, simulation: Simulation, hint: str) -> None:
        self.simulation, self.hint = simulation, hint
        self.problems: Sequence[Problem] = ()
        self.outputs: Mapping[str, str] = {}

    def run(self, course: Course, on_step: OnStep) -> CourseOutcome:
        simulation = self.simulation
        simulation.wanted = lambda name: not isinstance(simulation.sensors[name], CameraSensor)
        return run_scenario(simulation, course, on_step)
