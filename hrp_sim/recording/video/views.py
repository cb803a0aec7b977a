"""Cameras of films: fixed, following a link, or those of the models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite, tan
from typing import Protocol

import numpy as np

from hrp_model import Body, Pose
from hrp_model.devices import Camera
from hrp_model.diagnostics import names_with_hint
from hrp_model.rigid import Array
from hrp_model.shapes.extents import Extents, Viewpoint, first_viewpoint, sphere

from ...engine.state import BodyPoses
from ...render import Lens, Pinhole, make_lens

FIELD_OF_VIEW = 0.6  # [rad], across the shorter side
# Distance of the automatic view relative to the one at which the robots fill the picture.
_MARGIN = 1.2
_FAR = 200.0  # farthest visible point, relative to the distance of the robots
_NEAR = 0.02  # likewise


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
        distance = viewpoint.distance or fitting_distance(viewpoint.backward, points, size)
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
    viewpoint: Viewpoint | None = None,
    follow: str = "",
    camera: str = "",
) -> View:
    """Return the camera of a film or picture.

    Args:
        bodies: The models, by the names of the bodies in the world.
        shown: Poses in which a fixed camera has the robots in the picture; that at the start for
            one that follows a link.
        size: Width and height of the picture, in pixels.
        viewpoint: Direction to look from; None for ``first_viewpoint``.
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
    if viewpoint is None:
        target, radius = sphere(extents.points(poses[0]))
        viewpoint = first_viewpoint(
            extents,
            poses[0],
            points,
            lambda backward: fitting_distance(backward, points, size),
            lambda eye: extents.walls_between(eye, target, radius / 2.0, poses[0]),
        )
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


def fitting_distance(backward: Array, points: Array, size: tuple[int, int]) -> float:
    """Return the distance from which points are in a picture, with a margin, in [m].

    Args:
        backward: Unit vector in W to the viewer, shape (3,).
        points: In W, in [m], shape (n, 3).
        size: Width and height of the picture, in pixels.
    """
    center = (points.min(axis=0) + points.max(axis=0)) / 2.0
    points_C = (points - center) @ _looking_along(-backward)
    slope = tan(FIELD_OF_VIEW / 2.0) / min(size)
    x, y, z = np.abs(points_C[:, 0]), np.abs(points_C[:, 1]), points_C[:, 2]
    distance = float((z + np.maximum(x / (slope * size[0]), y / (slope * size[1]))).max())
    return _MARGIN * min(max(distance, 0.05), 1e4) if isfinite(distance) else _MARGIN
