"""Studio pictures, which are made for people: shadows, ground and shaders. Does not call OpenGL.

The light is that of ``hrp_model.shapes.light``; the lights of the models are not used. The shaders
share vertices, poses and materials with those of the sensors (``shaders``), whose images they do
not affect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.shapes import light

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
        ("ground", "f4"),
        ("reach", "f4"),
        ("slopes", "f4", 2),
        ("offset", "f4", 4),  # the rest is padding
    ]
)


@dataclass(frozen=True)
class Studio:
    """Soft shadows of the key light, and a ground with a grid.

    Attributes:
        center: Middle in W of the region in which shapes cast shadows, in [m].
        radius: Of that region across the light, in [m].
        height: Of that region above its middle, towards the light, in [m]. Walls and ceilings that
            lie higher cast no shadows.
        ground: Height of the ground, in [m]. Its grid is also drawn on floors of this height.
        reach: Distance from the camera at which the ground has faded to about a third, in [m].
    """

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
        z = light.KEY.direction
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
        # Receivers are moved by some texels towards their outside, so as not to shade themselves.
        data["offset"][0] = 3.0 * 2.0 * self.radius / MAP_SIZE
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
    vec4 ground;  // height, reach, x/z and y/z at the edge of the image
    float offset;  // of receivers [m]
};
"""


def _vector(numbers: Iterable[float]) -> str:
    """Return numbers as a vector of the shading language."""
    return f"vec3({', '.join(f'{x:.9g}' for x in numbers)})"


def _rows(matrix: NDArray[np.floating]) -> str:
    """Return a matrix M of shape (3, 3), transposed: ``v * matrix`` is M v."""
    return f"mat3({', '.join(map(_vector, matrix))})"


def _linear(srgb: tuple[float, float, float]) -> str:
    return _vector(light.linear(np.array(srgb)))


_LIGHT = f"""
uniform sampler2D shadows;
#define MAP_SIZE {MAP_SIZE}
#define FINE {FINE}
#define COARSE {COARSE}
const float PI = 3.14159265;
const vec3 KEY = {_vector(light.KEY.direction)};
const vec3 FILL = {_vector(light.FILL.direction)};
const float FROM_KEY = {light.KEY.strength};
const float FROM_FILL = {light.FILL.strength};
const vec3 FROM_SKY = {_vector(light.SKY)};
const vec3 FROM_GROUND = {_vector(light.GROUND)};
const vec3 GROUND_COLOR = {_linear(light.GROUND_COLOR)};
const vec3 HORIZON = {_linear(light.HORIZON_COLOR)};
const vec3 ZENITH = {_linear(light.ZENITH_COLOR)};
const mat3 TO_FIT = {_rows(light.TO_FIT)};
const mat3 FROM_FIT = {_rows(light.FROM_FIT)};
const mat3 INTO_FIT = {_rows(np.linalg.inv(light.FROM_FIT))};
const mat3 OUT_OF_FIT = {_rows(np.linalg.inv(light.TO_FIT))};
const vec3 NO_ALBEDO = {_vector(light.albedo(np.zeros(3)))};
"""
_A, _B, _C, _D, _E = light.FIT
_LIGHT += f"""
// The functions of hrp_model.shapes.light, for linear colours.
vec3 toned(vec3 radiance) {{
    vec3 x = radiance * TO_FIT;
    return clamp((x * (x + {_A}) - {_B}) / (x * ({_C} * x + {_D}) + {_E}) * FROM_FIT, 0.0, 1.0);
}}

vec3 untoned(vec3 color) {{
    vec3 y = color * INTO_FIT;
    vec3 h = 0.5 * ({_A} - {_D} * y);
    vec3 rest = 1.0 - {_C} * y;
    return (sqrt(h * h + rest * ({_B} + {_E} * y)) - h) / rest * OUT_OF_FIT;
}}

vec3 albedo(vec3 color) {{
    vec3 wanted = mix(vec3({light.LEAST}), vec3(1.0), clamp(color, 0.0, 1.0)) * {light.EXPOSURE};
    vec3 found = untoned(wanted);
    float lack = -min(found.r, min(found.g, found.b)) / max(found.r, max(found.g, found.b));
    return max(untoned(wanted * (1.0 - 2.0 * max(lack - {light.PALENESS}, 0.0))), 0.0);
}}
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
    vec3 s = vec3(shadow * vec4(p + offset * n, 1.0));
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

// Returns the irradiance of a surface with this normal in W.
vec3 irradiance(vec3 n_W, float share) {
    float key = FROM_KEY * share * max(dot(n_W, KEY), 0.0);
    float fill = FROM_FILL * max(dot(n_W, FILL), 0.0);
    return mix(FROM_GROUND, FROM_SKY, 0.5 + 0.5 * n_W.z) + key + fill;
}

// Returns the background in a direction in W: brightest at the horizon.
vec3 backdrop(vec3 direction) {
    return mix(HORIZON, ZENITH, smoothstep(0.0, 0.7, normalize(direction).z));
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

#if SHINY
// Returns the highlight of a directional light towards KEY: glTF's dielectric microfacets
// (KHR_materials_specular), GGX with Smith's masking and a^2 = 2 / (exponent + 2).
vec3 mirrored(vec3 n, vec3 to_eye) {
    vec3 half_way = normalize(KEY + to_eye);
    float nl = max(dot(n, KEY), 0.0);
    float nv = max(dot(n, to_eye), 0.0);
    float nh = max(dot(n, half_way), 0.0);
    float a2 = 2.0 / (specular.a + 2.0);
    float d = nh * nh * (a2 - 1.0) + 1.0;
    float spread = a2 / (PI * d * d);
    float masked = nl * sqrt(a2 + (1.0 - a2) * nv * nv) + nv * sqrt(a2 + (1.0 - a2) * nl * nl);
    vec3 color = clamp(specular.rgb, 0.0, 1.0);
    float grazing = pow(1.0 - max(dot(to_eye, half_way), 0.0), 5.0);
    float strongest = max(color.r, max(color.g, color.b));
    return PI * nl * spread * 0.5 / max(masked, 1e-6) * mix(0.04 * color, vec3(strongest), grazing);
}
#endif

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
    vec3 n_W = mat3(X_WC) * n;
    vec3 c = albedo(linear(emissive.rgb)) - NO_ALBEDO;
    c += albedo(linear(base)) * irradiance(n_W, share);
#if SHINY
    c += mirrored(n_W, mat3(X_WC) * to_eye) * FROM_KEY * share;
#endif
    vec3 p_W = vec3(X_WC * vec4(p_C, 1.0));
    c = toned(c);
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
    vec3 up = vec3(0.0, 0.0, 1.0);
    vec3 c = toned(albedo(GROUND_COLOR) * irradiance(up, visible(p_C, n)));
    c *= 1.0 - grid(p_W);
    float d = length(p_C) / ground.y;
    pixel = vec4(encoded(mix(backdrop(mat3(X_WC) * p_C), c, exp(-d * d))), 1.0);
}
""",
)
