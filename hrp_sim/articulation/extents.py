"""How large a shape is."""

from __future__ import annotations

import numpy as np

from hrp_model.geometry import Box, Capsule, Mesh, Shape, Sphere
from hrp_model.rigid import Array


def extent(shape: Shape) -> tuple[Array, Array] | None:
    """Return centre and half size of a shape's box along the axes of its geometry.

    Returns:
        Two arrays in [m], before the shape's own map, each of shape (3,); None for an empty mesh.
    """
    geometry = shape.geometry
    if isinstance(geometry, Mesh):
        if not len(geometry.triangles):
            return None
        low, high = geometry.vertices.min(axis=0), geometry.vertices.max(axis=0)
        return (low + high) / 2.0, (high - low) / 2.0
    if isinstance(geometry, Box):
        return np.zeros(3), geometry.size / 2.0
    radius = geometry.radius
    half = radius if isinstance(geometry, Sphere) else geometry.height / 2.0
    half += radius if isinstance(geometry, Capsule) else 0.0
    return np.zeros(3), np.array([radius, half, radius])
