"""Collision shapes of a body in its initial posture: bounding boxes and penetration depths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import Array, Pose
from hrp_model.shapes.measure import BoundingBox, boxes_overlap, geometry_box, union
from hrp_model.shapes.tessellate import shape_mesh

from .initial_state import InitialState

# Meshes with more vertices are subsampled.
_MAX_POINTS = 2000
_DIVISIONS = 16
# Points of shapes, kept because many bodies may be spawned near the same ones.
_clouds: WeakKeyDictionary[Shape, Array] = WeakKeyDictionary()


class Solid(NamedTuple):
    """One collision shape.

    Attributes:
        link: Index in ``body.links``.
        shape: The shape, in the link frame.
        low, high: Corners of its axis-aligned bounding box in W, in [m].
    """

    link: int
    shape: Shape
    low: Array
    high: Array


class Overlap(NamedTuple):
    """Penetration depth of two bodies, in [m], and the indices of the links concerned."""

    depth: float
    link_a: int
    link_b: int


class Solids:
    """The collision shapes of a body in its initial posture."""

    def __init__(self, start: InitialState) -> None:
        self.start = start

    @cached_property
    def all(self) -> list[Solid]:
        """All shapes with an extent."""
        found = []
        for i, shape, box in self._own_boxes:
            T_WL = Pose(self.start.state.R[i], self.start.state.p[i]).matrix()
            found.append(Solid(i, shape, *box.transformed(T_WL @ shape.T_FG)))
        return found

    @cached_property
    def box(self) -> BoundingBox | None:
        """Bounding box of the body in W; None without shapes."""
        return union(BoundingBox(solid.low, solid.high) for solid in self.all)

    @cached_property
    def thickness(self) -> dict[int, float]:
        """Smallest extent of the thickest shape of each link, in [m], by link index."""
        found: dict[int, float] = {}
        for i, shape, box in self._own_boxes:
            scale = np.linalg.norm(shape.T_FG[:3, :3], axis=0)
            extent = float((2.0 * box.half * scale).min())
            found[i] = max(found.get(i, 0.0), extent)
        return {i: extent for i, extent in found.items() if extent > 0.0}

    def overlaps_box(self, other: Solids) -> bool:
        """Return whether the bounding boxes of two bodies overlap, and one of these can move."""
        a, b = self.box, other.box
        if a is None or b is None or not (any(self.start.mobile) or any(other.start.mobile)):
            return False
        return bool(boxes_overlap(*a, *b, touching=False))

    @property
    def _own_boxes(self) -> Iterator[tuple[int, Shape, BoundingBox]]:
        for i, link in enumerate(self.start.body.links):
            for shape in link.collision:
                if (box := geometry_box(shape.geometry)) is not None:
                    yield i, shape, box


def deepest_overlap(a: Solids, b: Solids) -> Overlap | None:
    """Return the greatest depth of a point of one body in a primitive of the other.

    There are no false positives, but overlaps are missed in meshes, and where shapes cross
    without a corner inside each other. Pairs of links that do not collide are ignored.
    """
    best: Overlap | None = None
    for x, y in _near_pairs(a, b):
        for one, other in (((a, x), (b, y)), ((b, y), (a, x))):
            deep = _deepest(one, other)
            if deep > 0.0 and (best is None or deep > best.depth):
                best = Overlap(deep, x.link, y.link)
    return best


def _near_pairs(a: Solids, b: Solids) -> Iterator[tuple[Solid, Solid]]:
    low, high = (np.array([getattr(y, side) for y in b.all]) for side in ("low", "high"))
    mobile = np.array([b.start.mobile[y.link] for y in b.all])
    for x in a.all:
        near = boxes_overlap(x.low, x.high, low, high, touching=False)
        if not a.start.mobile[x.link]:
            near &= mobile
        for y in (b.all[k] for k in np.flatnonzero(near)):
            if _collide(a.start, x.link, b.start, y.link):
                yield x, y


def _collide(a: InitialState, link_a: int, b: InitialState, link_b: int) -> bool:
    """Return whether links of two bodies may collide, by their joints and materials."""
    link, other = a.body.links[link_a], b.body.links[link_b]
    for own, body, of_body in a.joined_links:
        # Engines merge links that are fixed to each other.
        if (
            body == b.name
            and a.is_rigid(link_a, a.body.link_index(own))
            and b.is_rigid(link_b, b.body.link_index(of_body))
        ):
            return False
    materials = a.entry.placement.contact_material(link), b.entry.placement.contact_material(other)
    return a.physics.materials.collide(*materials)


def _deepest(one: tuple[Solids, Solid], other: tuple[Solids, Solid]) -> float:
    """Return the greatest depth of a point of one shape in another, a primitive, in [m]."""
    solids, solid = other
    parts = solid.shape.rigid_parts()
    if parts is None or isinstance(solid.shape.geometry, Mesh):
        return 0.0
    X_LG, scale = parts
    link = solids.start.state.R[solid.link], solids.start.state.p[solid.link]
    X_WG = Pose(*link) @ X_LG
    points = (_points(*one) - X_WG.p) @ X_WG.R
    return _depth(solid.shape, points, scale)


def _points(solids: Solids, solid: Solid) -> Array:
    """Return points on a shape, in W, shape (n, 3)."""
    points = _clouds.get(solid.shape)
    if points is None:
        points = _clouds[solid.shape] = _local_points(solid.shape)
    R, p = solids.start.state.R[solid.link], solids.start.state.p[solid.link]
    return np.asarray(points @ R.T + p)


def _local_points(shape: Shape) -> Array:
    """Return points on a shape, in its link's frame, shape (n, 3)."""
    mesh = shape_mesh(shape, _DIVISIONS, solid=True)
    points = mesh.vertices
    if not isinstance(shape.geometry, Mesh):
        # Add edge midpoints: for boxes face to face the corners alone may not be inside.
        corners = points[mesh.triangles]
        middles = (corners + np.roll(corners, 1, axis=1)) / 2.0
        points = np.concatenate([points, middles.reshape(-1, 3)])
    return np.array(points[:: 1 + len(points) // _MAX_POINTS])


def _depth(shape: Shape, points: Array, scale: Array) -> float:
    """Return the greatest depth of points below the surface of a primitive, in its own frame."""
    geometry = shape.geometry
    if not len(points):
        return 0.0
    if isinstance(geometry, Box):
        inside = (np.abs(geometry.size * scale) / 2.0 - np.abs(points)).min(axis=1)
    elif isinstance(geometry, Sphere):
        inside = geometry.radius * float(np.min(scale)) - np.linalg.norm(points, axis=1)
    elif isinstance(geometry, Cylinder | Capsule):
        radius = geometry.radius * float(min(scale[0], scale[2]))
        beyond = np.abs(points[:, 1]) - geometry.height * float(scale[1]) / 2.0
        across = np.linalg.norm(points[:, [0, 2]], axis=1)
        if isinstance(geometry, Cylinder):
            inside = np.minimum(radius - across, -beyond)
        else:
            inside = radius - np.hypot(across, np.maximum(beyond, 0.0))
    else:
        return 0.0
    return float(inside.max())
