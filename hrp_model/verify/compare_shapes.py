"""Compare the shapes of a URDF as a library reads them with those of the Body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from ..geometry import Mesh, Shape
from ..urdf import UpAxis
from ..urdf.materials import has_own_colors, have_one_color, rgba_of
from ..urdf.shapes import is_empty
from .expected import Expected
from .extents import expected_extent, extent_of, is_flat, skewness
from .library import SHAPES, LibraryError, LibraryRobot, LibraryShape, Quantity
from .mujoco_errors import short_reason
from .report import Differences, Row, failure, not_applicable

EXACT = 1e-9
# Tolerance of single precision, in which meshes are written and libraries keep colours.
SINGLE = 1e-6
_COLOR_STEP = 1.0 / 255.0  # of a colour in a mesh file, as libraries keep it
_MAX_LISTED = 3  # shapes in a message
# From the axes of a GLB file with y up to those of the URDF: 90 degrees about X.
_Y_TO_Z = np.eye(4)
_Y_TO_Z[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
_Y_UP_NOTE = "compared with y up, as in glTF; this library does not rotate GLB files itself"


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
        more = len(shapes) - _MAX_LISTED
        listed = [*shapes[:_MAX_LISTED], *([f"and {more} more"] if more > 0 else [])]
        yield f"without refused shapes ({kind}): {', '.join(listed)}"


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
    """Compare a colour; ``of_file`` states whether it is that of the mesh file."""
    color = seen.file_color if of_file else seen.color
    if of_file and seen.color is not None:
        differences.add(inf, f"one colour replaces the material of {where}")
    elif color is None:
        if not of_file:
            differences.add(inf, f"{where} has no colour")
    elif not has_own_colors(shape):
        wanted = rgba_of(shape.material)
        difference = max(abs(a - b) for a, b in zip(color, wanted, strict=True))
        differences.add(max(0.0, difference - _COLOR_STEP) if of_file else difference, where)


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
