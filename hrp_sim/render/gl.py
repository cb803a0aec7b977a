"""What OpenGL gets and gives: the slow calls, tables in textures, and framebuffers.

moderngl holds Python's interpreter lock during OpenGL calls. Without a GPU that is most of the
rendering time, and would block the stepping thread. ctypes releases the lock.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, cached_property
from math import inf
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .view import Depths, Parts, Picture, Pixels

_EGL, _EGL_VARIABLE = "libEGL.so.1", "GLCONTEXT_LINUX_LIBEGL"  # read by moderngl

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
# The height of textures is limited: further rows of a table continue in columns to the right.
_BITS = 12
_HEIGHT = 1 << _BITS
# Shader function; ``columns`` is the number of columns of the table.
ENTRY = f"""
vec4 entry(sampler2D table, int columns, int row, int column) {{
    return texelFetch(table, ivec2((row >> {_BITS}) * columns + column, row & {_HEIGHT - 1}), 0);
}}
"""


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
            read(self.color, colors)
        if parts.depth:
            depths = np.empty((height, width), np.float32)
            read(self.depth, depths)
        return Picture(colors, depths)

    @cached_property
    def _colors(self) -> Any:
        return self._context.renderbuffer(self._size, 3)

    @cached_property
    def _depths(self) -> Any:
        return self._context.renderbuffer(self._size, 1, dtype="f4")

    def _framebuffer(self, *planes: Any) -> Any:
        return self._context.framebuffer(planes, self._depth_buffer)


MAX_DEVICES = 16
# Number of threads of Mesa's software renderer; by default the number of cores.
THREADS_VARIABLE = "LP_NUM_THREADS"

_local = threading.local()
_rendering: set[int] = set()  # processes that create contexts: this one, or its parent


class RendererUnavailable(RuntimeError):  # noqa: N818 - a state of the machine, not an error
    """This machine cannot render; the message names the packages to install."""


def thread_context() -> Any:
    """Return this thread's moderngl context, which the first call creates.

    The context is made current, its error flag is cleared, and its unused objects are freed. The
    other objects are freed when the thread ends.

    Raises:
        RendererUnavailable: moderngl, EGL or OpenGL 3.3 is not available; or this process was
            forked from one with a context, in which OpenGL would hang.
    """
    _check_process()
    owner: _ContextOwner | None = getattr(_local, "owner", None)
    if owner is None:
        _rendering.add(os.getpid())  # before, as another thread may fork meanwhile
        owner = _local.owner = _ContextOwner(_create())
    owner.activate()
    return owner.context


class _ContextOwner:
    """Releases a context when its thread ends."""

    def __init__(self, context: Any) -> None:
        # Unused objects may be freed only while the context is current.
        context.gc_mode = "context_gc"
        self.context = context

    def activate(self) -> None:
        """Make the context current, free its unused objects and clear its error flag."""
        self.context.__enter__()
        self.context.gc()
        _ = self.context.error  # reading an error of earlier calls clears the flag

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_finalizing():  # moderngl may be gone, and all contexts end with the process
            return
        self.activate()
        # EGL destroys a context only when it is not current in any thread.
        self.context.__exit__(None, None, None)
        self.context.release()


def check_libraries() -> None:
    """Check what needs no context, which takes up to 85 MB: the process and the libraries.

    Raises:
        RendererUnavailable: As by ``thread_context``; only a context shows whether EGL finds a
            device with OpenGL 3.3.
    """
    _check_process()
    _moderngl()
    try:
        ctypes.CDLL(os.environ.get(_EGL_VARIABLE) or _EGL)
    except OSError as error:
        raise _lacking(str(error)) from None


def _check_process() -> None:
    if _rendering and os.getpid() not in _rendering:
        raise RendererUnavailable(
            "this process was forked from one that renders, so it cannot: start processes by "
            "'spawn' instead"
        )


def _lacking(problem: str) -> RendererUnavailable:
    return RendererUnavailable(
        f"cameras need OpenGL 3.3 through EGL, which this machine lacks ({problem}); "
        "install it with: apt install libegl1 libgl1 libgl1-mesa-dri"
    )


def _create() -> Any:
    """Create a context on the first EGL device that supports it; Mesa's llvmpipe is the last."""
    moderngl = _moderngl()
    # Leave one core to the physics.
    os.environ.setdefault(THREADS_VARIABLE, str(max(cores() - 1, 1)))
    problems: list[str] = []
    for index in range(MAX_DEVICES):
        context = _try_device(moderngl, index, problems)
        if context is not None:
            return context
        if "not loaded" in problems[-1] or "but found" in problems[-1]:
            break  # no EGL library, or no further device
    raise _lacking(problems[0])


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _moderngl() -> ModuleType:
    try:
        return importlib.import_module("moderngl")
    except ImportError:  # all but cameras works without
        raise RendererUnavailable(
            "cameras need the Python package moderngl; install it with: pip install moderngl"
        ) from None


def _try_device(moderngl: Any, index: int, problems: list[str]) -> Any:
    # moderngl annotates every setting as a dict.
    settings: dict[str, Any] = {"backend": "egl", "device_index": index}
    try:
        return moderngl.create_context(require=330, standalone=True, **settings)
    except Exception as error:  # glcontext raises bare Exception for all EGL errors
        problems.append(str(error))
        return None
