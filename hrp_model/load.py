"""From a model of any kind, in a file or a text, to a checked Body."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .body import Body
from .diagnostics import Diagnostics, ModelError, Source
from .files.resources import FileAccess, ResourceError, path_from_uri
from .readers import choreonoid, vrml
from .readers.mesh import mesh_file
from .reading import Reading
from .validate import validate


def _read_urdf(source: Source, reading: Reading) -> Body | None:
    from .readers import urdf  # with urdf_parser_py, for which other models need not wait

    return urdf.read_body(source, reading)


_SCENE_READERS = {
    ".wrl": vrml.read_scene,
    ".scen": choreonoid.read_scene,
    **dict.fromkeys((".stl", ".dae", ".obj", ".glb", ".gltf", ".ply"), mesh_file.read_scene),
}
_BODY_READERS = {
    ".wrl": vrml.read_body,
    ".urdf": _read_urdf,
    **dict.fromkeys((".body", ".yaml", ".yml"), choreonoid.read_body),
}
# Codes after which a parser goes on further down.
_TORN = frozenset(
    ("stray-character", "syntax-error", "unexpected-end", "unterminated-string", "yaml-syntax")
)
# How the texts of the formats begin; what begins otherwise is YAML.
_BEGINNINGS = (
    (re.compile(r"\s*#(?:VRML|X3D)"), ".wrl"),
    (re.compile(r"\ufeff?\s*<[?!a-zA-Z]"), ".urdf"),
)
KINDS = ("wrl", "body", "urdf")


def load_body(
    model: str | os.PathLike[str],
    diagnostics: Diagnostics | None = None,
    *,
    sandbox: bool = False,
    resource_folders: Iterable[str | os.PathLike[str]] = (),
) -> Body:
    """Read a robot model: OpenHRP ``.wrl``, Choreonoid ``.body`` or its wrapper ``.yaml``, URDF.

    Args:
        model: Path of the model file, or its ``file://`` or ``package://`` URI.
        diagnostics: Where notes and warnings go; by default they are logged.
        sandbox: Whether to read nothing outside the model's own folder, the packages on
            AMENT_PREFIX_PATH and ROS_PACKAGE_PATH, and ``resource_folders``, even where
            the model names other files by ``..``, absolute paths or URIs. Other variables of
            the environment and home folders are not looked up.
        resource_folders: Further folders that the model's files may lie in.

    Raises:
        ModelError: The model cannot be used. It lists every problem with its place.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    body = None
    try:
        path = Path(os.path.realpath(path_from_uri(model)))
    except ResourceError as error:
        diagnostics.error("missing-model", str(error))
    else:
        reading = _reading(diagnostics, (path.parent, *map(Path, resource_folders)), sandbox)
        body = reading.read_body(path, name=os.fspath(model))
    return _checked(body, diagnostics)


def load_body_text(
    text: str,
    diagnostics: Diagnostics | None = None,
    *,
    kind: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    name: str = "text",
    sandbox: bool = False,
    resource_folders: Iterable[str | os.PathLike[str]] = (),
) -> Body:
    """Read a robot model from a text instead of a file; its body has no path.

    Args:
        text: The model.
        diagnostics: Where notes and warnings go; by default they are logged.
        kind: What the text is, one of ``KINDS``; by default as it begins: "#VRML" or "#X3D" is
            VRML, "<" is URDF, all else a Choreonoid body.
        folder: What relative references in it are relative to; by default the working
            directory.
        name: What messages call the text, and the body where the text has no name for it.
        sandbox: As for ``load_body``; the model's own folder is ``folder``, if it is given.
        resource_folders: As for ``load_body``.

    Raises:
        ModelError: The model cannot be used. It lists every problem with its place.
        ValueError: There is no such kind.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind '{kind}' is none of {', '.join(KINDS)}")
    suffix = f".{kind}" if kind else _suffix(text)
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    folders = [] if folder is None else [Path(os.path.realpath(folder))]
    path = folders[0] / name.replace(os.sep, "_") if folders else None
    reading = _reading(diagnostics, (*folders, *map(Path, resource_folders)), sandbox)
    body = reading.read_text(Source(name, text.removeprefix("\ufeff"), path), suffix)
    return _checked(None if body is None else replace(body, path=None), diagnostics)


def _suffix(text: str) -> str:
    found = (suffix for beginning, suffix in _BEGINNINGS if beginning.match(text))
    return next(found, ".body")


def _reading(diagnostics: Diagnostics, folders: Iterable[Path], sandbox: bool) -> Reading:
    roots = tuple(Path(os.path.realpath(folder)) for folder in folders)
    access = FileAccess(roots, sandboxed=sandbox)
    return Reading(diagnostics, dict(_SCENE_READERS), dict(_BODY_READERS), access=access)


def _checked(body: Body | None, diagnostics: Diagnostics) -> Body:
    """Return a body that every rule was applied to; raises ModelError."""
    # One run tells everything, unless parts of the text were passed over: a rule would then
    # complain of what is only not read.
    if body is not None and not _TORN.intersection(d.code for d in diagnostics.found):
        validate(body, diagnostics)
    diagnostics.raise_errors()
    if body is None:  # a reader gives no body only after reporting an error
        raise ModelError(diagnostics.found)
    return body
