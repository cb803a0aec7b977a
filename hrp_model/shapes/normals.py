"""Normals at the corners of a mesh, given or computed from its faces."""

from __future__ import annotations

from math import cos, pi

import numpy as np

from ..geometry import IntArray, Mesh
from ..rigid import Array

_UP = np.array([0.0, 0.0, 1.0])


def corner_normals(mesh: Mesh) -> Array:
    """Return a unit normal for each corner of each triangle, shape (m, 3, 3).

    Given normals are used. Where they are missing or have no direction, the normal of a corner
    is the mean of the normals of the faces around its vertex that meet its own face at no more
    than the crease angle, weighted by their angles at the vertex. Normals of degenerate faces,
    which are invisible, are +Z.
    """
    generated = _generated_normals(mesh)
    if mesh.normals is None:
        return generated
    return _filled(unit(mesh.normals.values[mesh.normals.indices]), generated)


def unit(vectors: Array) -> Array:
    """Return vectors scaled to length one; zero and non-finite vectors become zero."""
    vectors = np.where(np.isfinite(vectors).all(axis=-1, keepdims=True), vectors, 0.0)
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def _generated_normals(mesh: Mesh) -> Array:
    corners = mesh.vertices[mesh.triangles]
    edges = np.roll(corners, -1, axis=1) - corners
    faces = unit(np.cross(edges[:, 0], edges[:, 1]))
    flat = np.repeat(faces[:, None], 3, axis=1)
    if mesh.crease_angle <= 0.0 or not len(faces):
        return _filled(flat, _UP)
    directions = unit(edges)
    cosines = np.einsum("fci,fci->fc", directions, -np.roll(directions, 1, axis=1))
    weights = np.arccos(np.clip(cosines, -1.0, 1.0))
    order = np.argsort(mesh.triangles, axis=None, kind="stable")
    smooth = _blend(
        mesh.triangles.ravel()[order],
        flat.reshape(-1, 3)[order],
        weights.ravel()[order],
        min(mesh.crease_angle, pi),
    )
    normals = np.empty_like(smooth)
    normals[order] = smooth
    return _filled(normals.reshape(flat.shape), _filled(flat, _UP))


def _filled(vectors: Array, default: Array) -> Array:
    """Replace zero vectors by a default."""
    return np.where(np.any(vectors != 0.0, axis=-1, keepdims=True), vectors, default)


def _blend(vertices: IntArray, normals: Array, weights: Array, crease_angle: float) -> Array:
    """Average the normals of corners, sorted by vertex, over those within the crease angle."""
    weighted = normals * weights[:, None]
    starts = np.flatnonzero(np.diff(vertices, prepend=-1))
    counts = np.diff(starts, append=len(vertices))
    sums = np.add.reduceat(weighted, starts)
    total = np.repeat(sums, counts, axis=0)
    # Normals within half the crease angle of their mean lie within the angle of one another.
    cosines = np.einsum("ki,ki->k", normals, np.repeat(unit(sums), counts, axis=0))
    smooth = np.minimum.reduceat(cosines, starts) >= cos(crease_angle / 2.0)
    rest = np.flatnonzero(~np.repeat(smooth, counts))
    total[rest] = _pairwise(vertices[rest], normals[rest], weighted[rest], cos(crease_angle))
    return unit(total)


def _pairwise(vertices: IntArray, normals: Array, weighted: Array, min_cosine: float) -> Array:
    """Return the sums of ``_blend`` by comparing all pairs of corners of each vertex.

    Corner i is paired with i + 1, i + 2, ... of the same vertex, so that memory does not
    grow with the number of faces at a vertex.
    """
    total = weighted.copy()
    distance = 1
    first = np.arange(max(0, len(vertices) - 1))
    first = first[vertices[first] == vertices[first + 1]]
    while len(first):
        cosine = np.einsum("ki,ki->k", normals[first], normals[first + distance])
        one = first[cosine >= min_cosine - 1e-12]
        total[one] += weighted[one + distance]
        total[one + distance] += weighted[one]
        distance += 1
        first = first[first + distance < len(vertices)]
        first = first[vertices[first] == vertices[first + distance]]
    return total
