"""Items of a project of OpenHRP 3: their properties, pairs of colliding links, and extra joints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product, starmap
from math import isfinite

import numpy as np

from hrp_model import Body, Diagnostics, Pose
from hrp_model.body import ExtraJointType
from hrp_model.diagnostics import Span, counted, did_you_mean_or_all, out_of_range
from hrp_model.frames import add_unique
from hrp_model.readers.xml_tree import NUMBER, Element
from hrp_model.rigid import Array, unit_vector

from ....control.handling import JointEntry
from ....engine.materials import (
    MAX_FRICTION,
    MAX_MATERIALS,
    ContactMaterial,
    Material,
    MaterialTable,
    material_pair,
)
from ..common import report_foreign_items

_USED = (
    *("GrxModelItem", "GrxCollisionPairItem", "GrxExtraJointItem"),
    *("GrxSimulationItem", "GrxWorldStateItem"),
)
_MODE = "Simulation"
_REASONS = {
    "GrxRTSItem": "components of OpenRTM are not run",
    "GrxPathPlanningAlgorithmItem": "paths are not planned",
}


class Item:
    """One item: its name, and its properties by name, of which the last one counts.

    Attributes:
        element: As written.
        kind: Its class, without the Java package.
        name: Its name.
        properties: The elements of its properties.
    """

    def __init__(self, element: Element, diagnostics: Diagnostics) -> None:
        self.element = element
        self.kind = element.attributes.get("class", "").rpartition(".")[2]
        self.name = element.attributes.get("name", "")
        self.properties = {p.attributes.get("name", ""): p for p in element.all("property")}
        self.diagnostics = diagnostics

    @property
    def is_selected(self) -> bool:
        """Whether the simulation uses it."""
        return self.element.attributes.get("select", "true").strip().lower() != "false"

    def at(self, key: str) -> Span:
        """Return the place of a property, or of the item if it does not have it."""
        written = self.properties.get(key)
        return self.element.span if written is None else written.at("value")

    def text(self, key: str) -> str:
        """Return a property, without surrounding blanks; "" if the item does not have it."""
        written = self.properties.get(key)
        return "" if written is None else written.attributes.get("value", "").strip()

    def number(self, key: str, default: float, low: float = -1e9, high: float = 1e9) -> float:
        """Return a number; the default if it is missing, or after reporting an error."""
        (value,) = self.numbers(key, np.array([default])).tolist()
        if low <= value <= high:
            return float(value)
        message = f"'{key}' {out_of_range(value, low, high)}"
        self.diagnostics.error("out-of-range", message, self.at(key))
        return default

    def numbers(self, key: str, default: Array) -> Array:
        """Return numbers, as many as the default has; that after reporting an error."""
        text = self.text(key)
        if not text:
            return default
        words = text.split()
        count = len(default)
        values = list(map(float, words)) if all(map(NUMBER.fullmatch, words)) else []
        if len(values) == count and all(map(isfinite, values)):
            return np.array(values)
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        message = f"'{key}' must be {counted(count, 'finite number')}, not '{shown}'"
        self.diagnostics.error("wrong-type", message, self.at(key))
        return default

    def choice(self, key: str, choices: Collection[str]) -> str:
        """Return one of several words; "" if it is missing, or after reporting an error."""
        text = self.text(key)
        if not text or text in choices:
            return text
        message = f"'{key}' is '{text}'.{did_you_mean_or_all(text, choices)}"
        self.diagnostics.error("unknown-word", message, self.at(key))
        return ""


class ModeItems:
    """The selected items of the mode that simulates.

    Args:
        root: The project.
        diagnostics: Receives warnings.
    """

    def __init__(self, root: Element, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        modes = list(root.all("mode"))
        named = [mode for mode in modes if mode.attributes.get("name") == _MODE]
        self._mode = next(iter(named or modes), root)
        self._selected: dict[str, list[Item]] = {}
        for element in self._mode.all("item"):
            item = Item(element, diagnostics)
            if item.is_selected:
                self._selected.setdefault(item.kind, []).append(item)

    def of(self, kind: str) -> list[Item]:
        """Return the selected items of a class, in the order of the file."""
        return self._selected.get(kind, [])

    def report_foreign(self) -> None:
        """Report items and views without effect, once for each class."""
        every = (
            (element.attributes.get("class", "").rpartition(".")[2], element.at("class"))
            for element in self._mode.all("item", "view")
        )
        foreign = ((kind, at) for kind, at in every if kind not in _USED)
        found = list(foreign)
        of_window = {kind for kind, _ in found if kind.endswith("View")} | {"GrxGraphItem"}
        report_foreign_items(
            found,
            self._diagnostics,
            served=dict.fromkeys(of_window, "it belongs to the window of GrxUI"),
            reasons=_REASONS,
        )


_DEFAULT_FRICTION = 0.5  # of GrxUI
_IN_NO_PAIR = "in no collision pair"
_OTHER_LINKS = "*"
_PAIR = "collision pair"
_SPRING_SWITCHES = ("springDamperModel", "sprintDamperModel")  # GrxUI writes either
_MAX_COMBINATIONS = 1_000_000
# A body and one of its links; "" for all links.
_Side = tuple[str, str]
_TYPES = {"xyz": ExtraJointType.BALL, "xy": ExtraJointType.XY, "z": ExtraJointType.Z}
_AXIS_Z = np.array([0.0, 0.0, 1.0])  # of new items in GrxUI


class Links:
    """The links of the bodies of a project.

    Args:
        bodies: By name.
        names: Of all models, including those that could not be read.

    Attributes:
        by_body: Names of links by body, as keys.
    """

    def __init__(self, bodies: Mapping[str, Body], names: Collection[str]) -> None:
        self.by_body = {n: {x.name: None for x in b.links} for n, b in bodies.items()}
        self._names = names

    def find(self, item: Item, what: str, body_key: str, link_key: str) -> _Side | None:
        """Return the body and the link that an item names, or None after reporting what is unknown.

        Args:
            item: The item.
            what: Its kind in words.
            body_key: Property with the name of the body.
            link_key: Property with the name of the link; may be empty for a collision pair.
        """
        name, link = item.text(body_key), item.text(link_key)
        without = f"the {what} '{item.name}' has no effect"
        if name not in self._names:
            hint = did_you_mean_or_all(name, self._names)
            message = f"{without}: no body '{name}'.{hint}"
            item.diagnostics.warn("unknown-body", message, item.at(body_key))
            return None
        if name not in self.by_body:  # which was reported
            return None
        links = self.by_body[name]
        if link not in links and (link or what != _PAIR):
            hint = did_you_mean_or_all(link, links)
            message = f"{without}: the body '{name}' has no link '{link}'.{hint}"
            item.diagnostics.warn("unknown-link", message, item.at(link_key))
            return None
        return name, link


class CollisionPairs:
    """Collects pairs.

    Args:
        links: Of the bodies.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._pairs: list[tuple[_Side, _Side, ContactMaterial]] = []
        self._named: dict[str, dict[str, None]] = {}  # which pairs name, by body; ordered

    def add(self, item: Item) -> None:
        """Add a pair, or report why it has no effect."""
        one, other = (
            self._links.find(item, _PAIR, f"objectName{k}", f"jointName{k}") for k in (1, 2)
        )
        contact = _contact(item)
        if one is None or other is None:
            return
        for name, link in (one, other):
            named = self._named.setdefault(name, {})
            if link:
                named[link] = None
        self._pairs.append((one, other, contact))

    def materials_of(self, name: str) -> dict[str, str]:
        """Return the contact materials of a body by link name."""
        links, named = self._links.by_body[name], self._named.get(name)
        if named is None:
            return dict.fromkeys(links, _IN_NO_PAIR)
        return {link: _material(name, link if link in named else _OTHER_LINKS) for link in links}

    def table(self, diagnostics: Diagnostics) -> MaterialTable:
        """Return the table of all materials; of equal pairs the last one counts."""
        pairs: dict[frozenset[str], ContactMaterial] = {}
        sides = [(self._materials(a), self._materials(b)) for a, b, _ in self._pairs]
        bodies = self._links.by_body
        names = {name for body in bodies for name in self.materials_of(body).values()}
        if len(names) > MAX_MATERIALS or sum(len(a) * len(b) for a, b in sides) > _MAX_COMBINATIONS:
            diagnostics.error("too-large", "the collision pairs of the project name too many links")
            return MaterialTable()
        for (a, b), (_, _, contact) in zip(sides, self._pairs, strict=True):
            pairs |= dict.fromkeys(starmap(material_pair, product(a, b)), contact)
        return MaterialTable(dict.fromkeys(sorted(names), Material()), pairs, only_pairs=True)

    def _materials(self, side: _Side) -> list[str]:
        name, link = side
        return [
            _material(name, x) for x in ([link] if link else [*self._named[name], _OTHER_LINKS])
        ]


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


class ExtraJoints:
    """Reads the items of extra joints.

    Args:
        links: Of the bodies.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._read: set[str] = set()

    def read(self, item: Item) -> JointEntry | None:
        """Return a joint, or None after reporting why there is none."""
        a, b = (
            self._links.find(item, "extra joint", f"object{k}Name", f"link{k}Name") for k in (1, 2)
        )
        kind = item.choice("jointType", _TYPES) or "xyz"
        axis = item.numbers("jointAxis", _AXIS_Z)
        points = [item.numbers(f"link{number}LocalPos", np.zeros(3)) for number in (1, 2)]
        if a is None or b is None:
            return None
        if a[0] == b[0]:
            message = f"the extra joint '{item.name}' has no effect: it must connect two bodies"
            item.diagnostics.warn("same-body", message, item.at("object2Name"))
            return None
        if unit_vector(axis) is None:
            if kind != "xyz":
                message = f"the axis of the extra joint '{item.name}' must not be zero"
                item.diagnostics.error("zero-axis", message, item.at("jointAxis"))
            axis = _AXIS_Z
        return JointEntry(
            name=add_unique(item.name or "ExtraJoint", self._read),
            type=_TYPES[kind],
            bodies=(a[0], b[0]),
            links=(a[1], b[1]),
            X_AJ=Pose(p=points[0]),
            X_BJ=Pose(p=points[1]),
            axis=axis,
        )
