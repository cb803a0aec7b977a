"""Studies: a scenario, what varies in it, what is kept of each run; and a run of a case."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source
from hrp_model.readers.yaml.nodes import Mapping

from ...engine.engine import PhysicsError
from ...run.scenarios import CourseRun, Names, Scenario
from ...run.scenarios.reader import parse_mapping, read_course, read_world, with_changes
from ...simulation import Simulation
from ...world.config import WorldConfig
from .key_paths import COURSE_KEYS, WORLD_KEYS, Document, KeyPath, is_of_world, replaced
from .metrics import Metric, MetricRecorder
from .variables import Variable, cases_of

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
