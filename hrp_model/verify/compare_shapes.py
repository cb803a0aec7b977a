"""Compare the shapes and mesh files of a URDF as a library reads them with those of the Body."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import numpy as np

from ..diagnostics import listed
from ..files.package_search import MANIFEST, enclosing_package, package_name
from ..geometry import Y_TO_Z, Box, Cylinder, Geometry, Mesh, Shape, Sphere
from ..late_dataclass import dataclass
from ..rigid import Array, Pose
from ..shapes.measure import area, bounding_box, is_empty, signed_volume
from ..shapes.tessellate import shape_mesh
from ..urdf import UpAxis
from ..urdf.shapes import has_own_colors, have_one_color, rgba_of
from .expected import Expected
from .library import SHAPES, LibraryError, LibraryRobot, LibraryShape, Quantity
from .report import URDF, Differences, Row, failure, not_applicable, short_reason

_FLAT = 1e-4
_KINDS = {Box: "box", Sphere: "sphere", Cylinder: "cylinder"}
EXACT = 1e-9
# Tolerance of single precision, in which meshes are written and libraries keep colours.
SINGLE = 1e-6
_MAX_LISTED = 3  # shapes in a message
# Also from the axes of a GLB file with y up to those of the URDF.
_Y_TO_Z = Pose(Y_TO_Z).matrix()
_Y_UP_NOTE = "compared with y up, as in glTF; this library does not rotate GLB files itself"


class MeshFiles:
    """Mesh files of a URDF.

    Args:
        urdf: The file; it may be inside a package that its own URIs reference.
        packages: Further folders with packages.
    """

    def __init__(self, urdf: Path, packages: Sequence[Path] = ()) -> None:
        self._folder = urdf.resolve().parent
        root = ElementTree.parse(urdf).getroot()
        self.uris = sorted({mesh.get("filename", "") for mesh in root.iter("mesh")})
        self._aliases: tempfile.TemporaryDirectory[str] | None = None
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        installed = [Path(prefix) / "share" for prefix in prefixes if prefix]
        self.packages = (*packages, *self._own_package(), *installed)

    def _own_package(self) -> list[Path]:
        """Return a folder that has the URDF's own package under its name, if it is in one."""
        if (folder := enclosing_package(self._folder)) is None:
            return []
        try:
            name = package_name(folder / MANIFEST)
        except (OSError, ValueError):
            return []
        if name == folder.name:
            return [folder.parent]
        # In a source tree the folder of a package may have another name.
        self._aliases = tempfile.TemporaryDirectory(prefix="hrp-model-")
        (Path(self._aliases.name) / name).symlink_to(folder)
        return [Path(self._aliases.name)]

    def path(self, uri: str) -> Path:
        """Return the path of a URI, whether the file exists or not."""
        parts = urlparse(uri)
        if parts.scheme == "package":
            relative = Path(parts.netloc) / unquote(parts.path).lstrip("/")
            paths = [folder / relative for folder in self.packages] or [relative]
            return next((path for path in paths if path.is_file()), paths[0])
        if parts.scheme == "file":
            return Path(unquote(parts.path))
        return self._folder / uri

    @property
    def by_uri(self) -> dict[str, Path]:
        """The files that exist, by URI."""
        paths = {uri: self.path(uri) for uri in self.uris}
        return {uri: path for uri, path in paths.items() if path.is_file()}

    def rows(self) -> Iterator[Row]:
        """Yield a row about whether all files can be read."""
        differences = Differences(URDF, "mesh files", 0.0)
        for uri in self.uris:
            try:
                with self.path(uri).open("rb") as file:
                    missing = not file.read(1)
            except OSError:
                missing = True
            differences.add(inf if missing else 0.0, f"'{uri}' cannot be read" if missing else uri)
        yield differences.row(nothing="it references no mesh")


@dataclass(frozen=True, eq=False)
class Extent:
    """Properties of a shape that do not depend on the order of its triangles.

    Attributes:
        lower, upper: Corners of its bounding box in the link, in [m], each of shape (3,).
        volume: Enclosed volume, in [m^3]; of an open mesh only for comparison.
        area: Area of the triangles, in [m^2]; 0 for a primitive.
        largest_term: Largest number that a coordinate is a sum of, in [m]; 0 if not larger than
            the coordinates. It is larger if a translation moves vertices back that are far from
            their own origin: a mesh file in single precision rounds them before that.
    """

    lower: Array
    upper: Array
    volume: float
    area: float = 0.0
    largest_term: float = 0.0

    @property
    def size(self) -> float:
        """The largest coordinate or edge, in [m]."""
        return float(max(abs(self.lower).max(), abs(self.upper).max(), 1e-300))

    def difference(self, other: Extent) -> float:
        """Return the largest difference, relative to the numbers that rounding errors scale with.

        An error d of all coordinates moves corners by d, and changes volumes by at most about
        d times the square of the size, and areas by d times the size.
        """
        size = self.size
        scale = max(size, self.largest_term)
        corners = np.concatenate([self.lower - other.lower, self.upper - other.upper])
        differences = [
            float(abs(corners).max()) / scale,
            # Thin and flat shapes have small values with the same rounding errors.
            (self.volume - other.volume) / max(abs(self.volume), size**2 * scale),
            (self.area - other.area) / max(self.area, size * scale),
        ]
        return float(np.abs(differences).max())


def extent_of(shape: LibraryShape) -> Extent:
    """Return the extent of a shape as a library reads it."""
    if shape.vertices is not None and shape.triangles is not None:
        vertices = shape.vertices @ shape.X_LS[:3, :3].T + shape.X_LS[:3, 3]
        return _mesh(Mesh(vertices, shape.triangles))
    if shape.kind == "box":
        return _box(np.array(shape.size), shape.X_LS)
    if shape.kind == "sphere":
        return _sphere(shape.size[0], shape.X_LS)
    radius, length = shape.size
    return _cylinder(radius, length, shape.X_LS @ _Y_TO_Z.T)


def expected_extent(shape: Shape, kind: str, *, solid: bool) -> Extent | None:
    """Return the extent of a shape of the model, or None if it cannot be of this kind.

    Args:
        shape: The shape in its link.
        kind: Its kind in the URDF: "mesh", or a primitive.
        solid: Whether it is a collision shape, which has all its faces.
    """
    geometry, T = shape.geometry, shape.T_FG
    if kind == "mesh":
        extent = _mesh(shape_mesh(shape, solid=solid))
        return replace(extent, largest_term=_largest_term(geometry, T))
    if _KINDS.get(type(geometry)) != kind:
        return None
    if isinstance(geometry, Box):
        return _box(geometry.size, T)
    if isinstance(geometry, Sphere):
        return _sphere(geometry.radius, T)
    assert isinstance(geometry, Cylinder)
    return _cylinder(geometry.radius, geometry.height, T)


def _largest_term(geometry: Geometry, T: Array) -> float:
    """Return the largest number that is rounded before a geometry is placed, in [m]."""
    if not isinstance(geometry, Mesh) or not len(geometry.vertices):
        return 0.0  # primitives are centred at their own origin, so nothing cancels
    vertices = abs(geometry.vertices).max(axis=0)
    return float((abs(T[:3, :3]) @ vertices + abs(T[:3, 3])).max())


def is_flat(shape: Shape) -> bool:
    """Return whether a shape is practically two-dimensional."""
    mesh = shape_mesh(shape, solid=True)
    corners = mesh.vertices[mesh.triangles].reshape(-1, 3)
    spread = np.linalg.svd(corners - corners.mean(axis=0), compute_uv=False)
    return bool(spread[2] <= _FLAT * spread[0])


def skewness(T: Array) -> float:
    """Return twice the largest cosine between columns of an affine map: 0 without shear."""
    columns = T[:3, :3]
    R = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    excess = float(abs(R.T @ R - np.eye(3)).max())
    return 2.0 * excess if excess > 1e-12 else 0.0


def _box(size: Array, T: Array) -> Extent:
    half = abs(T[:3, :3]) @ size / 2.0
    return _centered(half, float(np.prod(size)), T)


def _sphere(radius: float, T: Array) -> Extent:
    half = radius * np.linalg.norm(T[:3, :3], axis=1)
    return _centered(half, 4.0 / 3.0 * np.pi * radius**3, T)


def _cylinder(radius: float, height: float, T: Array) -> Extent:
    """Return the extent of a cylinder along Y."""
    x, y, z = T[:3, :3].T
    half = radius * np.hypot(x, z) + abs(y) * height / 2.0
    return _centered(half, np.pi * radius**2 * height, T)


def _centered(half: Array, volume: float, T: Array) -> Extent:
    """Return the extent of a primitive centred at the origin of a map."""
    p = T[:3, 3]
    return Extent(p - half, p + half, volume * abs(float(np.linalg.det(T[:3, :3]))))


def _mesh(mesh: Mesh) -> Extent:
    """Return the extent of a mesh in its link.

    The volume of an open mesh depends on the origin; that of the bounding box is used.
    """
    corners = bounding_box(mesh)
    if corners is None:
        undefined = np.full(3, np.nan)
        return Extent(undefined, undefined, 0.0)
    center = (corners[0] + corners[1]) / 2.0
    volume = signed_volume(Mesh(mesh.vertices - center, mesh.triangles))
    return Extent(*corners, volume, area(mesh))


def compared_shapes(
    expected: Expected, robot: LibraryRobot, glb_up: UpAxis = UpAxis.Z
) -> Iterator[Row]:
    """Yield a row for each quantity of shapes."""
    try:
        shapes = robot.shapes()
    except LibraryError as error:
        yield failure(robot.library, "shapes", str(error))
        return
    rows = {
        quantity: Differences(robot.library, quantity.value, tolerance)
        for quantity, tolerance in _TOLERANCES.items()
    }
    _compare(expected, shapes.collision, shapes.left_out, rows, solid=True)
    if shapes.visual is not None:
        visual = shapes.visual if glb_up is UpAxis.Z else _y_to_z_up(shapes.visual)
        _compare(expected, visual, {}, rows, solid=False)
    left_out = "; ".join(_left_out(shapes.left_out))
    for quantity in SHAPES:
        if quantity in robot.unknown:
            yield not_applicable(robot.library, quantity.value, robot.unknown[quantity])
        else:
            note = left_out if quantity is Quantity.COLLISION_MESHES else ""
            if quantity is Quantity.VISUAL_MESHES and glb_up is UpAxis.Y:
                note = _Y_UP_NOTE if shapes.visual and _has_mesh(shapes.visual) else ""
            yield rows[quantity].row(note, _NOTHING[quantity])


def _left_out(reasons: Mapping[tuple[str, int], str]) -> Iterator[str]:
    """Yield a sentence for each kind of reason why a library lacks some shapes."""
    kinds: dict[str, list[str]] = {}
    for (link, number), reason in reasons.items():
        kinds.setdefault(short_reason(reason), []).append(f"shape {number + 1} of link '{link}'")
    for kind, shapes in kinds.items():
        yield f"without refused shapes ({kind}): {listed(shapes, _MAX_LISTED)}"


def _has_mesh(visual: Mapping[str, Sequence[LibraryShape]]) -> bool:
    return any(shape.kind == "mesh" for shapes in visual.values() for shape in shapes)


def _y_to_z_up(visual: Mapping[str, Sequence[LibraryShape]]) -> dict[str, list[LibraryShape]]:
    """Return visuals with their meshes, all of them GLB, rotated from y up to z up."""
    return {
        link: [replace(s, X_LS=s.X_LS @ _Y_TO_Z) if s.kind == "mesh" else s for s in shapes]
        for link, shapes in visual.items()
    }


def _compare(
    expected: Expected,
    seen: Mapping[str, Sequence[LibraryShape]],
    left_out: Mapping[tuple[str, int], str],
    rows: Mapping[Quantity, Differences],
    *,
    solid: bool,
) -> None:
    kind = "collision" if solid else "visual"
    primitives = rows[Quantity.COLLISION_PRIMITIVES if solid else Quantity.VISUAL_PRIMITIVES]
    meshes = rows[Quantity.COLLISION_MESHES if solid else Quantity.VISUAL_MESHES]
    names = set(expected.frames.links.values())
    for name in seen.keys() - names:
        primitives.add(inf, f"{kind} shapes of '{name}', which has none in the model")
    for link in expected.body.links:
        frame = expected.frames.links[link.name]
        wanted = [s for s in (link.collision if solid else link.visual) if not is_empty(s)]
        if solid:
            wanted = _without_flat(wanted, frame, left_out, meshes)
        shapes = seen.get(frame, ())
        if len(shapes) != len(wanted):
            problem = f"link '{frame}' has {len(shapes)} {kind} shapes, not {len(wanted)}"
            (meshes if any(isinstance(s.geometry, Mesh) for s in wanted) else primitives).add(
                inf, problem
            )
            continue
        has_one_color = have_one_color(link.visual)
        for number, (shape, model) in enumerate(zip(shapes, wanted, strict=True), start=1):
            where = f"{kind} {shape.kind} {number} of link '{frame}'"
            _compare_extent(meshes if shape.kind == "mesh" else primitives, shape, model, where)
            if not solid:
                of_file = shape.kind == "mesh" and not has_one_color
                _compare_color(rows[Quantity.COLORS], shape, model, where, of_file=of_file)


def _without_flat(
    shapes: Sequence[Shape],
    frame: str,
    left_out: Mapping[tuple[str, int], str],
    differences: Differences,
) -> list[Shape]:
    """Return the shapes without those that a library left out, which must be flat."""
    for i, shape in enumerate(shapes):
        if (frame, i) in left_out and not is_flat(shape):
            differences.add(inf, f"collision shape {i + 1} of link '{frame}' is left out")
    return [shape for i, shape in enumerate(shapes) if (frame, i) not in left_out]


def _compare_extent(differences: Differences, seen: LibraryShape, shape: Shape, where: str) -> None:
    solid = where.startswith("collision")
    wanted = expected_extent(shape, seen.kind, solid=solid)
    if wanted is None:
        differences.add(inf, f"{where} is a {type(shape.geometry).__name__.lower()} in the model")
        return
    # If the model's own matrix is not exactly a rotation, a URDF cannot represent it.
    skewed = 0.0 if seen.kind == "mesh" else skewness(shape.T_FG)
    differences.add(max(0.0, wanted.difference(extent_of(seen)) - skewed), where)


def _compare_color(
    differences: Differences, seen: LibraryShape, shape: Shape, where: str, *, of_file: bool
) -> None:
    """Compare a colour; ``of_file`` states whether the mesh file has it instead of the URDF."""
    if of_file:
        if seen.color is not None:
            differences.add(inf, f"one colour replaces the material of {where}")
    elif seen.color is None:
        differences.add(inf, f"{where} has no colour")
    elif not has_own_colors(shape):
        wanted = rgba_of(shape.material)
        differences.add(max(abs(a - b) for a, b in zip(seen.color, wanted, strict=True)), where)


_TOLERANCES = {
    Quantity.COLLISION_PRIMITIVES: EXACT,
    Quantity.COLLISION_MESHES: SINGLE,
    Quantity.VISUAL_PRIMITIVES: EXACT,
    Quantity.VISUAL_MESHES: SINGLE,
    Quantity.COLORS: SINGLE,
}
_NOTHING = {
    Quantity.COLLISION_PRIMITIVES: "no collision shape is a primitive",
    Quantity.COLLISION_MESHES: "no collision shape is a mesh",
    Quantity.VISUAL_PRIMITIVES: "no visual shape is a primitive",
    Quantity.VISUAL_MESHES: "no visual shape is a mesh",
    Quantity.COLORS: "no visual shape has a single colour",
}
