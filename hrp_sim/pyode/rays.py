"""Distances along rays: ``ode/_core_rays.c``."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import ode

from hrp_model.rigid import Array

from ..ode._core import guarded


class Rays:
    """Casts rays. One ray of ODE serves them all."""

    def __init__(self) -> None:
        self._ray = ode.GeomRay(None, 1.0)

    def cast(
        self, geoms: Sequence[Any], origins: Array, directions: Array, max_distance: float
    ) -> Array:
        """Return the distance to the nearest shape along each ray, or inf, shape (n,)."""
        nearest = np.full(len(origins), max_distance)
        if geoms and len(origins):
            boxes = np.array([g.getAABB() for g in geoms]).reshape(-1, 3, 2)
            hits = _meet_boxes(boxes, origins, directions, max_distance)
            for n in np.flatnonzero(hits.any(axis=1)).tolist():
                found = [geoms[k] for k in np.flatnonzero(hits[n]).tolist()]
                ray = origins[n].tolist(), directions[n].tolist()
                nearest[n] = self._nearest(found, *ray, max_distance)
        return np.where(nearest < max_distance, nearest, inf)

    def _nearest(
        self, geoms: Sequence[Any], origin: list[float], direction: list[float], reach: float
    ) -> float:
        ray, nearest = self._ray, reach
        ray.set(origin, direction)
        ray.setLength(nearest)
        for geom in geoms:
            for hit in guarded(ode.collide, ray, geom)[:1]:
                depth = hit.getContactGeomParams()[2]
                if depth < nearest:
                    nearest = depth
                    ray.setLength(nearest)
        return nearest


def _meet_boxes(boxes: Array, origins: Array, directions: Array, reach: float) -> Array:
    """Tell which rays meet which boxes, slab by slab, shape (rays, boxes)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / directions[:, None]
        a = (boxes[:, :, 0] - origins[:, None]) * inverse
        b = (boxes[:, :, 1] - origins[:, None]) * inverse
    # fmin and fmax pass over the NaN of a ray that lies in the face of a box.
    near = np.fmax.reduce(np.fmin(a, b), axis=2, initial=0.0)
    far = np.fmin.reduce(np.fmax(a, b), axis=2, initial=reach)
    meet: Array = near <= far
    return meet
