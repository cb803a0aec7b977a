"""Where the bodies of a world are, by the boxes around their shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from hrp_model import Body
from hrp_model.geometry import Shape
from hrp_model.rigid import Array
from hrp_model.shapes.tessellate import shape_mesh

from ...engine.articulation.numeric_limits import MAX_COORDINATE
from ...render import BodyPoses
from ...render.boxes import OrientedBox, box_around

# Signs of the corners of a box.
_CORNERS = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, 8).T
# A wall is thinner than this share of its other sides.
_MAX_THICKNESS = 0.2
_LEVEL = 0.9999  # z of the normal of a level floor


class Extents:
    """The boxes around the visible shapes of bodies.

    Args:
        bodies: By their names in the world.

    Attributes:
        robots: Names of the bodies that can move, or of all bodies if none can.
    """

    def __init__(self, bodies: Mapping[str, Body]) -> None:
        self._bodies = bodies
        moving = [name for name, body in bodies.items() if not body.is_static]
        self.robots = moving or list(bodies)
        self._corners = {name: _corners(bodies[name]) for name in self.robots}
        self._scenery = [
            (name, row, shape, box)
            for name in bodies
            if name not in self.robots
            for row, link in enumerate(bodies[name].links)
            for shape in link.visual
            if (box := _box(shape)) is not None
        ]

    def points(self, poses: BodyPoses) -> Array:
        """Return points in W whose convex hull contains the robots, in [m], shape (n, 3)."""
        found = [np.zeros((0, 3))]
        for name, (links, corners) in self._corners.items():
            if name in poses:
                p, R = poses[name].p[links], poses[name].R[links]
                found.append(np.einsum("nij,nj->ni", R, corners) + p)
        points = np.concatenate(found)
        return points if len(points) else np.zeros((1, 3))

    def walls_between(self, eye: Array, target: Array, size: float, poses: BodyPoses) -> set[Shape]:
        """Return the walls and ceilings that separate the viewer from the robots.

        Args:
            eye: Position of the viewer in W, in [m], shape (3,).
            target: Middle of the robots in W, in [m], shape (3,).
            size: Smaller shapes are no walls, in [m].
            poses: Of all links.
        """
        walls: set[Shape] = set()
        for shape, center, normal, half in self._walls(size, poses):
            here, there = (float((p - center) @ normal) for p in (eye, target))
            if here * there < 0.0 and abs(here) > half < abs(there):
                walls.add(shape)
        return walls

    def floor(self, size: float, poses: BodyPoses) -> float | None:
        """Return the height in W of the top of the lowest level floor, in [m], if there is one.

        Args:
            size: Smaller shapes are no floors, in [m].
            poses: Of all links.
        """
        walls = self._walls(size, poses)
        tops = [center[2] + half for _, center, normal, half in walls if abs(normal[2]) > _LEVEL]
        return float(min(tops)) if tops else None

    def _walls(self, size: float, poses: BodyPoses) -> Iterator[tuple[Shape, Array, Array, float]]:
        """Yield thin shapes, their middles, normals and halves of their thicknesses."""
        for name, row, shape, box in self._scenery:
            axis = int(np.argmin(box.half))
            half, extent = float(box.half[axis]), float(np.delete(box.half, axis).min())
            if name in poses and half < _MAX_THICKNESS * extent and 2.0 * extent > size:
                moved = box.moved(np.column_stack([poses[name].R[row], poses[name].p[row]]))
                yield shape, moved.center, moved.axes[:, axis], half


def _box(shape: Shape) -> OrientedBox | None:
    """Return the box around a shape, or None if it is not drawn."""
    if shape.material.transparency >= 1.0:
        return None
    vertices = shape_mesh(shape).vertices
    if not len(vertices) or not (np.abs(vertices) <= MAX_COORDINATE).all():
        return None
    return box_around(vertices, shape.T_FG[:3, :3])


def _corners(body: Body) -> tuple[list[int], Array]:
    """Return the corners of the boxes around all shapes in their links, and the links' rows."""
    rows: list[int] = []
    corners = [np.zeros((0, 3))]
    for row, link in enumerate(body.links):
        for shape in link.visual:
            if (box := _box(shape)) is not None:
                corners.append(box.center + (_CORNERS * box.half) @ box.axes.T)
                rows += [row] * len(_CORNERS)
    return rows, np.concatenate(corners)
