"""Studies: a scenario, what varies in it, what is kept of each run; and a run of a case.

Their files are read with a check of all values that vary, before anything starts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from contextlib import closing
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.diagnostics import Source
from hrp_model.late_dataclass import dataclass
from hrp_model.readers.yaml.nodes import Mapping

from ...engine.engine import PhysicsError
from ...run.scenarios import CourseRun, Names, Scenario
from ...run.scenarios.reader import (
    parse_mapping,
    read_all,
    read_course,
    read_text,
    read_world,
    with_changes,
)
from ...simulation import Simulation
from ...world.config import WorldConfig
from .metrics import Metric, MetricRecorder, read_metrics
from .variables import (
    COURSE_KEYS,
    WORLD_KEYS,
    Document,
    KeyPath,
    KeyPathError,
    Kind,
    Variable,
    cases_of,
    is_of_world,
    locate,
    read_variables,
    replaced,
    unit_of,
)

# Columns that every study has, and those of one with expectations.
END_TIME, STOPPED_BY = "end_time", "stopped_by"
PASSED, FAILED = "passed", "failed_expectation"
_MAX_WORLDS = 64
_NOT_ASCII = re.compile(r"[^\x00-\x7e]")


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """A study.

    Attributes:
        name: Of its file, without suffix.
        text: Of its file.
        document: Its scenario as plain values.
        folder: To which paths in it are relative.
        scenario: Without variations.
        variables: What varies.
        metrics: What is kept of each run.
        loaded: The worlds that were loaded so far, without changes, by what the study calls them.
    """

    name: str
    text: str
    document: Document
    folder: Path
    scenario: Scenario
    variables: AbstractSequence[Variable]
    metrics: AbstractSequence[Metric]
    loaded: dict[str, WorldConfig]
    _worlds: dict[str, WorldConfig] = field(default_factory=dict)  # the last used at the end

    def cases(self) -> list[dict[str, object]]:
        """Return all cases: values by the names of the variables."""
        return cases_of(self.variables)

    @property
    def key_paths(self) -> dict[str, KeyPath]:
        """Places of the variables by name."""
        return {variable.name: variable.key_path for variable in self.variables}

    def world_of(self, case: AbstractMapping[str, object]) -> WorldConfig:
        """Return the world of a case; the same object for equal values.

        Raises:
            ModelError: It cannot be used.
        """
        key_paths = {n: path for n, path in self.key_paths.items() if is_of_world(path)}
        if not key_paths:
            return self.scenario.world
        key = json.dumps({name: case[name] for name in key_paths})
        world = self._worlds.pop(key, None)
        if world is None:
            diagnostics = Diagnostics.silent()
            root = as_mapping(with_values(self.document, key_paths, case), diagnostics)
            world = changed_world(root, self.folder, diagnostics, self.loaded)
            diagnostics.raise_errors()
        while len(self._worlds) >= _MAX_WORLDS:
            del self._worlds[next(iter(self._worlds))]
        self._worlds[key] = world
        return world


class StudyRun:
    """The function that a sweep runs for each case of a study.

    Args:
        study: The study.
    """

    def __init__(self, study: Study) -> None:
        self.__qualname__ = type(self).__qualname__  # by which a sweep names its files
        document = study.document
        self._document = {key: document[key] for key in COURSE_KEYS if key in document}
        self._key_paths = {n: p for n, p in study.key_paths.items() if not is_of_world(p)}
        self._duration = study.scenario.world.duration
        self._metrics: AbstractSequence[Metric] = tuple(study.metrics)

    def __call__(self, sim: Simulation, case: AbstractMapping[str, object]) -> dict[str, object]:
        """Run a case; return what is kept.

        Args:
            sim: In the initial state of the world of the case.
            case: Values by the names of variables.

        Raises:
            ModelError: The values do not fit to each other.
            PhysicsError: The physics failed.
        """
        diagnostics = Diagnostics.silent()
        document = with_values(self._document, self._key_paths, case)
        course = read_course(as_mapping(document, diagnostics), Names.of(sim), self._duration)
        diagnostics.raise_errors()
        with closing(CourseRun(sim, course)) as run:
            recorders = [MetricRecorder(metric, run) for metric in self._metrics]
            outcome = run.run(recorders)
        if outcome.error and not sim.controllers.failures:  # which the sweep reports
            raise PhysicsError(outcome.error)
        stopped = outcome.stopped_by
        values: dict[str, object] = {
            END_TIME: outcome.time,
            STOPPED_BY: "" if stopped is None else stopped.text,
        }
        if course.expectations:
            missed = next((str(found) for found in outcome.expectations if not found.met), "")
            values |= {PASSED: not missed, FAILED: missed}
        kept = {m.name: r.result() for m, r in zip(self._metrics, recorders, strict=True)}
        return {**values, **kept}


def with_values(
    document: Document, key_paths: AbstractMapping[str, KeyPath], case: AbstractMapping[str, object]
) -> Document:
    """Return a document with the values of a case at the key paths of some variables."""
    for name, path in key_paths.items():
        document = replaced(document, path, case[name])
    return document


def as_mapping(document: Document, diagnostics: Diagnostics) -> Mapping:
    """Return plain values as a YAML document.

    Raises:
        ModelError: They are too large or too deep.
    """
    text = json.dumps(document, ensure_ascii=False)
    # YAML has other escapes than JSON, and permits fewer characters without one.
    text = _NOT_ASCII.sub(lambda found: f"\\U{ord(found[0]):08x}", text)
    return parse_mapping(Source("study", text), diagnostics, "a study")


def changed_world(
    root: Mapping, folder: Path, diagnostics: Diagnostics, loaded: dict[str, WorldConfig]
) -> WorldConfig:
    """Return the world of a scenario; only the keys of the world are read.

    Args:
        root: The scenario.
        folder: Of its file.
        diagnostics: Receives problems.
        loaded: Worlds by what scenarios call them; another one is added.

    Raises:
        ModelError: The world cannot be used.
    """
    name = root.text("world", default="")
    if name not in loaded:
        loaded[name] = read_world(root, folder, diagnostics)
    world = with_changes(loaded[name], root, folder, diagnostics)
    root.finish(COURSE_KEYS)
    return world


def check_course(root: Mapping, names: Names, default_duration: float | None) -> float:
    """Read the course of a scenario, whose problems are reported; return its duration in [s]."""
    course = read_course(root, names, default_duration)
    root.finish(WORLD_KEYS)
    return course.duration


_MAX_CHECKED = 1000  # values of a variable
MAX_KEPT = 1 << 32  # values of all cases, in [byte]


def load_study(path: str | os.PathLike[str], diagnostics: Diagnostics | None = None) -> Study:
    """Load a study file, and check each of its values by itself.

    The world is created once to check all names; code of controllers is not executed.

    Args:
        path: The file.
        diagnostics: Receives notes and warnings; by default they are logged.

    Raises:
        ModelError: The study, its world or a model cannot be used; lists every problem with its
            location.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    source = read_text(path, diagnostics)
    root = parse_mapping(source, diagnostics, "a study")
    folder = Path(os.path.realpath(path)).parent
    written = read_variables(root)
    root.get("keep")
    scenario = read_all(root, folder, diagnostics)
    plain = root.plain_value()
    document = {key: plain[key] for key in (*WORLD_KEYS, *COURSE_KEYS) if key in plain}
    checked = _Checks(document, folder, scenario, diagnostics)
    variables = [v for w in written if (v := checked.variable(w)) is not None]
    _check_distinct(variables, diagnostics)
    longest = max([scenario.course.duration, *checked.durations])
    metrics = read_metrics(root, scenario.names.quantities, longest)
    study = Study(
        name=Path(path).stem,
        text=source.text,
        document=document,
        folder=folder,
        scenario=scenario,
        variables=variables,
        metrics=metrics,
        loaded=checked.loaded,
    )
    _check_size(root, variables, metrics)
    diagnostics.raise_errors()
    return study


def check_first(study: Study) -> None:
    """Create the world of the first case with its controllers, as all cases will.

    Raises:
        ModelError: A controller is none.
        PhysicsError: It cannot be simulated, or a controller fails at once.
    """
    quiet = Diagnostics.silent()
    with Simulation(study.world_of(study.cases()[0]), diagnostics=quiet) as simulation:
        if failures := simulation.controllers.failures:
            raise PhysicsError("; ".join(failures))


class _Checks:
    """Checks the values of variables.

    Args:
        document: The scenario as plain values.
        folder: Of the study.
        scenario: Without variations.
        diagnostics: Receives problems.

    Attributes:
        durations: All that were checked, in [s].
        loaded: The worlds of all values, without changes, by what the study calls them.
    """

    def __init__(
        self, document: Document, folder: Path, scenario: Scenario, diagnostics: Diagnostics
    ) -> None:
        self._document, self._folder, self._scenario = document, folder, scenario
        self._diagnostics = diagnostics
        self._known = {found.message for found in diagnostics.found}
        self.durations: list[float] = []
        self.loaded: dict[str, WorldConfig] = {}

    def variable(self, written: Variable) -> Variable | None:
        """Return a variable, or None after reporting why a value of it cannot be used."""
        try:
            path = locate(self._document, written.name, self._scenario.names.bodies)
        except KeyPathError as error:
            self._diagnostics.error("unknown-key", str(error), written.at)
            return None
        for value in _some(written.values):
            quiet = Diagnostics.silent()
            try:
                root = as_mapping(replaced(self._document, path, value), quiet)
                if is_of_world(path):
                    changed_world(root, self._folder, quiet, self.loaded)
                else:
                    duration = self._scenario.world.duration
                    self.durations.append(check_course(root, self._scenario.names, duration))
            except ModelError:
                pass  # the errors are in quiet
            new = [found for found in quiet.found if found.message not in self._known]
            for severity in (Severity.ERROR, Severity.WARNING):
                found = next((found for found in new if found.severity is severity), None)
                if found is not None:
                    message = f"{written.name} = {_shown(value)}: {found.message}"
                    self._diagnostics.add(Diagnostic(severity, found.code, message, written.at))
                    if severity is Severity.ERROR:
                        return None
                    self._known.add(found.message)
        unit = unit_of(path, self._joint_units)
        return replace(written, key_path=path, unit=unit)

    @property
    def _joint_units(self) -> dict[tuple[str, str], str]:
        return {
            (name, link.joint.name): link.joint.type.units.position
            for name, body in self._scenario.names.bodies.items()
            for link in body.moving_links
        }


def _check_distinct(variables: Iterable[Variable], diagnostics: Diagnostics) -> None:
    """Report variables of which one replaces the other."""
    known: dict[KeyPath, str] = {}
    for variable in variables:
        path = variable.key_path
        for i in range(1, len(path) + 1):
            other = known.get(path[:i]) or next(
                (name for p, name in known.items() if p[: len(path)] == path), None
            )
            if other is not None:
                message = f"'{variable.name}' is the same value as '{other}', or contains it"
                diagnostics.error("bad-study", message, variable.at)
                break
        known[path] = variable.name


def _some(values: AbstractSequence[object]) -> Iterator[object]:
    """Yield values to check: all, or of very many numbers the extreme ones and some between."""
    if len(values) <= _MAX_CHECKED:
        yield from values
        return
    numbers = all(isinstance(value, int | float) for value in values)
    ordered = sorted(values, key=float) if numbers else values  # type: ignore[arg-type]
    for index in np.linspace(0, len(ordered) - 1, _MAX_CHECKED).astype(int):
        yield ordered[index]


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _check_size(root: Mapping, variables: Iterable[Variable], metrics: Iterable[Metric]) -> None:
    cases = 1
    others = 1
    for variable in variables:
        if variable.kind is Kind.GRID:
            cases *= len(variable.values)
        else:
            others = len(variable.values)
    size = cases * others * sum(8 * metric.samples for metric in metrics)
    if size > MAX_KEPT:
        message = f"{size / 1e9:.3g} GB would be kept, more than {MAX_KEPT / 1e9:.3g} GB"
        root.diagnostics.error("too-many-cases", message, root.at("keep"))
