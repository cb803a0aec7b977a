"""Shaders that draw nothing but depths, for surfaces whose colours are of no interest."""

from __future__ import annotations

from typing import NamedTuple

from .shaders import sources


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
        return sources(self._asdict(), _FRAGMENT)


_FRAGMENT = """
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
