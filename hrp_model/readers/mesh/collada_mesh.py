"""Read the <geometry> elements of COLLADA: triangles, strips, fans, polygons, and their corners.

Elements are found by id; those that are left out are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...diagnostics import Diagnostics
from ...geometry import Attribute, IntArray, Mesh
from ...late_dataclass import dataclass
from ...rigid import Array
from ...shapes.meshing import face_set, unit
from ...shapes.triangulate import fan_corners, polygon_with_holes, strip_corners
from ..number_list import number_list
from ..xml_tree import Element
from .mesh_resources import LostParts, are_inside, are_usable

_TRIANGLES = ("triangles", "tristrips", "trifans")
_PRIMITIVES = (*_TRIANGLES, "polylist", "polygons")
_WITHOUT_SURFACE = ("lines", "linestrips")
_OTHER = ("source", "vertices", "extra", "asset", *_WITHOUT_SURFACE)
_POSITION = "POSITION"
# Columns of attributes that are used.
_WIDTHS = {_POSITION: 3, "NORMAL": 3, "TEXCOORD": 2, "COLOR": 3}


class ColladaParts(LostParts):
    """The elements of one file by id, and the parts of it that cannot be used.

    Args:
        root: The root element; namespace prefixes are removed from its tags.
        name: Of the file, in messages.
        diagnostics: Receives warnings.
    """

    def __init__(self, root: Element, name: str, diagnostics: Diagnostics) -> None:
        super().__init__(name, diagnostics)
        self.root = root
        self._by_id: dict[str, Element] = {}
        for element in (root, *root.descendants()):
            element.tag = element.tag.rpartition(":")[2]
            if "id" in element.attributes:
                self._by_id.setdefault(element.attributes["id"], element)

    def find(self, element: Element, attribute: str, *tags: str) -> Element | None:
        """Return the element that an attribute refers to; None after reporting that none is there.

        Args:
            element: The element with the reference "#id", or "#id/inner" as OpenHRP writes, with
                the id or SID of an element inside.
            attribute: The attribute.
            tags: Tags that the other element may have.
        """
        written = element.attributes.get(attribute, "")
        name, *inner = written[1:].split("/")
        found = self._by_id.get(name) if written.startswith("#") else None
        for part in inner:
            inside = [] if found is None else found.descendants()
            found = next(
                (x for x in inside if part in (x.attributes.get("id"), x.attributes.get("sid"))),
                None,
            )
        if found is not None and found.tag in tags:
            return found
        self.lose(element, f"there is no <{tags[0]}> '{written}'")
        return None

    def with_id(self, name: str, *tags: str) -> Element | None:
        """Return the element with an id and one of these tags, or None."""
        found = self._by_id.get(name)
        return found if found is not None and found.tag in tags else None

    def lose(self, element: Element, reason: str) -> None:
        """Record that an element is left out; each counts once."""
        self.add(id(element), reason, element.span)


def integers(elements: Iterable[Element]) -> IntArray | None:
    """Return the integers in the text of elements; None if they have anything else."""
    text = " ".join(element.text for element in elements)
    found = number_list(f"{text}]", 0, integer=True)
    if found is None or found[1] != len(text):
        return None
    return found[0].astype(np.int32, copy=False)


def numbers(text: str) -> Array | None:
    """Return the numbers in a text, "NaN" and "INF" among them; None if it has anything else."""
    found = number_list(f"{text}]", 0, integer=False)
    if found is not None and found[1] == len(text):
        return found[0].astype(np.float64, copy=False)
    try:
        return np.array([float(word) for word in text.split()], dtype=np.float64)
    except ValueError:
        return None


def finite_numbers(element: Element | None, *counts: int) -> list[float] | None:
    """Return the numbers in an element; None unless their number is one of ``counts``."""
    values = None if element is None else numbers(element.text)
    if values is None or len(values) not in counts or not np.isfinite(values).all():
        return None
    listed: list[float] = values.tolist()
    return listed


def natural(text: str, default: int) -> int | None:
    """Return a count or an index; the default for an empty text, None if it is neither."""
    if not text.strip():
        return default
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if isfinite(value) and 0.0 <= value < 2**31 and value == int(value) else None


class _Input(NamedTuple):
    """An attribute of the corners of a primitive."""

    semantic: str
    offset: int
    source: Element
    set: str


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """Polygons of one material.

    Attributes:
        symbol: Of the material.
        points: Shape (n, 3).
        index_list: Rows of points, with -1 after each polygon.
        normals, colors: Of corners, with an index for each entry of ``index_list``.
        tex_coords: Likewise, by the number of their set, the first one first.
    """

    symbol: str
    points: Array
    index_list: IntArray
    normals: Attribute | None = None
    colors: Attribute | None = None
    tex_coords: dict[str, Attribute] = field(default_factory=dict)

    def mesh(self, *, solid: bool, tex_coord_set: str | None) -> Mesh | None:
        """Return the triangles; None if there are none."""
        first = next(iter(self.tex_coords.values()), None)
        mesh = face_set(
            self.points,
            self.index_list,
            normals=self.normals,
            colors=self.colors,
            tex_coords=self.tex_coords.get(tex_coord_set or "", first),
            solid=solid,
        )
        return mesh if len(mesh.triangles) else None


def read_primitives(geometry: Element, parts: ColladaParts) -> Iterator[Primitive]:
    """Yield the polygons of a geometry; what cannot be used is recorded as lost."""
    mesh = geometry.first("mesh", "convex_mesh")
    if mesh is None:
        parts.lose(geometry, "it is a geometry without <mesh>")
        return
    reader = _MeshReader(mesh, parts)
    for element in mesh.children:
        if element.tag in _PRIMITIVES:
            primitive = reader.primitive(element)
            if primitive is not None:
                yield primitive
        elif element.tag not in _OTHER:
            parts.lose(element, f"a mesh has no <{element.tag}>")


class _MeshReader:
    """Reads the primitives of one <mesh>, and each of its sources once."""

    def __init__(self, mesh: Element, parts: ColladaParts) -> None:
        self._mesh = mesh
        self._parts = parts
        self._sources: dict[tuple[int, str], Array | None] = {}

    def primitive(self, element: Element) -> Primitive | None:
        """Return the polygons of an element; None if it has none that can be used."""
        inputs = list(self._inputs(element))
        position = next((x for x in inputs if x.semantic == _POSITION), None)
        points = None if position is None else self._values(position)
        if position is None or points is None:
            self._parts.lose(element, f"<{element.tag}> has no points")
            return None
        width = 1 + max(
            natural(x.attributes.get("offset", ""), 0) or 0 for x in element.all("input")
        )
        usable = are_usable(points)
        points = np.where(usable[:, None], points, 0.0)
        corners, counts = self._corners(element, width, points, position.offset)
        if not len(counts):
            return None
        ends = np.cumsum(counts)
        index_list, lost = _index_list(corners[:, position.offset], ends, usable)
        self._parts.report_faces(lost, element.span)
        attributes: dict[str, Attribute] = {}
        tex_coords: dict[str, Attribute] = {}
        for given in inputs:
            if given.semantic == _POSITION:
                continue
            attribute = self._attribute(given, corners, ends)
            if attribute is not None:
                own = tex_coords if given.semantic == "TEXCOORD" else attributes
                own.setdefault(given.set if own is tex_coords else given.semantic, attribute)
        used, index_list = _used_rows(index_list, len(points))
        return Primitive(
            symbol=element.attributes.get("material", ""),
            points=points[used],
            index_list=index_list,
            normals=attributes.get("NORMAL"),
            colors=attributes.get("COLOR"),
            tex_coords=tex_coords,
        )

    def _inputs(self, element: Element) -> Iterator[_Input]:
        """Yield the attributes of a primitive that are used, those of its vertices among them."""
        for given in element.all("input"):
            offset = natural(given.attributes.get("offset", ""), 0)
            semantic = given.attributes.get("semantic", "")
            if offset is None:
                self._parts.lose(given, f"its offset is '{given.attributes['offset']}'")
            elif semantic == "VERTEX":
                vertices = self._parts.find(given, "source", "vertices", "source")
                if vertices is not None and vertices.tag == "source":  # as some programs write
                    yield _Input(_POSITION, offset, vertices, "")
                elif vertices is not None:
                    for inner in vertices.all("input"):
                        yield from self._input(inner, offset)
            else:
                yield from self._input(given, offset)

    def _input(self, given: Element, offset: int) -> Iterator[_Input]:
        semantic = given.attributes.get("semantic", "")
        if semantic in _WIDTHS:
            source = self._parts.find(given, "source", "source")
            if source is not None:
                yield _Input(semantic, offset, source, given.attributes.get("set", "0"))

    def _values(self, given: _Input) -> Array | None:
        """Return the rows of a source that an attribute uses; None after recording a loss."""
        key = id(given.source), given.semantic
        if key not in self._sources:
            values = _rows(given.source, self._parts)
            width = _WIDTHS[given.semantic]
            if values is None or values.shape[1] < width:
                self._parts.lose(given.source, "a source has no rows of numbers")
                values = None
            self._sources[key] = None if values is None else values[:, :width]
        return self._sources[key]

    def _attribute(self, given: _Input, corners: IntArray, ends: IntArray) -> Attribute | None:
        values = self._values(given)
        if values is None or not len(values):
            return None
        index = corners[:, given.offset]
        if not np.isfinite(values).all() or index.min() < 0 or index.max() >= len(values):
            name = given.semantic.lower()
            self._parts.lose(given.source, f"{name} values do not exist or are not finite")
            return None
        if given.semantic == "COLOR":
            values = np.clip(values, 0.0, 1.0)
        elif given.semantic == "NORMAL":
            values = unit(values)
        return Attribute(values, np.insert(index, ends, -1).astype(np.int32))

    def _corners(
        self, element: Element, width: int, points: Array, offset: int
    ) -> tuple[IntArray, IntArray]:
        """Return the indices of all corners, shape (c, width), and the counts of polygons."""
        parts = [self._polygon(x, width, points, offset) for x in element.all("p", "ph")]
        if any(part is None for part in parts):
            self._parts.lose(element, f"<{element.tag}> has indices that are no integers")
        lists = [part for part in parts if part is not None]
        if element.tag == "polygons":
            counts = np.array([len(part) for part in lists], dtype=np.int32)
        elif element.tag == "polylist":
            counts = self._counts(element, sum(map(len, lists)))
        else:
            if element.tag == "tristrips":
                lists = [part[strip_corners(len(part))].reshape(-1, width) for part in lists]
            elif element.tag == "trifans":
                lists = [part[fan_corners(len(part))].reshape(-1, width) for part in lists]
            total = sum(map(len, lists))
            if total % 3:
                self._parts.lose(element, "the last triangle has fewer than three corners")
            counts = np.full(total // 3, 3, dtype=np.int32)
        corners = np.concatenate(lists or [np.empty((0, width), dtype=np.int32)])
        return corners[: int(counts.sum())], counts

    def _counts(self, element: Element, corners: int) -> IntArray:
        """Return the counts of a <polylist> for which there are corners."""
        written = integers(element.all("vcount"))
        if written is None or (written < 0).any():
            self._parts.lose(element, "<vcount> must be counts of corners")
            return np.empty(0, dtype=np.int32)
        kept = written[np.cumsum(written, dtype=np.int64) <= corners]
        if len(kept) < len(written):
            self._parts.lose(element, f"{len(written) - len(kept)} polygons have too few corners")
        return kept

    def _polygon(self, p: Element, width: int, points: Array, offset: int) -> IntArray | None:
        """Return the corners of a <p>, or of a <ph>, whose holes are joined to it."""
        loops = [p] if p.tag == "p" else [*p.all("p"), *p.all("h")]
        found = [integers([loop]) for loop in loops]
        rows = [x[: len(x) // width * width].reshape(-1, width) for x in found if x is not None]
        if len(rows) < len(loops) or not rows:
            return None
        if len(rows) == 1:
            return rows[0]
        corners = np.concatenate(rows)
        positions = corners[:, offset]
        if positions.min() < 0 or positions.max() >= len(points):
            return rows[0]  # the caller reports points that do not exist
        starts = np.cumsum([0, *map(len, rows)]).tolist()
        order = polygon_with_holes([points[positions[a:b]] for a, b in pairwise(starts)])
        if len(order) == len(rows[0]):
            self._parts.lose(p, "holes of a polygon are filled: they have too few or many corners")
        joined: IntArray = corners[order]
        return joined


def _rows(source: Element, parts: ColladaParts) -> Array | None:
    """Return the rows of a source; None if it is broken.

    The accessor selects the columns that have a name (COLLADA 1.4.1, <accessor>).
    """
    technique = source.first("technique_common")
    accessor = None if technique is None else technique.first("accessor")
    array = source.first("float_array", "int_array")
    if accessor is not None and array is None:
        array = parts.find(accessor, "source", "float_array", "int_array")
    values = None if array is None else numbers(array.text)
    if values is None:
        return None
    columns = [] if accessor is None else list(accessor.all("param"))
    named = [i for i, column in enumerate(columns) if column.attributes.get("name")]
    attributes = {} if accessor is None else accessor.attributes
    stride = max(natural(attributes.get("stride", ""), 1) or 1, len(columns))
    offset = natural(attributes.get("offset", ""), 0) or 0
    count = max(len(values) - offset, 0) // stride
    rows = values[offset : offset + count * stride].reshape(count, stride)
    return rows[:, named] if named else rows


def _used_rows(index_list: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return the rows of ``count`` that an index list uses, and the list with indices of these.

    Thousands of primitives may share a large source, which each would copy.
    """
    is_index = (index_list >= 0) & (index_list < count)
    used, inverse = np.unique(index_list[is_index], return_inverse=True)
    compact = np.where(index_list < 0, -1, len(used)).astype(np.int32)
    compact[is_index] = inverse
    return used, compact


def _index_list(index: IntArray, ends: IntArray, usable: NDArray[np.bool_]) -> tuple[IntArray, int]:
    """Return an index list, and how many of its polygons use points that cannot be used."""
    good = are_inside(index, usable)
    lost = (
        0 if good.all() else len(np.unique(np.searchsorted(ends, np.flatnonzero(~good), "right")))
    )
    listed = np.insert(np.where(good, index, len(usable)), ends, -1)
    return listed.astype(np.int32), lost
