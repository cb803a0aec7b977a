"""Distances of a point to the collision shapes of links."""

from __future__ import annotations

from math import inf, pi

import numpy as np

from hrp_model import Link
from hrp_model.rigid import Array
from hrp_model.shapes.tessellate import shape_mesh

_BLOCK = 10_000  # triangles at a time, so that large meshes need little memory


def distance_to_link(link: Link, point: Array) -> float:
    """Return the distance to the nearest collision shape of a link, in [m]; 0 inside, inf without.

    Args:
        link: The link.
        point: In the link's frame, in [m], shape (3,).
    """
    nearest = inf
    for shape in link.collision:
        mesh = shape_mesh(shape, solid=True)
        if len(mesh.triangles) == 0:
            continue
        angle = 0.0
        for start in range(0, len(mesh.triangles), _BLOCK):
            corners = mesh.vertices[mesh.triangles[start : start + _BLOCK]] - point
            angle += _solid_angle(corners)
            nearest = min(nearest, _distance(corners))
        if abs(angle) > 2.0 * pi:  # 4 pi inside a closed surface, 0 outside
            return 0.0
    return nearest


def _distance(corners: Array) -> float:
    """Return the distance from the origin to the nearest of n triangles, shape (n, 3, 3).

    The nearest point of a triangle is the projection of the origin into its plane, if that is
    inside, else a point on an edge.
    """
    start, along = corners, np.roll(corners, -1, axis=1) - corners
    squared = np.einsum("nij,nij->ni", along, along)
    share = -np.einsum("nij,nij->ni", start, along) / np.where(squared > 0.0, squared, 1.0)
    on_edges = start + np.clip(share, 0.0, 1.0)[..., None] * along
    nearest = float(np.linalg.norm(on_edges, axis=2).min())
    normal = np.cross(along[:, 0], along[:, 1])
    length = np.linalg.norm(normal, axis=1)
    sides = np.einsum("nij,nj->ni", np.cross(along, -start), normal)
    inside = (sides >= 0.0).all(axis=1) & (length > 0.0)
    if inside.any():
        heights = np.einsum("ni,ni->n", corners[inside, 0], normal[inside]) / length[inside]
        nearest = min(nearest, float(np.abs(heights).min()))
    return nearest


def _solid_angle(corners: Array) -> float:
    """Return the solid angle of triangles seen from the origin, in [sr]."""
    a, b, c = corners.swapaxes(0, 1)
    lengths = np.linalg.norm(corners, axis=2)
    numerator = np.einsum("ni,ni->n", a, np.cross(b, c))
    denominator = (
        lengths.prod(axis=1)
        + np.einsum("ni,ni->n", a, b) * lengths[:, 2]
        + np.einsum("ni,ni->n", b, c) * lengths[:, 0]
        + np.einsum("ni,ni->n", c, a) * lengths[:, 1]
    )
    return float(2.0 * np.arctan2(numerator, denominator).sum())
