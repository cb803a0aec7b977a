"""Load the models that a world refers to, each file once."""

from __future__ import annotations

from pathlib import Path

from hrp_model import Body, Diagnostics, ModelError, load_body
from hrp_model.diagnostics import Span
from hrp_model.files.resources import ResourceError, resolve

from .naming import simulated_body


class ModelFiles:
    """The models of a world by file.

    Args:
        diagnostics: Receives all problems of references and models.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._bodies: dict[Path, Body | None] = {}

    def load(self, uri: str, folder: Path, at: Span) -> Body | None:
        """Return a model, or None after reporting errors.

        Args:
            uri: Path of the model file, or its ``file://`` or ``package://`` URI.
            folder: Base of relative paths.
            at: Location of the reference.
        """
        try:
            path = resolve(uri, folder)
        except ResourceError as error:
            self._diagnostics.error("missing-model", str(error), at)
            return None
        if path not in self._bodies:
            # Separate diagnostics, so that loading fails only for errors of this model.
            diagnostics = Diagnostics(listener=self._diagnostics.add)
            try:
                self._bodies[path] = simulated_body(load_body(path, diagnostics))
            except ModelError:  # the errors were reported
                self._bodies[path] = None
        return self._bodies[path]
