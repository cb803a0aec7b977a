"""Triangles as a binary STL file, in single precision."""

from __future__ import annotations

import struct

import numpy as np

from ...geometry import Mesh
from ...rigid import Array
from ...shapes.normals import unit

_HEADER = b"binary STL, hrp_ros".ljust(80)  # one that begins with "solid" would announce text
_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def stl(mesh: Mesh) -> bytes | None:
    """Return a mesh as binary STL; None if no triangle has an area.

    Triangles without an area in single precision are left out: nothing touches them, and
    whatever takes normals or hulls of a mesh stumbles over them.
    """
    normals = face_normals(mesh)
    kept = normals.any(axis=1)
    if not kept.any():
        return None
    facets = np.zeros(np.count_nonzero(kept), _FACET)
    facets["normal"] = normals[kept]
    facets["corners"] = mesh.vertices[mesh.triangles[kept]]
    return _HEADER + struct.pack("<I", len(facets)) + facets.tobytes()


def face_normals(mesh: Mesh) -> Array:
    """Return unit normals of the triangles, their corners rounded to single precision.

    Zero for triangles that have no area then, or corners that are no such numbers.
    Shape (m, 3).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        vertices = mesh.vertices.astype(np.float32).astype(np.float64)
        a, b, c = (vertices[mesh.triangles[:, i]] for i in range(3))
        return unit(np.cross(b - a, c - a))
