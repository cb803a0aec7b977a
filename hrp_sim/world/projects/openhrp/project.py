"""Read projects of OpenHRP 3 (``project.xml`` of GrxUI) as worlds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import Body, BodyState, Diagnostics, Pose
from hrp_model.diagnostics import Source, did_you_mean, did_you_mean_or_all
from hrp_model.readers.xml_tree import Element
from hrp_model.rigid import Array, axis_angle_matrix, unit_vector

from ....control import HOLD, ControlMode, ControlSettings, JointControl
from ....engine.engine import MAX_GRAVITY, PHYSICS_RANGES, PhysicsSettings, Placement
from ...config import BodyEntry, WorldConfig
from ...fields import ModelFiles
from ..common import ProjectOptions, parse_project, report_program
from .items import CollisionPairs, ExtraJoints, Item, Links, ModeItems

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
