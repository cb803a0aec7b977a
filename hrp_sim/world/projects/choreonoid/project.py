"""Read a project of Choreonoid (``.cnoid``) into a WorldConfig."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.readers.yaml.nodes import Mapping

from ....control.controllers.classes import ControllerEntry
from ....control.handling import JointEntry
from ....engine.materials import MaterialTable
from ...config import BodyEntry, WorldConfig
from ...material_file import load_materials
from ..common import ProjectOptions
from .bodies import BodyReader, attach, is_attached
from .controllers import CONTROLLERS, MOTIONS, Controllers
from .items import STRUCTURE, Item, ItemReader, report_foreign
from .scenes import SCENE, read_scene
from .simulators import VISION, chosen_simulator, duration_of, is_simulator, physics_of, with_vision

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
        bodies = self._bodies()
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

    def _bodies(self) -> list[BodyEntry]:
        """Return the bodies, and collect their controllers and joints."""
        reader = BodyReader(self._diagnostics, self._options)
        controllers = Controllers(self._items, self._diagnostics, self._options)
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
