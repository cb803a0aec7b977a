"""A scene in the memory of one OpenGL context, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose

from . import depth
from .scene import VERTEX, Batch, Scene
from .shaders import FRAGMENT
from .shaders import VERTEX as VERTEX_SHADER
from .target import Target
from .textures import TextureImage
from .view import BodyPoses, Parts, Picture, Pinhole

# The formats of VERTEX, for moderngl.
_FORMAT = "3f4 3f4 3f4 2f4 2u4"


@dataclass(frozen=True, slots=True, eq=False)
class _Drawable:
    """A batch in the memory of the context, with the programs of its colours and depths."""

    batch: Batch
    texture: Any
    colors: Any
    depths: Any


class GpuScene:
    """A scene uploaded once; only poses and the view change from picture to picture.

    Belongs to the thread that made it.

    Attributes:
        scene: What was uploaded.
    """

    def __init__(self, context: Any, scene: Scene, background: tuple[float, float, float]) -> None:
        self._context = context
        self.scene = scene
        self._background = background
        self._programs: dict[tuple[bool, bool], Any] = {}
        self._depth_programs: dict[tuple[bool, bool], Any] = {}
        self._textures: dict[int, Any] = {}
        self._targets: dict[tuple[int, int], Target] = {}
        self._poses_C = np.zeros((max(scene.link_count, 1), 3, 4), dtype=np.float32)
        self._poses = self._table(self._poses_C)
        self._materials = self._table(scene.materials)
        self._drawables = [self._drawable(batch) for batch in scene.batches]
        self._opaque = [d for d in self._drawables if not d.batch.transparent]
        self._transparent = [d for d in self._drawables if d.batch.transparent]

    def draw(self, lens: Pinhole, X_WC: Pose, poses: BodyPoses, parts: Parts) -> Picture:
        """Return a picture; depths end at the first surface that is opaque enough."""
        target = self._target(lens)
        self._set_up(lens, X_WC, poses)
        target.clear(self._background, parts)
        if parts.color:
            (target.both if parts.depth else target.color).use()
            for drawable in self._opaque:
                self._begin(drawable)
                drawable.colors.render(moderngl.TRIANGLES)
            if self._transparent:
                target.color.use()
                self._draw_transparent()
        if parts.depth:
            target.depth.use()
            for drawable in self._transparent if parts.color else self._drawables:
                self._begin(drawable)
                drawable.depths.render(moderngl.TRIANGLES)
        return target.read(parts)

    def _set_up(self, lens: Pinhole, X_WC: Pose, poses: BodyPoses) -> None:
        context = self._context
        context.enable_only(moderngl.DEPTH_TEST)
        # The projection turns the image over, and with it the sense of the triangles.
        context.front_face = "cw"
        ends = [*self.scene.first_links.values(), self.scene.link_count]
        for name, first, end in zip(self.scene.first_links, ends, ends[1:], strict=False):
            rows, link_poses = self._poses_C[first:end], poses.get(name)
            if link_poses is None or len(link_poses.p) != len(rows):
                rows[:] = 0.0  # was not there yet, or another was: all of it in one point
                continue
            # In double precision, so that a scene far from the origin keeps its digits.
            rows[:, :, :3] = X_WC.R.T @ link_poses.R
            rows[:, :, 3] = (link_poses.p - X_WC.p) @ X_WC.R
        self._poses.write(self._poses_C)
        self._poses.use(0)
        self._materials.use(1)
        # OpenGL takes matrices by columns.
        projection = lens.projection().T.astype("f4").tobytes()
        for program in (*self._programs.values(), *self._depth_programs.values()):
            program["projection"].write(projection)

    def _begin(self, drawable: _Drawable) -> None:
        if drawable.batch.solid:
            self._context.enable(moderngl.CULL_FACE)
        else:
            self._context.disable(moderngl.CULL_FACE)
        if drawable.texture is not None:
            drawable.texture.use(2)

    def _draw_transparent(self) -> None:
        """Blend from the farthest shape to the nearest; they do not hide each other."""
        by_distance: list[tuple[float, _Drawable, int, int]] = []
        for drawable in self._transparent:
            for link, center, first, count in drawable.batch.chunks:
                center_C = self._poses_C[link, :, :3] @ center + self._poses_C[link, :, 3]
                by_distance.append((float(center_C @ center_C), drawable, first, count))
        by_distance.sort(key=lambda item: -item[0])
        context = self._context
        context.enable(moderngl.BLEND)
        context.blend_func = moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA
        context.fbo.depth_mask = False
        for _, drawable, first, count in by_distance:
            self._begin(drawable)
            drawable.colors.render(moderngl.TRIANGLES, vertices=count, first=first)
        context.fbo.depth_mask = True
        context.disable(moderngl.BLEND)

    def _target(self, lens: Pinhole) -> Target:
        size = lens.width, lens.height
        if size not in self._targets:
            self._targets[size] = Target(self._context, size)
        return self._targets[size]

    def _table(self, rows: NDArray[np.float32]) -> Any:
        """Return a texture of (n, 3, 4) numbers that shaders look up by row."""
        data = rows if len(rows) else np.zeros((1, 3, 4), np.float32)
        table = self._context.texture((3, len(data)), 4, data.tobytes(), dtype="f4")
        table.filter = moderngl.NEAREST, moderngl.NEAREST
        return table

    def _drawable(self, batch: Batch) -> _Drawable:
        vertices = self._context.buffer(batch.vertices.tobytes())
        indices = self._context.buffer(batch.indices.tobytes())
        return _Drawable(
            batch,
            self._texture(batch.texture),
            self._vertex_array(self._program(batch.texture), vertices, indices),
            self._vertex_array(self._depth_program(batch), vertices, indices),
        )

    def _vertex_array(self, program: Any, vertices: Any, indices: Any) -> Any:
        names = [name for name in VERTEX.names or () if name in program]
        skipped = [
            f"{VERTEX[name].itemsize}x" if name not in names else code
            for name, code in zip(VERTEX.names or (), _FORMAT.split(), strict=True)
        ]
        return self._context.vertex_array(
            program, [(vertices, " ".join(skipped), *names)], indices, index_element_size=4
        )

    def _program(self, texture: TextureImage | None) -> Any:
        key = texture is not None, texture is not None and texture.grey
        if key not in self._programs:
            program = self._context.program(VERTEX_SHADER, FRAGMENT % key)
            program["poses"].value = 0
            program["materials"].value = 1
            if texture is not None:
                program["image"].value = 2
            self._programs[key] = program
        return self._programs[key]

    def _depth_program(self, batch: Batch) -> Any:
        key = batch.transparent, batch.transparent and batch.texture is not None
        if key not in self._depth_programs:
            program = self._context.program(depth.VERTEX % key[0], depth.FRAGMENT % key)
            program["poses"].value = 0
            if "materials" in program:
                program["materials"].value = 1
            if "image" in program:
                program["image"].value = 2
            self._depth_programs[key] = program
        return self._depth_programs[key]

    def _texture(self, image: TextureImage | None) -> Any:
        if image is None:
            return None
        if id(image) not in self._textures:
            texture = self._context.texture(image.size, image.components, image.data, alignment=1)
            if image.grey:
                texture.swizzle = "RRRG" if image.transparent else "RRR1"
            texture.repeat_x, texture.repeat_y = image.repeat
            texture.build_mipmaps()
            texture.filter = moderngl.LINEAR_MIPMAP_LINEAR, moderngl.LINEAR
            self._textures[id(image)] = texture
        return self._textures[id(image)]
