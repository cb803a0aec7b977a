"""A model file that can be read again when its files or the options change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..diagnostics import Diagnostic, Diagnostics, MissingLibraryError, ModelError
from ..files.file_watch import FileWatch
from ..files.model_file import split_model_name
from ..load import load_body
from .description import Description, DescriptionOptions, describe

# Errors of an invalid model.
MODEL_ERRORS = (ModelError, OSError, MissingLibraryError)


class ModelFile:
    """Reads a robot from files, and watches these files for changes.

    Args:
        mesh_folder: Folder of the meshes for the URDF.
        listener: Called with each diagnostic.
    """

    def __init__(self, mesh_folder: Path, listener: Callable[[Diagnostic], None]) -> None:
        self._mesh_folder = mesh_folder
        self._listener = listener
        self._watch = FileWatch()

    def describe(self, model: str, options: DescriptionOptions) -> Description:
        """Read a model; if it is valid, its files are watched from now on.

        Args:
            model: Its path, or ``file://`` or ``package://`` URI; problems are reported with the
                absolute path.
            options: Options of the description.

        Raises:
            ModelError: The model is invalid.
            OSError: The meshes cannot be written.
            MissingLibraryError: A library for the selected collision shapes is not installed.
        """
        watch = FileWatch()
        description = self._describe(model, options, watch)
        self._watch = watch
        return description

    def describe_again(self, model: str, options: DescriptionOptions) -> Description:
        """Read the same model after a change; its files are watched even if it is invalid.

        Raises:
            ModelError, OSError, MissingLibraryError: As for ``describe``.
        """
        before, self._watch = self._watch, FileWatch()
        try:
            return self._describe(model, options, self._watch)
        except Exception:
            # Files that were not read this time may still be part of the model.
            for path in before.files:
                self._watch.add(path)
            raise

    def has_changed(self) -> bool:
        """Return whether a file has changed and is not being written right now."""
        return self._watch.has_changed()

    def _describe(self, model: str, options: DescriptionOptions, watch: FileWatch) -> Description:
        diagnostics = Diagnostics(listener=self._listener)
        with watch.recording():
            if "://" not in model:
                model, arguments = split_model_name(model)
                model = os.path.abspath(model)  # readers of the log do not know this folder
                watch.add(Path(model))  # also if it is a symbolic link
                body = load_body(model, diagnostics, arguments=arguments)
            else:
                body = load_body(model, diagnostics)
            return describe(body, options, self._mesh_folder, diagnostics)


def error_text(error: Exception) -> str:
    """Return the text of one of ``MODEL_ERRORS``, a line for each problem."""
    if isinstance(error, ModelError):  # its lines begin with place and severity
        return str(error)
    if isinstance(error, OSError):
        return f"error: the meshes cannot be written: {error}"
    return f"error: {error}"


def first_line(problems: str) -> str:
    """Return the first of several lines, and the number of the others."""
    first, *others = problems.splitlines()
    return f"{first} (and {len(others)} more)" if others else first
