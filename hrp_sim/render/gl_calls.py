"""The slow OpenGL calls, with Python's interpreter lock released.

moderngl holds the lock during OpenGL calls. Without a GPU that is most of the rendering time, and
would block the stepping thread. ctypes releases the lock.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EGL = "libEGL.so.1"

# Constants of OpenGL's headers.
_TRIANGLES = 4
_UNSIGNED_BYTE, _UNSIGNED_INT, _FLOAT = 0x1401, 0x1405, 0x1406
_RED, _RGB = 0x1903, 0x1907
_COLOR_ATTACHMENT0 = 0x8CE0
_PACK_ALIGNMENT = 0x0D05
# OpenGL's pixel format by type and number of axes of an array.
_PIXELS = {
    (np.dtype(np.uint8), 3): (_RGB, _UNSIGNED_BYTE),
    (np.dtype(np.float32), 2): (_RED, _FLOAT),
}

_ENUM, _INT = ctypes.c_uint, ctypes.c_int
_SIGNATURES = {
    "glUseProgram": (_ENUM,),
    "glBindVertexArray": (_ENUM,),
    "glDrawElementsInstanced": (_ENUM, _INT, _ENUM, ctypes.c_void_p, _INT),
    "glReadBuffer": (_ENUM,),
    "glPixelStorei": (_ENUM, _INT),
    "glReadPixels": (_INT, _INT, _INT, _INT, _ENUM, _ENUM, ctypes.c_void_p),
}


def draw(vertex_array: Any, count: int = -1, first: int = 0) -> None:
    """Draw triangles into the framebuffer in use; the context must be current.

    Args:
        vertex_array: Of moderngl, with 32-bit indices.
        count: Number of indices; negative for all.
        first: Position of the first index.
    """
    gl = _functions()
    if gl is None:
        vertex_array.render(_TRIANGLES, vertices=count, first=first)
        return
    gl["glUseProgram"](vertex_array.program.glo)
    gl["glBindVertexArray"](vertex_array.glo)
    length = vertex_array.vertices if count < 0 else count
    gl["glDrawElementsInstanced"](_TRIANGLES, length, _UNSIGNED_INT, 4 * first, 1)


def read(framebuffer: Any, pixels: NDArray[Any]) -> None:
    """Wait for drawing to finish, and copy the first plane of a framebuffer to an array.

    Args:
        framebuffer: Of moderngl; it is bound afterwards.
        pixels: Contiguous; uint8 of shape (height, width, 3), or float32 of shape
            (height, width).
    """
    gl = _functions()
    if gl is None:
        components = pixels.shape[2] if pixels.ndim == 3 else 1
        dtype = f"f{pixels.itemsize}"  # moderngl's f1 are bytes
        framebuffer.read_into(pixels, components=components, alignment=1, dtype=dtype)
        return
    height, width = pixels.shape[:2]
    framebuffer.use()
    gl["glReadBuffer"](_COLOR_ATTACHMENT0)
    gl["glPixelStorei"](_PACK_ALIGNMENT, 1)
    kind = _PIXELS[pixels.dtype, pixels.ndim]
    gl["glReadPixels"](0, 0, width, height, *kind, pixels.ctypes.data)


@cache
def _functions() -> dict[str, Any] | None:
    """Return OpenGL's functions by name, or None if only moderngl can find them."""
    try:
        egl = ctypes.CDLL(_EGL)
    except OSError:
        return None
    egl.eglGetCurrentContext.restype = ctypes.c_void_p
    if egl.eglGetCurrentContext() is None:
        return None  # moderngl uses another library
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    found = {name: egl.eglGetProcAddress(name.encode()) for name in _SIGNATURES}
    if not all(found.values()):
        return None  # before EGL 1.5, functions of OpenGL 1 need not be available
    return {
        name: ctypes.CFUNCTYPE(None, *_SIGNATURES[name])(address) for name, address in found.items()
    }
