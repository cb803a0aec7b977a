"""Read study files, and check all values that vary before anything starts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as AbstractSequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.readers.yaml.nodes import Mapping

from ...engine.engine import PhysicsError
from ...run.scenarios import Scenario
from ...run.scenarios.reader import parse_mapping, read_all, read_text
from ...simulation import Simulation
from ...world.config import WorldConfig
from .key_paths import (
    COURSE_KEYS,
    WORLD_KEYS,
    Document,
    KeyPath,
    KeyPathError,
    is_of_world,
    locate,
    replaced,
    unit_of,
)
from .metrics import Metric, read_metrics
from .study import Study, as_mapping, changed_world, check_course
from .variables import Kind, Variable, read_variables

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
