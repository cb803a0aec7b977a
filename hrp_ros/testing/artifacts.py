"""Keep a recording and a picture of a run, by repeating it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from math import inf
from pathlib import Path

from hrp_model import Diagnostics
from hrp_sim import PhysicsError, Simulation
from hrp_sim.engine.engines import ENGINES
from hrp_sim.recording.video import (
    Extents,
    FixedView,
    Format,
    StudioRenderer,
    Viewpoint,
    poses_of,
    writing_film,
)
from hrp_sim.run.build import build_simulation
from hrp_sim.run.distribution import Distribution
from hrp_sim.run.runner import Runner
from hrp_sim.run.scenarios import Course, CourseRun
from hrp_sim.sensors import Reading, RenderRequest
from hrp_sim.topics.run_recording import RunRecording

from .scenario_test import ScenarioRun
from .stage import stage_of

RECORDING, PICTURE = "run.mcap", "moment.png"
# Simulation time that is recorded before and after the moment, in [s].
_BEFORE, _AFTER = 30.0, 1.0
_SIZE = 1280, 720  # of the picture, in pixels
_ROUNDING = 1e-9  # of times, in [s]


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
    test = run.test
    simulation, _ = build_simulation(test.scenario.world, ENGINES[0], _quiet())
    with simulation:
        repetition = _Repetition(simulation, test.scenario.course, run.moment)
        repetition.go_on(run.moment - _BEFORE)
        with _reported("recording", lines):
            repetition.go_on_recorded(path, run.moment + _AFTER, lines.append)
            lines.append(f"recording: {path}")
        repetition.go_on(inf)
        yield repetition.moment


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
        stage.run(test.scenario.course, lambda course: moment.follow(course.time))
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


class _Moment:
    """The poses of a simulation at a moment.

    Args:
        simulation: In its initial state.
        moment: The time, in [s].

    Attributes:
        simulation: The simulation.
    """

    def __init__(self, simulation: Simulation, moment: float) -> None:
        self.simulation = simulation
        self._moment = moment
        self._poses = poses_of(simulation.state)
        self._is_past = moment <= 0.0  # whether the poses are those of the moment

    def follow(self, time: float) -> None:
        """Note the poses after a step to a time in [s], if it is the moment."""
        if not self._is_past and time >= self._moment - _ROUNDING:
            self._poses, self._is_past = poses_of(self.simulation.state), True

    def draw(self, path: Path) -> None:
        """Draw the picture of the moment, or of the end if that was earlier.

        Raises:
            RendererUnavailable: This machine cannot render.
            OSError: The picture cannot be written.
        """
        bodies = {name: simulated.body for name, simulated in self.simulation.bodies.items()}
        poses = self._poses if self._is_past else poses_of(self.simulation.state)
        view = FixedView(_SIZE, Viewpoint(), Extents(bodies).points(poses))
        renderer = StudioRenderer(bodies, view, poses)
        renderer.prepare(_quiet())
        with writing_film(Format(path, _SIZE, 1.0)) as writer:
            writer.add(renderer.picture(poses))


class _Repetition:
    """Repeats a run without ROS step by step.

    Args:
        simulation: Of its world, in its initial state.
        course: What happens.
        moment: The moment to draw, in [s].
    """

    def __init__(self, simulation: Simulation, course: Course, moment: float) -> None:
        self.simulation = simulation
        self.moment = _Moment(simulation, moment)
        self._course = CourseRun(simulation, course)
        self._has_failed = False

    @property
    def time(self) -> float:
        """Simulation time since the start, in [s]."""
        return self._course.time

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self._course.is_over or self._has_failed

    def go_on(self, until: float) -> None:
        """Step until a time in [s], or to the end."""
        while not self.is_over and self.time < until - _ROUNDING:
            self._course.before_step()
            try:
                readings = self.simulation.advance(1)
            except PhysicsError:
                self._has_failed = True
            else:
                self._after_step(readings)

    def go_on_recorded(self, path: Path, until: float, warn: Callable[[str], object]) -> None:
        """Step until a time in [s], or to the end, and record it without images of cameras.

        Args:
            path: The recording.
            until: The time.
            warn: Called with each problem of the recording.

        Raises:
            MissingLibraryError: A library for recordings is not installed.
            OSError: The recording cannot be written.
        """
        with ExitStack() as stack:
            recording = stack.enter_context(closing(RunRecording(path, warn=warn, on_error=warn)))
            from hrp_sim.topics.recorded_world import RecordedWorld  # needs the messages

            distribution = Distribution(self.simulation, read_all=True)
            stack.callback(distribution.close)

            def on_step(time_ns: int, readings: Mapping[str, Reading]) -> None:
                distribution.publish(time_ns, _without_images(readings))
                self._after_step(readings)
                if self.is_over:
                    runner.stop()
                else:
                    self._course.before_step()

            runner = Runner(
                self.simulation, on_step, real_time_factor=0.0, duration=until - self.time
            )
            distribution.serve(runner)
            world = RecordedWorld(recording, self.simulation, _quiet(), warn)
            distribution.add(world.consumer)
            world.serve(runner)
            self._course.before_step()
            runner.run()
            self._has_failed = runner.error is not None

    def _after_step(self, readings: Mapping[str, Reading]) -> None:
        self._course.after_step(readings)
        self.moment.follow(self.time)


def _without_images(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return readings without those of cameras, whose images would be most of a recording."""
    return {name: r for name, r in readings.items() if not isinstance(r, RenderRequest)}


def _quiet() -> Diagnostics:
    """Return diagnostics for problems that have been reported."""
    return Diagnostics(listener=lambda _found: None)
