"""Read COLLADA files as scenes, with the names of their nodes."""

from __future__ import annotations

import io
import re
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ...diagnostics import MissingLibraryError, Source
from ...files.resources import MAX_TEXT_SIZE, read_file
from ...geometry import Attribute, Color, IntArray, Material, Mesh, SceneNode, Shape, Texture
from ...reading import Reading
from ...shapes.meshing import face_set
from .collada_schema import as_version_1_4

_GREY = 0.6  # default diffuse colour, as in Choreonoid
_MAX_DEPTH = 100
# Limits of instances of nodes, which a small file can repeat any number of times: the larger of a
# total and a multiple of the nodes in the file.
_MAX_NODES = 10_000
_MAX_REPEATS = 10
_MAX_TAGS = 1_000_000  # half a million elements, which take about 0.5 kB of memory each
# Entities could expand a small file beyond any memory, or include other files.
_ENTITY = re.compile(rb"<\0*!\0*E\0*N\0*T\0*I\0*T\0*Y")
_START = re.compile(rb"(\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*\0*<")
_ENCODING = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([^\"']*)")
_DECLARATION = re.compile(r"\ufeff?\s*<\?xml\b.*?\?>", re.DOTALL)
_UNPARSED = re.compile(r"<!--|<!\[CDATA\[")
_ENCODINGS = re.compile(rb"(us-)?ascii|utf-?8|utf-?16|iso-8859-\d+|windows-\d+|shift_jis|euc-jp")


def read_collada(path: Path, reading: Reading) -> SceneNode:
    """Read the visual scene of a COLLADA file, in [m].

    The unit of the file is converted, but not its upper axis, as robot models with such files
    expect.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a COLLADA file, or has no polygons.
        MissingLibraryError: pycollada is not installed.
    """
    return _scene(read_file(path, MAX_TEXT_SIZE), path, reading)


def read_collada_text(source: Source, reading: Reading) -> SceneNode:
    """Read the visual scene of a COLLADA document, as ``read_collada``."""
    # The text has been decoded, whatever encoding its XML declaration states.
    declaration = _DECLARATION.match(source.text)
    data = source.text[declaration.end() if declaration else 0 :].encode()
    return _scene(data, source.path or Path(source.name), reading)


def _scene(data: bytes, path: Path, reading: Reading) -> SceneNode:
    try:
        import collada  # slow to import, and few models need it
    except ImportError:
        message = "COLLADA files need pycollada: apt install python3-collada"
        raise MissingLibraryError(message) from None
    try:
        file = _File(path, reading)
        data = as_version_1_4(_without_comments(_checked(data)), file.resolve)
        document = collada.Collada(io.BytesIO(data), ignore=[collada.common.DaeError])
        nodes = document.scene.nodes if document.scene else []
        unit = file.unit(document.assetInfo.unitmeter)
        children = tuple(file.node(node, 0) for node in nodes)
    except (OSError, ValueError):
        raise
    except Exception as error:  # its parser raises any kind of error for broken files
        raise ValueError(f"{type(error).__name__}: {error}") from error
    for first in document.errors[:1]:  # pycollada has skipped these parts
        message = f"{len(document.errors)} parts of '{path.name}' are left out; first: {first}"
        reading.diagnostics.warn("unreadable-part", message, reading.reference_span)
    if not file.has_shapes:
        raise ValueError("it contains no polygon")
    return SceneNode(T_PN=np.diag([unit, unit, unit, 1.0]), children=children)


class _File:
    """Converts the nodes and materials of one file, each once."""

    def __init__(self, path: Path, reading: Reading) -> None:
        from .mesh_resources import MeshResources  # imports Pillow, like pycollada

        self._path = path
        self._reading = reading
        self.resolve = MeshResources(path, reading).resolve
        self._materials: dict[int, Material] = {}
        self._meshes: dict[tuple[int, bool], Mesh | None] = {}
        self._count = 0
        self._seen: set[int] = set()
        self.has_shapes = False

    def unit(self, written: Any) -> float:
        """Return the length unit of the file in [m]."""
        unit = 1.0 if written is None else float(written)
        if 0.0 < unit < inf:
            return unit
        self._warn("wrong-value", f"has a length unit of {unit:g} m; metres are used")
        return 1.0

    def node(self, node: Any, depth: int) -> SceneNode:
        self._count += 1
        self._seen.add(id(node))
        if depth > _MAX_DEPTH:
            raise ValueError(f"its nodes are nested more than {_MAX_DEPTH} levels deep")
        if self._count > max(_MAX_NODES, _MAX_REPEATS * len(self._seen)):
            raise ValueError(f"its {len(self._seen)} nodes are used {self._count} times or more")
        shapes: list[Shape] = []
        children = []
        for child in getattr(node, "children", None) or ():
            if hasattr(child, "geometry"):
                shapes += self._shapes(child.geometry, child.materials)
            elif hasattr(child, "controller"):
                shapes += self._skin(child)
            elif hasattr(child, "children"):
                children.append(self.node(child, depth + 1))
        self.has_shapes = self.has_shapes or bool(shapes)
        matrix = getattr(node, "matrix", None)
        return SceneNode(
            name=_name(node),
            T_PN=np.eye(4) if matrix is None else np.asarray(matrix, dtype=np.float64),
            shapes=tuple(shapes),
            children=tuple(children),
        )

    def _skin(self, node: Any) -> list[Shape]:
        """Return the shapes of a skin in its bind pose, since bones are not animated."""
        skin = node.controller
        bound = getattr(skin, "bind_shape_matrix", None)
        if bound is None:
            return []
        T = np.asarray(bound, dtype=np.float64).reshape(4, 4)
        return [shape.moved(T) for shape in self._shapes(skin.geometry, node.materials)]

    def _shapes(self, geometry: Any, materials: Any) -> list[Shape]:
        targets = {bound.symbol: bound.target for bound in materials}
        shapes = []
        for primitive in geometry.primitives:
            target = targets.get(primitive.material)
            solid = not getattr(getattr(target, "effect", None), "double_sided", False)
            key = id(primitive), solid
            if key not in self._meshes:
                self._meshes[key] = _mesh(primitive, solid)
            mesh = self._meshes[key]
            if mesh is not None:
                material = self._material(target)
                shapes.append(Shape(mesh, material=material, name=geometry.name or ""))
        return shapes

    def _material(self, material: Any) -> Material:
        if material is None:
            return Material(diffuse=(_GREY, _GREY, _GREY), ambient=1.0)
        if id(material) not in self._materials:
            self._materials[id(material)] = self._converted(material)
        return self._materials[id(material)]

    def _converted(self, material: Any) -> Material:
        effect = material.effect
        has_texture = effect.diffuse is not None and not isinstance(effect.diffuse, tuple)
        texture = self._texture(effect.diffuse) if has_texture else None
        diffuse = self._color(effect.diffuse, 1.0 if has_texture else _GREY)
        brightness = sum(diffuse)
        ambient = sum(self._color(effect.ambient, 0.1)) / brightness if brightness > 0.0 else 1.0
        shininess = effect.shininess if _is_number(effect.shininess) else 0.0
        return Material(
            name=material.name or "",
            diffuse=diffuse,
            specular=self._color(effect.specular, 0.4),
            emissive=self._color(effect.emission, 0.0),
            ambient=min(ambient, 1.0),
            shininess=min(max(shininess / 128.0, 0.0), 1.0),
            transparency=_transparency(effect),
            texture=texture,
        )

    def _texture(self, image_map: Any) -> Texture | None:
        try:
            uri = image_map.sampler.surface.image.path
        except AttributeError:
            self._warn("missing-resource", "has a texture without an image; it is left out")
            return None
        path = self.resolve(uri) if uri else None
        return Texture(path) if path else None

    def _color(self, value: Any, default: float) -> Color:
        if not isinstance(value, tuple) or len(value) < 3:
            return default, default, default
        if not all(map(isfinite, value[:3])):
            self._warn("wrong-value", "has a colour that is not finite; the default is used")
            return default, default, default
        r, g, b = (min(max(float(c), 0.0), 1.0) for c in value[:3])
        return r, g, b

    def _warn(self, code: str, message: str) -> None:
        at = self._reading.reference_span
        self._reading.diagnostics.warn(code, f"'{self._path.name}' {message}", at)


def _checked(data: bytes) -> bytes:
    """Return the data of a file; raise ValueError if it could expand when it is parsed."""
    import zipfile  # slow to import; pycollada has imported it already

    if data.startswith(b"PK") or zipfile.is_zipfile(io.BytesIO(data)):
        raise ValueError("it is compressed; unpack it first")
    encoding = _ENCODING.search(data[:1000].replace(b"\0", b""))
    if not _START.match(data) or (encoding and not _ENCODINGS.fullmatch(encoding[1].lower())):
        raise ValueError("it is not XML, or its encoding is not supported")
    if _ENTITY.search(data):
        raise ValueError("it declares XML entities, which are not supported")
    if data.count(b"<") > _MAX_TAGS:
        raise ValueError(f"it has more than {_MAX_TAGS} tags")
    return data


def _without_comments(data: bytes) -> bytes:
    """Return a text without its comments, which pycollada treats as elements.

    Raises:
        ValueError: A comment or CDATA section is not terminated.
    """
    # All other accepted encodings represent these characters as in ASCII.
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1"
    text = data.decode(encoding)
    kept = []
    done = at = 0
    while found := _UNPARSED.search(text, at):
        is_comment = found[0] == "<!--"
        close = "-->" if is_comment else "]]>"
        at = text.find(close, found.end()) + len(close)
        if at < found.end():  # libxml2 may take minutes to find out
            raise ValueError(f"it has a '{found[0]}' without '{close}'")
        if is_comment:
            kept.append(text[done : found.start()])
            done = at
    return "".join((*kept, text[done:])).encode(encoding) if kept else data


def _name(node: Any) -> str:
    element = getattr(node, "xmlnode", None)
    name = element.get("name") if element is not None else None
    return name or getattr(node, "id", None) or ""


def _mesh(primitive: Any, solid: bool) -> Mesh | None:
    """Return the triangles of a primitive; None if it consists of lines or is empty."""
    points = getattr(primitive, "vertex", None)
    index = getattr(primitive, "vertex_index", None)
    if points is None or index is None or not len(index):
        return None
    if hasattr(primitive, "vcounts"):
        counts = np.asarray(primitive.vcounts)
    elif np.ndim(index) == 2 and np.shape(index)[1] == 3:
        counts = np.full(len(index), 3)
    else:
        return None
    points, index = _used(points, index)
    vertices = np.asarray(points, dtype=np.float64)
    if not np.isfinite(vertices).all():
        raise ValueError("it has coordinates that are not finite")
    ends = np.cumsum(counts)
    mesh = face_set(
        vertices,
        _terminated(index, ends),
        normals=_attribute(primitive.normal, primitive.normal_index, ends),
        tex_coords=_attribute(
            next(iter(primitive.texcoordset), None),
            next(iter(primitive.texcoord_indexset), None),
            ends,
        ),
        colors=_colors(primitive, ends),
        solid=solid,
    )
    return mesh if len(mesh.triangles) else None


def _colors(primitive: Any, ends: IntArray) -> Attribute | None:
    """Return the colours of corners, which pycollada provides only as raw sources."""
    inputs = getattr(primitive, "sources", {}).get("COLOR")
    if not inputs:
        return None
    offset, source = inputs[0][0], inputs[0][4]
    values = np.asarray(source.data, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 3 or not np.isfinite(values).all():
        return None
    return _attribute(np.clip(values[:, :3], 0.0, 1.0), primitive.index[..., offset], ends)


def _attribute(values: Any, index: Any, ends: IntArray) -> Attribute | None:
    if values is None or index is None or not len(values):
        return None
    values, index = _used(values, index)
    return Attribute(np.asarray(values, dtype=np.float64), _terminated(index, ends))


def _used(values: Any, index: Any) -> tuple[Any, Any]:
    """Return the rows of an array that are used, and their indices.

    Without the others: thousands of primitives may share a large array.
    """
    rows, index = np.asarray(values), np.asarray(index)
    if index.size >= len(rows) or index.min() < 0 or index.max() >= len(rows):
        return values, index
    used, inverse = np.unique(index, return_inverse=True)
    return rows[used], inverse.reshape(index.shape)


def _terminated(index: Any, ends: IntArray) -> IntArray:
    """Return an index list with -1 inserted after each polygon, at ``ends``."""
    terminated: IntArray = np.insert(np.asarray(index, dtype=np.int32).ravel(), ends, -1)
    return terminated


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and isfinite(value)


def _transparency(effect: Any) -> float:
    """Return 0 for opaque to 1 for invisible (COLLADA 1.4.1, determining transparency).

    Completely invisible materials are treated as opaque: some exporters invert the scale.
    """
    color = effect.transparent if isinstance(effect.transparent, tuple) else (1.0, 1.0, 1.0, 1.0)
    amount = effect.transparency if isinstance(effect.transparency, float) else 1.0
    if effect.transparent is None and effect.transparency is None:
        return 0.0
    if str(getattr(effect, "opaque_mode", "A_ONE")) == "RGB_ZERO":
        hidden = float(np.dot(color[:3], (0.212671, 0.715160, 0.072169))) * amount
    else:
        hidden = 1.0 - (float(color[3]) if len(color) > 3 else 1.0) * amount
    return hidden if 0.0 <= hidden < 1.0 else 0.0
