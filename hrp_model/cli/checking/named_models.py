"""The models given on the command line, as files and folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...diagnostics import counted
from ...files.resources import ResourceError, path_from_uri
from ...readers.file_kind import FileKind, file_kind
from .model_files import candidate_files
from .settings import SettingsFinder


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
