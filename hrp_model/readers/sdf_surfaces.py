"""Read contact properties of SDF, also in <gazebo> blocks of URDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from math import isnan, nan

import numpy as np

from ..body import link_pair
from ..diagnostics import Diagnostics, Span
from ..geometry import Surface, SurfaceRule
from ..read_context import ReadContext
from ..rigid import Array, unit_vector
from .sdf_values import SdfReader
from .xml_tree import Element

# Why elements are not used; others are not simulated.
_REASONS = {
    "max_contacts": "the setting max_contacts of the world applies",
    "maxContacts": "the setting max_contacts of the world applies",
    "min_depth": "the setting surface_layer of the world applies",
    "minDepth": "the setting surface_layer of the world applies",
    "max_vel": "the setting max_correcting_velocity of the world applies",
    "maxVel": "the setting max_correcting_velocity of the world applies",
    "material": "colours are those of the robot's own materials",
}
_FRICTION, _CONTACT, _BOUNCE = ("friction", "ode"), ("contact", "ode"), ("bounce",)
# Elements of a <surface> by their path, of which all others are not used.
_USED = {
    (): {"friction", "contact", "bounce"},
    ("friction",): {"ode"},
    ("contact",): {"ode"},
    _FRICTION: {"mu", "mu2", "fdir1"},
    _CONTACT: {"kp", "kd"},
    _BOUNCE: {"restitution_coefficient", "threshold"},
}
_RANGES = {
    "friction": 1e6,
    "friction_across": 1e6,
    "stiffness": 1e20,
    "damping": 1e20,
    "restitution": 1.0,
    "bounce_speed": 1e20,
}
_DEFAULT_FRICTION, _DEFAULT_DAMPING = 1.0, 1.0  # of what SDF does not state


class UnusedElements:
    """Reports elements without effect, each kind once in a file."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._reported: set[str] = set()

    def add(self, element: Element) -> None:
        """Report an element, unless one of its kind has been reported."""
        if element.tag in self._reported:
            return
        self._reported.add(element.tag)
        reason = _REASONS.get(element.tag, "the simulation has no such property")
        self._diagnostics.note("not-used", f"<{element.tag}> is not used: {reason}", element.span)

    def add_all(self, element: Element, *tags: str) -> None:
        """Report the children of an element that have these tags."""
        for child in element.all(*tags):
            self.add(child)

    def add_others(self, element: Element, used: set[str]) -> None:
        """Report the children of an element whose tags are not used."""
        for child in element.children:
            if child.tag not in used:
                self.add(child)


def read_surface(surface: SdfReader, unused: UnusedElements) -> Surface:
    """Return a ``<surface>``, its direction of friction in the frame of the collision."""
    for path, used in _USED.items():
        part = surface.inside(*path)
        if part is not None:
            unused.add_others(part.element, used)
    return surface_of(
        surface,
        friction=(*_FRICTION, "mu"),
        friction_across=(*_FRICTION, "mu2"),
        direction=(*_FRICTION, "fdir1"),
        stiffness=(*_CONTACT, "kp"),
        damping=(*_CONTACT, "kd"),
        restitution=(*_BOUNCE, "restitution_coefficient"),
        bounce_speed=(*_BOUNCE, "threshold"),
    )


def surface_of(reader: SdfReader, **paths: tuple[str, ...]) -> Surface:
    """Return a surface whose properties are at these paths, with the defaults of SDF.

    One coefficient of friction applies in all directions unless a direction is stated.
    """
    stated = {
        name: _amount(reader, name, paths[name]) if name in paths else None for name in _RANGES
    }
    direction = None
    if reader.inside(*paths["direction"]) is not None:
        written = unit_vector(reader.vector(*paths["direction"], default=np.zeros(3)))
        direction = None if written is None else _numbers(written)
    friction, across = stated["friction"], stated["friction_across"]
    if friction is not None or across is not None:
        other = None if direction is None else _DEFAULT_FRICTION
        friction, across = (
            _first(friction, other, across),
            _first(across, other, friction),
        )
    return Surface(
        rule=SurfaceRule.GAZEBO,
        friction=friction,
        friction_across=across,
        direction=direction,
        stiffness=stated["stiffness"] or None,
        damping=_first(stated["damping"], _DEFAULT_DAMPING) or 0.0,
        restitution=stated["restitution"],
        bounce_speed=stated["bounce_speed"] or 0.0,
    )


def turned(surface: Surface | None, R_LC: Array) -> Surface | None:
    """Return a surface whose direction was in C, with the direction in L; None declares nothing."""
    if surface is None or (surface.friction, surface.stiffness, surface.restitution) == (None,) * 3:
        return None
    if surface.direction is None:
        return surface
    return replace(surface, direction=_numbers(R_LC @ np.array(surface.direction)))


def never_colliding(
    choices: Mapping[str, bool | None], of_model: bool | None, context: ReadContext, at: Span | None
) -> frozenset[frozenset[str]]:
    """Return the pairs of links of a model that do not collide: neither may by ``self_collide``.

    Args:
        choices: The value of each link; None if it has none of its own.
        of_model: That of the model, which links without a value have; None permits collisions.
        context: Counts the pairs.
        at: Place of the model.
    """
    names = [x for x, own in choices.items() if (of_model if own is None else own) is False]
    context.count("pairs of links that never collide", len(names) * (len(names) - 1) // 2, at)
    return frozenset(link_pair(a, b) for a, b in combinations(names, 2))


def _amount(reader: SdfReader, name: str, path: tuple[str, ...]) -> float | None:
    """Return a number within its range, or None if there is none."""
    found = reader.inside(*path)
    value = reader.number(*path, default=nan, allow_infinite=True)
    if found is None or isnan(value):
        return None
    clipped = min(max(value, 0.0), _RANGES[name])
    if clipped != value:
        found.warn(
            "surface-out-of-range",
            f"<{path[-1]}> must be from 0 to {_RANGES[name]:g}, not {value:g}; {clipped:g} is used",
        )
    return clipped


def _numbers(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
