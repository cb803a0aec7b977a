"""Which contact points of two shapes are simulated, as in ``hrp_sim/engine/ode/_core_patch.c``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import ode

from hrp_model.rigid import Array

_SIMILAR = 0.95  # cosine of the angle within which normals are similar
_SAME_PLACE = 1e-6  # points closer than this are one, in [m]
_SAME_SHARE = 1e-4  # likewise, relative to the extent of the points
_CLEARLY_DEEPER = 1e-5  # [m]


def reduced(contacts: Sequence[ode.Contact], max_count: int) -> list[ode.Contact]:
    """Select at most so many contacts of each direction, the corners of their convex hulls."""
    if len(contacts) < 2:
        return list(contacts)
    params = [contact.getContactGeomParams() for contact in contacts]
    places, normals = (np.array([row[k] for row in params]) for k in (0, 1))
    depths = np.array([depth for _, _, depth, *_ in params])
    left, kept = list(range(len(contacts))), []
    while left:
        seed = max(left, key=lambda i: depths[i])
        similar = normals[left] @ normals[seed] > _SIMILAR
        members = [
            i for i, is_similar in zip(left, similar, strict=True) if is_similar or i == seed
        ]
        left = [i for i in left if i not in members]
        plane = np.linalg.svd(normals[seed][None])[2][1:]
        chosen = _select(places[members] @ plane.T, depths[members], max_count)
        kept += [members[i] for i in chosen]
    return [contacts[i] for i in _alternating(sorted(kept), places)]


def _select(points: Array, depths: Array, max_count: int) -> set[int]:
    """Return the indices of at most so many points of a plane, shape (n, 2)."""
    near = max(_SAME_PLACE, _SAME_SHARE * float(np.ptp(points, axis=0).max()))

    def deepest_near(i: int) -> int:
        close = np.flatnonzero(np.linalg.norm(points - points[i], axis=1) <= near)
        return int(close[np.argmax(depths[close])])

    if len(points) <= max_count:
        return {deepest_near(i) for i in range(len(points))}
    deepest = int(np.argmax(depths))
    if max_count == 1:
        return {deepest}
    corners = [deepest_near(i) for i in _fewer(_hull(points), points, max_count)]
    if depths[deepest] > depths[corners].max() + _CLEARLY_DEEPER:
        corners = [*_fewer(corners, points, max_count - 1), deepest]
    return set(corners)


def _area(a: Array, b: Array, c: Array) -> float:
    """Return twice the area of a triangle, positive if it is counter-clockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _hull(points: Array) -> list[int]:
    """Return the corners of the convex hull, counter-clockwise."""
    order = np.lexsort((points[:, 1], points[:, 0])).tolist()
    hull: list[int] = []
    for way in (order, order[::-1]):
        start = len(hull)
        for i in way:
            while (
                len(hull) > start + 1 and _area(points[hull[-2]], points[hull[-1]], points[i]) <= 0
            ):
                hull.pop()
            hull.append(i)
        hull.pop()
    return hull


def _fewer(hull: list[int], points: Array, max_count: int) -> list[int]:
    """Drop the corner that spans the least area, until few are left."""
    hull = list(hull)
    while len(hull) > max_count:
        n = len(hull)
        around = [
            (points[hull[k - 1]], points[hull[k]], points[hull[(k + 1) % n]]) for k in range(n)
        ]
        if n > 3:
            losses = [_area(*three) for three in around]
        else:  # keep the longest side
            losses = [-float(np.linalg.norm(after - before)) for before, _, after in around]
        del hull[int(np.argmin(losses))]
    return hull


def _alternating(kept: list[int], places: Array) -> list[int]:
    """Return points in an order in which each is the one farthest from all before it."""
    order = kept[:1]
    left = kept[1:]
    while left:
        away = np.linalg.norm(places[left][:, None] - places[order], axis=2).min(axis=1)
        order.append(left.pop(int(np.argmax(away))))
    return order
