"""Point clouds of the shapes of a body, whose convex hulls approximate the shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model import Body
from hrp_model.geometry import Shape
from hrp_model.rigid import Array
from hrp_model.shapes.measure import boxes_overlap, used_vertices
from hrp_model.shapes.tessellate import shape_mesh

from ..engine.state import SimulatedBody
from .convex_distance import hull_distance
from .results import BoundsType

# Segments of round shapes, whose hulls deviate by less than 0.2 % of the radius.
_DIVISIONS = 64
_clouds: WeakKeyDictionary[Body, list[tuple[int, Array]]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Bounds:
    """A region of space.

    Attributes:
        type: A ``BoundsType``.
        points: In [m], shape (n, 3). For a BOX the upper and the lower corner, for a CONVEX_HULL
            its vertices, for a SPHERE the centre, and the radius as x of a second point.
    """

    type: int = BoundsType.EMPTY
    points: Array = field(default_factory=lambda: np.zeros((0, 3)))


def link_points(simulated: SimulatedBody) -> list[tuple[int, Array]]:
    """Return link index and points of each shape, in W, in [m], shape (n, 3).

    These are the collision shapes, or the visual shapes if there are none.
    """
    if simulated.body not in _clouds:
        _clouds[simulated.body] = _local_points(simulated.body)
    R, p = simulated.motion.R, simulated.motion.p
    return [(k, cloud @ R[k].T + p[k]) for k, cloud in _clouds[simulated.body]]


def overlaps(simulated: SimulatedBody, bounds: Bounds) -> bool:
    """Return whether the convex hull of any shape of a body touches a region of space."""
    points = bounds.points
    margin = 0.0
    if bounds.type == BoundsType.SPHERE:
        margin, points = float(points[1, 0]), points[:1]
    elif bounds.type == BoundsType.BOX:
        points = np.array(list(product(*points.T)))
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    return any(
        bool(boxes_overlap(cloud.min(axis=0), cloud.max(axis=0), low, high))
        and hull_distance(cloud, points) <= margin
        for _, cloud in link_points(simulated)
    )


def _local_points(body: Body) -> list[tuple[int, Array]]:
    found = [(k, _points(shape)) for k, link in enumerate(body.links) for shape in link.collision]
    found = [(k, cloud) for k, cloud in found if len(cloud)]
    if found:
        return found
    visual = [(k, _points(shape)) for k, link in enumerate(body.links) for shape in link.visual]
    return [(k, cloud) for k, cloud in visual if len(cloud)]


def _points(shape: Shape) -> Array:
    """Return the corners of a shape, in the frame of its link."""
    mesh = shape_mesh(shape, _DIVISIONS, solid=True)
    points: Array = used_vertices(mesh)
    return points[np.all(np.isfinite(points), axis=1)]
