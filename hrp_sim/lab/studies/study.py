"""Studies: a scenario, what varies in it, and what is kept of each run."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from dataclasses import dataclass, field
from pathlib import Path

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source
from hrp_model.readers.yaml.nodes import Mapping

from ...run.scenarios import Names, Scenario
from ...run.scenarios.reader import parse_mapping, read_course, read_world
from ...run.scenarios.world_changes import with_changes
from ...world.config import WorldConfig
from .key_paths import COURSE_KEYS, WORLD_KEYS, Document, KeyPath, is_of_world, replaced
from .metrics import Metric
from .variables import Variable, cases_of

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
    _worlds: OrderedDict[str, WorldConfig] = field(default_factory=OrderedDict)

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
        if key not in self._worlds:
            diagnostics = Diagnostics.silent()
            root = as_mapping(with_values(self.document, key_paths, case), diagnostics)
            world = changed_world(root, self.folder, diagnostics, self.loaded)
            diagnostics.raise_errors()
            self._worlds[key] = world
            if len(self._worlds) > _MAX_WORLDS:
                self._worlds.popitem(last=False)
        self._worlds.move_to_end(key)
        return self._worlds[key]


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
