"""Recordings that commands read; their problems are diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hrp_model import Diagnostics
from hrp_model.diagnostics import needs_extra
from hrp_model.files.resources import ResourceError, path_from_uri

if TYPE_CHECKING:
    from hrp_msgs.recording import Recording

    from ..recording.recorded_run import RecordedRun

TRUNCATED = "truncated-recording"
_MAGIC = b"\x89MCAP"


def is_recording(name: str) -> bool:
    """Return whether a file is an MCAP file, by its beginning or its name."""
    if name.lower().endswith(".mcap"):
        return True
    with suppress(OSError, ResourceError, ValueError):
        path = path_from_uri(name)
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC
    return False


@contextmanager
def recording_errors(diagnostics: Diagnostics) -> Iterator[None]:
    """Report why a recording cannot be used.

    Raises:
        ModelError: It cannot be used.
        MissingLibraryError: A library for recordings is not installed.
    """
    with needs_extra("record"):
        from hrp_msgs.recording import RecordingError
    try:
        yield
    except RecordingError as error:
        has_end = all(problem.code != TRUNCATED for problem in diagnostics.found)
        reason = str(error) if has_end else f"{error}; the file has no proper end"
        diagnostics.error("unusable-recording", reason)
        diagnostics.raise_errors()


def open_recording(name: str, diagnostics: Diagnostics) -> Recording:
    """Open a recording, given by path or URI; a missing end is a warning.

    Raises:
        ModelError: It cannot be used.
        OSError: It cannot be read.
        MissingLibraryError: A library for recordings is not installed.
    """
    with recording_errors(diagnostics):
        from hrp_msgs.recording import Recording

        recording = Recording(path_from_uri(name))
    if recording.truncated:
        message = f"{name} has no proper end; it is used as far as it goes"
        diagnostics.warn(TRUNCATED, message)
    return recording


def recorded_run(recording: Recording, diagnostics: Diagnostics) -> RecordedRun:
    """Return the robots of a recording.

    Raises:
        ModelError: There is none that can be used.
    """
    with recording_errors(diagnostics):
        from ..recording.recorded_run import RecordedRun

        return RecordedRun(recording, diagnostics=diagnostics)
