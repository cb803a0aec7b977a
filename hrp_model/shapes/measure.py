"""Measures of a mesh: extent, area, volume."""

from __future__ import annotations

import numpy as np

from ..geometry import Mesh
from ..rigid import Array


def bounding_box(mesh: Mesh) -> tuple[Array, Array] | None:
    """Return the least and greatest corner in [m], each of shape (3,); None without triangles.

    Vertices that no triangle uses do not count.
    """
    if not len(mesh.triangles):
        return None
    used = mesh.vertices[np.unique(mesh.triangles)]
    return used.min(axis=0), used.max(axis=0)


def area(mesh: Mesh) -> float:
    """Return the total area of the triangles, in [m^2]."""
    a, b, c = _corners(mesh)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0)


def signed_volume(mesh: Mesh) -> float:
    """Return the volume that the triangles enclose, in [m^3]; negative when they face inward.

    Divergence theorem: one sixth of the sum of a . (b x c). For a mesh with holes it
    depends on the place of the origin and means nothing.
    """
    a, b, c = _corners(mesh)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def _corners(mesh: Mesh) -> tuple[Array, Array, Array]:
    corners = mesh.vertices[mesh.triangles]
    return corners[:, 0], corners[:, 1], corners[:, 2]
