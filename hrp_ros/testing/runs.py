"""Run the scenarios of a test, with expectations and baselines, and report about failures.

Of these a recording and a picture are kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest._code.code import ExceptionRepr  # has no public name

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.printable import printable_lines
from hrp_sim import PhysicsError, Simulation
from hrp_sim.engine.engine import ENGINES
from hrp_sim.engine.schedule import NEVER_NS, NS_PER_S
from hrp_sim.recording.video import (
    Format,
    StudioRenderer,
    make_view,
    writing_film,
)
from hrp_sim.run.run import Consumer, Run
from hrp_sim.run.scenarios import CourseOutcome, CourseRun, Scenario, read_scenario
from hrp_sim.run.scenarios.reader import parse_file
from hrp_sim.run.summary import RunResult, result_lines, result_of
from hrp_sim.sensors import Reading
from hrp_sim.simulation import build_simulation
from hrp_sim.topics.run_recording import RunRecording

from .baseline_check import BaselineCheck, BaselineSettings
from .names import ARTIFACTS, COMPLETE, TOLERANCE, UPDATE, WRITTEN
from .stage import Problem, RosSetup, ScenarioError, read_ros, stage_of

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


RECORDING, PICTURE = "run.mcap", "moment.png"
# Simulation time that is recorded before and after the moment, in [s].
_BEFORE, _AFTER = 30.0, 1.0
_MAX_NAME = 100  # characters of a folder
_UNSAFE = re.compile(r"[^\w.-]+")
_DISTINCT = re.compile(r"[\w./:\[\]-]+")  # ids that stay different without unsafe characters


class ScenarioRunner:
    """Runs scenarios for a test.

    Args:
        node: The test.
    """

    def __init__(self, node: pytest.Item) -> None:
        self._node = node
        self._folder = node.path.parent
        self._run: ScenarioRun | None = None  # the last one

    def __call__(self, path: str | os.PathLike[str]) -> ScenarioRun:
        """Run a scenario file.

        Args:
            path: The file; relative to the folder of the test.

        Returns:
            The run, which has passed.

        Raises:
            ScenarioError: The file cannot be used, an expectation is not met, the run differs
                from its baseline, or the physics or a controller failed.
        """
        __tracebackhide__ = True
        self._run = None  # what is kept of a failure must not be of an earlier scenario
        config = self._node.config
        settings = BaselineSettings(
            update=config.getoption(UPDATE),
            tolerance=float(config.getini(TOLERANCE)),
            command=f"pytest {UPDATE} {shlex.quote(os.path.relpath(self._node.path))}",
        )
        file = os.path.relpath(self._folder / path)  # as messages show it
        try:
            run = run_scenario_test(load_scenario_test(file), settings)
        except (ModelError, PhysicsError, MissingLibraryError) as error:
            raise ScenarioError(printable_lines(str(error))) from None
        self._run = run
        if run.written:
            self._node.user_properties.append((WRITTEN, str(run.test.baseline)))
        run.check()
        return run

    def complete(self, report: pytest.TestReport) -> None:
        """Add to the report of a failed test which files were kept of its last run."""
        if not report.failed or self._run is None:
            return
        lines = keep_artifacts(self._run, self._artifact_folder())
        text = printable_lines("\n".join(lines))
        if isinstance(report.longrepr, ExceptionRepr):
            report.longrepr.addsection("scenario", text)
        else:
            report.longrepr = f"{report.longrepr}\n\n{text}"

    def _artifact_folder(self) -> Path:
        """Return the folder of this test for recordings and pictures."""
        config = self._node.config
        name = _folder_name(self._node.nodeid)
        given: str | None = config.getoption(ARTIFACTS)
        if given:
            return config.invocation_params.dir / given / name
        cache = getattr(config, "cache", None)  # the plugin of the cache may be switched off
        if cache is not None:
            with suppress(OSError):  # the folder of the tests cannot be written
                folder: Path = cache.mkdir("hrp_ros") / name
                return folder
        return Path(tempfile.mkdtemp(prefix="hrp_ros-")) / name


def _folder_name(nodeid: str) -> str:
    """Return the name of a folder for a test, which differs from those of other tests."""
    name = _UNSAFE.sub("_", nodeid)
    if len(name) <= _MAX_NAME and _DISTINCT.fullmatch(nodeid):
        return name
    return f"{name[-_MAX_NAME:]}_{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def runner_of(node: pytest.Item) -> ScenarioRunner:
    """Return a runner for a test, which completes its report."""
    runner = ScenarioRunner(node)
    node.stash[COMPLETE] = runner.complete
    return runner


_SIZE = 1280, 720  # of the picture, in pixels


def keep_artifacts(run: ScenarioRun, folder: Path) -> list[str]:
    """Write a recording of a run and a picture of its moment; return lines about them.

    The run is repeated, since equal runs give equal results. What cannot be written is stated,
    so that it does not hide why the run did not pass.

    Args:
        run: The run.
        folder: Where the files are written; created if it is missing.
    """
    lines: list[str] = []
    with _reported("output of nodes", lines):
        lines += _write_outputs(run.outputs, folder)
    with warnings.catch_warnings(), _reported("run to keep", lines):
        warnings.simplefilter("ignore")  # of libraries that only these files need
        repeat = _repeat if run.test.ros is None else _repeat_with_ros
        with repeat(run, folder / RECORDING, lines) as moment:
            with _reported("picture", lines):
                moment.draw(folder / PICTURE)
                lines.append(f"picture at {run.moment:.9g} s: {folder / PICTURE}")
            if moment.simulation.state_hash() != run.result.state:
                lines.append(
                    "the run was repeated for these files and ended in another state: something "
                    "in it depends on more than the scenario, such as a clock or random numbers"
                )
    return lines


def _write_outputs(outputs: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Write the outputs of nodes; yield lines about them."""
    for k, (name, text) in enumerate(outputs.items(), start=1):
        path = folder / f"node_{k}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        yield f"output of node {name}: {path}"


@contextmanager
def _repeat(run: ScenarioRun, path: Path, lines: list[str]) -> Iterator[_Moment]:
    """Repeat a run without ROS; yield its moment.

    Args:
        run: The run.
        path: The recording of what is around the moment.
        lines: Receives lines about the recording.
    """
    scenario = run.test.scenario
    simulation, _ = build_simulation(scenario.world, ENGINES[0], _quiet())
    with simulation, closing(CourseRun(simulation, scenario.course, reads_all=True)) as course:
        moment = _Moment(simulation, run.moment)
        with Run(simulation, [course, moment]) as repetition:
            repetition.until(_ns(run.moment - _BEFORE))
            with _reported("recording", lines):
                with _recorded(repetition, path, lines.append):
                    repetition.until(_ns(run.moment + _AFTER))
                lines.append(f"recording: {path}")
            repetition.until(NEVER_NS)
        yield moment


@contextmanager
def _repeat_with_ros(run: ScenarioRun, path: Path, lines: list[str]) -> Iterator[_Moment]:
    """Repeat a run with its nodes, as ``_repeat``; all of its topics are recorded."""
    test, recording = run.test, None
    with ExitStack() as stack:
        with _reported("recording", lines):
            recording = RunRecording(path, warn=lines.append, on_error=lines.append)
            stack.callback(recording.close)
            lines.append(f"recording: {path}")
        stage = stack.enter_context(stage_of(test.name, test.scenario, test.ros, recording))
        moment = _Moment(stage.simulation, run.moment)
        course = CourseRun(stage.simulation, test.scenario.course, reads_all=True)
        stage.run(stack.enter_context(closing(course)), [moment])
        yield moment


@contextmanager
def _reported(what: str, lines: list[str]) -> Iterator[None]:
    """Add a line if something fails in a block, whatever it is: the test has failed already."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.filename:
            reason = f"'{error.filename}': {error.strerror}"
        else:
            kind = "" if isinstance(error, ImportError | OSError) else f"{type(error).__name__}: "
            reason = f"{kind}{error}"
        lines.append(f"there is no {what}: {reason}")


class _Moment(Consumer):
    """Consumer of a run that keeps the poses of a simulation at a moment.

    Args:
        simulation: In its initial state.
        moment: The time, in [s].

    Attributes:
        simulation: The simulation.
    """

    def __init__(self, simulation: Simulation, moment: float) -> None:
        self.simulation = simulation
        self._moment_ns = _ns(moment)
        self._poses = simulation.state.poses()
        self._is_past = self._moment_ns <= 0  # whether the poses are those of the moment

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return the moment, in [ns]."""
        return NEVER_NS if self._is_past else self._moment_ns

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:  # noqa: ARG002
        """Keep the poses after the first step to the moment."""
        if not self._is_past and time_ns >= self._moment_ns:
            self._poses, self._is_past = self.simulation.state.poses(), True

    def draw(self, path: Path) -> None:
        """Draw the picture of the moment, or of the end if that was earlier.

        Raises:
            RendererUnavailable: This machine cannot render.
            OSError: The picture cannot be written.
        """
        bodies = {name: simulated.body for name, simulated in self.simulation.bodies.items()}
        poses = self._poses if self._is_past else self.simulation.state.poses()
        view = make_view(bodies, [poses], _SIZE)
        renderer = StudioRenderer(bodies, view, poses)
        renderer.prepare(_quiet())
        with writing_film(Format(path, _SIZE, 1.0)) as writer:
            writer.add(renderer.picture(poses))


@contextmanager
def _recorded(run: Run, path: Path, warn: Callable[[str], object]) -> Iterator[None]:
    """Record a run in a block, without images of cameras, which would be most of the recording.

    Args:
        run: The run.
        path: The recording.
        warn: Called with each problem of the recording.

    Raises:
        MissingLibraryError: A library for recordings is not installed.
        OSError: The recording cannot be written.
    """
    with closing(RunRecording(path, warn=warn, on_error=warn)) as recording:
        from hrp_sim.topics.world import recorded_world  # needs the messages

        world = recorded_world(recording, run.simulation, _quiet(), warn, images=False)
        run.add(world)
        yield
        run.remove(world)


def _ns(time: float) -> int:
    return round(time * NS_PER_S)


def _quiet() -> Diagnostics:
    """Return diagnostics for problems that have been reported."""
    return Diagnostics(listener=lambda _found: None)
