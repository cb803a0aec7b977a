"""Read worlds of Gazebo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import Source
from hrp_model.frames import unique_name
from hrp_model.load import load_bodies

from ....control import HOLD, LIMP
from ....engine.engine import Placement
from ...config import BodyEntry, WorldConfig
from ...naming import simulated_body
from ..options import ProjectOptions
from ..xml_text import parse_project
from .settings import physics_of, report_rest


def read_sdf(
    source: Source, folder: Path, diagnostics: Diagnostics, options: ProjectOptions
) -> WorldConfig:
    """Return the world of an SDF file; problems are reported.

    Args:
        source: Its text.
        folder: Base of relative paths: that of the source, or the working directory.
        diagnostics: Receives all problems.
        options: Names of bodies with controllers; a world of Gazebo has one simulator.
    """
    del folder  # also relative to the source
    root = parse_project(source, diagnostics)
    if root is None:  # which was reported
        return WorldConfig()
    worlds = list(root.all("world"))
    if root.tag != "sdf" or not worlds:
        message = f"a world of Gazebo is an <sdf> with a <world>, not <{root.tag}>"
        diagnostics.error("not-a-world", message, root.span)
        return WorldConfig()
    if len(worlds) > 1:
        message = f"only the first of {len(worlds)} worlds is simulated"
        diagnostics.warn("several-worlds", message, worlds[1].span)
    report_rest(worlds[0], diagnostics)
    return WorldConfig(
        physics=physics_of(worlds[0], diagnostics),
        bodies=tuple(_entries(load_bodies(root, diagnostics), diagnostics, options)),
    )


def _entries(
    bodies: list[Body], diagnostics: Diagnostics, options: ProjectOptions
) -> Iterator[BodyEntry]:
    names: set[str] = set()
    for model in bodies:
        name = unique_name(model.name, names)
        if name != model.name:
            message = f"another body is named '{model.name}'; this one is named '{name}'"
            diagnostics.note("duplicate-name", message, model.root.at)
        names.add(name)
        body = simulated_body(model)
        placement = Placement(name=name, body=body, X_WL=body.root.X_PL, fixed=body.is_root_fixed)
        # Nothing drives a joint without a plugin in Gazebo.
        is_driven = bool(model.info.get("plugin")) or name in options.controlled
        yield BodyEntry(placement=placement, control=HOLD if is_driven else LIMP)
