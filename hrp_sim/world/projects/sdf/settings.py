"""Settings of a world of Gazebo, and what has no effect."""

from __future__ import annotations

from math import isfinite

from hrp_model import Diagnostics
from hrp_model.readers.xml_tree import NUMBER, Element

from ....engine.engine import MAX_GRAVITY, PHYSICS_RANGES, PhysicsSettings
from ..reports import report_foreign_items

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
