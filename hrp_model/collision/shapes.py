"""Replace the collision shapes of a body by simpler ones."""

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
from ..shapes.measure import area, signed_volume, used_vertices
from ..shapes.tessellate import mesh_origin, placed_mesh, placed_mesh_key
from .decompose import Decomposer, Progress
from .hull import convex_hull, is_flat, tight_box

__all__ = ["CollisionShapes", "with_collision"]

# A mesh with at least this share of the volume of its hull is treated as convex.
_CONVEX_SHARE = 0.95

# Geometries with their poses in the frame of ``placed_mesh``.
_Parts: TypeAlias = list[tuple[Geometry, Pose]]


class CollisionShapes(Enum):
    """Replacement for the collision shapes of a body.

    Primitives are kept: they are convex, exact and fast. Only BOX replaces primitives other than
    boxes, spheres and cylinders, and sheared ones.

    AS_MODELLED: The shapes of the model.
    CONVEX: The convex hull of each mesh.
    BOX: A tight oriented box around each mesh.
    DECOMPOSED: Convex parts of each mesh; its hull if the mesh is nearly convex.
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
    """Return a body with its collision shapes replaced.

    Flat meshes are given a thickness of 1 mm, or of a hundredth of their size if that is
    less, with a warning, since bodies without volume cannot be simulated. Empty meshes are
    kept.

    Args:
        body: The robot.
        shapes: Replacement for the collision shapes.
        diagnostics: Receives warnings; by default they are logged.
        time_limit: For the decomposition of one mesh, in [s]; if it is exceeded, the hull is
            used, with a warning.
        cache: Folder in which convex parts are cached; None for no cache.
        progress: Called a few times a second while meshes are being decomposed, with the
            number of meshes done and their total number.

    Raises:
        MissingLibraryError: Neither vhacdx nor coacd, for convex parts, is installed.
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
    """A mesh to be replaced, its pose in the link, and the first link that uses it."""

    mesh: Mesh
    origin: Pose
    link: Link


class _Simplifier(ABC):
    """Replaces the collision shapes of a body; equal shapes are processed once."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics

    def simplified(self, body: Body) -> Body:
        """Return a body with its collision shapes replaced."""
        tasks: dict[Hashable, _Task] = {}
        for link in body.links:
            for shape in link.collision:
                self._add_task(shape, link, tasks)
        parts = dict(zip(tasks, self._replace_meshes(list(tasks.values())), strict=True))
        links = (
            replace(
                link,
                collision=tuple(s for c in link.collision for s in self._replacement(c, parts)),
            )
            for link in body.links
        )
        return replace(body, links=tuple(links))

    def _add_task(self, shape: Shape, link: Link, tasks: dict[Hashable, _Task]) -> None:
        """Add the task of replacing a shape, unless it is kept or an equal one is there."""
        if self._is_kept(shape):
            return
        origin = mesh_origin(shape)
        key = self._key(shape, origin)
        if key in tasks:
            return
        mesh = placed_mesh(shape, solid=True)
        if not area(mesh) > 0.0:
            return
        if is_flat(used_vertices(mesh)):
            message = f"a collision shape of link '{link.name}' is flat; it is made thicker"
            self._diagnostics.warn("flat-collision-shape", message, link.at)
        tasks[key] = _Task(mesh, origin, link)

    def _replacement(self, shape: Shape, parts: Mapping[Hashable, _Parts]) -> list[Shape]:
        """Return the shapes that replace a shape."""
        if self._is_kept(shape):
            return [shape]
        origin = mesh_origin(shape)
        made = parts.get(self._key(shape, origin))
        if made is None:
            return [shape]
        return [
            Shape(geometry, (origin @ X).matrix(), shape.material, shape.name, shape.surface)
            for geometry, X in made
        ]

    def _is_kept(self, shape: Shape) -> bool:
        """Return whether a shape is kept; here every primitive, as all of them are convex."""
        return not isinstance(shape.geometry, Mesh)

    def _key(self, shape: Shape, _: Pose) -> Hashable:
        """Return a key of everything that the replacement depends on."""
        return placed_mesh_key(shape)

    @abstractmethod
    def _replace_meshes(self, tasks: Sequence[_Task]) -> Sequence[_Parts]:
        """Return the replacement of each mesh."""


class _Boxes(_Simplifier):
    """Replaces each mesh by a tight box."""

    def _is_kept(self, shape: Shape) -> bool:
        is_supported = isinstance(shape.geometry, Box | Sphere | Cylinder)
        return is_supported and shape.rigid_parts() is not None

    def _key(self, shape: Shape, origin: Pose) -> Hashable:
        return placed_mesh_key(shape), origin.R.tobytes()

    def _replace_meshes(self, tasks: Sequence[_Task]) -> Sequence[_Parts]:
        boxes = (tight_box(task.mesh, task.origin.R.T) for task in tasks)
        return [[(Box(size), X)] for X, size in boxes]


class _ConvexParts(_Simplifier):
    """Replaces each mesh by its convex parts, or by its hull if there is no decomposer."""

    def __init__(self, diagnostics: Diagnostics, decomposer: Decomposer | None = None) -> None:
        super().__init__(diagnostics)
        self._decomposer = decomposer

    def _replace_meshes(self, tasks: Sequence[_Task]) -> Sequence[_Parts]:
        made = [[_hull(task.mesh)] for task in tasks]
        if self._decomposer is not None:
            concave = [
                i for i, (hull,) in enumerate(made) if not _is_nearly_convex(tasks[i].mesh, hull)
            ]
            split = self._decomposer.decomposed([tasks[i].mesh for i in concave])
            for i, parts in zip(concave, split, strict=True):
                if parts is None:
                    self._warn_of_hull(tasks[i].link)
                else:
                    made[i] = _parts_or_hull([_hull(part) for part in parts], made[i])
        return [[(mesh, Pose()) for mesh in meshes] for meshes in made]

    def _warn_of_hull(self, link: Link) -> None:
        message = f"a collision shape of link '{link.name}' could not be decomposed"
        self._diagnostics.warn("not-decomposed", f"{message}; its hull is used", link.at)


def _hull(mesh: Mesh) -> Mesh:
    return convex_hull(used_vertices(mesh))


def _parts_or_hull(parts: list[Mesh], hull: list[Mesh]) -> list[Mesh]:
    """Return the parts of a mesh, or its hull if their total volume is about the same."""
    volume = sum(signed_volume(part) for part in parts)
    return parts if volume < _CONVEX_SHARE * signed_volume(hull[0]) else hull


def _is_nearly_convex(mesh: Mesh, hull: Mesh) -> bool:
    """Return whether a mesh nearly fills its hull.

    A hole in the mesh is treated as if closed by a cone to the centre.
    """
    if is_flat(used_vertices(mesh)):
        return _is_nearly_convex_in_plane(mesh, hull)
    center = mesh.vertices[mesh.triangles].mean(axis=(0, 1))
    volume = abs(signed_volume(replace(mesh, vertices=mesh.vertices - center)))
    return volume >= _CONVEX_SHARE * signed_volume(hull)


def _is_nearly_convex_in_plane(mesh: Mesh, hull: Mesh) -> bool:
    """Return whether one side of a flat mesh has nearly the area of its hull."""
    outline = _area_vectors(hull)
    largest = outline[np.argmax(np.linalg.norm(outline, axis=1))]
    areas = _area_vectors(mesh) @ largest
    sides = areas[areas > 0.0].sum(), -areas[areas < 0.0].sum()
    return bool(max(sides) >= _CONVEX_SHARE * np.abs(outline @ largest).sum() / 2.0)


def _area_vectors(mesh: Mesh) -> Array:
    """Return for each triangle its normal times twice its area, shape (m, 3)."""
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    vectors: Array = np.cross(b - a, c - a)
    return vectors
