"""The simulation of a scenario, with or without ROS nodes, and why a run does not pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hrp_model import Diagnostics
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.program.command import missing_ros
from hrp_sim import Simulation
from hrp_sim.engine.engine import ENGINES
from hrp_sim.run.run import Consumer
from hrp_sim.run.scenarios import CourseOutcome, CourseRun, Scenario
from hrp_sim.simulation import build_simulation
from hrp_sim.topics.run_recording import RunRecording

from .ros_file import RosSetup


class ScenarioError(AssertionError):
    """A scenario did not pass, or cannot be run; the message has all reasons."""


@dataclass(frozen=True)
class Problem:
    """Why a run does not pass.

    Attributes:
        moment: Simulation time, in [s].
        text: For users, possibly of several lines.
    """

    moment: float
    text: str


class Stage:
    """A simulation in its initial state, in which the course of a scenario can run once.

    All sensors are read, except for cameras that no expectation needs.

    Args:
        simulation: The simulation.
        hint: For users if its physics fails.

    Attributes:
        simulation: The simulation.
        hint: As given.
        problems: Why the run does not pass, besides its outcome.
    """

    def __init__(self, simulation: Simulation, hint: str) -> None:
        self.simulation, self.hint = simulation, hint
        self.problems: list[Problem] = []

    @property
    def outputs(self) -> Mapping[str, str]:
        """The end of the output of each node, by its command."""
        return {}

    def run(self, course: CourseRun, consumers: Sequence[Consumer]) -> CourseOutcome:
        """Run a course; further consumers take its steps.

        Raises:
            ScenarioError: The name of a topic is invalid.
        """
        return course.run(consumers)


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
        yield Stage(simulation, hint)
