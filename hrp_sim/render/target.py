"""Where pictures of one size are drawn, and how they come back as arrays."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from . import gl_calls
from .view import Depths, Parts, Picture, Pixels


class Target:
    """Framebuffers of one size that share what is nearest; made when first drawn to.

    Depths have a plane of their own, in [m] as float32: the depth buffer, which only finds
    out what hides what, has 24 bits, most of them spent right before the near plane. At
    150 m behind a near plane of 4 cm it would be off by 5e-4 of the depth.

    Args:
        context: Of OpenGL.
        size: Width and height in pixels.
    """

    def __init__(self, context: Any, size: tuple[int, int]) -> None:
        self._context = context
        self._size = size
        self._nearest = context.depth_renderbuffer(size)

    @cached_property
    def color(self) -> Any:
        """Takes colours only."""
        return self._framebuffer(self._colors)

    @cached_property
    def depth(self) -> Any:
        """Takes depths only."""
        return self._framebuffer(self._depths)

    @cached_property
    def both(self) -> Any:
        """Takes colours and depths, as the first and the second output of a shader."""
        return self._framebuffer(self._colors, self._depths)

    def clear(self, background: tuple[float, float, float], parts: Parts) -> None:
        """Begin a picture: nothing is anywhere."""
        if parts.color:
            self.color.clear(*background, 1.0, depth=1.0)
        if parts.depth:
            self.depth.clear(inf, depth=1.0)

    def read(self, parts: Parts) -> Picture:
        """Return what was drawn."""
        width, height = self._size
        colors: Pixels | None = None
        depths: Depths | None = None
        if parts.color:
            colors = np.empty((height, width, 3), np.uint8)
            gl_calls.read(self.color, colors)
        if parts.depth:
            depths = np.empty((height, width), np.float32)
            gl_calls.read(self.depth, depths)
        return Picture(colors, depths)

    @cached_property
    def _colors(self) -> Any:
        return self._context.renderbuffer(self._size, 3)

    @cached_property
    def _depths(self) -> Any:
        return self._context.renderbuffer(self._size, 1, dtype="f4")

    def _framebuffer(self, *planes: Any) -> Any:
        return self._context.framebuffer(planes, self._nearest)
