"""Where robots, walls and floors of a world are, and the camera with which pictures begin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from math import cos, degrees, radians, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..body import Body
from ..geometry import Color, Shape
from ..late_dataclass import dataclass
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


# Of candidates, in [deg] from the front of the robot, to its left and to its right.
_AZIMUTHS = 35.0, 70.0, 110.0, 145.0, 180.0
_ELEVATIONS = 18.0, 42.0, 65.0  # likewise, in [deg]
_DISTANCES = 1.0, 0.7, 0.45, 0.28  # relative to that at which the robots fill the picture
_ENOUGH = 0.9  # visible share of the robots at which the first candidate is taken
_MAX_SAMPLES = 24
# Points are as far inside of the robots' boxes, so that the floor does not hide them.
_INSET = 0.2
# Pairs of lines of sight and triangles that are compared at once, and until the best candidate so
# far is taken: about a second.
_BLOCK, _MAX_PAIRS = 1 << 20, 1 << 24


@dataclass(frozen=True)
class Viewpoint:
    """A direction to look from.

    Attributes:
        azimuth: From the x axis of W counter-clockwise to the viewer, in [deg].
        elevation: Of the viewer above the horizon, in [deg].
        distance: To the middle of the robots, in [m]; None so that they are all in the picture.
    """

    azimuth: float = 35.0
    elevation: float = 18.0
    distance: float | None = None

    def __post_init__(self) -> None:
        if not abs(self.azimuth) <= 360.0 or not abs(self.elevation) <= 89.0:
            raise ValueError("azimuth must be within +-360 and elevation within +-89 degrees")
        if self.distance is not None and not 1e-3 <= self.distance <= 1e4:
            raise ValueError("distance must be from 0.001 to 10000 m")

    @property
    def backward(self) -> Array:
        """Unit vector in W from the robots to the viewer, shape (3,)."""
        azimuth, elevation = radians(self.azimuth), radians(self.elevation)
        around = cos(elevation)
        return np.array([around * cos(azimuth), around * sin(azimuth), sin(elevation)])


def first_viewpoint(
    extents: Extents,
    poses: BodyPoses,
    points: Array,
    distance_of: Callable[[Array], float],
    vanishing: Callable[[Array], Collection[Shape]],
) -> Viewpoint:
    """Return a viewpoint from which the robots can be seen, near the front of the first one.

    Of the candidates it is the first one, by distance, elevation and angle to the front (+x of the
    root link), from which nothing that stands still hides the robots, else the one that sees most
    of them; among many triangles, only the first few are tried. It is not inside of a shape, unless
    the robots are, too.

    Args:
        extents: Of the world.
        poses: Of all links at the start.
        points: In W, which should be in the picture, in [m], shape (n, 3).
        distance_of: Returns the distance at which they fill it, in [m], for a unit vector in W
            from them to the viewer.
        vanishing: Returns the shapes that are not drawn for a viewer at a point in W.
    """
    middle = sphere(points).center
    samples = points[:: -(-len(points) // _MAX_SAMPLES)]
    samples = np.vstack([middle, samples + _INSET * (middle - samples)])
    best, most, pairs = Viewpoint(), -1.0, 0
    for share, azimuth, elevation in _candidates(_heading(extents, poses)):
        view = Viewpoint(azimuth, elevation)
        distance = share * distance_of(view.backward)
        eye = middle + distance * view.backward
        if extents.is_inside(eye, poses):
            continue
        triangles, solid = extents.obstacles(poses, vanishing(eye))
        visible = 1.0 - float(np.mean(hidden(eye, samples, triangles, solid)))
        if visible > most:
            most = visible
            best = view if share == 1.0 else Viewpoint(azimuth, elevation, distance)
        pairs += len(samples) * len(triangles)
        if visible >= _ENOUGH or pairs > _MAX_PAIRS:
            break
    return best


def _candidates(heading: float) -> Iterator[tuple[float, float, float]]:
    """Yield relative distances, azimuths and elevations, the best first."""
    for share in _DISTANCES:
        for elevation in _ELEVATIONS:
            for angle in _AZIMUTHS:
                for side in (1.0, -1.0):
                    yield share, (heading + side * angle + 180.0) % 360.0 - 180.0, elevation


def _heading(extents: Extents, poses: BodyPoses) -> float:
    """Return the azimuth of the front of the first robot, in [deg]."""
    for name in extents.robots:
        if name in poses and len(poses[name][1]):
            x, y, _ = poses[name][1][0][:, 0].tolist()
            return degrees(float(np.arctan2(y, x))) if abs(x) + abs(y) > 1e-6 else 0.0
    return 0.0


def hidden(
    eye: Array, points: Array, triangles: Array, solid: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which points a viewer does not see for triangles (Moeller and Trumbore 1997).

    Args:
        eye: Position of the viewer, shape (3,).
        points: Shape (n, 3).
        triangles: Their corners, shape (m, 3, 3).
        solid: Whether only the front of each is visible, shape (m,).
    """
    a = triangles[:, 0]
    e1, e2 = triangles[:, 1] - a, triangles[:, 2] - a
    is_drawn = ~solid | (np.einsum("mi,mi->m", np.cross(e1, e2), eye - a) > 0.0)
    a, e1, e2 = a[is_drawn], e1[is_drawn], e2[is_drawn]
    hidden = np.zeros(len(points), bool)
    rows = max(_BLOCK // max(len(points), 1), 1)
    for first in range(0, len(a), rows):
        part = slice(first, first + rows)
        hidden |= _crosses(eye, points, a[part], e1[part], e2[part]).any(axis=1)
    return hidden


def _crosses(eye: Array, points: Array, a: Array, e1: Array, e2: Array) -> NDArray[np.bool_]:
    """Return whether the line from the viewer to a point crosses a triangle, shape (n, m)."""
    d = (points - eye)[:, np.newaxis]
    s = eye - a
    q = np.cross(s, e1)
    p = np.cross(d, e2)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1.0 / np.einsum("mi,nmi->nm", e1, p)
        u = np.einsum("mi,nmi->nm", s, p) * scale
        v = np.einsum("nki,mi->nm", d, q) * scale
        t = np.einsum("mi,mi->m", e2, q) * scale
        return np.asarray((u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0) & (t < 1.0))
