"""Framebuffers for images of one size, and their transfer to arrays."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from . import gl_calls
from .view import Depths, Parts, Picture, Pixels


class Target:
    """Framebuffers of one size with a common depth buffer; created when first used.

    Depths have a plane of their own, in [m] as float32. The depth buffer is used for occlusion
    only: it has 24 bits, most of the resolution near the near plane. At 150 m with a near plane
    at 4 cm its error would be 5e-4 of the depth.

    Args:
        context: Of OpenGL.
        size: Width and height in pixels.
    """

    def __init__(self, context: Any, size: tuple[int, int]) -> None:
        self._context = context
        self._size = size
        self._depth_buffer = context.depth_renderbuffer(size)

    @cached_property
    def color(self) -> Any:
        """Framebuffer with colours only."""
        return self._framebuffer(self._colors)

    @cached_property
    def depth(self) -> Any:
        """Framebuffer with depths only."""
        return self._framebuffer(self._depths)

    @cached_property
    def both(self) -> Any:
        """Framebuffer with colours and depths, the first and second output of a shader."""
        return self._framebuffer(self._colors, self._depths)

    def clear(self, background: tuple[float, float, float], parts: Parts) -> None:
        """Clear the framebuffers for a new image."""
        if parts.color:
            self.color.clear(*background, 1.0, depth=1.0)
        if parts.depth:
            self.depth.clear(inf, depth=1.0)

    def read(self, parts: Parts) -> Picture:
        """Return the image."""
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
        return self._context.framebuffer(planes, self._depth_buffer)
