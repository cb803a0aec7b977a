"""Triangles as a binary STL file, in single precision."""

from __future__ import annotations

import struct

import numpy as np

from ...geometry import Mesh
from ...rigid import Array
from ...shapes.normals import unit

_HEADER = b"binary STL, hrp_ros".ljust(80)  # "solid" at the start would mean a text file
_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def stl(mesh: Mesh) -> bytes | None:
    """Return a mesh as binary STL; None if no triangle has an area.

    Triangles without area in single precision are left out: they have no effect on contacts,
    and programs that compute normals or hulls fail on them.
    """
    normals = face_normals(mesh)
    valid = normals.any(axis=1)
    if not valid.any():
        return None
    facets = np.zeros(np.count_nonzero(valid), _FACET)
    facets["normal"] = normals[valid]
    facets["corners"] = mesh.vertices[mesh.triangles[valid]]
    return _HEADER + struct.pack("<I", len(facets)) + facets.tobytes()


def face_normals(mesh: Mesh) -> Array:
    """Return the unit normals of the triangles after rounding to single precision, shape (m, 3).

    Zero for triangles without area, or with corners that are not finite then.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        vertices = mesh.vertices.astype(np.float32).astype(np.float64)
        a, b, c = (vertices[mesh.triangles[:, i]] for i in range(3))
        return unit(np.cross(b - a, c - a))
