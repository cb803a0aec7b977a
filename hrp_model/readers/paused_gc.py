"""Pause the garbage collector while large trees are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_gc() -> Iterator[None]:
    """Pause cyclic garbage collection within a ``with`` block.

    While a large tree without cycles grows, the collector would scan it again and again in vain,
    which takes as long as building it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
