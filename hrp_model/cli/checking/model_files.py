"""Files with the suffix of a model, and which of them are models."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from enum import Enum
from itertools import islice
from pathlib import Path

_SUFFIXES = (".body", ".urdf", ".wrl", ".yaml", ".yml")
_MOST_ENTRIES = 200_000
_CHUNK = 1 << 20  # [bytes]
_OVERLAP = 64  # [bytes]; longer than any match
_ROBOT_NODE = re.compile(rb"\b(?:Humanoid|Joint)\s{0,40}\{")
# Keys at the top of a YAML file; a file in one line may begin with a brace.
_TOP_KEY = rb"(?:^|\A\s*\{\s*)[\"']?%s[\"']?\s*:"
_BODY_FORMAT = re.compile(_TOP_KEY % rb"format" + rb"\s*[\"']?ChoreonoidBody", re.MULTILINE)
_WRAPPER = re.compile(_TOP_KEY % rb"(?:model_file|modelFile)", re.MULTILINE)
_WORLD = re.compile(_TOP_KEY % rb"bodies", re.MULTILINE)


class FileKind(Enum):
    """Kind of a file by its suffix and its text; a broken model is still a model."""

    MODEL = "model"
    WORLD = "world"
    OTHER = "other"


class TooManyFilesError(Exception):
    """A folder holds more than can be looked through."""


def candidate_files(folder: Path, is_excluded: Callable[[Path], bool]) -> list[Path]:
    """Return the files below a folder that have the suffix of a model, sorted by folder and name.

    Hidden files and folders are left out, and links to folders are not followed.

    Args:
        folder: Where to search.
        is_excluded: Whether a file or folder is left out.

    Raises:
        OSError: A folder cannot be read.
        TooManyFilesError: There are more than 200,000 files and folders.
    """
    found = []
    pending = [folder]
    seen = 0
    while pending:
        here = pending.pop()
        with os.scandir(here) as scan:
            first = islice(scan, _MOST_ENTRIES + 1)
            entries = sorted(first, key=lambda entry: entry.name)
        seen += len(entries)
        if seen > _MOST_ENTRIES:
            many = f"more than {_MOST_ENTRIES} files and folders"
            raise TooManyFilesError(f"there are {many} in {folder}: name a smaller folder")
        folders = []
        for entry in entries:
            path = here / entry.name
            if entry.name.startswith(".") or is_excluded(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif path.suffix.lower() in _SUFFIXES and path.is_file():
                found.append(path)
        pending += reversed(folders)
    return found


def file_kind(path: Path) -> FileKind:
    """Return the kind of a file with the suffix of a model.

    A .wrl file is a model if it has a Humanoid or Joint node, a YAML file if it is a Choreonoid
    body or names a model. What cannot be read counts as a model, for its reader to report.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".wrl":
            return FileKind.MODEL if _has_robot(path) else FileKind.OTHER
        if suffix in (".yaml", ".yml"):
            return _yaml_kind(path)
    except OSError:
        pass
    return FileKind.MODEL


def _has_robot(path: Path) -> bool:
    """Search for nodes of robots without holding a large file in memory."""
    with path.open("rb") as file:
        end = b""
        while chunk := file.read(_CHUNK):
            if _ROBOT_NODE.search(end + chunk):
                return True
            end = chunk[-_OVERLAP:]
    return False


def _yaml_kind(path: Path) -> FileKind:
    with path.open("rb") as file:
        text = file.read(_CHUNK).removeprefix(b"\xef\xbb\xbf")
    if _BODY_FORMAT.search(text):
        return FileKind.MODEL
    if _WORLD.search(text):
        return FileKind.WORLD
    return FileKind.MODEL if _WRAPPER.search(text) else FileKind.OTHER
