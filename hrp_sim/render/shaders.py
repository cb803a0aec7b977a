"""Shaders for VRML97's lighting model (ISO/IEC 14772-1, 4.14.4), evaluated per pixel.

The colour of a material is its emissive colour plus, for each light, an ambient term, a Lambertian
diffuse term, and Blinn's specular highlight. There are no shadows.

The headlight shines along the optical axis. Part of its light is scattered and reaches every
surface from all sides: a surface that faces the camera shows its diffuse colour, one seen edge-on
``SCATTERED_LIGHT`` of it. The ambient intensity of the material is not used for this, since models
rarely set it meaningfully; Choreonoid ignores it, too.

``poses`` contains, for each link L, the three rows of [R_CL | p_CL] for the camera frame C.
``materials`` contains (emissive, ambient intensity), (specular, exponent), (opacity, 0, 0, 0).

Depths of curved primitives are exact, although these are drawn as triangles. A facet of a circle
with 20 corners lies up to 1.2 % of the radius inside the surface. So the ray of a pixel is
continued from the facet to the quadric x^2 + z^2 + k y^2 = w of a frame S, between y = -1 and
y = 1: a sphere, or the side of a cylinder or of a cone about Y.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.geometry import Capsule, Cone, Cylinder, Geometry, Mesh, Shape, Sphere
from hrp_model.rigid import Array

from .gl import ENTRY

_SPHERE, _CYLINDER, _CONE = (1.0, 1.0), (0.0, 1.0), (-1.0, 0.0)  # k and w

_EPSILON = float(np.finfo(np.float32).eps)
# Largest acceptable rounding error of coordinates in S.
_MAX_ROUNDING = 1e-3
# Largest scale to S for which squared distances fit single precision.
_MAX_SCALE = 1e9

# ``surfaces`` contains the rows of T_SL, and (k, w, 0, 0); all are 0 for flat surfaces.
_CURVED_VERTEX = """
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

_CURVED_FRAGMENT = """
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


# Without it a floor seen at a low angle would be nearly black.
SCATTERED_LIGHT = 0.4

# Minimum opacity of surfaces in depth images, and of texture pixels that are not holes.
OPAQUE_ENOUGH = 0.5

MAX_LIGHTS = 16


class Variant(NamedTuple):
    """Compile-time options of a pair of shaders, so that pixels compute only what they need.

    Attributes:
        lights: Number of lights without the headlight.
        spots: Number of spot lights among them; they come last.
        textured: Whether there is a texture.
        grey: Whether it scales the diffuse colour; else it replaces it (VRML97, table 4.5).
        see_through: Whether it has opacities; colours are premultiplied with them.
        cut_out: Whether pixels that are not opaque enough are discarded, and the others opaque.
        curved: Whether depths are requested and some are of curved surfaces.
        shiny: Whether there are highlights.
    """

    lights: int
    spots: int
    textured: bool = False
    grey: bool = False
    see_through: bool = False
    cut_out: bool = False
    curved: bool = False
    shiny: bool = False

    def sources(self) -> tuple[str, str]:
        """Return the vertex and the fragment shader."""
        return sources(self._asdict(), _FRAGMENT)


class DepthVariant(NamedTuple):
    """Compile-time options of a pair of shaders that draw depths only.

    Attributes:
        transparent: Whether parts of the surface may be transparent.
        textured: Whether its texture affects transparency.
        curved: Whether parts of it are curved.
    """

    transparent: bool
    textured: bool
    curved: bool

    def sources(self) -> tuple[str, str]:
        """Return the vertex and the fragment shader."""
        return sources(self._asdict(), _DEPTH_FRAGMENT)


def sources(macros: Mapping[str, int], fragment: str) -> tuple[str, str]:
    """Return the vertex and a fragment shader, with these preprocessor macros."""
    header = _HEADER + "".join(f"#define {k.upper()} {v:d}\n" for k, v in macros.items())
    return header + _CURVED_VERTEX + _VERTEX, header + _CURVED_FRAGMENT + fragment


# Data shared by everything in one image; VIEW in ``lights`` has its layout.
_HEADER = f"""
#version 330
struct Light {{
    vec4 place;  // w = 1: its position; w = 0: unit vector towards it
    vec4 color;  // w: its radius
    vec4 ambient;
    vec4 attenuation;  // w: the exponent of a spot
    vec4 axis;  // of a spot; w: the angle of the outer cone
    float steepness;  // of a spot: 1 / (angle of the outer cone - angle of the inner one)
}};
layout(std140) uniform View {{
    mat4 projection;
    vec4 headlight;  // xyz: unit vector towards it; w: its strength
    Light lights[{MAX_LIGHTS}];
}};
#define SCATTERED {SCATTERED_LIGHT}
#define OPAQUE_ENOUGH {OPAQUE_ENOUGH}
{ENTRY}"""

# Outputs that a fragment shader does not use are optimized away.
_VERTEX = """
uniform sampler2D poses;
uniform sampler2D materials;
in vec3 position;
in vec3 normal;
in vec3 color;
in vec2 uv;
in uvec3 ids;
out vec3 p_C;
out vec3 n_C;
out vec3 diffuse;
out vec2 st;
flat out vec4 emissive;
flat out vec4 specular;
flat out float opacity;

void main() {
    int link = int(ids.x);
    int material = int(ids.y);
    vec4 x = entry(poses, 3, link, 0);
    vec4 y = entry(poses, 3, link, 1);
    vec4 z = entry(poses, 3, link, 2);
    vec4 p = vec4(position, 1.0);
    p_C = vec3(dot(x, p), dot(y, p), dot(z, p));
    n_C = vec3(dot(x.xyz, normal), dot(y.xyz, normal), dot(z.xyz, normal));
    diffuse = color;
    st = uv;
    emissive = entry(materials, 3, material, 0);
    specular = entry(materials, 3, material, 1);
    opacity = entry(materials, 3, material, 2).x;
    gl_Position = projection * vec4(p_C, 1.0);
#if CURVED
    locate(int(ids.z), x, y, z, p);
#endif
}
"""

_FRAGMENT = """
uniform sampler2D image;
in vec3 p_C;
in vec3 n_C;
in vec3 diffuse;
in vec2 st;
flat in vec4 emissive;
flat in vec4 specular;
flat in float opacity;
layout(location = 0) out vec4 pixel;
layout(location = 1) out float depth;

vec3 n;  // normal of the visible side
vec3 to_eye;
vec3 base;

// Returns the diffuse colour and the highlight due to light from a direction.
vec3 lit(vec3 from) {
    float facing = dot(n, from);
    vec3 color = base * max(facing, 0.0);
#if SHINY
    vec3 half_way = from + to_eye;
    half_way *= inversesqrt(max(dot(half_way, half_way), 1e-12));
    float mirrored = pow(max(dot(n, half_way), 0.0), specular.a);
    color += specular.rgb * (mirrored * step(0.0, facing));
#endif
    return color;
}

#if LIGHTS
float cone(Light light) {
    float angle = acos(clamp(dot(normalize(p_C - light.place.xyz), light.axis.xyz), -1.0, 1.0));
    float share = clamp((light.axis.w - angle) * light.steepness, 0.0, 1.0);
    return share > 0.0 ? pow(share, light.attenuation.w) : 0.0;
}

vec3 shine(Light light, float strength) {
    vec3 from = light.place.xyz - light.place.w * p_C;
    float d = length(from);
    vec3 c = light.attenuation.xyz;
    strength *= step(d, light.color.w) / max(c.x + d * (c.y + d * c.z), 1.0);
    vec3 scattered = light.ambient.rgb * emissive.a * base;
    return strength * (light.color.rgb * lit(from / max(d, 1e-6)) + scattered);
}
#endif

void main() {
    base = diffuse;
    float alpha = opacity;
#if TEXTURED
    vec4 texel = texture(image, st);
#if SEE_THROUGH
    texel.rgb /= max(texel.a, 1e-3);
#endif
    base = GREY == 1 ? base * texel.rgb : texel.rgb;
    alpha *= texel.a;
#endif
#if CUT_OUT
    if (alpha < OPAQUE_ENOUGH) discard;
#endif
    n = normalize(n_C);
    if (!gl_FrontFacing) n = -n;
    to_eye = normalize(-p_C);
    vec3 scattered = SCATTERED * base * (1.0 - max(dot(n, headlight.xyz), 0.0));
    vec3 c = emissive.rgb + headlight.w * (lit(headlight.xyz) + scattered);
#if LIGHTS
    // Loops to constants are unrolled; llvmpipe takes three times as long for others.
    for (int i = 0; i < LIGHTS - SPOTS; ++i) c += shine(lights[i], 1.0);
    for (int i = LIGHTS - SPOTS; i < LIGHTS; ++i) c += shine(lights[i], cone(lights[i]));
#endif
    pixel = vec4(c, alpha);
    depth = stretch() / gl_FragCoord.w;
}
"""

_DEPTH_FRAGMENT = """
uniform sampler2D image;
in vec2 st;
flat in float opacity;
out float depth;

void main() {
#if TRANSPARENT
    float alpha = opacity;
#if TEXTURED
    alpha *= texture(image, st).a;
#endif
    if (alpha < OPAQUE_ENOUGH) discard;
#endif
    depth = stretch() / gl_FragCoord.w;
}
"""
