"""Read Wavefront OBJ files: a node for each object or group, a shape for each material.

Materials are in libraries of their own (.mtl).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...diagnostics import Source, Span, did_you_mean
from ...files.resources import MAX_TEXT_SIZE, read_file
from ...geometry import GREY, Attribute, Color, IntArray, Material, Mesh, SceneNode, Shape, Texture
from ...late_dataclass import dataclass
from ...read_context import ReadContext, read_source
from ...rigid import Array
from ...shapes.meshing import unit
from ...shapes.triangulate import oversized_polygon, polygons_to_triangles
from .mesh_resources import MeshResources
from .wavefront_text import ObjText, Statement, parse_obj

# Choreonoid's defaults.
_DEFAULT = Material(diffuse=(1.0, 1.0, 1.0), ambient=1.0, shininess=25.0 / 128.0)
_WHITE = (1.0, 1.0, 1.0)
_LINE = re.compile(r"^[^\S\n]*(?P<key>[^\s#]\S*)[^\S\n]*(?P<value>[^\n]*)", re.MULTILINE)
_LINE_ENDS = re.compile(r"\r(?!\n)")
# Options of a texture before its name: "-s 2 2 1 -clamp on wood.png".
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_OPTION = re.compile(
    rf"-(?P<key>[ost]|mm)\s+(?P<numbers>{_NUMBER}(?:\s+{_NUMBER}){{0,2}})\s+"
    r"|-(?P<word>[a-z]+)\s+(?P<value>\S+)\s+"
)
_READ = ("ka", "kd", "ks", "ke", "ns", "d", "tr", "map_kd")
# Refraction, reflection, bump maps and other properties that are not rendered.
_IGNORED_OF_MATERIALS = frozenset(
    {"ni", "tf", "illum", "sharpness", "km", "bump", "disp", "decal", "refl"}
)
_OTHER_MAPS = "map_"
_Flags = NDArray[np.bool_]
_MAX_PARTS = 50_000  # far beyond any model
_MAX_COORDINATE = float(np.finfo(np.float32).max)
_NAME_KEYWORDS = (b"o", b"g")
# Curves and rendering options, such as merging, levels of detail and shadows.
_IGNORED = frozenset(
    b"vp mg bevel c_interp d_interp lod maplib usemap shadow_obj trace_obj".split()
)


_IGNORED_OF_MATERIALS |= {"norm", "pr", "pm", "ps", "pc", "pcr", "aniso", "anisor"}


@dataclass(slots=True)
class _Entry:
    """A material as written: values with their places, by lower-case key."""

    values: dict[str, tuple[str, Span]] = field(default_factory=dict)
    material: Material | None = None


class Materials:
    """The materials of an OBJ file, each converted on first use.

    Attributes:
        are_complete: Whether all material libraries could be read.
    """

    def __init__(self, context: ReadContext, mesh_resources: MeshResources) -> None:
        self._context = context
        self._diagnostics = context.diagnostics
        self._resources = mesh_resources
        self._entries: dict[str, _Entry] = {}
        self._libraries: set[str] = set()
        self._known_keys = set(_IGNORED_OF_MATERIALS)
        self.are_complete = True

    def add(self, names: str, at: Span) -> None:
        """Read the libraries of a "mtllib" statement: one file, or several separated by blanks."""
        words = names.split()
        several = len(words) > 1 and not self._resources.exists(names)
        for name in words if several else [names]:
            if name not in self._libraries:
                self._libraries.add(name)
                self.are_complete &= self._read(name, at)

    @property
    def names(self) -> Iterable[str]:
        """Names of all materials."""
        return self._entries

    def get(self, name: str) -> Material | None:
        """Return a material; None if no library defines it."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.material is None:
            entry.material = self._converted(name, entry.values)
        return entry.material

    def _read(self, name: str, at: Span) -> bool:
        path = self._resources.resolve(name, at)
        if path is None:
            return False
        try:
            source = read_source(path)
        except OSError as error:
            message = f"'{name}' is left out: {error.strerror or error}"
            self._diagnostics.warn("unreadable-resource", message, at)
            return False
        values: dict[str, tuple[str, Span]] = {}
        for line in _LINE.finditer(_LINE_ENDS.sub("\n", source.text)):
            key, value = line["key"].lower(), line["value"].strip()
            span = Span(source, line.start("key"), line.end())
            if key == "newmtl":
                values = self._entries.setdefault(value, _Entry()).values
            elif key in _READ:
                values[key] = value, span
            elif key not in self._known_keys and not key.startswith(_OTHER_MAPS):
                self._known_keys.add(key)  # report it once
                message = f"'{line['key']}' is not a property of a material."
                self._diagnostics.warn("unknown-key", message + did_you_mean(key, _READ), span)
        return True

    def _converted(self, name: str, values: dict[str, tuple[str, Span]]) -> Material:
        diffuse = self._color(values, "kd", _DEFAULT.diffuse)
        ambient, brightness = self._color(values, "ka", _WHITE), float(np.linalg.norm(diffuse))
        exponent = self._number(values, "ns", 128.0 * _DEFAULT.shininess)
        # "d" takes precedence: some programs write the opacity as "Tr", too, which is transparency.
        opacity = self._number(values, "d", 1.0 - self._number(values, "tr", 0.0))
        return Material(
            name=name,
            diffuse=diffuse,
            specular=self._color(values, "ks", _DEFAULT.specular),
            emissive=self._color(values, "ke", _DEFAULT.emissive),
            ambient=_clipped(float(np.linalg.norm(ambient)) / brightness if brightness else 1.0),
            shininess=_clipped(exponent / 128.0),
            transparency=1.0 - _clipped(opacity),
            texture=self._texture(*values["map_kd"]) if "map_kd" in values else None,
        )

    def _color(self, values: dict[str, tuple[str, Span]], key: str, default: Color) -> Color:
        numbers = self._numbers(values, key)
        if not numbers:
            return default
        r, g, b = (_clipped(number) for number in (numbers * 3)[:3])
        return r, g, b

    def _number(self, values: dict[str, tuple[str, Span]], key: str, default: float) -> float:
        numbers = self._numbers(values, key)
        return numbers[-1] if numbers else default

    def _numbers(self, values: dict[str, tuple[str, Span]], key: str) -> list[float]:
        """Return the numbers of a property; empty after reporting an invalid value."""
        if key not in values:
            return []
        written, at = values[key]
        words = written.partition("#")[0].removeprefix("-halo").split()
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            numbers = []
        wanted = (1, 3, 4) if key.startswith("k") else (1,)
        if len(numbers) not in wanted or not all(map(isfinite, numbers)):
            message = f"'{written}' is ignored: it must be one number, or red, green and blue"
            self._diagnostics.warn("wrong-value", message, at)
            return []
        return numbers

    def _texture(self, written: str, at: Span) -> Texture | None:
        """Return the texture of an image name with options before it."""
        repeat, scale, offset = True, [1.0, 1.0], [0.0, 0.0]
        at_name = 0
        while option := _OPTION.match(written, at_name):
            at_name = option.end()
            if option["key"] in ("s", "o"):
                numbers = [float(word) for word in option["numbers"].split()]
                (scale if option["key"] == "s" else offset)[: len(numbers)] = numbers[:2]
            elif option["word"] == "clamp":
                repeat = option["value"].lower() != "on"
        name = written[at_name:]
        path = self._resources.resolve(name, at) if name else None
        if path is None:
            return None
        # OBJ applies the scale first, a Texture the translation.
        u, v = (o / s if s else 0.0 for o, s in zip(offset, scale, strict=True))
        return Texture(path, (repeat, repeat), scale=(scale[0], scale[1]), translation=(u, v))


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


@dataclass(slots=True)
class _Part:
    """A range of consecutive faces with the same name and material.

    Attributes:
        name: Name of their object or group.
        material: The ``usemtl`` statement, or None.
        first, end: Indices of the first face and after the last one.
    """

    name: str
    material: Statement | None
    first: int
    end: int = 0


def read_obj(path: Path, context: ReadContext) -> SceneNode:
    """Read the faces of an OBJ file with their materials, in [m].

    Faces after an ``o`` or ``g`` statement become a child node of that name; faces before the
    first one are named after the file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It has no triangles, or too many groups.
    """
    return _File(path, read_file(path, MAX_TEXT_SIZE), context).scene()


class _File:
    """Converts one OBJ file to a scene."""

    def __init__(self, path: Path, data: bytes, context: ReadContext) -> None:
        self._path = path
        self._data = data
        self._diagnostics = context.diagnostics
        self._source: Source | None = None
        self._last = (0, 0)  # last place converted: offset in bytes and in characters
        self._unknown: dict[str, Statement] = {}
        self._materials = Materials(context, MeshResources(path, context))
        self._text = parse_obj(data)

    def scene(self) -> SceneNode:
        """Return a node with a child for each object or group that has triangles."""
        parts = self._parts()
        faces = _Faces(self._text)
        if not len(faces.triangles):
            raise ValueError("it contains no triangle")
        self._report_faces(faces)
        self._report_statements()
        for statement in self._text.others:
            if statement.keyword == b"mtllib":
                self._materials.add(_name(statement.argument), self._span(statement))
        nodes: list[tuple[str, list[Shape]]] = []
        for part, mesh in zip(parts, faces.meshes([part.end for part in parts]), strict=True):
            if mesh is None:
                continue
            if not nodes or nodes[-1][0] != part.name:
                nodes.append((part.name, []))
            nodes[-1][1].append(self._shape(mesh, part))
        self._report_materials()
        return SceneNode(children=tuple(SceneNode(n, shapes=tuple(s)) for n, s in nodes))

    def _parts(self) -> list[_Part]:
        """Return the parts of the file; a name or material after a face starts a new part."""
        parts = [_Part(self._path.stem, None, 0)]
        for statement in self._text.others:
            if statement.keyword not in (*_NAME_KEYWORDS, b"usemtl"):
                continue
            last = parts[-1]
            if statement.faces > last.first:
                last.end = statement.faces
                parts.append(_Part(last.name, last.material, last.end))
                if len(parts) > _MAX_PARTS:
                    raise ValueError(f"it has more than {_MAX_PARTS} groups")
            if statement.keyword == b"usemtl":
                parts[-1].material = statement if statement.argument else None
            elif statement.argument:
                parts[-1].name = _name(statement.argument.split()[0])
        parts[-1].end = len(self._text.counts)
        return parts

    def _shape(self, mesh: Mesh, part: _Part) -> Shape:
        material = GREY
        if part.material is not None:
            material = self._material(part.material) or GREY
        if mesh.tex_coords is None and material.texture is not None:
            material = replace(material, texture=None)
        if mesh.colors is not None:  # they replace the diffuse colour
            colors = mesh.colors.values * np.array(material.diffuse)
            mesh = replace(mesh, colors=Attribute(colors, mesh.colors.indices))
        return Shape(mesh, material=material, name=part.name)

    def _material(self, statement: Statement) -> Material | None:
        name = _name(statement.argument)
        material = self._materials.get(name)
        if material is None:
            self._unknown.setdefault(name, statement)
        return material

    def _report_materials(self) -> None:
        if not self._unknown or not self._materials.are_complete:
            return  # missing libraries were reported
        (name, statement), *others = self._unknown.items()
        more = f" (nor {len(others)} others)" if others else ""
        message = f"no material library defines '{name}'{more}; grey is used."
        message += did_you_mean(name, self._materials.names)
        self._diagnostics.warn("unknown-material", message, self._span(statement))

    def _report_faces(self, faces: _Faces) -> None:
        name = self._path.name
        if len(faces.lost):
            message = (
                f"{len(faces.lost)} faces of '{name}' use points that do not exist, or fewer"
                " than three; they are left out"
            )
            self._diagnostics.warn("bad-index", message, self._face_span(faces.lost[0]))
        if len(faces.bare):
            message = (
                f"{len(faces.bare)} faces of '{name}' use normals or texture coordinates"
                " that do not exist or are not finite; these are left out"
            )
            self._diagnostics.warn("mismatched-attribute", message, self._face_span(faces.bare[0]))
        if faces.oversized:
            message = f"a face with {faces.oversized} corners is triangulated as if it were convex"
            at = self._face_span(int(np.argmax(self._text.counts)))
            self._diagnostics.warn("large-face", message, at)

    def _report_statements(self) -> None:
        known = {*_NAME_KEYWORDS, *_IGNORED, b"usemtl", b"mtllib"}
        unknown = [s for s in self._text.others if s.keyword not in known]
        if unknown:
            more = f", as are {len(unknown) - 1} others" if len(unknown) > 1 else ""
            keyword = _name(unknown[0].keyword[:40])
            message = f"statement '{keyword}' is unknown in OBJ files and ignored{more}"
            self._diagnostics.warn("unknown-key", message, self._span(unknown[0]))

    def _face_span(self, face: int) -> Span:
        return self._span_at(int(self._text.face_starts[face]))

    def _span(self, statement: Statement) -> Span:
        return self._span_at(statement.start, len(statement.words))

    def _span_at(self, start: int, size: int = 1) -> Span:
        """Return the place of a byte offset in the file."""
        if self._source is None:
            self._source = Source(str(self._path), _decoded(self._data), self._path)
        # Starts from the last place, as most calls are in the order of the file.
        begin, shown = self._last if self._last[0] <= start else (0, 0)
        shown += len(_decoded(self._data[begin:start]))
        self._last = start, shown
        return Span(self._source, shown, shown + size)


class _Faces:
    """The triangles of a file, with the attributes of their corners.

    Attributes:
        triangles: Rows of points, shape (m, 3).
        lost: Indices of the faces that are left out.
        bare: Indices of the faces with a normal or texture coordinates that do not exist.
        oversized: Corners of the largest face if it is too large for ear clipping, else 0.
    """

    def __init__(self, text: ObjText) -> None:
        self._points = text.points[:, :3]
        ends = np.cumsum(text.counts)
        good = _are_numbers(self._points)
        if not good.all():
            self._points = np.where(good[:, None], self._points, 0.0)
        corners = text.corners[:, 0]
        exists = _chosen(good, corners)
        index = np.insert(np.where(exists, corners, len(good)), ends, -1).astype(np.int32)
        self.triangles, positions, self._faces = polygons_to_triangles(self._points, index)
        self.oversized = oversized_polygon(index)
        few = np.flatnonzero(text.counts < 3)
        self.lost = np.union1d(_faces_of(np.flatnonzero(~exists), ends), few)
        # The index list has one more entry, -1, for each previous face.
        self._corners = text.corners[positions - self._faces[:, None]]
        self._colors = _colors(text.points)
        self._attributes = []
        bare = []
        for column, values in ((1, text.tex_coords), (2, text.normals)):
            rows = text.corners[:, column]
            usable = _are_numbers(values)
            bare.append(np.flatnonzero((rows >= 0) & ~_chosen(usable, rows)))
            # The last row is for corners without a value.
            filled = np.vstack((np.where(usable[:, None], values, 0.0), np.zeros(values.shape[1])))
            self._attributes.append(unit(filled) if values is text.normals else filled)
        self.bare = _faces_of(np.concatenate(bare), ends)

    def meshes(self, ends: list[int]) -> Iterator[Mesh | None]:
        """Yield the mesh of the faces between successive ends; None if there are no triangles."""
        begin = 0
        for stop in np.searchsorted(self._faces, ends).tolist():
            yield self._mesh(begin, stop) if stop > begin else None
            begin = stop

    def _mesh(self, begin: int, stop: int) -> Mesh:
        """Return the mesh of a range of triangles, with only the points that they use."""
        triangles, corners = self.triangles[begin:stop], self._corners[begin:stop]
        points, rows = _compact(self._points, triangles)
        tex_coords, normals = (
            _attribute(values, corners[:, :, column])
            for column, values in enumerate(self._attributes, start=1)
        )
        colors = None if self._colors is None else Attribute(*_compact(self._colors, triangles))
        return Mesh(points, rows, normals=normals, tex_coords=tex_coords, colors=colors)


def _are_numbers(rows: Array) -> _Flags:
    """Return which rows are finite in single precision, shape (n,)."""
    usable: _Flags = np.logical_and.reduce(np.abs(rows) <= _MAX_COORDINATE, axis=1)
    return usable


def _chosen(flags: _Flags, rows: IntArray) -> _Flags:
    """Return the flags at rows; False for rows that do not exist."""
    inside = (rows >= 0) & (rows < len(flags))
    return inside & flags[np.where(inside, rows, 0)] if len(flags) else inside


def _faces_of(corners: NDArray[np.int64], ends: NDArray[Any]) -> NDArray[np.int64]:
    """Return the unique faces of corners, given the ends of faces."""
    return np.unique(np.searchsorted(ends, corners, side="right"))


def _attribute(values: Array, rows: IntArray) -> Attribute | None:
    """Return the attribute of corners; None if no corner has a value."""
    last = len(values) - 1
    if last == 0:
        return None
    rows = np.where((rows >= 0) & (rows < last), rows, last)
    return None if (rows == last).all() else Attribute(*_compact(values, rows))


def _colors(points: Array) -> Array | None:
    """Return the colours of points, shape (n, 3), white where missing; None if there are none."""
    if points.shape[1] == 3:
        return None
    return np.clip(np.nan_to_num(points[:, 3:], nan=1.0), 0.0, 1.0)


def _compact(values: Array, rows: IntArray) -> tuple[Array, IntArray]:
    """Return the values that rows use, in order, and the new rows."""
    if len(values) > 4 * rows.size:
        used, new = np.unique(rows, return_inverse=True)
        return values[used], new.reshape(rows.shape).astype(np.int32)
    is_used = np.zeros(len(values), dtype=bool)
    is_used[rows] = True
    if is_used.all():
        return values, rows.astype(np.int32)
    numbers = np.cumsum(is_used, dtype=np.int32) - 1
    return values[is_used], numbers[rows]


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _name(text: bytes) -> str:
    for encoding in ("utf-8", "cp932"):
        with suppress(UnicodeDecodeError):
            return text.decode(encoding)
    return text.decode("latin-1")
