"""Read PLY files: polygons and triangle strips, with colours, normals and a texture.

All elements and their properties are parsed first, whatever they are, from text or bytes.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files.resources import MAX_FILE_SIZE, MAX_TEXT_SIZE, read_file
from ...geometry import GREY, Attribute, IntArray, SceneNode, Shape, Texture
from ...late_dataclass import dataclass
from ...read_context import ReadContext
from ...rigid import Array
from ...shapes.meshing import face_set, unit
from ...shapes.triangulate import strip_corners
from ..number_list import number_list
from .mesh_resources import LostParts, MeshResources, are_inside, are_usable

_MAX_HEADER = 1 << 16  # [B]
_BLOCK = 1_000_000  # values converted at once, to bound the memory of temporary arrays
_MAX_LENGTH = 1_000_000  # of a list, and
_MAX_VALUES = 16_000_000  # of all lists, and rows of an element; far beyond any model
_END = re.compile(rb"(?:^|[\r\n])end_header[ \t]*(\r\n|\r|\n|$)")
_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2",
    "ushort": "u2", "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_INDICES = ("vertex_indices", "vertex_index")
_COLORS = (
    ("red", "green", "blue"),
    ("diffuse_red", "diffuse_green", "diffuse_blue"),
    ("r", "g", "b"),
)
_TEX_COORDS = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"), ("texture_s", "texture_t"))
_TEXTURE = "texturefile"  # comment of MeshLab


class _Numbers:
    """The numbers after the header, as bytes.

    Attributes:
        at: Place of the next row, in [B].
        end: Number of bytes.

    Args:
        data: The bytes.
        order: "<" or ">"; "" for a text, whose numbers all become doubles.

    Raises:
        ValueError: A text has something other than numbers.
    """

    def __init__(self, data: bytes, order: str) -> None:
        self.at = 0
        self._is_text = not order
        self._order = order or "="
        self._data = data if order else _doubles(data).tobytes()
        self._bytes = np.frombuffer(self._data, np.uint8)
        self.end = len(self._data)

    def type(self, kind: str) -> str:
        """Return the type of values that are declared as a type of numpy."""
        return "f8" if self._is_text else kind

    def width(self, kind: str) -> int:
        """Return the size of a number of a type, in [B]."""
        return np.dtype(self.type(kind)).itemsize

    def reader(self, kind: str) -> Callable[[int], tuple[Any, ...]]:
        """Return a function that returns the number of a type at a place, as a tuple of one."""
        form = self._order + np.dtype(self.type(kind)).char
        unpack, data = struct.Struct(form).unpack_from, self._data
        return lambda at: unpack(data, at)

    def rows(self, starts: NDArray[np.int64], kinds: list[tuple[str, int]]) -> list[NDArray[Any]]:
        """Return the columns of rows that have the same form.

        Args:
            starts: Places of the rows, in order, shape (n,).
            kinds: Type and number of the values of each column.

        Returns:
            An array of shape (n, number) for each column.
        """
        row = np.dtype(
            [(f"{i}", self._order + self.type(kind), (n,)) for i, (kind, n) in enumerate(kinds)]
        )
        if (np.diff(starts) == row.itemsize).all():
            at = int(starts[0]) if len(starts) else 0
            found = np.frombuffer(self._data, row, len(starts), at)
        else:
            places = starts[:, None] + np.arange(row.itemsize)
            found = self._bytes[places].view(row)[:, 0]
        return [found[f"{i}"] for i in range(len(kinds))]


def _doubles(data: bytes) -> Array:
    """Return the numbers of a text, shape (n,)."""
    text = data.decode("latin-1")
    found = number_list(f"{text}]", 0, integer=False)
    if found is not None and found[1] == len(text):
        return found[0].astype(np.float64, copy=False)
    try:  # "nan" and "inf" are no plain numbers
        return np.array([float(word) for word in text.split()])
    except ValueError:
        raise ValueError("its text has something other than numbers") from None


@dataclass(frozen=True, slots=True)
class _Property:
    """A property of an element; a list if ``count`` is the type of its length."""

    name: str
    type: str
    count: str | None = None


@dataclass(slots=True)
class _Declared:
    """An element as the header declares it."""

    name: str
    count: int
    properties: list[_Property] = field(default_factory=list)

    def add(self, new: _Property) -> None:
        """Add a property; raises ValueError if there is one of this name."""
        if any(item.name == new.name for item in self.properties):
            raise ValueError
        self.properties.append(new)


@dataclass(frozen=True, slots=True, eq=False)
class PlyElement:
    """The values of one kind of element.

    Attributes:
        columns: Values of single properties, by name, each of shape (n,).
        lists: Values of lists, by name: those of all lists, one after the other, and the length
            of each, shape (n,).
        types: Type of each property, as of numpy.
    """

    columns: dict[str, NDArray[Any]]
    lists: dict[str, tuple[NDArray[Any], IntArray]]
    types: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class PlyFile:
    """The elements of a PLY file by name, its comments, and how many rows are missing."""

    elements: dict[str, PlyElement]
    comments: list[str]
    missing: int


def parse_ply(data: bytes) -> PlyFile:
    """Parse a PLY file; missing rows at its end are counted.

    Raises:
        ValueError: The header is invalid, the text has something other than numbers, or lists
            have too many values.
    """
    end = _END.search(data[:_MAX_HEADER])
    if not data.startswith(b"ply") or end is None:
        raise ValueError("it has no PLY header")
    lines = data[: end.start()].decode("utf-8", errors="replace").splitlines()
    order, declared, comments = _header(lines)
    body = data[end.end() :]
    numbers = _Numbers(body, order)
    elements: dict[str, PlyElement] = {}
    missing = 0
    for element in declared:
        if not element.properties:
            continue
        found, count = _element(element, numbers)
        elements.setdefault(element.name, found)
        missing += element.count - count
    return PlyFile(elements, comments, missing)


def _header(lines: list[str]) -> tuple[str, list[_Declared], list[str]]:
    """Return the byte order ("" for text), the elements and the comments of a header."""
    order: str | None = None
    declared: list[_Declared] = []
    comments = []
    for line in lines[1:]:
        words = line.split()
        keyword = words[0] if words else "comment"
        try:
            if keyword == "format":
                order = _ORDERS[words[1]]
            elif keyword == "element":
                declared.append(_Declared(words[1], _natural(words[2])))
            elif keyword == "property" and words[1] == "list":
                count, kind, name = words[2:5]
                declared[-1].add(_Property(name, _TYPES[kind], _TYPES[count]))
            elif keyword == "property":
                declared[-1].add(_Property(words[2], _TYPES[words[1]]))
            elif keyword == "comment":
                comments.append(line.partition("comment")[2].strip())
            elif keyword != "obj_info":
                raise ValueError
        except (IndexError, KeyError, ValueError):
            raise ValueError(f"its header has an invalid line: '{line[:80]}'") from None
    if order is None:
        raise ValueError("its header has no format")
    return order, declared, comments


def _natural(word: str) -> int:
    if not word.isdecimal() or len(word) > 18:
        raise ValueError
    return int(word)


def _element(element: _Declared, numbers: _Numbers) -> tuple[PlyElement, int]:
    """Return the values of an element, and the number of rows that the file has."""
    properties = element.properties
    starts, lengths = _extents(element, numbers)
    columns: dict[str, NDArray[Any]] = {}
    lists: dict[str, tuple[NDArray[Any], IntArray]] = {}
    stops = np.cumsum(lengths, axis=0)
    totals = stops[-1].tolist() if len(stops) else [0] * lengths.shape[1]
    if sum(totals) > _MAX_VALUES:
        raise ValueError(f"its lists have more than {_MAX_VALUES} values")
    # For each property the values, and the end of each row in them.
    found: list[tuple[NDArray[Any], NDArray[np.int64] | None]] = []
    for item in properties:
        kind = numbers.type(item.type)
        if item.count is None:
            columns[item.name] = np.empty(len(starts), kind)
            found.append((columns[item.name], None))
        else:
            k = len(lists)
            lists[item.name] = np.empty(totals[k], kind), lengths[:, k].astype(np.int32)
            found.append((lists[item.name][0], stops[:, k]))
    for form, rows in _groups(lengths):
        kinds, sizes = _forms(properties, form)
        for block in np.array_split(rows, len(rows) * sum(sizes) // _BLOCK + 1):
            given = iter(numbers.rows(starts[block], kinds))
            for (values, ends), size in zip(found, sizes, strict=True):
                if ends is None:
                    values[block] = next(given)[:, 0]
                else:
                    next(given)  # the length
                    values[ends[block, None] - size + np.arange(size)] = next(given)
    types = {item.name: item.type for item in properties}
    return PlyElement(columns, lists, types), len(starts)


def _forms(
    properties: list[_Property], lengths: list[int]
) -> tuple[list[tuple[str, int]], list[int]]:
    """Return type and number of all columns, and the number of values of each property."""
    kinds: list[tuple[str, int]] = []
    sizes = []
    given = iter(lengths)
    for item in properties:
        size = 1
        if item.count is not None:
            kinds.append((item.count, 1))
            size = next(given)
        kinds.append((item.type, size))
        sizes.append(size)
    return kinds, sizes


def _groups(lengths: NDArray[np.int64]) -> Iterator[tuple[list[int], NDArray[np.intp]]]:
    """Yield the rows whose lists have the same lengths, and these lengths."""
    if not len(lengths):
        return
    if (lengths == lengths[0]).all():
        yield lengths[0].tolist(), np.arange(len(lengths))
        return
    forms, of_row = np.unique(lengths, axis=0, return_inverse=True)
    order = np.argsort(of_row.ravel(), kind="stable")
    stops = np.cumsum(np.bincount(of_row.ravel()))
    yield from zip(forms.tolist(), np.split(order, stops[:-1]), strict=True)


def _extents(element: _Declared, numbers: _Numbers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rows of an element, and the lengths of their lists.

    Rows that the file does not have are left out.
    """
    properties = element.properties
    if min(element.count, numbers.end) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES} rows")
    starts, lengths, end = _walked(properties, numbers, min(element.count, 1))
    if element.count > 1 and len(starts):
        # In most files all rows have the same form.
        width = end - numbers.at
        count = min(element.count, (numbers.end - numbers.at) // width)
        same = numbers.at + width * np.arange(count, dtype=np.int64)
        if count == element.count and _have_lengths(properties, numbers, same, lengths[0]):
            lengths = np.broadcast_to(lengths, (count, lengths.shape[1]))
            starts, end = same, numbers.at + width * count
        else:
            starts, lengths, end = _walked(properties, numbers, element.count)
    numbers.at = end
    return starts, lengths


def _have_lengths(
    properties: list[_Property],
    numbers: _Numbers,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> bool:
    """Return whether all lists of rows at these places have the same lengths."""
    offset = 0
    given = iter(lengths.tolist())
    for item in properties:
        if item.count is not None:
            length = next(given)
            for block in np.array_split(starts + offset, len(starts) // _BLOCK + 1):
                if (numbers.rows(block, [(item.count, 1)])[0] != length).any():
                    return False
            offset += numbers.width(item.count) + length * numbers.width(item.type)
        else:
            offset += numbers.width(item.type)
    return True


def _walked(
    properties: list[_Property], numbers: _Numbers, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the places of rows, the lengths of their lists, and the end of the last one."""
    lists: list[tuple[int, Callable[[int], tuple[Any, ...]], int, int]] = []
    before = 0  # places between a list and the one before
    for item in properties:
        if item.count is None:
            before += numbers.width(item.type)
        else:
            widths = numbers.width(item.count), numbers.width(item.type)
            lists.append((before, numbers.reader(item.count), *widths))
            before = 0
    starts, lengths, at = array("q"), array("q"), numbers.at
    for _ in range(count):
        place = at
        row = []
        for skipped, read, count_width, width in lists:
            place += skipped
            if place + count_width > numbers.end:
                break
            length = read(place)[0]
            if not 0 <= length <= min(numbers.end, _MAX_LENGTH):
                break
            row.append(int(length))
            place += count_width + row[-1] * width
        place += before
        if len(row) < len(lists) or place > numbers.end:
            break
        starts.append(at)
        lengths.extend(row)
        at = place
    found = np.array(lengths, dtype=np.int64).reshape(len(starts), len(lists))
    return np.array(starts, dtype=np.int64), found, at


def read_ply(path: Path, context: ReadContext) -> SceneNode:
    """Read the faces of a PLY file, in [m].

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not PLY, or has no triangles.
    """
    data = read_file(path, MAX_FILE_SIZE)
    if len(data) > MAX_TEXT_SIZE and b"format ascii" in data[:_MAX_HEADER]:
        size = MAX_TEXT_SIZE >> 20
        raise ValueError(f"it is a text file larger than {size} MiB; save it as binary PLY")
    file = parse_ply(data)
    lost = LostParts(path.name, context.diagnostics, context.reference_span)
    if file.missing:
        lost.add("rows", f"{file.missing} rows are missing at its end")
    shape = _shape(file, lost, _texture(file, MeshResources(path, context)))
    lost.report()
    return SceneNode(shapes=(shape,))


def _shape(file: PlyFile, lost: LostParts, texture: Texture | None) -> Shape:
    vertices = file.elements.get("vertex")
    points = None if vertices is None else _columns(vertices, ("x", "y", "z"))
    if vertices is None or points is None:
        raise ValueError("it has no vertices with x, y and z")
    usable = are_usable(points)
    faces = _Faces(file, usable)
    lost.report_faces(faces.lost)
    tex_coords = faces.tex_coords if texture is not None else None
    if texture is not None and tex_coords is None:
        tex_coords = _attribute(_first(vertices, _TEX_COORDS), faces.index_list)
    normals = _columns(vertices, ("nx", "ny", "nz"))
    colors = _colors(vertices)
    mesh = face_set(
        np.where(usable[:, None], points, 0.0),
        faces.index_list,
        normals=_attribute(None if normals is None else unit(normals), faces.index_list),
        colors=_attribute(colors, faces.index_list) if colors is not None else faces.colors,
        tex_coords=tex_coords,
    )
    if not len(mesh.triangles):
        raise ValueError("it contains no triangle")
    return Shape(mesh, material=GREY if tex_coords is None else replace(GREY, texture=texture))


class _Faces:
    """The polygons of a file, and the triangles of its strips.

    Attributes:
        index_list: Rows of points, with -1 after each polygon; a row that does not exist for
            points that cannot be used.
        lost: The number of polygons with such points.
        colors, tex_coords: Of the faces, if the file has them.
    """

    def __init__(self, file: PlyFile, usable: NDArray[np.bool_]) -> None:
        faces, strips = (file.elements.get(name) for name in ("face", "tristrips"))
        polygons = (
            next((faces.lists[x] for x in _INDICES if x in faces.lists), None) if faces else None
        )
        values, counts = polygons or (np.empty(0), np.empty(0, dtype=np.int32))
        rows = _integers(values)
        self.colors = None
        self.tex_coords = None
        if faces is not None and polygons is not None:
            colors = _colors(faces)
            if colors is not None:
                self.colors = Attribute(colors, np.arange(len(counts), dtype=np.int32))
            self.tex_coords = _of_corners(faces, counts)
        if strips is not None:
            added = _of_strips(strips)
            if len(added):
                self.colors = self.tex_coords = None  # of the faces only
            rows = np.concatenate((rows, added.ravel()))
            counts = np.concatenate((counts, np.full(len(added), 3, dtype=np.int32)))
        ends = np.cumsum(counts)
        good = are_inside(rows, usable)
        lost = np.searchsorted(ends, np.flatnonzero(~good), side="right")
        self.lost = len(np.unique(lost))
        listed = np.insert(np.where(good, rows, len(usable)), ends, -1)
        self.index_list = listed.astype(np.int32)


def _of_strips(strips: PlyElement) -> IntArray:
    """Return the triangles of strips, which -1 separates, shape (m, 3)."""
    values, counts = next((strips.lists[x] for x in _INDICES if x in strips.lists), (None, None))
    if values is None or counts is None:
        return np.empty((0, 3), dtype=np.int32)
    separated = np.insert(_integers(values), np.cumsum(counts), -1)
    stops = np.flatnonzero(separated < 0)
    starts = np.concatenate(([0], stops[:-1] + 1))
    found = [np.empty((0, 3), dtype=np.int32)]
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if stop - start >= 3:
            triangles = separated[start:stop][strip_corners(stop - start)]
            repeated = np.sort(triangles, axis=1)
            found.append(triangles[(np.diff(repeated, axis=1) > 0).all(axis=1)])
    joined: IntArray = np.concatenate(found)
    return joined


def _of_corners(faces: PlyElement, counts: IntArray) -> Attribute | None:
    """Return texture coordinates that faces have for each corner (MeshLab)."""
    values, lengths = faces.lists.get("texcoord", (None, None))
    if values is None or lengths is None or not (lengths == 2 * counts).all():
        return None
    if not np.isfinite(values).all():
        return None
    index = np.insert(np.arange(int(counts.sum())), np.cumsum(counts), -1)
    return Attribute(values.astype(np.float64).reshape(-1, 2), index.astype(np.int32))


def _columns(element: PlyElement, names: tuple[str, ...]) -> Array | None:
    """Return properties as columns, shape (n, k); None unless all are there."""
    if not all(name in element.columns for name in names):
        return None
    return np.column_stack([element.columns[name].astype(np.float64) for name in names])


def _first(element: PlyElement, names: tuple[tuple[str, ...], ...]) -> Array | None:
    return next((x for x in (_columns(element, group) for group in names) if x is not None), None)


def _colors(element: PlyElement) -> Array | None:
    """Return colours in 0..1; integers have 1 at the end of their range."""
    for names in _COLORS:
        values = _columns(element, names)
        if values is not None and np.isfinite(values).all():
            kind = np.dtype(element.types[names[0]])
            top = float(np.iinfo(kind).max) if kind.kind in "iu" else 1.0
            return np.clip(values / top, 0.0, 1.0)
    return None


def _attribute(values: Array | None, index_list: IntArray) -> Attribute | None:
    if values is None or not np.isfinite(values).all():
        return None
    return Attribute(values, index_list)


def _integers(values: NDArray[np.generic]) -> IntArray:
    """Return rows of points as integers; numbers that are none become -1 or rows beyond all."""
    limits = np.iinfo(np.int32)
    numbers = np.nan_to_num(values.astype(np.float64), nan=limits.max, posinf=limits.max)
    return np.clip(numbers, -1, limits.max).astype(np.int32)


def _texture(file: PlyFile, resources: MeshResources) -> Texture | None:
    for comment in file.comments:
        keyword, _, name = comment.partition(" ")
        if keyword.lower() == _TEXTURE and name.strip():
            path = resources.resolve(name.strip())
            return None if path is None else Texture(path)
    return None
