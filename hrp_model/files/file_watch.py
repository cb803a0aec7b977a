"""Which files a model was made from, and whether they have changed since."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

# Time of the last change in [ns], size and number of a file; None where there is none.
_State = tuple[int, int, int] | None


class FileWatch:
    """Remembers what files were like when they were read, and tells when that is over."""

    def __init__(self) -> None:
        self._as_read: dict[Path, _State] = {}
        self._seen: dict[Path, _State] = {}

    @property
    def files(self) -> frozenset[Path]:
        """All files that are watched, those included that were looked for in vain."""
        return frozenset(self._as_read)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Watch what this thread reads in a ``with`` block, as it is before it is read."""
        token = _recording.set(self)
        try:
            yield
        finally:
            _recording.reset(token)

    def add(self, path: Path) -> None:
        """Watch one more file, there or not, as it is now; the first look at it counts."""
        self._as_read.setdefault(path, _state(path))

    def has_read(self, path: Path) -> bool:
        """Return whether a path leads to a watched file, also by another name."""
        try:
            there = os.stat(path)
        except (OSError, ValueError):
            return False
        real = os.path.realpath(path)
        return any(
            os.path.realpath(file) == real or (state[2] == there.st_ino and _is_same(file, there))
            for file, state in self._as_read.items()
            if state is not None
        )

    def has_changed(self) -> bool:
        """Tell whether any file is other than it was read, and they all rest again.

        They rest if they are as at the last call, so that no half-written file is read.
        """
        now = {path: _state(path) for path in self._as_read}
        rests, self._seen = now == self._seen, now
        return rests and now != self._as_read


_recording: ContextVar[FileWatch | None] = ContextVar("file watch", default=None)


def record_file(path: Path) -> None:
    """Say that what is being made depends on a file, before it is looked at."""
    watch = _recording.get()
    if watch is not None:
        watch.add(path)


def was_read(path: Path) -> bool:
    """Return whether the current ``recording`` has read a file, also by another name."""
    watch = _recording.get()
    return watch is not None and watch.has_read(path)


@contextmanager
def without_recording() -> Iterator[None]:
    """Read files in a ``with`` block that may be replaced, such as a state that is saved again."""
    token = _recording.set(None)
    try:
        yield
    finally:
        _recording.reset(token)


def _is_same(file: Path, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(file), there)
    except OSError:
        return False


def _state(path: Path) -> _State:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
