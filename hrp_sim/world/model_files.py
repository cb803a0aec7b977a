"""Load the models that a world refers to, each file once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hrp_model import Body, Diagnostics, ModelError, load_body
from hrp_model.diagnostics import Span
from hrp_model.files.model_file import split_model_name
from hrp_model.files.resources import ResourceError, resolve

from .naming import simulated_body


class ModelFiles:
    """The models of a world by file.

    Args:
        diagnostics: Receives all problems of references and models.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._bodies: dict[tuple[Path, tuple[tuple[str, str], ...]], Body | None] = {}

    def load(
        self, uri: str, folder: Path, at: Span, arguments: Mapping[str, str] | None = None
    ) -> Body | None:
        """Return a model, or None after reporting errors.

        Args:
            uri: Path of the model file, or its ``file://`` or ``package://`` URI. Arguments of a
                xacro file may follow.
            folder: Base of relative paths.
            at: Location of the reference.
            arguments: Further arguments of a xacro file.
        """
        file, own = split_model_name(uri)
        given = {**own, **(arguments or {})}
        try:
            path = resolve(file, folder)
        except ResourceError as error:
            self._diagnostics.error("missing-model", str(error), at)
            return None
        key = path, tuple(sorted(given.items()))
        if key not in self._bodies:
            # Separate diagnostics, so that loading fails only for errors of this model.
            diagnostics = Diagnostics(listener=self._diagnostics.add)
            try:
                body = load_body(path, diagnostics, arguments=given)
                self._bodies[key] = simulated_body(body)
            except ModelError:  # the errors were reported
                self._bodies[key] = None
        return self._bodies[key]
