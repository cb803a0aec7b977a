"""Read scenario files: YAML with a world, its changes, a duration, events and conditions."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import Body, Diagnostic, Diagnostics, Link, ModelError, Pose, Severity
from hrp_model.diagnostics import Source, Span, did_you_mean, number_text
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.readers.yaml.tree import parse

from ...engine.articulation.numeric_limits import MAX_COORDINATE
from ...engine.engine import Placement
from ...world.config import BodyEntry, WorldConfig
from ...world.control_file import read_control, read_controllers
from ...world.fields import read_rotation, report_unknown
from ...world.load import load_world
from ...world.physics_file import read_physics
from ...world.placements import with_joints
from ...world.sensor_options import read_common
from ...world.world_names import bundled_worlds
from .course import Course, Names, Scenario
from .course_file import read_events, read_expectations, read_stops

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
        shown = number_text(duration, 6, bound=MAX_DURATION)
        root.diagnostics.error("out-of-range", f"{message}, not {shown} s", root.at("duration"))
    return Course(
        duration=duration,
        events=tuple(read_events(root, names, duration)),
        stop=tuple(read_stops(root, names)),
        expectations=tuple(read_expectations(root, names)),
    )


_MAX_MASS = 1e9  # [kg]


def with_changes(
    world: WorldConfig, root: Mapping, folder: Path, diagnostics: Diagnostics
) -> WorldConfig:
    """Return a world with the changes of a scenario.

    Args:
        world: The world.
        root: The mapping with the keys ``physics``, ``sensors``, ``bodies`` and ``controllers``.
        folder: Folder of its file.
        diagnostics: Receives problems.
    """
    physics = root.mapping("physics")
    if physics is not None:
        if "materials" in physics:
            message = "contact materials are written in the world file"
            diagnostics.error("unknown-key", message, physics.at("materials"))
        world = replace(world, physics=read_physics(physics, world.physics))
        physics.finish()
    names = [entry.placement.name for entry in world.bodies]
    sensors = root.mapping("sensors")
    if sensors is not None:
        world = replace(world, sensors=read_common(sensors, world.sensors))
    bodies = root.mapping("bodies")
    if bodies is not None:
        limits = world.physics.joint_limits
        changed = [_changed(entry, bodies, joint_limits=limits) for entry in world.bodies]
        report_unknown(bodies, names, "the world has no body", "unknown-body")
        world = replace(world, bodies=tuple(changed))
    added = read_controllers(root, names, folder)
    return replace(world, controllers=(*world.controllers, *added))


def _changed(entry: BodyEntry, bodies: Mapping, *, joint_limits: bool) -> BodyEntry:
    """Return a body with the changes under its name."""
    placement = entry.placement
    node = bodies.mapping(placement.name)
    if node is None:
        return entry
    masses = node.mapping("masses")
    if masses is not None:
        placement = replace(placement, body=_with_masses(placement.body, masses))
    position = node.numbers("position", count=3, default=placement.X_WL.p)
    if not np.all(np.abs(position) < MAX_COORDINATE):
        message = f"the position must be within {MAX_COORDINATE:g} m of the origin"
        node.diagnostics.error("out-of-range", message, node.at("position"))
    pose = Pose(read_rotation(node, placement.X_WL.R), position)
    placement = _with_joints(replace(placement, X_WL=pose), node, joint_limits=joint_limits)
    control = read_control(node, placement.body) if "control" in node else entry.control
    node.finish()
    return replace(entry, placement=placement, control=control)


def _with_joints(placement: Placement, node: Mapping, *, joint_limits: bool) -> Placement:
    joints = [link.joint.name for link in placement.body.moving_links]
    problem = f"body '{placement.name}' has no moving joint"
    q, dq = (_numbers(node, key, joints, problem) for key in ("joints", "joint_velocities"))
    if not q and not dq:
        return placement
    try:
        return with_joints(placement, q, dq, joint_limits=joint_limits)
    except ValueError as error:
        node.diagnostics.error("out-of-range", str(error), node.at("joints", "joint_velocities"))
        return placement


def _numbers(node: Mapping, key: str, known: list[str], problem: str) -> dict[str, float]:
    given = node.mapping(key)
    if given is None:
        return {}
    found = {name: given.number(name, default=0.0) for name in given.entries() if name in known}
    report_unknown(given, known, problem, "unknown-joint")
    return found


def _with_masses(body: Body, masses: Mapping) -> Body:
    """Return a body in which links have other masses, and inertias scaled with them."""
    links = [link.name for link in body.links]
    changed = tuple(_with_mass(link, masses) for link in body.links)
    report_unknown(masses, links, f"model '{body.name}' has no link", "unknown-link")
    return replace(body, links=changed)


def _with_mass(link: Link, masses: Mapping) -> Link:
    mass = masses.number(link.name, default=None)
    if mass is None:
        return link
    problem = ""
    if not 0.0 < mass <= _MAX_MASS:
        shown = number_text(mass, 6, bound=_MAX_MASS)
        problem = f"a mass must be above 0 kg and at most {_MAX_MASS:g} kg, not {shown} kg"
    elif not link.mass > 0.0:
        problem = f"link '{link.name}' has no mass in the model, so its inertia cannot be scaled"
    if problem:
        masses.diagnostics.error("out-of-range", problem, masses.at(link.name))
        return link
    # As if its density changed: the inertia stays that of a rigid body.
    return replace(link, mass=mass, inertia=link.inertia * (mass / link.mass))
