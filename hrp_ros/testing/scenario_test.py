"""A scenario file as a test: its run, its expectations and its baseline."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from hrp_model import Diagnostic, Diagnostics, Severity
from hrp_model.printable import printable_lines
from hrp_sim.run.scenarios import CourseOutcome, CourseRun, Scenario, read_scenario
from hrp_sim.run.scenarios.reader import parse_file
from hrp_sim.run.summary import RunResult, result_lines, result_of

from .baseline_check import BaselineCheck, BaselineSettings
from .ros_file import RosSetup, read_ros
from .stage import Problem, ScenarioError, stage_of

_BASELINE_SUFFIX = ".json"


@dataclass(frozen=True, kw_only=True)
class ScenarioTest:
    """A scenario with what only tests need.

    Attributes:
        name: Path of its file, for messages.
        scenario: The scenario.
        ros: Its ROS nodes, and what is expected of topics; None without ROS.
        baseline: File to compare its runs with, or None.
        warnings: Of the scenario, its world and its models.
    """

    name: str
    scenario: Scenario
    ros: RosSetup | None = None
    baseline: Path | None = None
    warnings: Sequence[Diagnostic] = ()


@dataclass(frozen=True, kw_only=True)
class ScenarioRun:
    """A run of a scenario that has ended.

    Attributes:
        test: The scenario.
        outcome: What became of its course.
        result: Postures, contacts, joints and sensors at the end, and the hash of the state.
        problems: Why it does not pass; empty if it does.
        written: Whether its baseline was written.
        outputs: The end of the output of each ROS node, by its command.
    """

    test: ScenarioTest
    outcome: CourseOutcome
    result: RunResult
    problems: Sequence[Problem] = ()
    written: bool = False
    outputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def moment(self) -> float:
        """Simulation time of the earliest problem, or of the end without any, in [s]."""
        return min((problem.moment for problem in self.problems), default=self.outcome.time)

    @property
    def text(self) -> str:
        """The problems and the result as lines of text."""
        stop = self.outcome.stopped_by
        end = "the end" if stop is None else f"where {stop.text} has ended the run"
        lines = [f"{self.test.name}: {problem.text}" for problem in self.problems]
        lines += ["", f"at {self.outcome.time:.9g} s, {end}:"]
        return "\n".join([*lines, *(f"  {line}" for line in result_lines(self.result))])

    def check(self) -> None:
        """Raise ScenarioError if it does not pass."""
        __tracebackhide__ = True
        if self.problems:
            raise ScenarioError(printable_lines(self.text))


def load_scenario_test(path: str | os.PathLike[str]) -> ScenarioTest:
    """Load a scenario file with the keys that only tests have.

    Raises:
        ModelError: It cannot be used; lists every problem with its location.
    """
    diagnostics = Diagnostics(listener=lambda _found: None)
    root = parse_file(path, diagnostics, "a scenario")
    folder = Path(os.path.realpath(path)).parent
    baseline = root.text("baseline", default=None)
    if baseline is not None and not baseline.endswith(_BASELINE_SUFFIX):
        message = f"the name of a baseline must end with '{_BASELINE_SUFFIX}'"
        root.diagnostics.error("bad-baseline", message, root.at("baseline"))
    ros = read_ros(root, folder)
    scenario = read_scenario(root, folder, diagnostics)
    root.finish()
    diagnostics.raise_errors()
    return ScenarioTest(
        name=os.fspath(path),
        scenario=scenario,
        ros=ros,
        baseline=None if baseline is None else Path(path).parent / baseline,
        warnings=[d for d in diagnostics.found if d.severity is Severity.WARNING],
    )


def run_scenario_test(test: ScenarioTest, settings: BaselineSettings) -> ScenarioRun:
    """Run a scenario, and compare it with its expectations and its baseline.

    Raises:
        ModelError: A controller of the world cannot be used.
        PhysicsError: The world cannot be simulated.
        MissingLibraryError: It has ROS nodes, and ROS is not installed.
        ScenarioError: Its ROS nodes cannot be used.
    """
    course = test.scenario.course
    with stage_of(test.name, test.scenario, test.ros) as stage:
        simulation, check = stage.simulation, None
        if test.baseline is not None:
            check = BaselineCheck(test.baseline, settings, simulation, course.duration)
        with closing(CourseRun(simulation, course, reads_all=True)) as run:
            start = time.monotonic()
            outcome = stage.run(run, [] if check is None else [check.recorder])
            elapsed = time.monotonic() - start
            result = result_of(run.recorder, test.name, elapsed, outcome.error)
        problems = [*stage.problems, *_problems(outcome, stage.hint)]
        if check is not None:
            problems += check.finish(passed=not problems)
    return ScenarioRun(
        test=test,
        outcome=outcome,
        result=result,
        problems=problems,
        written=check is not None and check.written,
        outputs=stage.outputs,
    )


def _problems(outcome: CourseOutcome, hint: str) -> Iterator[Problem]:
    """Yield what failed, and the expectations that are not met."""
    if outcome.error:
        error = f"{outcome.error}\nhint: {hint}" if hint else outcome.error
        yield Problem(outcome.time, error)
    for expectation in outcome.expectations:
        if not expectation.met:
            moment = outcome.time if expectation.first is None else expectation.first
            yield Problem(moment, str(expectation))
