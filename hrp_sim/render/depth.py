"""Shaders that draw depths only, without colours."""

from __future__ import annotations

from typing import NamedTuple

from .shaders import sources


class DepthVariant(NamedTuple):
    """Compile-time options of a pair of shaders.

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
