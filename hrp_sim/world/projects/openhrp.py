"""Read projects of OpenHRP 3 (``project.xml`` of GrxUI) as worlds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import product, starmap
from math import isfinite
from pathlib import Path

import numpy as np

from hrp_model import Body, BodyState, Diagnostics, Pose
from hrp_model.body import ExtraJointType
from hrp_model.diagnostics import (
    Source,
    Span,
    counted,
    did_you_mean,
    did_you_mean_or_all,
    out_of_range,
)
from hrp_model.frames import add_unique
from hrp_model.readers.xml_tree import NUMBER, Element
from hrp_model.rigid import Array, axis_angle_matrix, unit_vector

from ...control import HOLD, ControlMode, ControlSettings, JointControl
from ...control.handling import JointEntry
from ...engine.engine import MAX_GRAVITY, PHYSICS_RANGES, PhysicsSettings, Placement
from ...engine.materials import (
    MAX_FRICTION,
    MAX_MATERIALS,
    ContactMaterial,
    Material,
    MaterialTable,
    material_pair,
)
from ..config import BodyEntry, WorldConfig
from ..fields import ModelFiles
from .common import ProjectOptions, parse_project, report_foreign_items, report_program

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


_MAX_TIME = 1e9  # [s]
_DEFAULT_TIME_STEP, _DEFAULT_TIME, _DEFAULT_GRAVITY = 0.001, 20.0, 9.8  # of GrxUI
# Properties of a model that concern the screen, or its controller, which is reported.
_UNUSED_PROPERTIES = frozenset(
    (
        *("isRobot", "markRadius", "name", "url", "controller", "controlTime", "setupDirectory"),
        *("setupCommand", "inport", "outport", "imageProcessor", "imageProcessTime"),
    )
)
_ROOT_PROPERTIES = ("translation", "rotation", "velocity", "angularVelocity")
_PROPERTIES = (*_ROOT_PROPERTIES, "angle", "jointVelocity", "mode", "NumOfAABB")
_HIGH_GAIN = "HighGain"
_MODES = ("Torque", _HIGH_GAIN)


def read_openhrp(
    source: Source, folder: Path, diagnostics: Diagnostics, options: ProjectOptions
) -> WorldConfig:
    """Return the world of a project; problems are reported.

    Args:
        source: Its text.
        folder: Base of relative paths, and ``$(CURRENT_DIR)``.
        diagnostics: Receives all problems.
        options: Its variables; a project of OpenHRP has one simulator.
    """
    root = parse_project(source, diagnostics)
    if root is None:  # which was reported
        return WorldConfig()
    if root.tag != "grxui":
        message = f"an XML file as world must be a project of OpenHRP, <grxui>, not <{root.tag}>"
        diagnostics.error("not-a-world", message, root.span)
        return WorldConfig()
    return _Reader(root, folder, diagnostics, options).read()


class _Reader:
    """Reads one project; reports every problem and substitutes defaults."""

    def __init__(
        self, root: Element, folder: Path, diagnostics: Diagnostics, options: ProjectOptions
    ) -> None:
        self._items = ModeItems(root, diagnostics)
        self._folder = folder
        self._diagnostics = diagnostics
        self._options = options
        self._models = ModelFiles(diagnostics)

    def read(self) -> WorldConfig:
        """Read the whole project."""
        physics, duration = self._simulation()
        entries: dict[str, BodyEntry] = {}
        names: set[str] = set()
        for item in self._items.of("GrxModelItem"):
            if item.name in names:
                message = f"two models are named '{item.name}'; rename one of them"
                self._diagnostics.error("duplicate-name", message, item.element.at("name"))
            names.add(item.name)
            if (entry := self._model(item)) is not None:
                entries[item.name] = entry
        models = {name: entry.placement.body for name, entry in entries.items()}
        links = Links(models, names)
        reader = ExtraJoints(links)
        joints = [reader.read(item) for item in self._items.of("GrxExtraJointItem")]
        pairs = CollisionPairs(links)
        for item in self._items.of("GrxCollisionPairItem"):
            pairs.add(item)
        self._items.report_foreign()
        bodies = tuple(
            replace(
                entry,
                placement=replace(entry.placement, contact_materials=pairs.materials_of(name)),
            )
            for name, entry in entries.items()
        )
        physics = replace(physics, materials=pairs.table(self._diagnostics))
        return WorldConfig(
            physics=physics,
            bodies=bodies,
            joints=tuple(joint for joint in joints if joint is not None),
            duration=duration,
        )

    def _simulation(self) -> tuple[PhysicsSettings, float]:
        """Return the settings of the physics, and the time span in [s]."""
        # Before there were simulation items, the world state had their properties.
        found = self._items.of("GrxSimulationItem") or self._items.of("GrxWorldStateItem")
        if not found:
            return PhysicsSettings(gravity=(0.0, 0.0, -_DEFAULT_GRAVITY)), _DEFAULT_TIME
        item = found[0]
        for other in found[1:]:
            message = f"'{other.name}' is not used: '{item.name}' is the first simulation item"
            self._diagnostics.warn("foreign-setting", message, other.element.span)
        step = item.number("timeStep", _DEFAULT_TIME_STEP, *PHYSICS_RANGES["time_step"])
        gravity = item.number("gravity", _DEFAULT_GRAVITY, -MAX_GRAVITY, MAX_GRAVITY)
        duration = item.number("totalTime", _DEFAULT_TIME, 0.0, _MAX_TIME)
        if item.text("method"):
            message = (
                f"'method' {item.text('method')} has no effect: ODE integrates by the "
                "semi-implicit Euler method"
            )
            self._diagnostics.note("foreign-setting", message, item.at("method"))
        if not self._is_integrated():
            message = (
                "'integrate' false has no effect: bodies always move by forces, and joints hold "
                "their initial positions"
            )
            self._diagnostics.warn("foreign-setting", message, item.at("integrate"))
        physics = PhysicsSettings(time_step=step, gravity=(0.0, 0.0, -gravity))
        return physics, duration

    def _is_integrated(self) -> bool:
        found = self._items.of("GrxSimulationItem")
        return not found or found[0].text("integrate").strip().lower() != "false"

    def _model(self, item: Item) -> BodyEntry | None:
        """Return a body, or None after reporting errors."""
        url = item.element.attributes.get("url", "")
        if not item.name:
            message = "a model needs 'name', the name of its body"
            self._diagnostics.error("missing-key", message, item.element.span)
            return None
        if not url:
            message = f"the model '{item.name}' needs 'url', the path of its model file"
            self._diagnostics.error("missing-model", message, item.element.span)
            return None
        reference = self._options.expanded(_as_reference(url), self._folder)
        body = self._models.load(reference, self._folder, item.element.at("url"))
        if body is None:
            return None
        self._report_controller(item)
        self._report_unknown(item, body)
        root = body.links[0].name
        placement = Placement(
            name=item.name,
            body=body,
            X_WL=Pose(
                self._rotation(item, f"{root}.rotation", body.root.X_PL.R),
                item.numbers(f"{root}.translation", body.root.X_PL.p),
            ),
            q=self._joint_values(item, body, "angle", BodyState(body).q),
            dq=self._joint_values(item, body, "jointVelocity", np.zeros(len(body.moving_links))),
            v=item.numbers(f"{root}.velocity", np.zeros(3)),
            w=item.numbers(f"{root}.angularVelocity", np.zeros(3)),
            fixed=body.is_root_fixed,
        )
        return BodyEntry(placement=placement, control=self._control(item, body))

    def _rotation(self, item: Item, key: str, default: Array) -> Array:
        if not item.text(key):
            return default
        x, y, z, angle = item.numbers(key, np.array([0.0, 0.0, 1.0, 0.0])).tolist()
        axis = unit_vector(np.array([x, y, z]))
        if axis is None:
            if angle != 0.0:
                message = f"the axis of '{key}' has zero length; it is not rotated"
                self._diagnostics.warn("zero-axis", message, item.at(key))
            return np.eye(3)
        return axis_angle_matrix(axis, angle)

    def _joint_values(self, item: Item, body: Body, key: str, values: Array) -> Array:
        for i, link in enumerate(body.moving_links):
            values[i] = item.number(f"{link.name}.{key}", float(values[i]))
        return values

    def _control(self, item: Item, body: Body) -> ControlSettings:
        """Return the control of a body: efforts, zero without commands, or held positions.

        Joints whose program cannot run hold theirs: a robot that collapses shows nothing.
        """
        if not self._is_integrated() or _program(item) is not None:
            return HOLD
        held = {
            link.joint.name: JointControl(mode=ControlMode.POSITION)
            for link in body.moving_links
            if item.choice(f"{link.name}.mode", _MODES) == _HIGH_GAIN
        }
        return ControlSettings(mode=ControlMode.EFFORT, joints=held)

    def _report_controller(self, item: Item) -> None:
        key = _program(item)
        if key is not None:
            report_program(
                f"the controller '{item.text(key)}' of '{item.name}'",
                item.name,
                "hold their positions",
                item.at(key),
                diagnostics=self._diagnostics,
                options=self._options,
            )

    def _report_unknown(self, item: Item, body: Body) -> None:
        """Report properties of links that the model does not have, and unknown ones."""
        links = {link.name: None for link in body.links}
        root = {body.root.name: None}
        for key in item.properties:
            link, _, kind = key.rpartition(".")
            known = root if kind in _ROOT_PROPERTIES else links
            if key in _UNUSED_PROPERTIES or (kind in _PROPERTIES and link in known):
                continue
            if kind in _PROPERTIES:
                hint = did_you_mean_or_all(link, known)
                of = "root link" if kind in _ROOT_PROPERTIES else "link"
                message = f"'{key}' has no effect: the model has no {of} '{link}'.{hint}"
                self._diagnostics.warn("unknown-link", message, item.at(key))
            else:
                hint = did_you_mean(key, _UNUSED_PROPERTIES)
                message = f"'{key}' is not a property of a model.{hint}"
                self._diagnostics.warn("unknown-key", message, item.at(key))


def _program(item: Item) -> str | None:
    """Return the property of a model that names its controller, or None."""
    return next((key for key in ("controller", "setupCommand") if item.text(key)), None)


def _as_reference(url: str) -> str:
    """Return a URL of GrxUI, with variables such as ``$(PROJECT_DIR)``, as a reference."""
    text = url.strip()
    for variable in ("$(CURRENT_DIR)/", "$(CURRENT_DIR)\\"):
        text = text.removeprefix(variable)  # relative to the project
    return text.replace("$(", "${").replace(")", "}", text.count("$("))
