"""A static scene rendered by a small hand-written moderngl program: the reference for cameras."""

from __future__ import annotations

from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from hrp_sim.render.gl import thread_context
from hrp_sim.render.scene import Batch, Scene
from hrp_sim.render.shaders import SCATTERED_LIGHT
from hrp_sim.render.view import Picture, Pinhole

_VERTEX = """
#version 330
uniform mat4 projection;
in vec3 position;
in vec3 normal;
in vec3 color;
in vec3 emissive;
in vec4 specular;
out vec3 p;
out vec3 n;
out vec3 base;
flat out vec3 glow;
flat out vec4 mirror;

void main() {
    gl_Position = projection * vec4(position, 1.0);
    p = position;
    n = normal;
    base = color;
    glow = emissive;
    mirror = specular;
}
"""

# The headlight of ``render.shaders``, and no other light. %d is 1 if a material has highlights,
# else 0.
_FRAGMENT = f"""
#version 330
#define HIGHLIGHTS %d
in vec3 p;
in vec3 n;
in vec3 base;
flat in vec3 glow;
flat in vec4 mirror;
layout(location = 0) out vec4 pixel;
layout(location = 1) out float depth;

void main() {{
    vec3 unit = normalize(n);
    if (!gl_FrontFacing) unit = -unit;
    float facing = max(unit.z, 0.0);
    vec3 c = glow + base * (facing + {SCATTERED_LIGHT} * (1.0 - facing));
#if HIGHLIGHTS
    vec3 half_way = normalize(vec3(0.0, 0.0, 1.0) + normalize(-p));
    c += mirror.rgb * (step(0.0, unit.z) * pow(max(dot(unit, half_way), 0.0), mirror.a));
#endif
    pixel = vec4(c, 1.0);
    depth = 1.0 / gl_FragCoord.w;
}}
"""


SPECULAR = slice(12, 15)  # columns of ``_vertex_inputs``


class PlainModernGL:
    """Renders a static scene and reads back colours and depths; nothing else.

    Vertices are transformed to the camera frame C once, before the first image.

    Args:
        scene: Opaque objects without textures.
        poses_C: [R_CL | p_CL] of all links, shape (links, 3, 4).
        lens: Projection of the camera.
        background: RGB in 0..1.

    Raises:
        RendererUnavailable: This machine has no OpenGL.
    """

    def __init__(
        self,
        scene: Scene,
        poses_C: NDArray[np.float32],
        lens: Pinhole,
        background: tuple[float, float, float],
    ) -> None:
        context = self._context = thread_context()
        size = lens.width, lens.height
        self._background = background
        self._color: NDArray[np.uint8] = np.empty((lens.height, lens.width, 3), np.uint8)
        self._depth: NDArray[np.float32] = np.empty((lens.height, lens.width), np.float32)
        projection = lens.projection().T.astype("f4").tobytes()
        self._arrays = []
        for batch in scene.batches:
            inputs = _vertex_inputs(batch, scene.materials, poses_C)
            program = context.program(_VERTEX, _FRAGMENT % inputs[:, SPECULAR].any())
            program["projection"].write(projection)
            self._arrays.append(self._array(program, inputs, batch.indices))
        planes = context.renderbuffer(size, 3), context.renderbuffer(size, 1, dtype="f4")
        self._target = context.framebuffer(planes, context.depth_renderbuffer(size))

    def __call__(self) -> Picture:
        """Render an image; its arrays are reused by the next one."""
        self._target.use()
        self._context.enable_only(moderngl.DEPTH_TEST)
        self._context.front_face = "cw"  # the projection flips the image
        self._target.clear(*self._background, depth=1.0)
        for array in self._arrays:
            array.render()
        self._target.read_into(self._color, components=3, alignment=1)
        self._target.read_into(self._depth, components=1, attachment=1, dtype="f4")
        return Picture(self._color, self._depth)

    def _array(self, program: Any, inputs: NDArray[np.float32], indices: NDArray[np.uint32]) -> Any:
        sizes = {"position": 3, "normal": 3, "color": 3, "emissive": 3, "specular": 4}
        names = [name for name in sizes if name in program]
        formats = [f"{n}f" if name in names else f"{4 * n}x" for name, n in sizes.items()]
        vertices = self._context.buffer(inputs.tobytes()), " ".join(formats), *names
        return self._context.vertex_array(
            program, [vertices], self._context.buffer(indices.tobytes()), index_element_size=4
        )


def _vertex_inputs(
    batch: Batch, materials: NDArray[np.float32], poses_C: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the shader inputs of each vertex, in C, shape (vertices, 16)."""
    vertices = batch.vertices
    links, rows = vertices["ids"][:, 0], vertices["ids"][:, 1]
    R, p = poses_C[links, :, :3], poses_C[links, :, 3]
    return np.hstack(
        [
            (R @ vertices["position"][..., np.newaxis])[..., 0] + p,
            (R @ vertices["normal"][..., np.newaxis])[..., 0],
            vertices["color"],
            materials[rows, 0, :3],
            materials[rows, 1],
        ]
    ).astype(np.float32)
