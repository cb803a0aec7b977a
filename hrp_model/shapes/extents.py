"""Where the bodies of a world are: the robots, and the walls and floors around them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..body import Body
from ..geometry import Color, Shape
from ..rigid import Array
from .measure import OrientedBox, box_around
from .tessellate import shape_mesh

# Poses of all links by body: p_WL of shape (links, 3), R_WL of shape (links, 3, 3).
BodyPoses = Mapping[str, tuple[Array, Array]]

# Signs of the corners of a box.
_CORNERS = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, 8).T
_MAX_COORDINATE = 1e6  # [m]; shapes with larger ones are ignored
_MAX_TRIANGLES = 300_000  # of all obstacles
# A wall is thinner than this share of its other sides.
_MAX_THICKNESS = 0.2
_LEVEL = 0.9999  # z of the normal of a level floor
_MIN_RADIUS = 0.05  # [m]
_MAX_COSINE = 0.7  # of the angle between the normals of walls that form a corner


class Sphere(NamedTuple):
    """A sphere: its centre, shape (3,), and radius, in [m]."""

    center: Array
    radius: float


def sphere(points: Array) -> Sphere:
    """Return a sphere around points of shape (n, 3), of at least 5 cm."""
    center = (points.min(axis=0) + points.max(axis=0)) / 2.0
    radius = float(np.linalg.norm(points - center, axis=1).max())
    return Sphere(center, max(radius, _MIN_RADIUS))


class Ground(NamedTuple):
    """What the robots stand on.

    Attributes:
        height: In W, in [m].
        color: Of the shape of the world that it is, sRGB in 0..1; None if it is none.
        middle, size: Of the box around this shape, along x and y of W, in [m].
    """

    height: float
    color: Color | None = None
    middle: tuple[float, float] = (0.0, 0.0)
    size: tuple[float, float] = (1.0, 1.0)


class _Thing(NamedTuple):
    """A visible shape of a body that does not move, in the row of its link, and its box there."""

    body: str
    row: int
    shape: Shape
    box: OrientedBox


class _Wall(NamedTuple):
    """A thin shape: its middle, the half size of its box in W, normal and half thickness.

    The normal is also given in its link.
    """

    shape: Shape
    center: Array
    reach: Array
    normal: Array
    half: float
    normal_L: Array


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

    def points(self, poses: BodyPoses) -> Array:
        """Return points in W whose convex hull contains the robots, in [m], shape (n, 3)."""
        found = [np.zeros((0, 3))]
        for name, (links, corners) in self._corners.items():
            if name in poses:
                p, R = poses[name]
                found.append(np.einsum("nij,nj->ni", R[links], corners) + p[links])
        points = np.concatenate(found)
        points = points[np.isfinite(points).all(axis=1)]
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
        for wall in self._walls(size, poses):
            here, there = (float((p - wall.center) @ wall.normal) for p in (eye, target))
            if here * there < 0.0 and abs(here) > wall.half < abs(there):
                walls.add(wall.shape)
        return walls

    def outer_walls(self, poses: BodyPoses) -> dict[Shape, Array]:
        """Return the walls, floors and ceilings around the robots beyond which there is nothing.

        Their outer faces hide the robots from a viewer outside. There are none without a corner of
        two walls.

        Returns:
            The outward unit normal of each in the frame of its link, shape (3,).
        """
        target, radius = sphere(self.points(poses))
        centers = np.array([self._placed(thing, poses).center for thing in self._scenery_of(poses)])
        found: dict[Shape, Array] = {}
        upright: list[Array] = []
        for wall in self._walls(radius / 2.0, poses):
            distance = float((target - wall.center) @ wall.normal)
            outward = -np.copysign(1.0, distance)
            beyond = float(((centers - wall.center) @ wall.normal * outward).max())
            if abs(distance) > wall.half >= beyond:
                found[wall.shape] = outward * wall.normal_L
                if abs(wall.normal[2]) < _MAX_COSINE:
                    upright.append(wall.normal)
        is_corner = any(abs(float(a @ b)) < _MAX_COSINE for a in upright for b in upright)
        return found if is_corner else {}

    def ground(self, poses: BodyPoses) -> Ground:
        """Return the lowest level floor that is as large as the robots.

        Without one it is the lower one of their lowest point and zero.
        """
        points = self.points(poses)
        floors = [
            Ground(
                float(wall.center[2] + wall.half),
                wall.shape.material.diffuse,
                (float(wall.center[0]), float(wall.center[1])),
                (2.0 * float(wall.reach[0]), 2.0 * float(wall.reach[1])),
            )
            for wall in self._walls(sphere(points).radius, poses)
            if abs(wall.normal[2]) > _LEVEL
        ]
        lowest = Ground(min(0.0, float(points[:, 2].min())))
        return min(floors, key=lambda floor: floor.height, default=lowest)

    def obstacles(
        self, poses: BodyPoses, without: Collection[Shape]
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return the triangles of what does not move, with few exceptions.

        Args:
            poses: Of all links.
            without: Shapes to be left out.

        Returns:
            Corners in W, in [m], shape (n, 3, 3), and whether only the front of each is visible.
        """
        found, solid, count = [np.zeros((0, 3, 3))], [np.zeros(0, bool)], 0
        for thing in self._scenery_of(poses):
            mesh = shape_mesh(thing.shape)
            count += len(mesh.triangles)
            if thing.shape in without or count > _MAX_TRIANGLES:
                continue
            p, R = poses[thing.body]
            found.append((mesh.vertices @ R[thing.row].T + p[thing.row])[mesh.triangles])
            solid.append(np.full(len(mesh.triangles), mesh.solid))
        return np.concatenate(found), np.concatenate(solid)

    def is_inside(self, point: Array, poses: BodyPoses) -> bool:
        """Return whether a point in W is in the box of something that the robots are not in."""
        target = sphere(self.points(poses)).center
        boxes = (self._placed(thing, poses) for thing in self._scenery_of(poses))
        return any(box.contains(point) and not box.contains(target) for box in boxes)

    @cached_property
    def _scenery(self) -> list[_Thing]:
        return [
            _Thing(name, row, shape, box)
            for name, body in self._bodies.items()
            if name not in self.robots
            for row, link in enumerate(body.links)
            for shape in link.visual
            if (box := _box(shape)) is not None
        ]

    def _scenery_of(self, poses: BodyPoses) -> Iterator[_Thing]:
        return (thing for thing in self._scenery if thing.body in poses)

    def _placed(self, thing: _Thing, poses: BodyPoses) -> OrientedBox:
        p, R = poses[thing.body]
        return thing.box.moved(np.column_stack([R[thing.row], p[thing.row]]))

    def _walls(self, size: float, poses: BodyPoses) -> Iterator[_Wall]:
        for thing in self._scenery_of(poses):
            axis = int(np.argmin(thing.box.half))
            half = float(thing.box.half[axis])
            extent = float(np.delete(thing.box.half, axis).min())
            if half < _MAX_THICKNESS * extent and 2.0 * extent > size:
                box = self._placed(thing, poses)
                yield _Wall(
                    thing.shape,
                    box.center,
                    np.abs(box.axes) @ box.half,
                    box.axes[:, axis],
                    half,
                    thing.box.axes[:, axis],
                )


def _box(shape: Shape) -> OrientedBox | None:
    """Return the box around a shape, or None if it is not drawn."""
    if shape.material.transparency >= 1.0:
        return None
    vertices = shape_mesh(shape).vertices
    if not len(vertices) or not (np.abs(vertices) <= _MAX_COORDINATE).all():
        return None
    return box_around(vertices, shape.T_FG[:3, :3])


def _corners(body: Body) -> tuple[list[int], Array]:
    """Return the corners of the boxes around all shapes in their links, and the links' rows."""
    rows: list[int] = []
    corners = [np.zeros((0, 3))]
    for row, link in enumerate(body.links):
        for shape in link.visual or link.collision:
            if (box := _box(shape)) is not None:
                corners.append(box.center + (_CORNERS * box.half) @ box.axes.T)
                rows += [row] * len(_CORNERS)
    return rows, np.concatenate(corners)
