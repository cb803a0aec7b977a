"""Where pictures of one size are drawn, and how they come back as arrays."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
            _read(self.color, colors, "f1")
        if parts.depth:
            depths = np.empty((height, width), np.float32)
            _read(self.depth, depths, "f4")
        return Picture(colors, depths)

    @cached_property
    def _colors(self) -> Any:
        return self._context.renderbuffer(self._size, 3)

    @cached_property
    def _depths(self) -> Any:
        return self._context.renderbuffer(self._size, 1, dtype="f4")

    def _framebuffer(self, *planes: Any) -> Any:
        return self._context.framebuffer(planes, self._nearest)


def _read(framebuffer: Any, pixels: NDArray[Any], dtype: str) -> None:
    """Fill an array of shape (height, width) or (height, width, components)."""
    components = pixels.shape[2] if pixels.ndim == 3 else 1
    framebuffer.read_into(pixels, components=components, alignment=1, dtype=dtype)
