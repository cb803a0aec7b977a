"""From a model file of any kind to a checked Body."""

from __future__ import annotations

import os
from pathlib import Path

from . import choreonoid, meshfile, vrml
from .body import Body
from .diagnostics import Diagnostics, ModelError
from .reading import Reading
from .resources import ResourceError, named_path
from .validate import validate

_SCENE_READERS = {
    ".wrl": vrml.read_scene,
    **dict.fromkeys((".stl", ".dae", ".obj", ".glb", ".gltf", ".ply"), meshfile.read_scene),
}
_BODY_READERS = {
    ".wrl": vrml.read_body,
    **dict.fromkeys((".body", ".yaml", ".yml"), choreonoid.read_body),
}


def load_body(model: str | os.PathLike[str], diagnostics: Diagnostics | None = None) -> Body:
    """Read a robot model: OpenHRP ``.wrl``, Choreonoid ``.body``, or a wrapper ``.yaml``.

    Args:
        model: Path of the model file, or its ``file://`` or ``package://`` URI.
        diagnostics: Where notes and warnings go; by default they are logged.

    Raises:
        ModelError: The model cannot be used. It lists every problem with its place.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    reading = Reading(diagnostics, dict(_SCENE_READERS), dict(_BODY_READERS))
    body = None
    try:
        path = Path(os.path.realpath(named_path(model)))
    except ResourceError as error:
        diagnostics.error("missing-model", str(error))
    else:
        body = reading.read_body(path, name=os.fspath(model))
    diagnostics.raise_errors()
    if body is None:  # a reader gives no body only after reporting an error
        raise ModelError(diagnostics.found)
    validate(body, diagnostics)
    diagnostics.raise_errors()
    return body
