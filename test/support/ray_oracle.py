"""Distances along rays in closed form: convex solids as intervals, meshes by triangles."""

import numpy as np

from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Sphere

_QUIET = {"divide": "ignore", "invalid": "ignore"}


def distances(solids, origins, directions):
    """Return the distance to the first surface of a solid, from either side, shape (n,).

    Args:
        solids: Pairs of a geometry and the Pose in W of its frame.
        origins: In W, shape (n, 3).
        directions: Unit vectors in W, shape (n, 3).
    """
    nearest = np.full(len(origins), np.inf)
    for geometry, X_WG in solids:
        o, d = (origins - X_WG.p) @ X_WG.R, directions @ X_WG.R
        met = _of_mesh(geometry, o, d) if isinstance(geometry, Mesh) else _of_solid(geometry, o, d)
        nearest = np.minimum(nearest, met)
    return nearest


def _of_solid(geometry, o, d):
    enter, leave = _INSIDE[type(geometry)](geometry, o, d)
    met = np.where(enter >= 0.0, enter, leave)  # from within: the exit point
    return np.where((enter <= leave) & (met >= 0.0), met, np.inf)


def _box(box, o, d):
    return _slabs(o, d, np.asarray(box.size) / 2.0)


def _sphere(sphere, o, d):
    return _quadratic(np.ones(len(o)), (o * d).sum(1), (o * o).sum(1) - sphere.radius**2)


def _cylinder(cylinder, o, d):
    ends = _slabs(o[:, 1:2], d[:, 1:2], np.array([cylinder.height / 2.0]))
    side = _tube(cylinder.radius, o, d)
    return np.maximum(ends[0], side[0]), np.minimum(ends[1], side[1])


def _capsule(capsule, o, d):
    tip = np.array([0.0, capsule.height / 2.0, 0.0])
    parts = [_cylinder(capsule, o, d)]
    parts += [_sphere(capsule, o - end, d) for end in (tip, -tip)]
    met = [np.where(a <= b, (a, b), ((np.inf,), (-np.inf,))) for a, b in parts]
    # The capsule is convex, so a ray is inside of it in one interval.
    return np.min([a for a, _ in met], axis=0), np.max([b for _, b in met], axis=0)


_INSIDE = {Box: _box, Sphere: _sphere, Cylinder: _cylinder, Capsule: _capsule}


def _slabs(o, d, half):
    with np.errstate(**_QUIET):
        a, b = (-half - o) / d, (half - o) / d
    return np.nanmax(np.minimum(a, b), axis=1), np.nanmin(np.maximum(a, b), axis=1)


def _tube(radius, o, d):
    o, d = o[:, [0, 2]], d[:, [0, 2]]
    return _quadratic((d * d).sum(1), (o * d).sum(1), (o * o).sum(1) - radius**2)


def _quadratic(a, half_b, c):
    """Return the interval in which a t^2 + 2 half_b t + c <= 0; NaN for none."""
    with np.errstate(**_QUIET):
        root = np.sqrt(half_b * half_b - a * c)
        return (-half_b - root) / a, (-half_b + root) / a


def _of_mesh(mesh, origins, directions):
    """Return the distances to triangles (Moeller and Trumbore, 1997), from either side."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    ab, ac = b - a, c - a
    nearest = np.full(len(origins), np.inf)
    for i, (o, d) in enumerate(zip(origins, directions, strict=True)):
        with np.errstate(**_QUIET):
            across, away = np.cross(d, ac), o - a
            volume = (ab * across).sum(1)
            u = (away * across).sum(1) / volume
            v = np.cross(away, ab) @ d / volume
            t = (ac * np.cross(away, ab)).sum(1) / volume
        met = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= 0.0)
        nearest[i] = t[met].min(initial=np.inf)
    return nearest
