"""Uploads a scene to an OpenGL context and draws it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import moderngl
import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose
from hrp_model.rigid import Array

from . import gl_calls
from .boxes import back_to_front
from .data_texture import DataTexture
from .lights import VIEW, Switches, lights_on
from .scene import VERTEX, Batch, Scene
from .shaders import DepthVariant, Variant
from .target import Target
from .textures import TextureImage
from .view import BodyPoses, Parts, Picture, Pinhole, Surroundings

# Formats of the fields of VERTEX for moderngl.
_FORMAT = "3f4 3f4 3f4 2f4 3u4"

BACKWARD = 0.0, 0.0, 1.0  # the direction from which a headlight on the optical axis shines

# Of all shaders: uniform blocks by binding, and samplers by texture unit.
BLOCKS = "View", "Studio"
SAMPLERS = "poses", "materials", "image", "surfaces", "shadows"


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
                gl_calls.draw(self.array(drawable, variant(drawable, measured=parts.depth)))
            if self.transparent:
                self.draw_transparent(target.color, variant)
        if parts.depth:
            target.depth.use()
            for drawable in self.transparent if parts.color else self._drawables:
                self.begin(drawable)
                gl_calls.draw(self.array(drawable, drawable.depth_variant()))
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
                gl_calls.draw(array, chunk.length, chunk.first)
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
