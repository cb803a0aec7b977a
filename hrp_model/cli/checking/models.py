"""The files to check: models named or found in folders, and files of other packages.

Other packages register a function in the entry point group ``hrp_model.checkers``, under the name
of a top-level key of a YAML file. It takes the path or URI of the file and ``Diagnostics``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ...diagnostics import Diagnostics, counted
from ...files.model_file import format_suffix
from ...files.resources import ResourceError, path_from_uri
from ...read_context import read_source
from ...readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES, FileKind, file_kind, is_world
from ...readers.yaml.nodes import Mapping
from ...readers.yaml.tree import parse
from .settings import SettingsFinder

_SUFFIXES = (*MODEL_SUFFIXES, *YAML_SUFFIXES)
_MAX_ENTRIES = 200_000
GROUP = "hrp_model.checkers"
Checker = Callable[[str, Diagnostics], None]


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


class NamedModel(NamedTuple):
    """A model to read.

    Attributes:
        name: The file as given by the user, or its path below a given folder.
        path: The file.
    """

    name: str
    path: Path


class NamedModels:
    """The models of files and folders: all below a folder, sorted by folder and name.

    A file that is given itself counts as a model, even if it is excluded or not a model.

    Args:
        names: Paths, or ``file://`` or ``package://`` URIs of files.
        settings: Settings with excluded files.

    Attributes:
        has_folders: Whether a folder was given.
        worlds: Number of world files in the folders.
        others: Number of other files there with the suffix of a model. Both are complete after
            an iteration.

    Raises:
        OSError: A folder cannot be read.
        TooManyFilesError: A folder has too many files.
    """

    def __init__(self, names: Sequence[str], settings: SettingsFinder) -> None:
        self.has_folders = False
        self.worlds = self.others = 0
        self._named: dict[NamedModel, bool] = {}  # and whether the file itself was given
        for name in names:
            path = _path(name)
            # An empty name, as of an unset shell variable, is not the current folder.
            if not name or not os.path.isdir(path):
                self._named[NamedModel(name, path)] = True
                continue
            self.has_folders = True
            for file in candidate_files(path, settings.is_excluded):
                self._named.setdefault(NamedModel(os.fspath(file), file), False)

    def skipped(self) -> str:
        """Return how many files of folders were skipped, or an empty string."""
        counts = ((self.worlds, "world"), (self.others, "other file"))
        parts = [counted(number, noun) for number, noun in counts if number]
        return f"skipped {' and '.join(parts)}" if parts else ""

    def __len__(self) -> int:
        """Return the number of files to examine."""
        return len(self._named)

    def __iter__(self) -> Iterator[tuple[int, NamedModel]]:
        """Yield the models, each with the number of files examined before."""
        for done, (model, is_named) in enumerate(self._named.items()):
            kind = FileKind.MODEL if is_named else file_kind(model.path)
            if kind is FileKind.MODEL:
                yield done, model
            elif kind is FileKind.WORLD:
                self.worlds += 1
            else:
                self.others += 1


def _path(name: str) -> Path:
    try:
        return path_from_uri(name)
    except ResourceError:
        return Path(name)  # its reader reports it


def checker_of(name: str, *, sandbox: bool) -> Checker | None:
    """Return the check for a YAML file that is not a model, or None without one.

    Args:
        name: Path or URI of the file, as given by the user.
        sandbox: Whether nothing outside its folder may be read; then a world is not checked,
            and the command that checks it is reported.
    """
    quiet = Diagnostics.silent()
    try:
        path = Path(os.path.realpath(path_from_uri(name)))
        root = parse(read_source(path, name), quiet)
    except (OSError, ResourceError):
        return None
    if not isinstance(root, Mapping):
        return None
    for entry_point in () if sandbox else entry_points(group=GROUP):
        if entry_point.name in root:
            return partial(_check_with, entry_point)
    return _refuse_world if is_world(root) else None


def _check_with(entry_point: EntryPoint, name: str, diagnostics: Diagnostics) -> None:
    """Load and run a check; errors of the import are errors of this check only."""
    check: Checker = entry_point.load()
    check(name, diagnostics)


def _refuse_world(name: str, diagnostics: Diagnostics) -> None:
    message = f"this is a world, not a model; check it with 'hrp-sim check {name}'"
    diagnostics.error("not-a-model", message)
