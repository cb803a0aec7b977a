"""Collision pairs of OpenHRP projects as contact materials.

In OpenHRP two links collide only if a pair names them or their models. So each model has a
contact material of its own, each link that a pair names has another one, and materials collide
only in the pairs of the table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product, starmap

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import did_you_mean_or_all

from ....engine.materials import (
    MAX_FRICTION,
    MAX_MATERIALS,
    ContactMaterial,
    Material,
    MaterialTable,
    material_pair,
)
from .items import Item

_DEFAULT_FRICTION = 0.5  # of GrxUI
_IN_NO_PAIR = "in no collision pair"
_OTHER_LINKS = "*"
_SPRING_SWITCHES = ("springDamperModel", "sprintDamperModel")  # GrxUI writes either
_MAX_COMBINATIONS = 1_000_000
# A body and one of its links; "" for all links.
_Side = tuple[str, str]


class CollisionPairs:
    """Collects pairs.

    Args:
        bodies: By name.
        names: Of all models, including those that could not be read.
    """

    def __init__(self, bodies: Mapping[str, Body], names: Collection[str]) -> None:
        self._names = names
        self._pairs: list[tuple[_Side, _Side, ContactMaterial]] = []
        self._link_names = {n: {x.name: None for x in b.links} for n, b in bodies.items()}
        self._links: dict[str, dict[str, None]] = {}  # which pairs name, by body; ordered

    def add(self, item: Item) -> None:
        """Add a pair, or report why it has no effect."""
        one, other, contact = self._side(item, 1), self._side(item, 2), _contact(item)
        if one is None or other is None:
            return
        for name, link in (one, other):
            named = self._links.setdefault(name, {})
            if link:
                named[link] = None
        self._pairs.append((one, other, contact))

    def materials_of(self, name: str) -> dict[str, str]:
        """Return the contact materials of a body by link name."""
        named = self._links.get(name)
        if named is None:
            return dict.fromkeys(self._link_names[name], _IN_NO_PAIR)
        return {
            link: _material(name, link if link in named else _OTHER_LINKS)
            for link in self._link_names[name]
        }

    def table(self, diagnostics: Diagnostics) -> MaterialTable:
        """Return the table of all materials; of equal pairs the last one counts."""
        pairs: dict[frozenset[str], ContactMaterial] = {}
        sides = [(self._materials(a), self._materials(b)) for a, b, _ in self._pairs]
        names = {name for body in self._link_names for name in self.materials_of(body).values()}
        if len(names) > MAX_MATERIALS or sum(len(a) * len(b) for a, b in sides) > _MAX_COMBINATIONS:
            diagnostics.error("too-large", "the collision pairs of the project name too many links")
            return MaterialTable()
        for (a, b), (_, _, contact) in zip(sides, self._pairs, strict=True):
            pairs |= dict.fromkeys(starmap(material_pair, product(a, b)), contact)
        return MaterialTable(dict.fromkeys(sorted(names), Material()), pairs, only_pairs=True)

    def _materials(self, side: _Side) -> list[str]:
        name, link = side
        return [
            _material(name, x) for x in ([link] if link else [*self._links[name], _OTHER_LINKS])
        ]

    def _side(self, item: Item, number: int) -> _Side | None:
        """Return the body and link of one side, or None after reporting what is unknown."""
        name, link = item.text(f"objectName{number}"), item.text(f"jointName{number}")
        if name not in self._names:
            hint = did_you_mean_or_all(name, self._names)
            message = f"the collision pair '{item.name}' has no effect: no body '{name}'.{hint}"
            item.diagnostics.warn("unknown-body", message, item.at(f"objectName{number}"))
            return None
        if name not in self._link_names:  # which was reported
            return None
        links = self._link_names[name]
        if link and link not in links:
            hint = did_you_mean_or_all(link, links)
            message = (
                f"the collision pair '{item.name}' has no effect: the body '{name}' has no link "
                f"'{link}'.{hint}"
            )
            item.diagnostics.warn("unknown-link", message, item.at(f"jointName{number}"))
            return None
        return name, link


def _contact(item: Item) -> ContactMaterial:
    static = item.number("staticFriction", _DEFAULT_FRICTION, 0.0, MAX_FRICTION)
    sliding = item.number("slidingFriction", _DEFAULT_FRICTION, 0.0, MAX_FRICTION)
    if static != sliding:
        message = (
            f"only one friction coefficient is simulated: the sliding one, {sliding:g}; the static "
            f"one, {static:g}, is ignored"
        )
        item.diagnostics.warn("one-friction", message, item.at("staticFriction"))
    for key in _SPRING_SWITCHES:
        if item.text(key).lower() == "true":
            message = f"'{key}' has no effect: contacts of '{item.name}' are rigid"
            item.diagnostics.warn("foreign-setting", message, item.at(key))
    return ContactMaterial(sliding, item.number("Restitution", 0.0, 0.0, 1.0))


def _material(body: str, link: str) -> str:
    return f"{body}/{link}"
