"""Studio pictures, which are made for people: light, ground and shaders. Does not call OpenGL.

The shaders share vertices, poses and materials with those of the sensors (``shaders``), whose
images they do not affect. Colours of models are sRGB values; light is added up in linear space.
The lights of the models are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hrp_model import Pose
from hrp_model.rigid import Array

from .shaders import Variant, sources

# Texels along each side of the shadow map.
MAP_SIZE = 768
# Distances between lines of the grid, in [m].
FINE, COARSE = 0.2, 1.0
# How far the map reaches beyond the center, away from the light, relative to the radius.
_BEHIND = 1.5

# The block ``Studio`` of the shaders, in the layout std140; matrices are column-major.
BLOCK = np.dtype(
    [
        ("shadow", "f4", (4, 4)),
        ("X_WC", "f4", (4, 4)),
        ("light", "f4", 3),
        ("offset", "f4"),
        ("ground", "f4"),
        ("reach", "f4"),
        ("slopes", "f4", 2),
    ]
)


@dataclass(frozen=True)
class Studio:
    """A directional light with soft shadows, and a ground with a grid.

    Attributes:
        toward_light: Unit vector in W.
        center: Middle in W of the region in which shapes cast shadows, in [m].
        radius: Of that region across the light, in [m].
        height: Of that region above its middle, towards the light, in [m]. Walls and ceilings that
            lie higher cast no shadows.
        ground: Height of the ground, in [m]. Its grid is also drawn on floors of this height.
        reach: Distance from the camera at which the ground has faded to about a third, in [m].
    """

    toward_light: Sequence[float]
    center: Array
    radius: float
    height: float
    ground: float = 0.0
    reach: float = 20.0

    def light_frame(self) -> tuple[Pose, Array]:
        """Return the pose X_WS of the frame S of the shadow map, and its projection.

        S looks along -Z at the region. Its origin is a corner of a texel whatever the center, so
        that the edges of shadows do not flicker. The projection has shape (4, 4).
        """
        z = np.asarray(self.toward_light, float)
        x = np.cross((0.0, 1.0, 0.0) if abs(z[1]) < 0.9 else (1.0, 0.0, 0.0), z)
        x /= np.linalg.norm(x)
        R_WS = np.column_stack([x, np.cross(z, x), z])
        texel = 2.0 * self.radius / MAP_SIZE
        center_S = np.round(R_WS.T @ self.center / texel) * texel
        X_WS = Pose(R_WS, R_WS @ (center_S + np.array([0.0, 0.0, self.height])))
        length = self.height + _BEHIND * self.radius
        projection = np.diag([1.0 / self.radius, 1.0 / self.radius, -2.0 / length, 1.0])
        projection[2, 3] = -1.0
        return X_WS, projection

    def block(self, X_WC: Pose, slopes: tuple[float, float]) -> bytes:
        """Return the data of the shaders for a camera C.

        Args:
            X_WC: Pose of the camera.
            slopes: x/z and y/z at the edge of the image.
        """
        X_WS, projection = self.light_frame()
        to_texture = np.array([[0.5, 0, 0, 0.5], [0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5], [0, 0, 0, 1]])
        data = np.zeros((), BLOCK)
        data["shadow"] = (to_texture @ projection @ (X_WS.inverse() @ X_WC).matrix()).T
        data["X_WC"] = X_WC.matrix().T
        data["light"] = X_WC.R.T @ np.asarray(self.toward_light, float)
        # Receivers are moved by some texels towards their outside, so as not to shade themselves.
        data["offset"] = 3.0 * 2.0 * self.radius / MAP_SIZE
        data["ground"], data["reach"], data["slopes"] = self.ground, self.reach, slopes
        return data.tobytes()


class StudioVariant(NamedTuple):
    """Compile-time options of the shaders of surfaces, from those for sensors."""

    surface: Variant

    def sources(self) -> tuple[str, str]:
        """Return the vertex and the fragment shader."""
        return sources(self.surface._asdict(), _BLOCK + _LIGHT + _SURFACE)


_BLOCK = """
layout(std140) uniform Studio {
    mat4 shadow;  // from C to coordinates of the shadow map
    mat4 X_WC;
    vec4 light;  // unit vector towards it, in C; w: offset of receivers [m]
    vec4 ground;  // height, reach, x/z and y/z at the edge of the image
};
"""

_LIGHT = f"""
uniform sampler2D shadows;
#define MAP_SIZE {MAP_SIZE}
#define FINE {FINE}
#define COARSE {COARSE}
#define FROM_LIGHT 0.80
#define FROM_SKY vec3(0.46, 0.50, 0.55)
#define FROM_GROUND vec3(0.26, 0.25, 0.24)
#define FROM_EYE 0.12
"""
_LIGHT += """
vec3 linear(vec3 c) {
    return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c));
}

vec3 encoded(vec3 c) {
    c = clamp(c, 0.0, 1.0);
    return mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c));
}

// Returns the share of the light that reaches a point with this normal, both in C.
float visible(vec3 p, vec3 n) {
    vec3 s = vec3(shadow * vec4(p + light.w * n, 1.0));
    vec2 edge = smoothstep(0.42, 0.5, abs(s.xy - 0.5));
    // The mean of 3 x 3 bilinear samples, by the 4 x 4 texels that they have in common.
    vec2 texel = s.xy * float(MAP_SIZE) - 0.5;
    ivec2 first = ivec2(floor(texel)) - 1;
    vec2 f = fract(texel);
    vec4 wx = vec4(1.0 - f.x, 1.0, 1.0, f.x);
    vec4 wy = vec4(1.0 - f.y, 1.0, 1.0, f.y);
    float sum = 0.0;
    for (int j = 0; j < 4; ++j) {
        vec4 d;
        for (int i = 0; i < 4; ++i) {
            ivec2 place = clamp(first + ivec2(i, j), ivec2(0), ivec2(MAP_SIZE - 1));
            d[i] = texelFetch(shadows, place, 0).x;
        }
        sum += wy[j] * dot(wx, step(vec4(s.z), d));
    }
    return mix(sum / 9.0, 1.0, max(edge.x, edge.y));
}

vec3 illuminated(vec3 base, vec3 n, vec3 to_eye, float share) {
    float up = 0.5 + 0.5 * dot(vec3(X_WC[0].z, X_WC[1].z, X_WC[2].z), n);
    vec3 received = mix(FROM_GROUND, FROM_SKY, up) + FROM_EYE * max(dot(n, to_eye), 0.0);
    return base * (received + FROM_LIGHT * share * max(dot(n, light.xyz), 0.0));
}

// Returns the background in a direction in W: brightest at the horizon.
vec3 backdrop(vec3 direction) {
    float height = normalize(direction).z;
    return mix(vec3(0.72, 0.77, 0.83), vec3(0.26, 0.36, 0.50), smoothstep(0.0, 0.7, height));
}

// Returns how much lines at multiples of a distance cover a pixel.
float lines(vec2 p, float distance, float width) {
    vec2 pixel = max(fwidth(p), 1e-6);
    vec2 off = abs(fract(p / distance - 0.5) - 0.5) * distance / pixel;
    vec2 covered = clamp(0.5 * width + 0.5 - off, 0.0, 1.0);
    covered *= clamp(1.5 - 5.0 * pixel / distance, 0.0, 1.0);  // none where they would merge
    return max(covered.x, covered.y);
}

float grid(vec2 p) { return max(0.16 * lines(p, FINE, 1.0), 0.42 * lines(p, COARSE, 1.8)); }
"""

_SURFACE = """
uniform sampler2D image;
in vec3 p_C;
in vec3 n_C;
in vec3 diffuse;
in vec2 st;
flat in vec4 emissive;
flat in vec4 specular;
flat in float opacity;
out vec4 pixel;

void main() {
    vec3 base = diffuse;
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
    vec3 n = normalize(n_C);
    if (!gl_FrontFacing) n = -n;
    vec3 to_eye = normalize(-p_C);
    float share = visible(p_C, n);
    vec3 c = linear(emissive.rgb) + illuminated(linear(base), n, to_eye, share);
#if SHINY
    vec3 half_way = normalize(light.xyz + to_eye);
    float mirrored = pow(max(dot(n, half_way), 0.0), specular.a);
    c += 0.5 * linear(specular.rgb) * mirrored * share * step(0.0, dot(n, light.xyz));
#endif
    vec3 p_W = vec3(X_WC * vec4(p_C, 1.0));
    vec3 n_W = mat3(X_WC) * n;
    float on_ground = step(0.999, n_W.z) * step(abs(p_W.z - ground.x), 2e-3);
    c *= 1.0 - on_ground * grid(p_W.xy);
    pixel = vec4(encoded(c), alpha);
}
"""

_VERSION = "#version 330\n"

BACKDROP = (
    _VERSION
    + _BLOCK
    + """
out vec3 direction;
void main() {
    vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    // Row 0 of the image is at y = -1.
    direction = mat3(X_WC) * vec3(corner.x * ground.z, -corner.y * ground.w, -1.0);
    gl_Position = vec4(corner, 1.0, 1.0);  // at the far plane
}
""",
    _VERSION
    + _BLOCK
    + _LIGHT
    + """
in vec3 direction;
out vec4 pixel;
void main() { pixel = vec4(encoded(backdrop(direction)), 1.0); }
""",
)

# Corners of a square below the camera; its edge has faded.
GROUND = (
    _VERSION
    + _BLOCK
    + """
uniform mat4 projection_C;
out vec3 p_C;
out vec2 p_W;
void main() {
    vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 2.0 - 1.0;
    p_W = X_WC[3].xy + 4.0 * ground.y * corner;
    p_C = vec3((vec4(p_W, ground.x, 1.0) - X_WC[3]) * X_WC);
    gl_Position = projection_C * vec4(p_C, 1.0);
}
""",
    _VERSION
    + _BLOCK
    + _LIGHT
    + """
in vec3 p_C;
in vec2 p_W;
out vec4 pixel;
void main() {
    vec3 n = vec3(X_WC[0].z, X_WC[1].z, X_WC[2].z);
    vec3 c = illuminated(vec3(0.55, 0.56, 0.58), n, normalize(-p_C), visible(p_C, n));
    c *= 1.0 - grid(p_W);
    float d = length(p_C) / ground.y;
    pixel = vec4(encoded(mix(backdrop(mat3(X_WC) * p_C), c, exp(-d * d))), 1.0);
}
""",
)
