"""Draws studio pictures of an uploaded scene."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import moderngl
import numpy as np

from hrp_model import Pose

from . import gl_calls
from .gpu import GpuScene
from .studio import BLOCK, MAP_SIZE, Studio
from .studio_shaders import BACKDROP, GROUND, StudioVariant
from .view import BodyPoses, Pinhole, Pixels

SAMPLES = 4  # of each pixel, for smooth edges


class _Target(NamedTuple):
    """A framebuffer with several samples per pixel, and one for the averaged image."""

    drawn: Any
    averaged: Any


class GpuStudio:
    """Draws studio pictures. Only the thread that created it may use it.

    Args:
        context: Of moderngl.
        gpu: The uploaded scene.

    Attributes:
        gpu: The uploaded scene.
    """

    def __init__(self, context: Any, gpu: GpuScene) -> None:
        self._context = context
        self.gpu = gpu
        self._block = context.buffer(reserve=BLOCK.itemsize)
        self._targets: dict[tuple[int, int], _Target] = {}

    def draw(self, lens: Pinhole, X_WC: Pose, poses: BodyPoses, studio: Studio) -> Pixels:
        """Return a picture, with row 0 at the top, shape (height, width, 3).

        Raises:
            RuntimeError: OpenGL failed, for lack of memory or because of too many links.
        """
        slopes = lens.width / 2.0 / lens.intrinsics.fx, lens.height / 2.0 / lens.intrinsics.fy
        self._block.write(studio.block(X_WC, slopes))
        self._draw_shadows(poses, studio)
        target = self._target(lens)
        context = self._context
        self.gpu.place(X_WC, poses)
        self.gpu.set_up(lens.projection())
        self._block.bind_to_uniform_block(1)
        self._shadow_map.use(4)
        target.drawn.clear(depth=1.0)
        target.drawn.use()
        for drawable in self.gpu.opaque:
            self.gpu.begin(drawable)
            variant = StudioVariant(drawable.variant(0, 0, measured=False))
            gl_calls.draw(self.gpu.array(drawable, variant))
        if X_WC.p[2] > studio.ground:
            self._draw_ground(lens)
        context.disable(moderngl.CULL_FACE)
        context.depth_func = "<="  # the depth of the empty buffer
        self._backdrop.render(moderngl.TRIANGLES, vertices=3)
        context.depth_func = "<"
        if self.gpu.transparent:
            self.gpu.draw_transparent(
                target.drawn,
                lambda drawable: StudioVariant(drawable.variant(0, 0, measured=False)),
            )
        context.copy_framebuffer(target.averaged, target.drawn)
        pixels = np.empty((lens.height, lens.width, 3), np.uint8)
        gl_calls.read(target.averaged, pixels)
        self.gpu.check()
        return pixels

    def _draw_shadows(self, poses: BodyPoses, studio: Studio) -> None:
        """Draw the depths of opaque shapes as seen from the light."""
        X_WS, projection = studio.light_frame()
        context = self._context
        self.gpu.place(X_WS, poses)
        self.gpu.set_up(projection)
        context.disable(moderngl.CULL_FACE)
        self._shadow_target.clear(depth=1.0)
        self._shadow_target.use()
        for drawable in (*self.gpu.opaque, *self.gpu.transparent):
            self.gpu.begin(drawable, cull=False)
            variant = drawable.depth_variant()._replace(curved=False)
            gl_calls.draw(self.gpu.array(drawable, variant))

    def _draw_ground(self, lens: Pinhole) -> None:
        """Draw the ground, behind floors of the same height."""
        context = self._context
        context.disable(moderngl.CULL_FACE)
        self._ground.program["projection_C"].write(lens.projection().T.astype("f4").tobytes())
        context.polygon_offset = 1.0, 8.0
        self._ground.render(moderngl.TRIANGLE_STRIP, vertices=4)
        context.polygon_offset = 0.0, 0.0

    def _target(self, lens: Pinhole) -> _Target:
        size = lens.width, lens.height
        if size not in self._targets:
            context = self._context
            samples = min(SAMPLES, context.max_samples)
            self._targets[size] = _Target(
                context.framebuffer(
                    [context.renderbuffer(size, 3, samples=samples)],
                    context.depth_renderbuffer(size, samples=samples),
                ),
                context.framebuffer([context.renderbuffer(size, 3)]),
            )
        return self._targets[size]

    @cached_property
    def _shadow_map(self) -> Any:
        texture = self._context.depth_texture((MAP_SIZE, MAP_SIZE))
        texture.compare_func = ""  # the shaders compare
        texture.filter = moderngl.NEAREST, moderngl.NEAREST
        return texture

    @cached_property
    def _shadow_target(self) -> Any:
        return self._context.framebuffer([], self._shadow_map)

    @cached_property
    def _backdrop(self) -> Any:
        return self._context.vertex_array(self.gpu.linked(*BACKDROP), [])

    @cached_property
    def _ground(self) -> Any:
        return self._context.vertex_array(self.gpu.linked(*GROUND), [])
