"""Cameras of films: fixed, following a link, or those of the models; and where the bodies are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import cos, isfinite, radians, sin, tan
from typing import Protocol

import numpy as np

from hrp_model import Body, Pose
from hrp_model.devices import Camera
from hrp_model.diagnostics import names_with_hint
from hrp_model.geometry import Shape
from hrp_model.rigid import Array
from hrp_model.shapes.tessellate import shape_mesh

from ...engine.articulation.numeric_limits import MAX_COORDINATE
from ...render import BodyPoses, Lens, Pinhole, make_lens
from ...render.boxes import OrientedBox, box_around

# Signs of the corners of a box.
_CORNERS = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, 8).T
# A wall is thinner than this share of its other sides.
_MAX_THICKNESS = 0.2
_LEVEL = 0.9999  # z of the normal of a level floor
FIELD_OF_VIEW = 0.6  # [rad], across the shorter side
# Distance of the automatic view relative to the one at which the robots fill the picture.
_MARGIN = 1.2
_FAR = 200.0  # farthest visible point, relative to the distance of the robots
_NEAR = 0.02  # likewise


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


@dataclass(frozen=True)
class Viewpoint:
    """A direction to look from.

    Attributes:
        azimuth: From the x axis of W counter-clockwise to the viewer, in [deg].
        elevation: Of the viewer above the horizon, in [deg].
        distance: To the middle of the robots, in [m]; None so that they are all in the picture.
    """

    azimuth: float = 35.0
    elevation: float = 15.0
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


class View(Protocol):
    """A camera of a film."""

    def look(self, poses: BodyPoses) -> tuple[Lens, Pose]:
        """Return the projection and the pose of the camera at the time of these poses."""


class FixedView:
    """A camera that stays where it is.

    Args:
        size: Width and height of the picture, in pixels.
        viewpoint: Direction to look from.
        points: Points in W to be in the picture, in [m], shape (n, 3).
    """

    def __init__(self, size: tuple[int, int], viewpoint: Viewpoint, points: Array) -> None:
        R_WC = _looking_along(-viewpoint.backward)
        center = (points.min(axis=0) + points.max(axis=0)) / 2.0
        distance = viewpoint.distance or _MARGIN * _distance_of((points - center) @ R_WC, size)
        self._lens = Pinhole(*size, FIELD_OF_VIEW, _NEAR * distance, _FAR * distance)
        self._X_WC = Pose(R_WC, center + distance * viewpoint.backward)

    def look(self, poses: BodyPoses) -> tuple[Pinhole, Pose]:  # noqa: ARG002
        """Return the same projection and pose for all poses."""
        return self._lens, self._X_WC


class FollowingView:
    """A camera that moves as the origin of a link does, without turning.

    Args:
        view: The camera at the start.
        body: Name of the body.
        link: Row of the link.
        poses: At the start.
    """

    def __init__(self, view: View, body: str, link: int, poses: BodyPoses) -> None:
        self._lens, X_WC = view.look(poses)
        self._body, self._link = body, link
        self._R_WC, self._offset = X_WC.R, X_WC.p - poses[body].p[link]

    def look(self, poses: BodyPoses) -> tuple[Lens, Pose]:
        """Return the camera with its offset to the link."""
        return self._lens, Pose(self._R_WC, poses[self._body].p[self._link] + self._offset)


class SensorView:
    """What a camera of a model sees.

    Its lens is that of the sensor, whose images span the shorter side.

    Args:
        size: Width and height of the picture, in pixels.
        body: Name of the body that carries it.
        link: Row of its link.
        device: The camera.

    Raises:
        ValueError: It cannot be rendered.
    """

    def __init__(self, size: tuple[int, int], body: str, link: int, device: Camera) -> None:
        self._body, self._link, self._X_LS = body, link, device.X_LS
        self._lens = make_lens(device, size)

    def look(self, poses: BodyPoses) -> tuple[Lens, Pose]:
        """Return the projection and the pose of the sensor."""
        own = poses[self._body]
        return self._lens, Pose(own.R[self._link], own.p[self._link]) @ self._X_LS


def make_view(
    bodies: Mapping[str, Body],
    shown: Iterable[BodyPoses],
    size: tuple[int, int],
    *,
    viewpoint: Viewpoint,
    follow: str = "",
    camera: str = "",
) -> View:
    """Return the camera of a film or picture.

    Args:
        bodies: The models, by the names of the bodies in the world.
        shown: Poses in which a fixed camera has the robots in the picture; that at the start for
            one that follows a link.
        size: Width and height of the picture, in pixels.
        viewpoint: Direction to look from.
        follow: LINK or BODY/LINK that the camera follows; "" for none.
        camera: CAMERA or BODY/CAMERA of a model, to show what it sees; "" for none.

    Raises:
        ValueError: There is no such camera or link, or the camera cannot be rendered.
    """
    if camera:
        body, device = find_camera(bodies, camera)
        return SensorView(size, body, bodies[body].link_index(device.link), device)
    poses = list(shown)
    extents = Extents(bodies)
    points = np.concatenate([extents.points(each) for each in poses])
    view = FixedView(size, viewpoint, points)
    return FollowingView(view, *find_link(bodies, follow), poses[0]) if follow else view


def find_camera(bodies: Mapping[str, Body], name: str) -> tuple[str, Camera]:
    """Return the body and the device of a camera, given as CAMERA or BODY/CAMERA.

    Raises:
        ValueError: There is none of this name, or several.
    """
    cameras = {
        body: {d.name: d for d in model.devices if isinstance(d, Camera)}
        for body, model in bodies.items()
    }
    body, camera = _find("camera", name, cameras)
    return body, cameras[body][camera]


def find_link(bodies: Mapping[str, Body], name: str) -> tuple[str, int]:
    """Return the body and the row of a link, given as LINK or BODY/LINK.

    Raises:
        ValueError: There is none of this name, or several.
    """
    links = {body: [link.name for link in model.links] for body, model in bodies.items()}
    body, link = _find("link", name, links)
    return body, bodies[body].link_index(link)


def _find(kind: str, name: str, known: Mapping[str, Iterable[str]]) -> tuple[str, str]:
    pairs = [(body, own) for body, names in known.items() for own in names]
    found = [p for p in pairs if p[1] == name] or [p for p in pairs if "/".join(p) == name]
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join("/".join(pair) for pair in found)
        raise ValueError(f"several bodies have a {kind} '{name}': choose {choices}")
    is_unique = len({own for _, own in pairs}) == len(pairs)
    names = [own if is_unique and "/" not in name else f"{body}/{own}" for body, own in pairs]
    raise ValueError(f"there is no {kind} '{name}', only {names_with_hint(name, names)}")


def _looking_along(forward: Array) -> Array:
    """Return the rotation R_WC of an upright camera that looks along a direction in W."""
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    return np.column_stack([right, np.cross(right, forward), -forward])


def _distance_of(points_C: Array, size: tuple[int, int]) -> float:
    """Return the distance from which points relative to their middle fill a picture, in [m]."""
    slope = tan(FIELD_OF_VIEW / 2.0) / min(size)
    x, y, z = np.abs(points_C[:, 0]), np.abs(points_C[:, 1]), points_C[:, 2]
    distance = float((z + np.maximum(x / (slope * size[0]), y / (slope * size[1]))).max())
    return min(max(distance, 0.05), 1e4) if isfinite(distance) else 1.0
