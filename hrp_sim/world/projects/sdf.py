"""Read worlds of Gazebo (``.world``, ``.sdf``)."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import Source
from hrp_model.frames import unique_name
from hrp_model.load import load_bodies
from hrp_model.readers.xml_tree import NUMBER, Element

from ...control import HOLD, LIMP
from ...engine.engine import MAX_GRAVITY, PHYSICS_RANGES, PhysicsSettings, Placement
from ..config import BodyEntry, WorldConfig
from ..naming import simulated_body
from .common import ProjectOptions, parse_project, report_foreign_items

_GRAVITY = (0.0, 0.0, -9.8)  # of SDF
_STEP = 0.001
_OLDER_STEPS = ("ode", "solver", "dt"), ("bullet", "dt")  # of SDF 1.3
_USED = ("model", "include", "frame", "physics", "gravity")
# Elements of a world that are not needed, and why; others have no effect.
_SERVED = {
    "gui": "it belongs to the window of Gazebo",
    "scene": "it belongs to the window of Gazebo",
    "light": "rendered images have lights of their own",
    "plugin": "physics, sensors and topics need none",
    "audio": "nothing can be heard",
    "spherical_coordinates": "positions are those in the world",
    "state": "the poses of the models are used",
}
_REASONS = {
    "actor": "people that move are not simulated",
    "wind": "forces of air are not simulated",
    "atmosphere": "forces of air are not simulated",
    "magnetic_field": "magnetic fields are not simulated",
    "joint": "a world file can join bodies",
    "population": "write its models one by one",
    "road": "write it as a model",
}


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


def physics_of(world: Element, diagnostics: Diagnostics) -> PhysicsSettings:
    """Return time step and gravity of a world."""
    found = list(world.all("physics"))
    chosen = [x for x in found if x.attributes.get("default", "").lower() in ("true", "1")]
    physics = next(iter(chosen or found), None)
    step = _inside(physics, "max_step_size")
    for path in _OLDER_STEPS:
        step = step or _inside(physics, *path)
    gravity = world.first("gravity") or _inside(physics, "gravity")
    x, y, z = _numbers(gravity, _GRAVITY, (-MAX_GRAVITY, MAX_GRAVITY), diagnostics)
    (time_step,) = _numbers(step, (_STEP,), PHYSICS_RANGES["time_step"], diagnostics)
    return PhysicsSettings(time_step=time_step, gravity=(x, y, z))


def report_rest(world: Element, diagnostics: Diagnostics) -> None:
    """Report elements of a world without effect, each kind once."""
    rest = ((x.tag, x.span) for x in world.children if x.tag not in _USED)
    report_foreign_items(rest, diagnostics, served=_SERVED, reasons=_REASONS)


def _inside(element: Element | None, *path: str) -> Element | None:
    """Return the element at a path of tags, or None."""
    for tag in path:
        element = None if element is None else element.first(tag)
    return element


def _numbers(
    element: Element | None,
    default: tuple[float, ...],
    limits: tuple[float, float],
    diagnostics: Diagnostics,
) -> tuple[float, ...]:
    """Return the numbers in an element; the default after reporting an error."""
    words = [] if element is None else element.text.split()
    if element is None or not words:
        return default
    if len(words) != len(default) or not all(map(NUMBER.fullmatch, words)):
        message = f"<{element.tag}> must be {len(default)} numbers, not '{element.text[:60]}'"
        diagnostics.error("wrong-type", message, element.span)
        return default
    values = tuple(map(float, words))
    low, high = limits
    if not all(isfinite(x) and low <= x <= high for x in values):
        message = f"<{element.tag}> must lie between {low:.10g} and {high:.10g}"
        diagnostics.error("out-of-range", message, element.span)
        return default
    return values
