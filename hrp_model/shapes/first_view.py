"""The camera with which films, pictures and pages begin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from math import cos, degrees, radians, sin

import numpy as np
from numpy.typing import NDArray

from ..geometry import Shape
from ..rigid import Array
from .extents import BodyPoses, Extents, sphere

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
        visible = 1.0 - float(np.mean(_hidden(eye, samples, triangles, solid)))
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


def _hidden(
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
