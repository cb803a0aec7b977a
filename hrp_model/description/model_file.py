"""A model file that is described whenever it, or what is wanted of it, changes. Knows no ROS."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..diagnostics import Diagnostic, Diagnostics, MissingLibraryError, ModelError
from ..files.file_watch import FileWatch
from ..load import load_body
from .description import Description, Wanted, describe

# What keeps a model from being described.
UNUSABLE = (ModelError, OSError, MissingLibraryError)


class ModelFile:
    """Reads a robot from files, and watches those that it was made from.

    Args:
        mesh_folder: Where meshes for the URDF go.
        listener: Called with each diagnostic.
    """

    def __init__(self, mesh_folder: Path, listener: Callable[[Diagnostic], None]) -> None:
        self._mesh_folder = mesh_folder
        self._listener = listener
        self._watch = FileWatch()

    def describe(self, model: str, wanted: Wanted) -> Description:
        """Read a model; if it can be used, its files are watched from now on.

        Args:
            model: Its path, or ``file://`` or ``package://`` URI; problems are told with the
                absolute path.
            wanted: What the description is to be like.

        Raises:
            ModelError: The model cannot be used.
            OSError: The meshes cannot be written.
            MissingLibraryError: Its collision shapes cannot be made.
        """
        watch = FileWatch()
        description = self._describe(model, wanted, watch)
        self._watch = watch
        return description

    def describe_again(self, model: str, wanted: Wanted) -> Description:
        """Read the same model after a change; its files are watched whether it can be used or not.

        Raises:
            ModelError, OSError, MissingLibraryError: As for ``describe``.
        """
        before, self._watch = self._watch, FileWatch()
        try:
            return self._describe(model, wanted, self._watch)
        except Exception:
            # What was not reached this time may still be part of the model.
            for path in before.files:
                self._watch.add(path)
            raise

    def has_changed(self) -> bool:
        """Tell whether a file was changed, and is not being written right now."""
        return self._watch.has_changed()

    def _describe(self, model: str, wanted: Wanted, watch: FileWatch) -> Description:
        diagnostics = Diagnostics(listener=self._listener)
        with watch.recording():
            if "://" not in model:
                model = os.path.abspath(model)  # nobody who reads a message knows this folder
                watch.add(Path(model))  # the link itself, if it is one
            body = load_body(model, diagnostics)
            return describe(body, wanted, self._mesh_folder, diagnostics)


def what_went_wrong(error: Exception) -> str:
    """Return why a model cannot be described, one of ``UNUSABLE``: a line for each problem."""
    if isinstance(error, ModelError):  # its lines say "error" themselves
        return str(error)
    if isinstance(error, OSError):
        return f"error: the meshes cannot be written: {error}"
    return f"error: {error}"


def first_line(problems: str) -> str:
    """Return the first of several problems, and how many more there are."""
    first, *others = problems.splitlines()
    return f"{first} (and {len(others)} more)" if others else first
