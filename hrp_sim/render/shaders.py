"""The shading: a headlight that shines along the line of sight, and ambient light.

A surface that faces the camera shows its diffuse colour, one seen edge-on that colour
times the share of ``ambient_share``; the emissive colour is added as it is. The
highlight is Blinn's, as in VRML97's lighting model (ISO/IEC 14772-1, 4.14.4).

``poses`` holds, for each link L, the three rows of [R_CL | p_CL], C being the camera.
``materials`` holds (emissive, share), (specular, shininess), (opacity, 0, 0, 0).
"""

from __future__ import annotations

# What is scattered about reaches every surface: without it, a floor seen at a low angle
# would be nearly black under a headlight.
SCATTERED_LIGHT = 0.3


def ambient_share(ambient: float) -> float:
    """Return the share of its diffuse colour that a surface shows when seen edge-on, 0..1."""
    return min(SCATTERED_LIGHT + ambient, 1.0)


VERTEX = """
#version 330
uniform sampler2D poses;
uniform sampler2D materials;
uniform mat4 projection;
in vec3 position;
in vec3 normal;
in vec3 color;
in vec2 uv;
in uvec2 ids;
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
    vec4 x = texelFetch(poses, ivec2(0, link), 0);
    vec4 y = texelFetch(poses, ivec2(1, link), 0);
    vec4 z = texelFetch(poses, ivec2(2, link), 0);
    vec4 p = vec4(position, 1.0);
    p_C = vec3(dot(x, p), dot(y, p), dot(z, p));
    n_C = vec3(dot(x.xyz, normal), dot(y.xyz, normal), dot(z.xyz, normal));
    diffuse = color;
    st = uv;
    emissive = texelFetch(materials, ivec2(0, material), 0);
    specular = texelFetch(materials, ivec2(1, material), 0);
    opacity = texelFetch(materials, ivec2(2, material), 0).x;
    gl_Position = projection * vec4(p_C, 1.0);
}
"""

# The two words are 0 or 1: whether there is a texture, whether it is grey. A coloured
# texture replaces the diffuse colour, a grey one scales it (VRML97, table 4.5).
FRAGMENT = """
#version 330
#define TEXTURED %d
#define GREY %d
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

void main() {
    vec3 base = diffuse;
    float alpha = opacity;
#if TEXTURED
    vec4 texel = texture(image, st);
    base = GREY == 1 ? base * texel.rgb : texel.rgb;
    alpha *= texel.a;
#endif
    vec3 n = normalize(n_C);
    if (!gl_FrontFacing) n = -n;
    float lit = max(n.z, 0.0);
    vec3 c = emissive.rgb + base * mix(emissive.a, 1.0, lit);
    if (specular.r + specular.g + specular.b > 0.0 && lit > 0.0) {
        vec3 half_way = normalize(vec3(0.0, 0.0, 1.0) - normalize(p_C));
        c += specular.rgb * pow(max(dot(n, half_way), 0.0), specular.a);
    }
    pixel = vec4(c, alpha);
    depth = 1.0 / gl_FragCoord.w;
}
"""
