"""An OpenGL context without a window, one for each thread."""

from __future__ import annotations

import os
import threading
from typing import Any

try:
    import moderngl
except ImportError:  # then there are no cameras; everything else works
    moderngl = None  # type: ignore[assignment]

MAX_DEVICES = 16
# In how many threads Mesa draws without a GPU; by itself in as many as there are cores.
THREADS_VARIABLE = "LP_NUM_THREADS"

_local = threading.local()


class RendererUnavailable(RuntimeError):  # noqa: N818 - a state of the machine, not a mistake
    """This machine cannot draw; the message says what to install."""


def thread_context() -> Any:
    """Return this thread's moderngl context, made at the first call.

    It is current now, whatever other contexts the thread has, and its error flag is down. What
    was made in it and is no longer used is freed now; the rest when the thread ends.

    Raises:
        RendererUnavailable: There is no moderngl, no EGL, or no OpenGL 3.3 behind it.
    """
    owner: _Owner | None = getattr(_local, "owner", None)
    if owner is None:
        owner = _local.owner = _Owner(_create())
    owner.tidy_up()
    return owner.context


class _Owner:
    """Gives a context back when its thread ends."""

    def __init__(self, context: Any) -> None:
        # What is no longer used may only be freed here, where the context is current.
        context.gc_mode = "context_gc"
        self.context = context

    def tidy_up(self) -> None:
        """Make the context current, and free what was made in it and is no longer used."""
        self.context.__enter__()
        self.context.gc()
        _ = self.context.error  # which is of earlier work; reading it takes down the flag

    def __del__(self) -> None:
        self.tidy_up()
        # EGL destroys a context only when it is current nowhere.
        self.context.__exit__(None, None, None)
        self.context.release()


def _create() -> Any:
    """Make a context on the first EGL device that takes one; Mesa's llvmpipe is the last."""
    if moderngl is None:
        raise RendererUnavailable(
            "cameras need the Python package moderngl; install it with: pip install moderngl"
        )
    # One core is left to the physics.
    os.environ.setdefault(THREADS_VARIABLE, str(max(cores() - 1, 1)))
    problems: list[str] = []
    for index in range(MAX_DEVICES):
        context = _try_device(index, problems)
        if context is not None:
            return context
        if "not loaded" in problems[-1] or "but found" in problems[-1]:
            break  # no library, or no further device
    raise RendererUnavailable(
        f"cameras need OpenGL 3.3 through EGL, which this machine lacks ({problems[0]}); "
        "install it with: apt install libegl1 libgl1 libgl1-mesa-dri"
    )


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _try_device(index: int, problems: list[str]) -> Any:
    # moderngl's annotations call every setting a dict.
    settings: dict[str, Any] = {"backend": "egl", "device_index": index}
    try:
        return moderngl.create_context(require=330, standalone=True, **settings)
    except Exception as error:  # glcontext raises bare Exception, whatever EGL says
        problems.append(str(error))
        return None
