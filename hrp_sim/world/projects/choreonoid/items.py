"""The items of a project as a list, with those of its sub-projects, and reports on the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import radians
from pathlib import Path

import numpy as np

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source, Span
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.late_dataclass import dataclass
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping, Node, Sequence
from hrp_model.readers.yaml.tree import parse
from hrp_model.rigid import Array, axis_angle_matrix, unit_vector

from ..common import ProjectOptions, report_foreign_items

SUB_PROJECT = "SubProjectItem"
# Of a project with its sub-projects, which may use one file many times.
_MAX_ITEMS = 20_000
_MAX_PROJECTS = 1_000
_MAX_DEPTH = 200
# Items that only group or hold others.
STRUCTURE = frozenset(("RootItem", "FolderItem", "GroupItem", "WorldItem", "SubProjectItem"))
# Items whose purpose is served without them, and how.
_SERVED = {
    "SensorVisualizerItem": "all sensors are published, and the page of a run shows them",
    **dict.fromkeys(
        ("BodyROSItem", "WorldROSItem", "BodyROS2Item", "WorldROS2Item", "WorldRosItem"),
        "bodies and world have topics and services of their own with --ros",
    ),
    "WorldLogFileItem": "'hrp-sim run --record' records a run",
    "BodyTrackingCameraItem": "it is a camera of Choreonoid's window",
    "LightingItem": "it is a light of Choreonoid's window",
    **dict.fromkeys(
        (
            *("CoordinateFrameListItem", "CoordinateFrameItem"),
            *("LinkOffsetFrameListItem", "LinkCoordinateFrameListItem"),
            *("PositionListItem", "PositionTagListItem", "PositionTagGroupItem"),
        ),
        "it helps to edit motions in Choreonoid's window",
    ),
}
# Why others have no effect.
_REASONS = {
    "MultiColliderItem": "its fields of fluids and distortion are not simulated",
    "CFDSimulatorItem": "forces of fluids are not simulated",
    "PythonSimScriptItem": "scripts of Choreonoid are not run",
    "PythonScriptItem": "scripts of Choreonoid are not run",
    "RegionIntrusionDetectorItem": "regions are not watched",
}


@dataclass(frozen=True, eq=False)
class Item:
    """An item of the tree of a project.

    Attributes:
        kind: Its class, such as BodyItem; "" for a part of its parent.
        name: Its name.
        node: As written.
        data: Its settings; ``node``, which has none of them, if it has no ``data``.
        folder: Base of its relative paths.
        parent: The item that contains it; None for the outermost.
    """

    kind: str
    name: str
    node: Mapping
    data: Mapping
    folder: Path
    parent: Item | None

    @property
    def span(self) -> Span:
        """Location of its class."""
        return self.node.at("class")

    @property
    def ancestors(self) -> Iterator[Item]:
        """The items that contain it, the nearest first."""
        item = self.parent
        while item is not None:
            yield item
            item = item.parent

    def is_in(self, other: Item) -> bool:
        """Whether another item contains it."""
        return any(item is other for item in self.ancestors)

    def nearest(self, kind: str) -> Item | None:
        """Return the nearest item of a class that contains it."""
        return next((other for other in self.ancestors if other.kind == kind), None)

    @property
    def is_checked(self) -> bool:
        """Whether it is checked in the tree of the project."""
        return any(
            source.boolean(key, default=False)
            for source in (self.node, self.data)
            for key in ("is_checked", "isChecked", "is_body_motion_checked")
        )

    @property
    def file(self) -> str:
        """Its file as written; "" if it has none."""
        return self.data.text("file", "filename", default="")


def rotation_by_axis(data: Mapping, key: str, unit: float = 1.0) -> Array | None:
    """Return the rotation [x, y, z, angle], or the product of a list of these.

    Args:
        data: Settings of an item.
        key: That of the rotation.
        unit: Of the angle, in [deg].
    """
    listed = data.sequence(key)
    if listed is None:
        return None
    parts = listed.items if listed.is_nested else [listed]
    R = np.eye(3)
    for part in parts:
        numbers = part.numbers() if isinstance(part, Sequence) else None
        axis = None if numbers is None or len(numbers) != 4 else unit_vector(numbers[:3])
        if numbers is None or axis is None:
            message = f"'{key}' needs an axis and an angle: [x, y, z, degrees]"
            data.diagnostics.error("bad-rotation", message, part.span)
            return None
        R = R @ axis_angle_matrix(axis, radians(numbers[3] * unit))
    return R


class ItemReader:
    """Reads the items of a project and its sub-projects; reports every problem.

    Args:
        diagnostics: Receives the problems.
        options: How the project is read.
    """

    def __init__(self, diagnostics: Diagnostics, options: ProjectOptions) -> None:
        self._diagnostics = diagnostics
        self._options = options
        self._items: list[Item] = []
        self._open: list[Path] = []  # the files being read
        self._projects: dict[Path, Mapping | None] = {}
        self._project_count = 0
        self._is_excessive = False

    def read(self, source: Source, folder: Path) -> tuple[Mapping | None, list[Item]]:
        """Return the project file, None if it is unusable, and all items in their order."""
        root = self._root(source)
        if root is not None:
            if source.path is not None:
                self._open.append(source.path)
            self._add(root.mapping("items"), folder, None)
        return root, self._items

    def _root(self, source: Source) -> Mapping | None:
        root = parse(source, self._diagnostics)
        if isinstance(root, Mapping) and isinstance(root.get("items"), Mapping):
            return root
        if not self._diagnostics.has_errors:
            place = Span(source, 0, 0) if root is None else root.span
            message = "a project of Choreonoid needs 'items', the tree of its items"
            self._diagnostics.error("not-a-project", message, place)
        return None

    def _project(self, path: Path) -> Mapping | None:
        """Return the root of a sub-project, which is read once; raises OSError."""
        if path not in self._projects:
            self._projects[path] = self._root(read_source(path))
        return self._projects[path]

    def _add(self, node: Node | None, folder: Path, parent: Item | None, depth: int = 0) -> None:
        """Add an item, and those in it."""
        if not isinstance(node, Mapping):
            if node is not None:
                message = "an item of a project must be a mapping with 'class'"
                self._diagnostics.error("wrong-type", message, node.span)
            return
        if len(self._items) >= _MAX_ITEMS or self._project_count > _MAX_PROJECTS:
            if not self._is_excessive:
                message = f"more than {_MAX_ITEMS} items, or {_MAX_PROJECTS} sub-projects"
                self._diagnostics.error("too-large", message, node.span)
            self._is_excessive = True
            return
        if depth > _MAX_DEPTH:
            message = f"items are nested more than {_MAX_DEPTH} levels deep"
            self._diagnostics.error("too-deep", message, node.span)
            return
        data = node.mapping("data")
        item = Item(
            node.text("class", default=""),
            node.text("name", default=""),
            node,
            node if data is None else data,
            folder,
            parent,
        )
        self._items.append(item)
        if item.kind == SUB_PROJECT:
            self._add_project(item, depth)
        children = node.sequence("children")
        for child in children.items if children else ():
            self._add(child, folder, item, depth + 1)

    def _add_project(self, item: Item, depth: int) -> None:
        """Add the items of a sub-project."""
        self._project_count += 1
        written = item.file
        at = item.data.at("file", "filename")
        if not written:
            message = f"the sub-project '{item.name}' has no 'file'"
            self._diagnostics.error("missing-project", message, at)
            return
        try:
            path = resolve(self._options.expanded(written, item.folder), item.folder)
            if path in self._open:
                chain = " -> ".join(p.name for p in [*self._open, path])
                message = f"the projects contain each other: {chain}"
                self._diagnostics.error("project-cycle", message, at)
                return
            root = self._project(path)
        except ResourceError as error:
            self._diagnostics.error("missing-project", str(error), at)
            return
        except OSError as error:
            message = f"cannot read '{written}': {error.strerror or error}"
            self._diagnostics.error("unreadable-file", message, at)
            return
        if root is not None:
            self._open.append(path)
            self._add(root.mapping("items"), path.parent, item, depth + 1)
            self._open.pop()


def report_foreign(items: Iterable[Item], diagnostics: Diagnostics) -> None:
    """Report items without effect, once for each class."""
    places = ((item.kind, item.span) for item in items)
    report_foreign_items(places, diagnostics, served=_SERVED, reasons=_REASONS)
