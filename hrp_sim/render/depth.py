"""Shaders that draw nothing but depths, for surfaces whose colours are of no interest."""

from __future__ import annotations

from typing import NamedTuple

from . import curved
from .shaders import HEADER

# A surface that lets through more than half of what lies behind it does not stop a depth.
OPAQUE_ENOUGH = 0.5


class DepthVariant(NamedTuple):
    """What a pair of shaders is compiled for.

    Attributes:
        transparent: Whether some of the surface may be seen through.
        textured: Whether its texture has a say in that.
        curved: Whether some of it is curved.
    """

    transparent: bool
    textured: bool
    curved: bool

    def sources(self) -> tuple[str, str]:
        """Return the vertex and the fragment shader."""
        words = "".join(f"#define {k.upper()} {v:d}\n" for k, v in self._asdict().items())
        before = HEADER + words
        return before + curved.VERTEX + _VERTEX, before + curved.FRAGMENT + _FRAGMENT


# ``poses`` and ``materials`` are those of ``shaders``.
_VERTEX = """
uniform sampler2D poses;
uniform sampler2D materials;
in vec3 position;
in vec2 uv;
in uvec3 ids;
out vec2 st;
flat out float opacity;

void main() {
    int link = int(ids.x);
    vec4 p = vec4(position, 1.0);
    vec4 x = entry(poses, 3, link, 0);
    vec4 y = entry(poses, 3, link, 1);
    vec4 z = entry(poses, 3, link, 2);
    gl_Position = projection * vec4(dot(x, p), dot(y, p), dot(z, p), 1.0);
#if CURVED
    locate(int(ids.z), x, y, z, p);
#endif
#if TRANSPARENT
    st = uv;
    opacity = entry(materials, 3, int(ids.y), 2).x;
#endif
}
"""

_FRAGMENT = f"""
uniform sampler2D image;
in vec2 st;
flat in float opacity;
out float depth;

void main() {{
#if TRANSPARENT
    float alpha = opacity;
#if TEXTURED
    alpha *= texture(image, st).a;
#endif
    if (alpha < {OPAQUE_ENOUGH}) discard;
#endif
    depth = stretch() / gl_FragCoord.w;
}}
"""
