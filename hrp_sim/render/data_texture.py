"""Tables of vectors in textures, which shaders read by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The height of textures is limited: further rows of a table continue in columns to the right.
_BITS = 12
_HEIGHT = 1 << _BITS

# Shader function; ``columns`` is the number of columns of the table.
ENTRY = f"""
vec4 entry(sampler2D table, int columns, int row, int column) {{
    return texelFetch(table, ivec2((row >> {_BITS}) * columns + column, row & {_HEIGHT - 1}), 0);
}}
"""


class DataTexture:
    """Rows of vectors in a texture of an OpenGL context.

    Args:
        context: Of moderngl.
        rows: Shape (rows, columns, 4).
    """

    def __init__(self, context: Any, rows: NDArray[np.float32]) -> None:
        texels = _folded(rows)
        size = texels.shape[1], texels.shape[0]
        self._texture = context.texture(size, 4, texels.tobytes(), dtype="f4")
        self._texture.filter = context.NEAREST, context.NEAREST

    def write(self, rows: NDArray[np.float32]) -> None:
        """Replace all rows; their number must stay the same."""
        self._texture.write(_folded(rows))

    def use(self, unit: int) -> None:
        """Bind it to a texture unit."""
        self._texture.use(unit)


def _folded(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the texels of a table, shape (height, width, 4)."""
    count, columns = rows.shape[:2]
    if 0 < count <= _HEIGHT:
        return rows
    blocks = max(-(-count // _HEIGHT), 1)
    padded = np.zeros((blocks * _HEIGHT, columns, 4), np.float32)
    padded[:count] = rows
    side_by_side = padded.reshape(blocks, _HEIGHT, columns, 4).swapaxes(0, 1)
    return np.ascontiguousarray(side_by_side.reshape(_HEIGHT, blocks * columns, 4))
