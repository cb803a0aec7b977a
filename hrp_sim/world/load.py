"""Load a world from a world file, or from a single model placed on a floor."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import (
    Body,
    BodyState,
    Diagnostic,
    Diagnostics,
    ModelError,
    Pose,
    load_body,
    load_body_text,
)
from hrp_model.diagnostics import Source, Span
from hrp_model.files.model_file import format_suffix, split_model_name
from hrp_model.files.resources import ResourceError, share_folder
from hrp_model.read_context import read_source
from hrp_model.readers.file_kind import (
    MODEL_SUFFIXES,
    WRAPPER_KEYS,
    FileKind,
    file_kind,
    is_mjcf,
    is_sdf_world,
    is_world,
)
from hrp_model.readers.yaml.nodes import Mapping, Node
from hrp_model.readers.yaml.tree import parse
from hrp_model.shapes.measure import bounding_box
from hrp_model.shapes.tessellate import shape_mesh
from hrp_model.validate import validated_as

from ..engine.engine import Placement
from .config import BodyEntry, WorldConfig
from .naming import simulated_body
from .projects import AS_IN_PROJECT, ProjectOptions, project_format
from .world_file import WorldReader
from .world_names import bundled_world_hint, world_path

# Top-level keys of a YAML file that contains or refers to a model.
_MODEL_KEYS = ("format", "links", *WRAPPER_KEYS)


def load_world(
    world: str | os.PathLike[str],
    diagnostics: Diagnostics | None = None,
    *,
    project: ProjectOptions = AS_IN_PROJECT,
) -> WorldConfig:
    """Load a world file or a project, or place a single model on a floor.

    A YAML file with the key ``bodies`` is a world; otherwise it must be a model.

    Args:
        world: Path of a world file (``.yaml`` with ``bodies``), of a project (``.cnoid``,
            ``.xml``, ``.world``, ``.sdf`` with a world) or of a model, its ``file://`` or
            ``package://`` URI, or the name of a bundled world; see ``world_path``. Arguments of a
            xacro file may follow, as for ``load_body``.
        diagnostics: Receives notes and warnings; by default they are logged.
        project: How a project is read; of others only ``density`` counts.

    Raises:
        ModelError: The world or a model in it cannot be used; lists every problem with its
            location.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    config = _load(world, diagnostics, project)
    return config if project.density is None else _weighed(config, project.density, diagnostics)


def _weighed(config: WorldConfig, density: float, diagnostics: Diagnostics) -> WorldConfig:
    """Return the world with masses of what moves and states none: ``with_estimated_masses``."""
    from hrp_model.collision.masses import with_estimated_masses

    made: dict[Body, Body] = {}  # of bodies that share a model
    for body in (entry.placement.body for entry in config.bodies):
        if body.is_static:
            made[body] = body
        elif body not in made:
            made[body] = validated_as(with_estimated_masses(body, density, diagnostics), body)
    bodies = (
        replace(entry, placement=replace(entry.placement, body=made[entry.placement.body]))
        for entry in config.bodies
    )
    return replace(config, bodies=tuple(bodies))


def _load(
    world: str | os.PathLike[str], diagnostics: Diagnostics, project: ProjectOptions
) -> WorldConfig:
    try:
        path = world_path(world)
    except ResourceError as error:
        diagnostics.error("missing-world", str(error))
        raise ModelError(diagnostics.found) from None
    if format_suffix(path) in MODEL_SUFFIXES and not _is_sdf_world(path):
        _, arguments = split_model_name(os.fspath(world))
        body = load_body(path, diagnostics, arguments=arguments)
        return alone_on_floor(body, diagnostics)
    real_path = Path(os.path.realpath(path))
    name = os.fspath(world)
    try:
        source = read_source(real_path, name if Path(name) == path or "://" in name else str(path))
    except IsADirectoryError:
        message = f"'{world}' is a folder; give a world or model file in it"
        diagnostics.error("unreadable-file", message)
        raise ModelError(diagnostics.found) from None
    except OSError as error:
        reason = f"{error.strerror or error}.{bundled_world_hint(path)}".removesuffix(".")
        diagnostics.error("unreadable-file", f"cannot read '{world}': {reason}")
        raise ModelError(diagnostics.found) from None
    return _from_source(source, path, real_path.parent, diagnostics, project)


def load_world_text(
    text: str, diagnostics: Diagnostics | None = None, *, project: ProjectOptions = AS_IN_PROJECT
) -> WorldConfig:
    """Load a world from the text of a world file.

    Args:
        text: YAML with ``bodies``, or of a project or a model. Relative paths start at the
            working directory.
        diagnostics: Receives notes and warnings; by default they are logged.
        project: How a project is read; without effect on others.

    Raises:
        ModelError: The world or a model in it cannot be used; lists every problem with its
            location.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    config = _from_source(Source("text", text), None, Path.cwd(), diagnostics, project)
    return config if project.density is None else _weighed(config, project.density, diagnostics)


def as_world(
    world: WorldConfig | str | os.PathLike[str], diagnostics: Diagnostics | None
) -> WorldConfig:
    """Return a world configuration, loading it if a path is given.

    Raises:
        ModelError: The file cannot be used.
        TypeError: The argument is neither a configuration nor a path.
    """
    if isinstance(world, WorldConfig):
        return world
    if isinstance(world, str | os.PathLike):
        return load_world(world, diagnostics)
    raise TypeError(
        "a world must be a WorldConfig, or the path of a world or model file, not "
        f"{type(world).__name__}"
    )


def _is_sdf_world(path: Path) -> bool:
    return path.suffix.lower() == ".sdf" and file_kind(path) is FileKind.WORLD


def _from_source(
    source: Source,
    path: Path | None,
    folder: Path,
    diagnostics: Diagnostics,
    options: ProjectOptions,
) -> WorldConfig:
    """Return the world of a text, by the kind that its content or its suffix shows.

    Args:
        source: The text.
        path: Its file; None if it has none.
        folder: Base of relative paths.
        diagnostics: Receives all problems.
        options: How a project is read.
    """

    def alone(kind: str, diagnostics: Diagnostics) -> WorldConfig:
        if path is not None:
            model = load_body(path, diagnostics)
        else:
            model = load_body_text(source.text, diagnostics, kind=kind, folder=folder)
        return alone_on_floor(model, diagnostics)

    if is_mjcf(source.text):
        return alone("mjcf", diagnostics)
    # A file is of the format of its suffix, except for worlds of Gazebo.
    text = source.text if path is None or is_sdf_world(source.text) else ""
    suffix = "" if path is None else path.suffix
    if (form := project_format(suffix=suffix, text=text)) is not None:
        config = form.read(source, folder, diagnostics, options)
        diagnostics.raise_errors()
        return config
    root = parse(source, diagnostics)
    diagnostics.raise_errors()
    if _is_model(root):
        return alone("body", _without_repetition(diagnostics))
    return _world(source, root, folder, diagnostics)


def _is_model(root: Node | None) -> bool:
    """Return whether a YAML document is a model or a reference to one, not a world."""
    return (
        isinstance(root, Mapping) and not is_world(root) and any(key in root for key in _MODEL_KEYS)
    )


def _without_repetition(diagnostics: Diagnostics) -> Diagnostics:
    """Return diagnostics for parsing a text again, which forward only new diagnostics."""
    reported = {str(diagnostic) for diagnostic in diagnostics.found}

    def add(diagnostic: Diagnostic) -> None:
        if str(diagnostic) not in reported:
            diagnostics.add(diagnostic)

    return Diagnostics(listener=add)


def _world(
    source: Source, root: Node | None, folder: Path, diagnostics: Diagnostics
) -> WorldConfig:
    if not isinstance(root, Mapping) or not is_world(root):
        place = Span(source, 0, 0) if root is None else root.span
        is_study = isinstance(root, Mapping) and "world" in root
        hint = "; scenarios and studies are run by 'hrp-sim study'" if is_study else ""
        diagnostics.error("not-a-world", f"a world file needs a list 'bodies'{hint}", place)
        raise ModelError(diagnostics.found)
    config = WorldReader(folder, diagnostics).read(root)
    diagnostics.raise_errors()
    return config


def alone_on_floor(model: Body, diagnostics: Diagnostics) -> WorldConfig:
    """Place one model on a floor at z = 0.

    A free model that would penetrate the floor is raised. A fixed model keeps its pose; if its
    movable links would penetrate the floor, the floor is lowered below the whole model.
    """
    body = simulated_body(model)
    floor = load_body(share_folder() / "models" / "floor.body", diagnostics)
    placement = Placement(name=body.name, body=body, X_WL=body.root.X_PL, fixed=body.is_root_fixed)
    lowest = _lowest_points(placement)
    sunk = -min(height for _, height in lowest)
    ground = Placement(name="floor", body=floor, X_WL=floor.root.X_PL, fixed=True)
    if not placement.fixed:
        placement = replace(placement, X_WL=_raised(placement.X_WL, sunk))
    elif any(moves and height < 0.0 for moves, height in lowest):
        ground = replace(ground, X_WL=_raised(ground.X_WL, -sunk))
    if body.name == ground.name:
        ground = replace(ground, name="ground")
    return WorldConfig(bodies=(BodyEntry(placement=ground), BodyEntry(placement=placement)))


def _raised(pose: Pose, height: float) -> Pose:
    return Pose(pose.R, pose.p + np.array([0.0, 0.0, height]))


def _lowest_points(placement: Placement) -> list[tuple[bool, float]]:
    """Return for each link whether it can move, and its depth below z = 0.

    The depth is the lowest z of its collision shapes in the initial posture, in [m]; 0 if they
    are all above the floor.
    """
    body = placement.body
    state = BodyState(body)
    state.q[:] = placement.initial_q
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.calc_forward_kinematics()
    found: list[tuple[bool, float]] = []
    for i, (link, parent) in enumerate(zip(body.links, body.parent_indices, strict=True)):
        moves = not link.joint.is_fixed or (parent >= 0 and found[parent][0])
        T_WL = Pose(state.R[i], state.p[i]).matrix()
        boxes = [bounding_box(shape_mesh(shape.moved(T_WL))) for shape in link.collision]
        heights = [float(box[0][2]) for box in boxes if box is not None]
        found.append((moves, min([0.0, *heights])))
    return found
