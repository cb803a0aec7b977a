"""Discard what C libraries write to the standard error stream."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_STDERR = 2
_lock = Lock()  # else the streams of two threads could remain exchanged


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Discard what is written to the standard error stream within a ``with`` block.

    Qhull in MuJoCo writes pages about a mesh that it refuses, beside the error that it reports.
    The block should be short, as output of other threads is lost, too.
    """
    with _lock:
        try:
            saved = os.dup(_STDERR)
        except OSError:  # it is closed
            yield
            return
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, _STDERR)
            yield
        finally:
            os.dup2(saved, _STDERR)
            os.close(saved)
            os.close(null)
