"""From a model file of any kind to a checked Body."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from . import choreonoid, vrml
from .body import Body
from .diagnostics import Diagnostics, ModelError
from .mesh_files import meshfile
from .reading import Reading
from .resources import Fence, ResourceError, named_path
from .validate import validate

_SCENE_READERS = {
    ".wrl": vrml.read_scene,
    ".scen": choreonoid.read_scene,
    **dict.fromkeys((".stl", ".dae", ".obj", ".glb", ".gltf", ".ply"), meshfile.read_scene),
}
_BODY_READERS = {
    ".wrl": vrml.read_body,
    **dict.fromkeys((".body", ".yaml", ".yml"), choreonoid.read_body),
}
# Codes after which a parser goes on further down.
_TORN = frozenset(
    ("stray-character", "syntax-error", "unexpected-end", "unterminated-string", "yaml-syntax")
)


def load_body(
    model: str | os.PathLike[str],
    diagnostics: Diagnostics | None = None,
    *,
    sandbox: bool = False,
    resource_folders: Iterable[str | os.PathLike[str]] = (),
) -> Body:
    """Read a robot model: OpenHRP ``.wrl``, Choreonoid ``.body``, or a wrapper ``.yaml``.

    Args:
        model: Path of the model file, or its ``file://`` or ``package://`` URI.
        diagnostics: Where notes and warnings go; by default they are logged.
        sandbox: Whether to read nothing outside the model's own folder, the packages on
            AMENT_PREFIX_PATH and ROS_PACKAGE_PATH, and ``resource_folders``, even where
            the model names other files by ``..``, absolute paths or URIs.
        resource_folders: Further folders that the model's files may lie in.

    Raises:
        ModelError: The model cannot be used. It lists every problem with its place.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    body = None
    try:
        path = Path(os.path.realpath(named_path(model)))
    except ResourceError as error:
        diagnostics.error("missing-model", str(error))
    else:
        roots = (path.parent, *(Path(os.path.realpath(folder)) for folder in resource_folders))
        fence = Fence(roots, closed=sandbox)
        reading = Reading(diagnostics, dict(_SCENE_READERS), dict(_BODY_READERS), fence=fence)
        body = reading.read_body(path, name=os.fspath(model))
    # One run tells everything, unless parts of the text were passed over: a rule would then
    # complain of what is only not read.
    if body is not None and not _TORN.intersection(d.code for d in diagnostics.found):
        validate(body, diagnostics)
    diagnostics.raise_errors()
    if body is None:  # a reader gives no body only after reporting an error
        raise ModelError(diagnostics.found)
    return body
