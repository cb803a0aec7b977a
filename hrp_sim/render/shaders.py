"""The shading: VRML97's lighting model (ISO/IEC 14772-1, 4.14.4), one pixel at a time.

A material shows its emissive colour, and what each light adds: ambient light, diffuse by
Lambert's cosine, and Blinn's highlight. Nothing casts a shadow.

The headlight shines along the optical axis. Part of its light is scattered about and reaches
every surface from all sides, so that one which faces the camera shows its diffuse colour and
one seen edge-on ``SCATTERED_LIGHT`` of that, whatever ambient intensity its material has:
models rarely mean what they say there, and Choreonoid draws them all alike, too.

``poses`` holds, for each link L, the three rows of [R_CL | p_CL], C being the camera.
``materials`` holds (emissive, ambient intensity), (specular, exponent), (opacity, 0, 0, 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import curved
from .data_texture import ENTRY

# Without it a floor seen at a low angle would be nearly black under a headlight.
SCATTERED_LIGHT = 0.4

# The least opacity that stops a depth, or is no hole in a texture that has holes.
OPAQUE_ENOUGH = 0.5

MAX_LIGHTS = 16


class Variant(NamedTuple):
    """What a pair of shaders is compiled for, so that no pixel pays for what it does not need.

    Attributes:
        lights: How many lights there are but for the headlight.
        spots: How many of these are spot lights; they come last.
        textured: Whether there is a texture.
        grey: Whether it scales the diffuse colour; else it replaces it (VRML97, table 4.5).
        see_through: Whether it has opacities; colours are multiplied with them already.
        cut_out: Whether what is not opaque enough is left out, and the rest opaque.
        curved: Whether depths are asked for and some are of curved surfaces.
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


def sources(words: Mapping[str, int], fragment: str) -> tuple[str, str]:
    """Return the vertex and a fragment shader, for these words of the preprocessor."""
    before = _HEADER + "".join(f"#define {k.upper()} {v:d}\n" for k, v in words.items())
    return before + curved.VERTEX + _VERTEX, before + curved.FRAGMENT + fragment


# What is the same for all that is drawn in one picture; VIEW in ``lights`` is its layout.
_HEADER = f"""
#version 330
struct Light {{
    vec4 place;  // w = 1: where it is; w = 0: whence its rays come, a unit vector
    vec4 color;  // w: its radius
    vec4 ambient;
    vec4 attenuation;  // w: the exponent of a spot
    vec4 axis;  // of a spot; w: the angle of the outer cone
    float steepness;  // of a spot: 1 / (angle of the outer cone - angle of the inner one)
}};
layout(std140) uniform View {{
    mat4 projection;
    float headlight;
    Light lights[{MAX_LIGHTS}];
}};
#define SCATTERED {SCATTERED_LIGHT}
#define OPAQUE_ENOUGH {OPAQUE_ENOUGH}
{ENTRY}"""

# What a fragment shader does not take is not computed.
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

vec3 n;  // of the side that is seen
vec3 to_eye;
vec3 base;

// Returns what light that comes from a direction adds to the colour, and its highlight.
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
    vec3 scattered = SCATTERED * base * (1.0 - max(n.z, 0.0));
    vec3 c = emissive.rgb + headlight * (lit(vec3(0.0, 0.0, 1.0)) + scattered);
#if LIGHTS
    // Loops to constants are unrolled: llvmpipe takes three times as long for others.
    for (int i = 0; i < LIGHTS - SPOTS; ++i) c += shine(lights[i], 1.0);
    for (int i = LIGHTS - SPOTS; i < LIGHTS; ++i) c += shine(lights[i], cone(lights[i]));
#endif
    pixel = vec4(c, alpha);
    depth = stretch() / gl_FragCoord.w;
}
"""
