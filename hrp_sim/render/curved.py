"""Exact depths of curved primitives, although they are drawn as triangles.

A facet of a circle with 20 corners lies up to 1.2 % of the radius inside the surface. So the ray
of a pixel is continued from the facet to the quadric x^2 + z^2 + k y^2 = w of a frame S, between
y = -1 and y = 1: a sphere, or the side of a cylinder or of a cone about Y.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from hrp_model.geometry import Capsule, Cone, Cylinder, Geometry, Mesh, Shape, Sphere
from hrp_model.rigid import Array

_SPHERE, _CYLINDER, _CONE = (1.0, 1.0), (0.0, 1.0), (-1.0, 0.0)  # k and w

_EPSILON = float(np.finfo(np.float32).eps)
# Largest acceptable rounding error of coordinates in S.
_MAX_ROUNDING = 1e-3
# Largest scale to S for which squared distances fit single precision.
_MAX_SCALE = 1e9

# ``surfaces`` contains the rows of T_SL, and (k, w, 0, 0); all are 0 for flat surfaces.
VERTEX = """
#if CURVED
uniform sampler2D surfaces;
out vec3 p_S;
flat out vec3 eye_S;
flat out vec2 quadric;

// x, y, z are the rows of [R_CL | p_CL], p is in L.
void locate(int surface, vec4 x, vec4 y, vec4 z, vec4 p) {
    vec4 eye = vec4(-(x.xyz * x.w + y.xyz * y.w + z.xyz * z.w), 1.0);
    for (int i = 0; i < 3; ++i) {
        vec4 row = entry(surfaces, 4, surface, i);
        p_S[i] = dot(row, p);
        eye_S[i] = dot(row, eye);
    }
    quadric = entry(surfaces, 4, surface, 3).xy;
}
#endif
"""

FRAGMENT = """
#if CURVED
in vec3 p_S;
flat in vec3 eye_S;
flat in vec2 quadric;

// Returns the depth of the surface relative to that of the facet. The facet is inside the surface:
// if its front is visible, the ray has entered through the surface or through one of the ends.
float stretch() {
    vec3 ray = p_S - eye_S;
    vec3 scaled = vec3(1.0, quadric.x, 1.0) * p_S;
    float c = dot(scaled, p_S) - quadric.y;
    float b = dot(scaled, ray);
    float a = dot(vec3(1.0, quadric.x, 1.0) * ray, ray);
    if (c == 0.0) return 1.0;
    float root = sqrt(max(b * b - a * c, 0.0));
    float t = c / (gl_FrontFacing ? root - b : -root - b);
    if (ray.y != 0.0) {
        float end = gl_FrontFacing == (ray.y > 0.0) ? -1.0 : 1.0;
        float t_end = (end - p_S.y) / ray.y;
        t = gl_FrontFacing ? max(t, t_end) : min(t, t_end);
    }
    return max(1.0 + t, 0.0);
}
#else
float stretch() { return 1.0; }
#endif
"""


def curved_surfaces(
    shape: Shape, mesh_G: Mesh, mesh_L: Mesh
) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return the curved surfaces of a shape, and the surface of each triangle.

    Args:
        shape: In the frame L of its link.
        mesh_G: Its triangles in the frame G of its geometry.
        mesh_L: The same triangles in L.

    Returns:
        The rows of T_SL, and (k, w, 0, 0), of each surface, shape (surfaces, 4, 4); and for each
        triangle the number of its surface, from 1, or 0 if it is flat. Surfaces that single
        precision cannot resolve, because they are too small or too far from L, count as flat.
    """
    rows: list[Array] = []
    numbers = np.zeros(len(mesh_G.triangles), np.uint32)
    with np.errstate(all="ignore"):  # values that are not finite fail the comparisons
        for T_SG, quadric, triangles in _parts(shape.geometry, mesh_G):
            T_SL = T_SG[:3] @ _inverse(shape.T_FG)
            summands = np.abs(T_SL) * [*np.abs(mesh_L.vertices).max(axis=0), 1.0]
            if summands.max() * _EPSILON < _MAX_ROUNDING and np.abs(T_SL).max() < _MAX_SCALE:
                rows.append(np.vstack([T_SL, [*quadric, 0.0, 0.0]]))
                numbers[triangles] = len(rows)
    return np.array(rows, dtype=np.float32).reshape(-1, 4, 4), numbers


def _inverse(T: Array) -> Array:
    """Return the inverse of an affine map; NaN if it is singular."""
    try:
        return np.asarray(np.linalg.inv(T))
    except np.linalg.LinAlgError:
        return np.full((4, 4), nan)


_Part = tuple[Array, tuple[float, float], NDArray[np.bool_]]


def _parts(geometry: Geometry, mesh_G: Mesh) -> Iterator[_Part]:
    """Yield T_SG, (k, w), and a mask of the triangles, of each surface."""
    if not isinstance(geometry, Sphere | Cylinder | Capsule | Cone) or geometry.radius <= 0.0:
        return
    r = geometry.radius
    y = mesh_G.vertices[mesh_G.triangles, 1]
    if isinstance(geometry, Sphere):
        yield _frame(r, r, 0.0), _SPHERE, np.ones(len(y), bool)
    elif isinstance(geometry, Cylinder):
        if geometry.height > 0.0:
            yield _frame(r, geometry.height / 2.0, 0.0), _CYLINDER, np.ptp(y, axis=1) > 0.0
    elif isinstance(geometry, Cone):
        # Its apex is the origin of S.
        if geometry.height > 0.0:
            h = geometry.height
            yield _frame(r, h, h / 2.0), _CONE, np.ptp(y, axis=1) > 0.0
    else:
        middle = geometry.height / 2.0
        yield _frame(r, r, middle), _SPHERE, y.mean(axis=1) > middle
        yield _frame(r, r, -middle), _SPHERE, y.mean(axis=1) < -middle
        # A cylinder without ends, since the surface continues smoothly.
        yield _frame(r, inf, 0.0), _CYLINDER, np.abs(y.mean(axis=1)) <= middle


def _frame(radius: float, length: float, y: float) -> Array:
    """Return T_SG: the unit of S is a radius across and a length along Y, its origin is at y."""
    T_SG = np.diag(1.0 / np.array([radius, length, radius, 1.0]))
    T_SG[1, 3] = -y * T_SG[1, 1]
    return T_SG
