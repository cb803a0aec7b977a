"""Read a project of Choreonoid (``.cnoid``): its simulator, its controllers, and all as a world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

import numpy as np

from hrp_model import Diagnostics, ModelError
from hrp_model.devices import Camera, RangeSensor
from hrp_model.diagnostics import Source, did_you_mean_or_all
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.readers.yaml import nodes
from hrp_model.readers.yaml.nodes import Mapping

from ....control.controllers.classes import ControllerEntry
from ....control.handling import JointEntry
from ....engine.engine import PhysicsSettings
from ....engine.materials import MaterialTable
from ....sensors.settings import OptionValue
from ...config import BodyEntry, WorldConfig
from ...motion import Motion, load_motion
from ...motion.player import PLAYER
from ...physics_file import load_materials, read_simulator
from ...samples import Sample, sample_for
from ..common import ProjectOptions, report_program
from .bodies import SCENE, BodyReader, attach, is_attached, read_scene
from .items import STRUCTURE, Item, ItemReader, report_foreign

_PLAYER_ITEM = "BodyMotionControllerItem"
# Classes of programs, and the keys that name them.
_PROGRAMS: dict[str, tuple[str, ...]] = {
    "SimpleControllerItem": ("controller",),
    "JoystickSimpleControllerItem": ("controller",),
    "PythonSimpleControllerItem": ("controller",),
    "OpenHRPControllerItem": ("controller", "controllerName"),
    **dict.fromkeys(
        ("BodyRTCItem", "BodyIoRTCItem", "RTCItem", "ControllerRTCItem"),
        ("module", "moduleName", "module_name"),
    ),
    "GRobotControllerItem": (),
}
CONTROLLERS = (_PLAYER_ITEM, *_PROGRAMS)
MOTIONS = ("BodyMotionItem", "PoseSeqItem")
_OPTIONS = ("controller_options", "controllerOptions")


class Controllers:
    """Reads the controllers of bodies.

    A body has those in it, but not those in a body in it.

    Args:
        items: Of the world.
        diagnostics: Receives all problems.
        options: How the project is read.
        simulator: The one whose settings apply, if there is one.
    """

    def __init__(
        self,
        items: Iterable[Item],
        diagnostics: Diagnostics,
        options: ProjectOptions,
        simulator: Item | None,
    ) -> None:
        self._simulator = simulator
        self._by_body: dict[Item, list[Item]] = {}
        self._by_player: dict[Item, list[Item]] = {}
        for item in items:
            if item.kind in CONTROLLERS and (body := item.nearest("BodyItem")):
                self._by_body.setdefault(body, []).append(item)
            elif item.kind in MOTIONS and (player := item.nearest(_PLAYER_ITEM)):
                self._by_player.setdefault(player, []).append(item)
        self._diagnostics = diagnostics
        self._options = options

    def has_controller(self, item: Item) -> bool:
        """Return whether the project has a controller for a BodyItem."""
        return item in self._by_body

    def read(self, body: Item, entry: BodyEntry) -> tuple[BodyEntry, list[ControllerEntry]]:
        """Return a body at the beginning of its motion, and those of its controllers that run.

        Args:
            body: Its item.
            entry: The body.
        """
        running: list[ControllerEntry] = []
        name = entry.placement.name
        for item in self._by_body.get(body, ()):
            if item.kind != _PLAYER_ITEM:
                sample = self._sample(item, entry)
                if sample is not None and sample not in running:
                    running.append(sample)
            elif name in self._options.controlled:
                message = f"the motion of '{name}' is not played: a controller for it is given"
                self._diagnostics.note("foreign-controller", message, item.span)
            elif not running and (found := self._motion(item)) is not None:
                path, motion = found
                args = {"file": str(path)}
                entry = _at_beginning(entry, motion)
                running.append(
                    ControllerEntry(class_name=PLAYER, body=name, args=args, at=item.span)
                )
        return entry, running

    def _motion(self, player: Item) -> tuple[Path, Motion] | None:
        """Return the motion of a player, or None after reporting why there is none.

        That is the first checked one, else the first.
        """
        found = self._by_player.get(player, [])
        checked = [item for item in found if item.is_checked]
        if not found:
            message = f"'{player.name}' has no motion (BodyMotionItem or PoseSeqItem) to play"
            self._diagnostics.warn("no-motion", message, player.span)
            return None
        item = (checked or found)[0]
        written = item.file
        at = item.data.at("file", "filename")
        try:
            path = resolve(self._options.expanded(written, item.folder), item.folder)
            # Separate diagnostics, so that loading fails only for errors of this motion.
            return path, load_motion(path, Diagnostics(listener=self._diagnostics.add))
        except ResourceError as error:
            message = str(error) if written else f"the motion '{item.name}' has no 'file'"
            self._diagnostics.error("missing-motion", message, at)
        except ModelError:  # the errors were reported
            pass
        return None

    def _sample(self, item: Item, entry: BodyEntry) -> ControllerEntry | None:
        """Return our controller for a program, or None after reporting that it cannot run."""
        keys = _PROGRAMS[item.kind]
        program = item.data.text(*keys, default="") if keys else ""
        body = entry.placement.name
        shown = f"the controller '{program or item.name}' ({item.kind}) of '{body}'"
        sample = sample_for(program, entry.placement.body)
        if sample is not None and body not in self._options.controlled:
            motion = self._motion_of(sample, item.folder)
            if motion or not sample.motions:
                file = f", by {Path(motion['motion']).name}" if motion else ""
                message = f"{sample.class_name} runs for {shown}: it {sample.purpose}{file}"
                self._diagnostics.note("sample-controller", message, item.span)
                sources = [item, self._simulator] if self._simulator else [item]
                texts = [source.data.text(*_OPTIONS, default="") for source in sources]
                return ControllerEntry(
                    class_name=sample.class_name,
                    body=body,
                    args={**motion, "options": " ".join(texts)},
                    at=item.span,
                )
            shown += f", for which there is no motion '{sample.motions[0]}',"
        report_program(
            shown,
            body,
            "hold their positions",
            item.span,
            diagnostics=self._diagnostics,
            options=self._options,
        )
        return None

    def _motion_of(self, sample: Sample, folder: Path) -> dict[str, str]:
        """Return the argument for the first motion of a sample that exists; {} if none does."""
        for uri in sample.motions:
            with suppress(ResourceError):
                return {"motion": str(resolve(self._options.expanded(uri, folder), folder))}
        return {}


def _at_beginning(entry: BodyEntry, motion: Motion) -> BodyEntry:
    """Return a body in the first posture of a motion."""
    placement = entry.placement
    q = placement.initial_q.copy()
    first = motion.for_body(placement.body)[0]
    q[~np.isnan(first)] = first[~np.isnan(first)]
    pose = motion.root_at(0.0)
    return replace(
        entry,
        placement=replace(placement, q=q, X_WL=placement.X_WL if pose is None else pose),
    )


# Simulators of whole worlds; others, such as that of cameras, work beside them.
_KINDS = frozenset(
    f"{name}SimulatorItem"
    for name in (
        *("AIST", "ODE", "Bullet", "PhysX", "MuJoCo", "AGX", "Kinematic", "Roki", "Springhead"),
        *("HRPBase", "Newton", "TC", "DynamicTC"),
    )
)
_ODE = "ODESimulatorItem"
_KINEMATIC = "KinematicSimulatorItem"
_TIME_LENGTH = ("time_length", "timeLength")
_ACTIVE = ("is_active_control_time_range_mode", "active_control_time_range_mode")
_SPECIFIED = ("specified", "Specified time")
_OF_TIME_BAR = ("timebar", "Time bar range", "TimeBar range", "Timebar range")
_OF_CONTROL = ("Active control period",)
VISION = "GLVisionSimulatorItem"


def is_simulator(item: Item) -> bool:
    """Return whether an item simulates a world."""
    return item.kind in _KINDS


def chosen_simulator(
    simulators: Sequence[Item], name: str, diagnostics: Diagnostics
) -> Item | None:
    """Return the simulator of a name, or the first one for ""; report unknown names."""
    if not name:
        if len(simulators) > 1:
            first, *others = simulators
            names = ", ".join(f"'{item.name}'" for item in others)
            message = f"the first simulator, '{first.name}', is used; others are {names}"
            diagnostics.note("several-simulators", message, first.node.at("name"))
        return simulators[0] if simulators else None
    for item in simulators:
        if item.name == name:
            return item
    hint = did_you_mean_or_all(name, [item.name for item in simulators])
    diagnostics.error("unknown-simulator", f"the project has no simulator '{name}'.{hint}")
    return None


def physics_of(item: Item | None, root: Mapping) -> PhysicsSettings:
    """Return the settings of a simulator, except materials; the defaults without one."""
    if item is None:
        return PhysicsSettings()
    rate = _time_bar_number(root, "frame_rate", "frameRate")
    mode = item.data.text("dynamics_mode", "dynamicsMode", default="")
    if item.kind == _KINEMATIC or mode == "Kinematics":
        message = "bodies move by the laws of physics here, not kinematically"
        at = item.data.at("dynamics_mode", "dynamicsMode")
        item.data.diagnostics.warn("foreign-setting", message, at)
    return read_simulator(item.data, is_ode=item.kind == _ODE, default_rate=rate)


def duration_of(item: Item | None, root: Mapping) -> float | None:
    """Return the time range of a simulator, in [s], or None if it has no end."""
    if item is None:
        return None
    length = item.data.number(*_TIME_LENGTH, default=None)
    mode = item.data.text("time_range_mode", "timeRangeMode", default="")
    if mode in _OF_TIME_BAR:
        length = _time_bar_number(root, "max_time", "maxTime")
    elif mode not in (*_SPECIFIED, *_OF_CONTROL) and not item.data.boolean(*_ACTIVE, default=False):
        return None
    return length if length is not None and length > 0.0 else None


def _time_bar_number(root: Mapping, *keys: str) -> float | None:
    bars = root.mapping("toolbars", "toolBars")
    bar = None if bars is None else bars.mapping("TimeBar")
    return None if bar is None else bar.number(*keys, default=None)


def with_vision(bodies: tuple[BodyEntry, ...], items: Sequence[Item]) -> tuple[BodyEntry, ...]:
    """Return the bodies with the rates of their vision sensors limited by the items."""
    for item in items:
        highest = item.data.number("max_frame_rate", "maxFrameRate", default=0.0)
        if highest <= 0.0:
            continue
        of_bodies = _names(item, "target_bodies", "targetBodies")
        of_sensors = _names(item, "target_sensors", "targetSensors")
        bodies = tuple(
            _limited(entry, highest, of_sensors)
            if not of_bodies or entry.placement.name in of_bodies
            else entry
            for entry in bodies
        )
    return bodies


def _limited(entry: BodyEntry, highest: float, names: set[str]) -> BodyEntry:
    limits: dict[str, dict[str, OptionValue]] = {}
    for device in entry.placement.body.devices:
        if names and device.name not in names:
            continue
        rate = device.frame_rate if isinstance(device, Camera) else 0.0
        rate = device.scan_rate if isinstance(device, RangeSensor) else rate
        if rate > highest:
            limits[device.name] = {"rate": highest}
    return replace(entry, sensors={**entry.sensors, **limits}) if limits else entry


def _names(item: Item, *keys: str) -> set[str]:
    node = item.data.get(*keys)
    if isinstance(node, nodes.Sequence):
        return {x.text for x in node.items if isinstance(x, nodes.Scalar)}
    return {node.text} if isinstance(node, nodes.Scalar) and node.text else set()


_BODY = "BodyItem"
_WORLD = "WorldItem"
_MATERIALS = "MaterialTableItem"
_TABLE = ("default_material_table_file", "materialTableFile")
_DEFAULT_TABLE = "${SHARE}/default/materials.yaml"


def read_cnoid(
    source: Source, folder: Path, diagnostics: Diagnostics, options: ProjectOptions
) -> WorldConfig:
    """Read a project; problems are reported.

    Args:
        source: The text.
        folder: Base of relative paths.
        diagnostics: Receives all problems.
        options: How the project is read.
    """
    root, items = ItemReader(diagnostics, options).read(source, folder)
    if root is None:
        return WorldConfig()
    return _Project(root, items, diagnostics, options).read()


class _Project:
    """Reads the items of a project as a world."""

    def __init__(
        self, root: Mapping, items: list[Item], diagnostics: Diagnostics, options: ProjectOptions
    ) -> None:
        self._root = root
        self._diagnostics = diagnostics
        self._options = options
        self._all = items
        self._controllers: list[ControllerEntry] = []
        self._joints: dict[str, JointEntry] = {}
        self._world = self._first_world()
        self._items = [item for item in items if self._world is None or item.is_in(self._world)]

    def read(self) -> WorldConfig:
        simulators = [item for item in self._items if is_simulator(item)]
        # A project with a simulator beside its world, or in another one.
        simulators = simulators or [item for item in self._all if is_simulator(item)]
        simulator = chosen_simulator(simulators, self._options.simulator, self._diagnostics)
        physics = physics_of(simulator, self._root)
        bodies = self._bodies(simulator)
        visions = [item for item in self._all if item.kind == VISION]
        config = WorldConfig(
            physics=replace(physics, materials=self._materials()),
            bodies=(*with_vision(tuple(bodies), visions), *self._scenes(bodies)),
            joints=tuple(self._joints.values()),
            controllers=tuple(self._controllers),
            duration=duration_of(simulator, self._root),
        )
        self._report_rest()
        return config

    def _first_world(self) -> Item | None:
        worlds = [item for item in self._all if item.kind == _WORLD]
        if len(worlds) > 1:
            message = f"only the first of {len(worlds)} worlds, '{worlds[0].name}', is simulated"
            self._diagnostics.warn("several-worlds", message, worlds[1].span)
        return worlds[0] if worlds else None

    def _bodies(self, simulator: Item | None) -> list[BodyEntry]:
        """Return the bodies, and collect their controllers and joints."""
        reader = BodyReader(self._diagnostics, self._options)
        controllers = Controllers(self._items, self._diagnostics, self._options, simulator)
        entries: dict[Item, BodyEntry] = {}
        found = [item for item in self._items if item.kind == _BODY]
        for item in found:
            entry = reader.read(item, is_controlled=controllers.has_controller(item))
            if entry is not None:
                entry, running = controllers.read(item, entry)
                self._controllers += running
                entries[item] = self._attached(item, entry, entries)
        if not found:
            message = "the project has no BodyItem, so there is nothing to simulate"
            at = self._root.at("items") if self._world is None else self._world.span
            self._diagnostics.error("no-bodies", message, at)
        return list(entries.values())

    def _attached(self, item: Item, entry: BodyEntry, entries: dict[Item, BodyEntry]) -> BodyEntry:
        """Return a body where it is attached to the one that contains it, if it is."""
        owner = item.nearest(_BODY)
        parent = None if owner is None else entries.get(owner)
        if parent is None or not is_attached(item):
            return entry
        entry, joint = attach(item, entry, parent.placement, self._diagnostics)
        if joint is not None:
            if joint.name in self._joints:  # of a holder that has another body, too
                joint = replace(joint, name=f"{entry.placement.name}_attachment")
            self._joints[joint.name] = joint
        return entry

    def _scenes(self, bodies: Sequence[BodyEntry]) -> Iterator[BodyEntry]:
        """Yield the scenes, wherever they are in the project."""
        names = {entry.placement.name for entry in bodies}
        for item in self._all:
            if item.kind == SCENE:
                wanted = item.name or "scene"
                numbered = (f"{wanted}_{i}" for i in count(2))
                name = next(x for x in chain([wanted], numbered) if x not in names)
                entry = read_scene(item, name, self._diagnostics, self._options)
                if entry is not None:
                    names.add(name)
                    yield entry

    def _materials(self) -> MaterialTable:
        """Return the world's table, with those of MaterialTableItems merged into it."""
        table = MaterialTable()
        if self._world is not None:
            table = self._table(self._world, _TABLE, _DEFAULT_TABLE)
        for item in self._items:
            if item.kind == _MATERIALS:
                own = self._table(item, ("file", "filename"), "")
                table = MaterialTable(
                    {**table.materials, **own.materials}, {**table.pairs, **own.pairs}
                )
        return table

    def _table(self, item: Item, keys: tuple[str, ...], default: str) -> MaterialTable:
        written = item.data.text(*keys, default=default)
        at = item.data.at(*keys)
        if not written:
            return MaterialTable()
        uri = self._options.expanded(written, item.folder)
        if written == _DEFAULT_TABLE:
            # Choreonoid's own table, without which its models can be used, too.
            try:
                resolve(uri, item.folder)
            except ResourceError as error:
                if not any(key in item.data for key in keys):
                    return MaterialTable()
                message = f"all materials have the default friction: {error}"
                self._diagnostics.note("missing-materials", message, at)
                return MaterialTable()
        return load_materials(uri, item.folder, self._diagnostics, at)

    def _report_rest(self) -> None:
        """Report items that were not read."""
        read = {*STRUCTURE, *CONTROLLERS, *MOTIONS, _BODY, _MATERIALS, SCENE, VISION, ""}
        rest = [i for i in self._all if i.kind not in read and not is_simulator(i)]
        report_foreign(rest, self._diagnostics)
        if self._world is None:
            return
        outside = [i for i in self._all if i.kind == _BODY and not i.is_in(self._world)]
        if outside:
            names = ", ".join(f"'{item.name}'" for item in outside)
            message = f"bodies that are not in the world '{self._world.name}' are left out: {names}"
            self._diagnostics.warn("outside-world", message, outside[0].span)
