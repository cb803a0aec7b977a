"""What stands for a body where it touches: its own shapes, or simpler ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from ..body import Body, Link
from ..diagnostics import Diagnostics
from ..geometry import Box, Cylinder, Geometry, Mesh, Shape, Sphere
from ..rigid import Array, Pose
from ..shapes.measure import area, signed_volume
from ..shapes.tessellate import mesh_origin, placed_mesh, placed_mesh_key
from .decompose import Decomposer, Progress
from .hull import convex_hull, is_flat, tight_box

__all__ = ["CollisionShapes", "with_collision"]

# A mesh that has at least this share of its hull is taken for convex.
_NEARLY = 0.95

# Geometries with their places in the frame that a shape's mesh stands in.
_Parts: TypeAlias = list[tuple[Geometry, Pose]]


class CollisionShapes(Enum):
    """What the collision shapes of a body become.

    A primitive stays what it is: it is convex, exact and cheap already. Only where it is
    sheared, or neither box, sphere nor cylinder, BOX puts a box in its place.

    AS_MODELLED: What the model says.
    CONVEX: The hull of each mesh.
    BOX: A tight box around each mesh, turned as it lies.
    DECOMPOSED: Convex parts of each mesh; its hull where that is nearly the same.
    """

    AS_MODELLED = "as_modelled"
    CONVEX = "convex"
    BOX = "box"
    DECOMPOSED = "decomposed"


def with_collision(
    body: Body,
    shapes: CollisionShapes,
    diagnostics: Diagnostics | None = None,
    *,
    time_limit: float = 30.0,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Body:
    """Return a body with other collision shapes; nothing else of it changes.

    Flat meshes are given a thickness of 1 mm, or of a hundredth of their size if that is
    less, since bodies without volume cannot be simulated; a warning says so. Meshes with
    nothing in them stay as they are.

    Args:
        body: The robot.
        shapes: What becomes of what touches.
        diagnostics: Where warnings go; by default they are logged.
        time_limit: For the decomposition of one mesh, in [s]; its hull is used, with a
            warning, when that is not enough.
        cache: Folder that keeps convex parts for the next time; None keeps none.
        progress: Called a few times a second while meshes are being decomposed, with how
            many are done and how many there are.

    Raises:
        MissingLibraryError: A library is not installed: scipy for hulls, vhacdx or coacd
            for convex parts.
    """
    if shapes is CollisionShapes.AS_MODELLED:
        return body
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    if shapes is CollisionShapes.BOX:
        return _Boxes(diagnostics).simplified(body)
    if shapes is CollisionShapes.CONVEX:
        return _ConvexParts(diagnostics).simplified(body)
    with Decomposer(time_limit, cache, progress) as decomposer:
        return _ConvexParts(diagnostics, decomposer).simplified(body)


class _Task(NamedTuple):
    """A mesh to be replaced, where it stands in a link, and the first link that has it."""

    mesh: Mesh
    origin: Pose
    link: Link


class _Simplifier(ABC):
    """Replaces the collision shapes of a body; equal ones are worked out once."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics

    def simplified(self, body: Body) -> Body:
        """Return a body with other collision shapes."""
        tasks: dict[Hashable, _Task] = {}
        for link in body.links:
            for shape in link.collision:
                self._note(shape, link, tasks)
        parts = dict(zip(tasks, self._parts(list(tasks.values())), strict=True))
        links = (
            replace(link, collision=tuple(s for c in link.collision for s in self._new(c, parts)))
            for link in body.links
        )
        return replace(body, links=tuple(links))

    def _note(self, shape: Shape, link: Link, tasks: dict[Hashable, _Task]) -> None:
        """Add to the tasks what is to be done for a shape."""
        if self._stays(shape):
            return
        origin = mesh_origin(shape)
        key = self._key(shape, origin)
        if key in tasks:
            return
        mesh = placed_mesh(shape, solid=True)
        if not area(mesh) > 0.0:
            return
        if is_flat(mesh.vertices[np.unique(mesh.triangles)]):
            message = f"a collision shape of link '{link.name}' is flat: it is made thicker"
            self._diagnostics.warn("flat-collision-shape", message, link.at)
        tasks[key] = _Task(mesh, origin, link)

    def _new(self, shape: Shape, parts: Mapping[Hashable, _Parts]) -> list[Shape]:
        """Return what replaces a shape."""
        if self._stays(shape):
            return [shape]
        origin = mesh_origin(shape)
        made = parts.get(self._key(shape, origin))
        if made is None:
            return [shape]
        return [
            Shape(geometry, (origin @ X).matrix(), shape.material, shape.name)
            for geometry, X in made
        ]

    def _stays(self, shape: Shape) -> bool:
        """Tell whether a shape stays as it is; every primitive is convex."""
        return not isinstance(shape.geometry, Mesh)

    def _key(self, shape: Shape, _: Pose) -> Hashable:
        """Return what the parts depend on."""
        return placed_mesh_key(shape)

    @abstractmethod
    def _parts(self, tasks: Sequence[_Task]) -> Sequence[_Parts]:
        """Return what replaces each mesh."""


class _Boxes(_Simplifier):
    def _stays(self, shape: Shape) -> bool:
        kept = isinstance(shape.geometry, Box | Sphere | Cylinder)
        return kept and shape.rigid_parts() is not None

    def _key(self, shape: Shape, origin: Pose) -> Hashable:
        return placed_mesh_key(shape), origin.R.tobytes()

    def _parts(self, tasks: Sequence[_Task]) -> Sequence[_Parts]:
        boxes = (tight_box(task.mesh, task.origin.R.T) for task in tasks)
        return [[(Box(size), X)] for X, size in boxes]


class _ConvexParts(_Simplifier):
    """Splits meshes; without a decomposer it takes the hull of each."""

    def __init__(self, diagnostics: Diagnostics, decomposer: Decomposer | None = None) -> None:
        super().__init__(diagnostics)
        self._decomposer = decomposer

    def _parts(self, tasks: Sequence[_Task]) -> Sequence[_Parts]:
        made = [[_hull(task.mesh)] for task in tasks]
        if self._decomposer is not None:
            hollow = [i for i, (hull,) in enumerate(made) if not _fills(tasks[i].mesh, hull)]
            split = self._decomposer.decomposed([tasks[i].mesh for i in hollow])
            for i, parts in zip(hollow, split, strict=True):
                if parts is None:
                    self._tell_of_hull(tasks[i].link)
                else:
                    made[i] = _better([_hull(part) for part in parts], made[i])
        return [[(mesh, Pose()) for mesh in meshes] for meshes in made]

    def _tell_of_hull(self, link: Link) -> None:
        message = f"a collision shape of link '{link.name}' could not be split"
        self._diagnostics.warn("not-decomposed", f"{message}: its hull is used", link.at)


def _hull(mesh: Mesh) -> Mesh:
    return convex_hull(mesh.vertices[np.unique(mesh.triangles)])


def _better(parts: list[Mesh], hull: list[Mesh]) -> list[Mesh]:
    """Return the parts of a mesh, or its hull if they are about as large together."""
    volume = sum(signed_volume(part) for part in parts)
    return parts if volume < _NEARLY * signed_volume(hull[0]) else hull


def _fills(mesh: Mesh, hull: Mesh) -> bool:
    """Tell whether a mesh is nearly its hull; a hole is closed by a cone to its centre."""
    if is_flat(mesh.vertices[np.unique(mesh.triangles)]):
        return _fills_in_plane(mesh, hull)
    center = mesh.vertices[mesh.triangles].mean(axis=(0, 1))
    volume = abs(signed_volume(replace(mesh, vertices=mesh.vertices - center)))
    return volume >= _NEARLY * signed_volume(hull)


def _fills_in_plane(mesh: Mesh, hull: Mesh) -> bool:
    """Tell whether a flat mesh has on one of its sides nearly the area of its hull."""
    outline = _area_vectors(hull)
    largest = outline[np.argmax(np.linalg.norm(outline, axis=1))]
    areas = _area_vectors(mesh) @ largest
    sides = areas[areas > 0.0].sum(), -areas[areas < 0.0].sum()
    return bool(max(sides) >= _NEARLY * np.abs(outline @ largest).sum() / 2.0)


def _area_vectors(mesh: Mesh) -> Array:
    """Return the normal of each triangle, as long as twice its area."""
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    vectors: Array = np.cross(b - a, c - a)
    return vectors
