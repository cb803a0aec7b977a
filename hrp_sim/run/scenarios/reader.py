"""Read scenario files: YAML with a world, a duration, events and conditions."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.diagnostics import Source, Span, did_you_mean
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.readers.yaml.tree import parse

from ...world.config import WorldConfig
from ...world.load import load_world
from ...world.world_names import bundled_worlds
from .condition_file import read_expectations, read_stops
from .event_file import read_events
from .names import Names
from .scenario import Course, Scenario
from .world_changes import with_changes

MAX_DURATION = 1e6  # [s]


def load_scenario(path: str | os.PathLike[str], diagnostics: Diagnostics | None = None) -> Scenario:
    """Load a scenario file, with its world and models.

    The world is created once to check all names, but no code of its controllers is executed.

    Args:
        path: The file.
        diagnostics: Receives notes and warnings; by default they are logged.

    Raises:
        ModelError: The scenario, its world or a model cannot be used; lists every problem with
            its location.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    root = parse_file(path, diagnostics, "a scenario")
    folder = Path(os.path.realpath(path)).parent
    return read_scenario(root, folder, diagnostics)


def parse_file(path: str | os.PathLike[str], diagnostics: Diagnostics, kind: str) -> Mapping:
    """Return the mapping that a YAML file contains, read strictly: see ``strict``.

    Args:
        path: The file.
        diagnostics: Receives all problems.
        kind: What the file should be, such as "a scenario".

    Raises:
        ModelError: The file cannot be read, or contains something else.
    """
    return parse_mapping(read_text(path, diagnostics), diagnostics, kind)


def read_text(path: str | os.PathLike[str], diagnostics: Diagnostics) -> Source:
    """Return the text of a file.

    Raises:
        ModelError: It cannot be read.
    """
    try:
        return read_source(Path(path), os.fspath(path))
    except OSError as error:
        diagnostics.error("unreadable-file", f"cannot read '{path}': {error.strerror or error}")
        raise ModelError(diagnostics.found) from None


def parse_mapping(source: Source, diagnostics: Diagnostics, kind: str) -> Mapping:
    """Return the mapping that a YAML text contains, as ``parse_file`` does.

    Raises:
        ModelError: It contains something else.
    """
    root = parse(source, strict(diagnostics))
    diagnostics.raise_errors()
    if not isinstance(root, Mapping):
        message = f"{kind} is a mapping with 'world', 'duration' and further keys"
        place = Span(source, 0, 0) if root is None else root.span
        diagnostics.error("not-a-scenario", message, place)
        raise ModelError(diagnostics.found)
    return root


def strict(diagnostics: Diagnostics) -> Diagnostics:
    """Return diagnostics that forward theirs, unknown keys and text after numbers as errors.

    What a run does is not to be guessed: a misspelt condition must not be left out, nor a unit.
    """

    def forward(found: Diagnostic) -> None:
        if found.code == "unknown-key":
            message = found.message.replace(" and ignored", "")
            found = replace(found, severity=Severity.ERROR, message=message)
        elif found.code == "trailing-text":
            message = f"expected a number alone, found {found.message.partition(' is read')[0]}"
            found = Diagnostic(Severity.ERROR, "wrong-type", message, found.at)
        diagnostics.add(found)

    return Diagnostics(listener=forward)


def read_scenario(root: Mapping, folder: Path, diagnostics: Diagnostics) -> Scenario:
    """Read the scenario in a mapping, as ``read_all``, and raise all errors.

    Raises:
        ModelError: The scenario has errors.
    """
    scenario = read_all(root, folder, diagnostics)
    diagnostics.raise_errors()
    return scenario


def read_all(root: Mapping, folder: Path, diagnostics: Diagnostics) -> Scenario:
    """Read the scenario in a mapping; errors of its course are only reported.

    Args:
        root: The mapping; its further keys must have been read before.
        folder: Folder of its file.
        diagnostics: Receives all problems.

    Raises:
        ModelError: The world, or a change of it, cannot be used.
    """
    world = with_changes(read_world(root, folder, diagnostics), root, folder, diagnostics)
    diagnostics.raise_errors()
    names = Names.of_world(world, diagnostics)
    if names is None:
        raise ModelError(diagnostics.found)
    course = read_course(root, names, world.duration)
    root.finish()
    return Scenario(world=world, course=course, names=names)


def read_world(root: Mapping, folder: Path, diagnostics: Diagnostics) -> WorldConfig:
    """Load the world under ``world``: a file relative to the folder, a URI, or a bundled world.

    Raises:
        ModelError: It cannot be used.
    """
    uri = root.text("world", default=None)
    if uri is None:
        if "world" not in root:  # else it was reported
            message = "'world' is missing: the path of a world, project or model, or a bundled one"
            diagnostics.error("missing-world", message, root.at("world"))
        raise ModelError(diagnostics.found)
    try:
        path = resolve(uri, folder)
    except ResourceError as error:
        worlds = bundled_worlds()
        if uri not in worlds:
            message = f"{error}.{did_you_mean(uri, worlds)}".removesuffix(".")
            diagnostics.error("missing-world", message, root.at("world"))
            raise ModelError(diagnostics.found) from None
        path = Path(uri)
    return load_world(path, diagnostics)


def read_course(root: Mapping, names: Names, default_duration: float | None) -> Course:
    """Read what happens in a run; problems are reported to the diagnostics of the mapping.

    Args:
        root: The mapping with the keys ``duration``, ``events``, ``stop`` and ``expect``.
        names: To which they may refer.
        default_duration: That the world states, in [s]; None if it states none.
    """
    duration = root.number("duration", default=default_duration)
    if duration is None:
        if "duration" not in root:  # else it was reported
            message = "'duration' is missing: the time to simulate in [s]"
            root.diagnostics.error("missing-key", message, root.span)
        duration = MAX_DURATION
    elif not 0.0 < duration <= MAX_DURATION:
        message = f"the duration must be above 0 s and at most {MAX_DURATION:g} s"
        root.diagnostics.error("out-of-range", f"{message}, not {duration:g}", root.at("duration"))
    return Course(
        duration=duration,
        events=tuple(read_events(root, names, duration)),
        stop=tuple(read_stops(root, names)),
        expectations=tuple(read_expectations(root, names)),
    )
