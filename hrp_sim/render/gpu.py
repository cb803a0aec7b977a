"""Uploads a scene to an OpenGL context, and draws it: images of sensors and studio pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import moderngl
import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ..engine.state import BodyPoses
from . import gl
from .gl import DataTexture, Target
from .lights import VIEW, Switches, lights_on
from .scene import VERTEX, Batch, Scene, TextureImage, back_to_front
from .shaders import DepthVariant, Variant
from .studio import BACKDROP, BLOCK, GROUND, MAP_SIZE, Studio, StudioVariant
from .view import Parts, Picture, Pinhole, Pixels, Surroundings

# Formats of the fields of VERTEX for moderngl.
_FORMAT = "3f4 3f4 3f4 2f4 3u4"

BACKWARD = 0.0, 0.0, 1.0  # the direction from which a headlight on the optical axis shines

# Of all shaders: uniform blocks by binding, and samplers by texture unit.
BLOCKS = "View", "Studio"
SAMPLERS = "poses", "materials", "image", "surfaces", "shadows"
SAMPLES = 4  # of each pixel, for smooth edges


class ShaderVariant(Protocol):
    """Compile-time options of a pair of shaders; hashable."""

    def sources(self) -> tuple[str, str]:
        """Return the vertex and the fragment shader."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawable:
    """A batch uploaded to the context."""

    batch: Batch
    texture: Any
    vertices: Any
    indices: Any

    def variant(self, lights: int, spots: int, *, measured: bool) -> Variant:
        """Return the options of its shaders for colours, and depths if ``measured``."""
        image = self.batch.texture
        return Variant(
            lights,
            spots,
            textured=image is not None,
            grey=image is not None and image.grey,
            see_through=image is not None and image.see_through,
            cut_out=self.batch.cut_out,
            curved=measured and self.batch.curved,
            shiny=self.batch.shiny,
        )

    def depth_variant(self) -> DepthVariant:
        """Return the options of its shaders for depths only."""
        has_holes = self.batch.transparent or self.batch.cut_out
        is_textured = has_holes and self.texture is not None
        return DepthVariant(has_holes, is_textured, self.batch.curved)


class GpuScene:
    """A scene uploaded once; only poses and the view change from image to image.

    Only the thread that created it may use it.

    Attributes:
        scene: The uploaded scene.
        opaque, transparent: Its batches.
    """

    def __init__(self, context: Any, scene: Scene) -> None:
        self._context = context
        self.scene = scene
        self._programs: dict[ShaderVariant, Any] = {}
        self._arrays: dict[tuple[Drawable, ShaderVariant], Any] = {}
        self._textures: dict[int, Any] = {}
        self._targets: dict[tuple[int, int], Target] = {}
        self._poses_C = np.zeros((max(scene.link_count, 1), 3, 4), dtype=np.float32)
        self._poses = DataTexture(context, self._poses_C)
        self._materials = DataTexture(context, scene.materials)
        self._surfaces = DataTexture(context, scene.surfaces)
        self._view = context.buffer(reserve=VIEW.itemsize)
        self._drawables = [self._drawable(batch) for batch in scene.batches]
        self.opaque = [d for d in self._drawables if not d.batch.transparent]
        self.transparent = [d for d in self._drawables if d.batch.transparent]

    def draw(
        self,
        lens: Pinhole,
        X_WC: Pose,
        poses: BodyPoses,
        parts: Parts,
        surroundings: Surroundings,
        switches: Switches,
        axis: Sequence[float] = BACKWARD,
    ) -> Picture:
        """Return an image; depths are those of the first surface that is opaque enough.

        The headlight shines from ``axis``, a unit vector in the camera frame.

        Raises:
            RuntimeError: OpenGL failed, for lack of memory or because of too many links.
        """
        target = self._target(lens)
        self.place(X_WC, poses)
        lights, spots = lights_on(self.scene.lights, switches, self._poses_C)
        headlight = (*axis, float(surroundings.headlight))
        self.set_up(lens.projection(), headlight, lights)
        target.clear(surroundings.background, parts)

        def variant(drawable: Drawable, *, measured: bool = False) -> Variant:
            return drawable.variant(len(lights), spots, measured=measured)

        if parts.color:
            (target.both if parts.depth else target.color).use()
            for drawable in self.opaque:
                self.begin(drawable)
                gl.draw(self.array(drawable, variant(drawable, measured=parts.depth)))
            if self.transparent:
                self.draw_transparent(target.color, variant)
        if parts.depth:
            target.depth.use()
            for drawable in self.transparent if parts.color else self._drawables:
                self.begin(drawable)
                gl.draw(self.array(drawable, drawable.depth_variant()))
        picture = target.read(parts)
        self.check()
        return picture

    def check(self) -> None:
        """Raise RuntimeError if OpenGL failed: moderngl does not check for errors."""
        if (error := self._context.error) != "GL_NO_ERROR":
            raise RuntimeError(f"OpenGL cannot draw this scene: {error}")

    def place(self, X_WC: Pose, poses: BodyPoses) -> None:
        """Upload the poses of all links relative to the camera."""
        ends = [*self.scene.first_links.values(), self.scene.link_count]
        for name, first, end in zip(self.scene.first_links, ends, ends[1:], strict=False):
            rows, link_poses = self._poses_C[first:end], poses.get(name)
            if link_poses is None or len(link_poses.p) != len(rows):
                rows[:] = 0.0  # the body did not exist at that time: collapse it to a point
            else:
                rows[:] = link_poses.relative_to(X_WC)
        self._poses.write(self._poses_C)

    def set_up(
        self,
        projection: Array,
        headlight: Sequence[float] = (*BACKWARD, 0.0),
        lights: NDArray[np.void] | None = None,
    ) -> None:
        """Upload the data shared by all shaders, after ``place``.

        The headlight is a unit vector towards it and its strength.
        """
        context = self._context
        context.enable_only(moderngl.DEPTH_TEST)
        # The projection flips the image, and with it the orientation of the triangles.
        context.front_face = "cw"
        view = np.zeros((), VIEW)
        view["projection"] = projection.T  # OpenGL matrices are column-major
        view["headlight"] = headlight
        if lights is not None:
            view["lights"][: len(lights)] = lights
        self._view.write(view.tobytes())
        self._view.bind_to_uniform_block(0)
        self._poses.use(0)
        self._materials.use(1)
        self._surfaces.use(3)

    def begin(self, drawable: Drawable, *, cull: bool = True) -> None:
        """Prepare for drawing a batch; ``cull``: without back faces if it is solid."""
        if drawable.batch.solid and cull:
            self._context.enable(moderngl.CULL_FACE)
        else:
            self._context.disable(moderngl.CULL_FACE)
        if drawable.texture is not None:
            drawable.texture.use(2)

    def draw_transparent(self, target: Any, variant: Callable[[Drawable], ShaderVariant]) -> None:
        """Blend transparent shapes over a framebuffer, from back to front."""
        target.use()
        chunks = [
            (drawable, chunk) for drawable in self.transparent for chunk in drawable.batch.chunks
        ]
        boxes = [chunk.box.moved(self._poses_C[chunk.link]) for _, chunk in chunks]
        context = self._context
        context.enable(moderngl.BLEND)
        context.blend_func = moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA
        target.depth_mask = False
        context.enable(moderngl.CULL_FACE)
        for index in back_to_front(boxes):
            drawable, chunk = chunks[index]
            if drawable.texture is not None:
                drawable.texture.use(2)
            array = self.array(drawable, variant(drawable))
            # Back faces lie behind front faces, so draw them first.
            for hidden in ("back",) if drawable.batch.solid else ("front", "back"):
                context.cull_face = hidden
                gl.draw(array, chunk.length, chunk.first)
        target.depth_mask = True
        context.disable(moderngl.BLEND)

    def _target(self, lens: Pinhole) -> Target:
        size = lens.width, lens.height
        if size not in self._targets:
            self._targets[size] = Target(self._context, size)
        return self._targets[size]

    def _drawable(self, batch: Batch) -> Drawable:
        vertices = self._context.buffer(batch.vertices.tobytes())
        indices = self._context.buffer(batch.indices.tobytes())
        return Drawable(batch, self._texture(batch.texture), vertices, indices)

    def array(self, drawable: Drawable, variant: ShaderVariant) -> Any:
        """Return a batch's vertices as the inputs of a program; created when first drawn."""
        if (drawable, variant) not in self._arrays:
            program = self._program(variant)
            names = [name for name in VERTEX.names or () if name in program]
            skipped = [
                f"{VERTEX[name].itemsize}x" if name not in names else code
                for name, code in zip(VERTEX.names or (), _FORMAT.split(), strict=True)
            ]
            inputs = [(drawable.vertices, " ".join(skipped), *names)]
            array = self._context.vertex_array(
                program, inputs, drawable.indices, index_element_size=4
            )
            self._arrays[drawable, variant] = array
        return self._arrays[drawable, variant]

    def linked(self, vertex: str, fragment: str) -> Any:
        """Return the program of two shaders, with its inputs assigned."""
        program = self._context.program(vertex, fragment)
        for binding, name in enumerate(BLOCKS):
            if name in program:
                program[name].binding = binding
        for unit, name in enumerate(SAMPLERS):
            if name in program:
                program[name].value = unit
        return program

    def _program(self, variant: ShaderVariant) -> Any:
        if variant not in self._programs:
            self._programs[variant] = self.linked(*variant.sources())
        return self._programs[variant]

    def _texture(self, image: TextureImage | None) -> Any:
        if image is None:
            return None
        if id(image) not in self._textures:
            texture = self._context.texture(image.size, image.components, image.data, alignment=1)
            if image.grey:
                texture.swizzle = "RRRG" if image.see_through else "RRR1"
            texture.repeat_x, texture.repeat_y = image.repeat
            texture.build_mipmaps()
            texture.filter = moderngl.LINEAR_MIPMAP_LINEAR, moderngl.LINEAR
            self._textures[id(image)] = texture
        return self._textures[id(image)]


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
            gl.draw(self.gpu.array(drawable, variant))
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
        gl.read(target.averaged, pixels)
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
            gl.draw(self.gpu.array(drawable, variant))

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
