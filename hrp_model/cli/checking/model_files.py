"""Search of a folder for files with the suffix of a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from ...files.model_file import format_suffix
from ...readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES

_SUFFIXES = (*MODEL_SUFFIXES, *YAML_SUFFIXES)
_MAX_ENTRIES = 200_000


class TooManyFilesError(Exception):
    """A folder has too many entries."""


def candidate_files(folder: Path, is_excluded: Callable[[Path], bool]) -> list[Path]:
    """Return the files below a folder that have the suffix of a model, sorted by folder and name.

    Hidden files and folders are left out, and links to folders are not followed.

    Args:
        folder: Where to search.
        is_excluded: Returns whether a file or folder is left out.

    Raises:
        OSError: A folder cannot be read.
        TooManyFilesError: There are more than 200,000 files and folders.
    """
    files = []
    pending = [folder]
    seen = 0
    while pending:
        current = pending.pop()
        with os.scandir(current) as scan:
            first = islice(scan, _MAX_ENTRIES + 1)
            entries = sorted(first, key=lambda entry: entry.name)
        seen += len(entries)
        if seen > _MAX_ENTRIES:
            limit = f"more than {_MAX_ENTRIES} files and folders"
            raise TooManyFilesError(f"{folder} has {limit}: choose a smaller folder")
        folders = []
        for entry in entries:
            path = current / entry.name
            if entry.name.startswith(".") or is_excluded(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif format_suffix(path) in _SUFFIXES and path.is_file():
                files.append(path)
        pending += reversed(folders)
    return files
