"""Record the files that a model was made from, and detect changes to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

# Modification time in [ns], size and inode of a file; None if it does not exist.
_State = tuple[int, int, int] | None


class FileWatch:
    """Records the state of files when they are read, and detects later changes."""

    def __init__(self) -> None:
        self._as_read: dict[Path, _State] = {}
        self._last_states: dict[Path, _State] = {}

    @property
    def files(self) -> frozenset[Path]:
        """All watched files, including those that were looked for but do not exist."""
        return frozenset(self._as_read)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Watch the files that this thread reads within a ``with`` block."""
        token = _recording.set(self)
        try:
            yield
        finally:
            _recording.reset(token)

    def add(self, path: Path) -> None:
        """Watch a file, existing or not, from its current state; a watched file is unchanged."""
        self._as_read.setdefault(path, _state(path))

    def add_all(self, earlier: FileWatch) -> None:
        """Watch the files of another watch, from their states when it last looked for changes.

        Thus a change since then, while they were read again, is noticed. Watched files are
        unchanged.
        """
        for path, state in (earlier._as_read | earlier._last_states).items():
            self._as_read.setdefault(path, state)

    def has_read(self, path: Path) -> bool:
        """Return whether a path is a watched file, possibly under another name."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return False
        real = os.path.realpath(path)
        return any(
            os.path.realpath(file) == real or (state[2] == status.st_ino and _is_same(file, status))
            for file, state in self._as_read.items()
            if state is not None
        )

    def has_changed(self) -> bool:
        """Return whether any file has changed since it was read, and none is still changing.

        Files are still changing if they differ from the last call; thus no half-written file
        is read.
        """
        states = {path: _state(path) for path in self._as_read}
        is_stable, self._last_states = states == self._last_states, states
        return is_stable and states != self._as_read


_recording: ContextVar[FileWatch | None] = ContextVar("file watch", default=None)


def record_file(path: Path) -> None:
    """Add a file to the current ``recording``, if any; to be called before it is read."""
    watch = _recording.get()
    if watch is not None:
        watch.add(path)


def was_read(path: Path) -> bool:
    """Return whether the current ``recording`` has read a file, possibly under another name."""
    watch = _recording.get()
    return watch is not None and watch.has_read(path)


@contextmanager
def without_recording() -> Iterator[None]:
    """Suspend the recording within a ``with`` block, for files that may be overwritten later."""
    token = _recording.set(None)
    try:
        yield
    finally:
        _recording.reset(token)


def _is_same(file: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(file), status)
    except OSError:
        return False


def _state(path: Path) -> _State:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
