"""The garbage collector, kept from wasting time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_gc() -> Iterator[None]:
    """Hold the collector back while a large tree without cycles is built.

    It would pass over the growing tree again and again, find nothing, and take as long as
    building it does.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
