"""OpenGL contexts without a window, one per thread."""

from __future__ import annotations

import os
import threading
from typing import Any

try:
    import moderngl
except ImportError:  # cameras are not available then; everything else works
    moderngl = None  # type: ignore[assignment]

MAX_DEVICES = 16
# Number of threads of Mesa's software renderer; by default the number of cores.
THREADS_VARIABLE = "LP_NUM_THREADS"

_local = threading.local()
_rendering: set[int] = set()  # processes that have created contexts: this one, or its parent


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
    if _rendering and os.getpid() not in _rendering:
        raise RendererUnavailable(
            "this process was forked from one that renders, so it cannot: start processes by "
            "'spawn' instead"
        )
    owner: _ContextOwner | None = getattr(_local, "owner", None)
    if owner is None:
        owner = _local.owner = _ContextOwner(_create())
        _rendering.add(os.getpid())
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

    def __del__(self) -> None:
        self.activate()
        # EGL destroys a context only when it is not current in any thread.
        self.context.__exit__(None, None, None)
        self.context.release()


def _create() -> Any:
    """Create a context on the first EGL device that supports it; Mesa's llvmpipe is the last."""
    if moderngl is None:
        raise RendererUnavailable(
            "cameras need the Python package moderngl; install it with: pip install moderngl"
        )
    # Leave one core to the physics.
    os.environ.setdefault(THREADS_VARIABLE, str(max(cores() - 1, 1)))
    problems: list[str] = []
    for index in range(MAX_DEVICES):
        context = _try_device(index, problems)
        if context is not None:
            return context
        if "not loaded" in problems[-1] or "but found" in problems[-1]:
            break  # no EGL library, or no further device
    raise RendererUnavailable(
        f"cameras need OpenGL 3.3 through EGL, which this machine lacks ({problems[0]}); "
        "install it with: apt install libegl1 libgl1 libgl1-mesa-dri"
    )


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _try_device(index: int, problems: list[str]) -> Any:
    # moderngl annotates every setting as a dict.
    settings: dict[str, Any] = {"backend": "egl", "device_index": index}
    try:
        return moderngl.create_context(require=330, standalone=True, **settings)
    except Exception as error:  # glcontext raises bare Exception for all EGL errors
        problems.append(str(error))
        return None
