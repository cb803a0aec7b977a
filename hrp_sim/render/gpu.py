"""Uploads a scene to an OpenGL context and draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import moderngl
import numpy as np

from hrp_model import Pose

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


@dataclass(frozen=True, slots=True, eq=False)
class _Drawable:
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
    """

    def __init__(self, context: Any, scene: Scene) -> None:
        self._context = context
        self.scene = scene
        self._programs: dict[Variant | DepthVariant, Any] = {}
        self._arrays: dict[tuple[_Drawable, Variant | DepthVariant], Any] = {}
        self._textures: dict[int, Any] = {}
        self._targets: dict[tuple[int, int], Target] = {}
        self._poses_C = np.zeros((max(scene.link_count, 1), 3, 4), dtype=np.float32)
        self._poses = DataTexture(context, self._poses_C)
        self._materials = DataTexture(context, scene.materials)
        self._surfaces = DataTexture(context, scene.surfaces)
        self._view = context.buffer(reserve=VIEW.itemsize)
        self._drawables = [self._drawable(batch) for batch in scene.batches]
        self._opaque = [d for d in self._drawables if not d.batch.transparent]
        self._transparent = [d for d in self._drawables if d.batch.transparent]

    def draw(
        self,
        lens: Pinhole,
        X_WC: Pose,
        poses: BodyPoses,
        parts: Parts,
        surroundings: Surroundings,
        switches: Switches,
    ) -> Picture:
        """Return an image; depths are those of the first surface that is opaque enough.

        Raises:
            RuntimeError: OpenGL failed, for lack of memory or because of too many links.
        """
        target = self._target(lens)
        self._place(X_WC, poses)
        counts = self._set_up(lens, surroundings, switches)
        target.clear(surroundings.background, parts)
        if parts.color:
            (target.both if parts.depth else target.color).use()
            for drawable in self._opaque:
                self._begin(drawable)
                variant = drawable.variant(*counts, measured=parts.depth)
                gl_calls.draw(self._array(drawable, variant))
            if self._transparent:
                target.color.use()
                self._draw_transparent(*counts)
        if parts.depth:
            target.depth.use()
            for drawable in self._transparent if parts.color else self._drawables:
                self._begin(drawable)
                gl_calls.draw(self._array(drawable, drawable.depth_variant()))
        picture = target.read(parts)
        # moderngl does not check for errors; the image would be undefined.
        if (error := self._context.error) != "GL_NO_ERROR":
            raise RuntimeError(f"OpenGL cannot draw this scene: {error}")
        return picture

    def _place(self, X_WC: Pose, poses: BodyPoses) -> None:
        """Upload the poses of all links relative to the camera."""
        ends = [*self.scene.first_links.values(), self.scene.link_count]
        for name, first, end in zip(self.scene.first_links, ends, ends[1:], strict=False):
            rows, link_poses = self._poses_C[first:end], poses.get(name)
            if link_poses is None or len(link_poses.p) != len(rows):
                rows[:] = 0.0  # the body did not exist at that time: collapse it to a point
            else:
                rows[:] = link_poses.relative_to(X_WC)
        self._poses.write(self._poses_C)

    def _set_up(
        self, lens: Pinhole, surroundings: Surroundings, switches: Switches
    ) -> tuple[int, int]:
        """Upload the data shared by all shaders; return the numbers of lights and of spots."""
        context = self._context
        context.enable_only(moderngl.DEPTH_TEST)
        # The projection flips the image, and with it the orientation of the triangles.
        context.front_face = "cw"
        lights, spots = lights_on(self.scene.lights, switches, self._poses_C)
        view = np.zeros((), VIEW)
        view["projection"] = lens.projection().T  # OpenGL matrices are column-major
        view["headlight"] = surroundings.headlight
        view["lights"][: len(lights)] = lights
        self._view.write(view.tobytes())
        self._view.bind_to_uniform_block(0)
        self._poses.use(0)
        self._materials.use(1)
        self._surfaces.use(3)
        return len(lights), spots

    def _begin(self, drawable: _Drawable) -> None:
        if drawable.batch.solid:
            self._context.enable(moderngl.CULL_FACE)
        else:
            self._context.disable(moderngl.CULL_FACE)
        if drawable.texture is not None:
            drawable.texture.use(2)

    def _draw_transparent(self, lights: int, spots: int) -> None:
        """Blend transparent shapes from back to front."""
        chunks = [
            (drawable, chunk) for drawable in self._transparent for chunk in drawable.batch.chunks
        ]
        boxes = [chunk.box.moved(self._poses_C[chunk.link]) for _, chunk in chunks]
        context = self._context
        context.enable(moderngl.BLEND)
        context.blend_func = moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA
        context.fbo.depth_mask = False
        context.enable(moderngl.CULL_FACE)
        for index in back_to_front(boxes):
            drawable, chunk = chunks[index]
            if drawable.texture is not None:
                drawable.texture.use(2)
            array = self._array(drawable, drawable.variant(lights, spots, measured=False))
            # Back faces lie behind front faces, so draw them first.
            for hidden in ("back",) if drawable.batch.solid else ("front", "back"):
                context.cull_face = hidden
                gl_calls.draw(array, chunk.length, chunk.first)
        context.fbo.depth_mask = True
        context.disable(moderngl.BLEND)

    def _target(self, lens: Pinhole) -> Target:
        size = lens.width, lens.height
        if size not in self._targets:
            self._targets[size] = Target(self._context, size)
        return self._targets[size]

    def _drawable(self, batch: Batch) -> _Drawable:
        vertices = self._context.buffer(batch.vertices.tobytes())
        indices = self._context.buffer(batch.indices.tobytes())
        return _Drawable(batch, self._texture(batch.texture), vertices, indices)

    def _array(self, drawable: _Drawable, variant: Variant | DepthVariant) -> Any:
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

    def _program(self, variant: Variant | DepthVariant) -> Any:
        if variant not in self._programs:
            program = self._context.program(*variant.sources())
            program["View"].binding = 0
            for unit, name in enumerate(("poses", "materials", "image", "surfaces")):
                if name in program:
                    program[name].value = unit
            self._programs[variant] = program
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
