"""Load a model of any supported format, from a file or a text, as a validated Body."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .body import Body
from .diagnostics import Diagnostics, ModelError, Source, Span
from .files.model_file import split_model_name
from .files.resources import FileAccess, ResourceError, path_from_uri
from .geometry import SceneNode
from .read_context import XML_SUFFIXES, ReadContext
from .validate import validate, validated_as

if TYPE_CHECKING:
    from .readers.xml_tree import Element

# The readers are imported when they are used: most models are of one format.


def _read_wrl(source: Source, context: ReadContext) -> Body | None:
    from .readers import vrml

    return vrml.read_body(source, context)


def _read_choreonoid(source: Source, context: ReadContext) -> Body | None:
    from .readers import choreonoid

    return choreonoid.read_body(source, context)


def _read_urdf(source: Source, context: ReadContext) -> Body | None:
    from .readers import urdf

    root = _parsed(source, context)
    return None if root is None else urdf.read_robot(root, context)


def _read_xacro(source: Source, context: ReadContext) -> Body | None:
    root = _expanded(source, context)
    return None if root is None else _read_root(root, context)


def _read_xml(source: Source, context: ReadContext) -> Body | None:
    """Read a file with a suffix of several formats."""
    root = _parsed(source, context)
    return None if root is None else _read_root(root, context)


def _parsed(source: Source, context: ReadContext) -> Element | None:
    """Return the root element of a file, of which macros are expanded whatever its suffix is."""
    from .readers.xml_tree import parse

    root = parse(source, context.diagnostics, lambda at: context.count("nodes", at=at))
    macro = None if root is None else _first_macro(root)
    if macro is None:
        return root
    message = f"<{macro.tag}> needs xacro, which expands it; the suffix .xacro would state so"
    context.diagnostics.note("expanded-xacro", message, macro.span)
    return _expanded(source, context)


def _first_macro(root: Element) -> Element | None:
    """Return the first element that only xacro can read, or None."""
    names_xacro = any("xacro" in name for name in root.attributes)  # as a namespace
    for element in (root, *root.descendants()):
        values = element.attributes.values() if names_xacro else ()
        has_expression = any("${" in value or "$(" in value for value in values)
        if has_expression or element.tag.startswith("xacro:"):
            return element
    return None


def _expanded(source: Source, context: ReadContext) -> Element | None:
    from .readers import xacro

    context.has_macros = True
    return xacro.expand(source, context)


def _read_root(root: Element, context: ReadContext) -> Body | None:
    """Read a model by its root element."""
    from .readers import mjcf, sdf, urdf

    if root.tag == "mujoco":
        return mjcf.read_model(root, context)
    if root.tag == "sdf":
        return sdf.read_model(root, context)
    if root.tag == "COLLADA":
        return _read_collada(root, context)
    if root.tag == "gazebo":
        message = "SDF 1.2 and older is not read: convert it by 'gz sdf -p FILE'"
        context.diagnostics.error("unknown-version", message, root.span)
        return None
    if root.tag == "grxui":
        message = "this is a project of OpenHRP: run it with hrp-sim, or name a model that it lists"
        context.diagnostics.error("not-a-model", message, root.span)
        return None
    return urdf.read_robot(root, context)


def _read_dae(source: Source, context: ReadContext) -> Body | None:
    """Read a COLLADA file, which is a robot if it has a kinematics model."""
    from .readers import collada

    if collada.has_robot(source.text):
        return _read_xml(source, context)
    shown = f"'{source.name}', which has no kinematics model,"
    context.report_shapes(shown, Span(source, 0, 0))
    return None


def _read_collada(root: Element, context: ReadContext) -> Body | None:
    from .readers import collada
    from .readers.mesh import collada_file

    def read_shapes() -> SceneNode:
        return collada_file.read_collada_text(root.source, context)

    return collada.read_robot(root, context, read_shapes)


def _wrl_scene(path: Path, context: ReadContext) -> SceneNode:
    from .readers import vrml

    return vrml.read_scene(path, context)


def _choreonoid_scene(path: Path, context: ReadContext) -> SceneNode:
    from .readers import choreonoid

    return choreonoid.read_scene(path, context)


def _mesh_scene(path: Path, context: ReadContext) -> SceneNode:
    from .readers.mesh import mesh_file

    return mesh_file.read_scene(path, context)


_SCENE_READERS = {
    ".wrl": _wrl_scene,
    ".scen": _choreonoid_scene,
    **dict.fromkeys((".stl", ".dae", ".obj", ".glb", ".gltf", ".ply"), _mesh_scene),
}
_BODY_READERS = {
    ".wrl": _read_wrl,
    ".urdf": _read_urdf,
    ".xacro": _read_xacro,
    ".dae": _read_dae,
    **dict.fromkeys((".mjcf", ".sdf", ".xml"), _read_xml),
    **dict.fromkeys((".body", ".yaml", ".yml"), _read_choreonoid),
}
# Codes of syntax errors, after which a parser skips parts of the text.
_SYNTAX_ERRORS = frozenset(
    ("stray-character", "syntax-error", "unexpected-end", "unterminated-string", "yaml-syntax")
)
# Of files that may be URDF.
_ROBOT_SUFFIXES = (".urdf", ".xacro", ".xml")
# First characters of the formats; any other text is YAML.
_BEGINNINGS = (
    (r"\s*#(?:VRML|X3D)", ".wrl"),
    (r"\ufeff?\s*<[?!a-zA-Z]", ".xml"),
)
KINDS = ("wrl", "body", "urdf", "xacro", "mjcf", "sdf", "dae")


# Overflows give non-finite numbers, which validation reports with their place.
@np.errstate(over="ignore", invalid="ignore")
def load_body(
    model: str | os.PathLike[str],
    diagnostics: Diagnostics | None = None,
    *,
    sandbox: bool = False,
    resource_folders: Iterable[str | os.PathLike[str]] = (),
    arguments: Mapping[str, str] | None = None,
) -> Body:
    """Read a robot model: ``.wrl``, ``.body``, ``.yaml``, ``.urdf``, xacro, MJCF, SDF, ``.dae``.

    Args:
        model: Path of the model file, or its ``file://`` or ``package://`` URI. Arguments of a
            xacro file may follow: ``robot.urdf.xacro arm:=left``.
        diagnostics: Receives notes and warnings; by default they are logged.
        sandbox: Whether to read files only from the model's own folder, the packages on
            AMENT_PREFIX_PATH and ROS_PACKAGE_PATH, and ``resource_folders``, even if the model
            refers to others by ``..``, absolute paths or URIs. No other environment variables
            and no home folders are looked up.
        resource_folders: Further folders that may contain the model's files.
        arguments: Further arguments of a xacro file, by name.

    Raises:
        ModelError: The model cannot be used; lists every problem with its place.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    body = None
    try:
        path = Path(os.path.realpath(path_from_uri(model)))
    except ResourceError as error:
        diagnostics.error("missing-model", str(error))
    else:
        context = _context(diagnostics, (path.parent, *map(Path, resource_folders)), sandbox)
        name, own = split_model_name(os.fspath(model))
        given = {**own, **(arguments or {})}
        context.arguments = given if path.suffix.lower() in XML_SUFFIXES else {}
        body = context.read_body(path, name=name)
        _warn_of_arguments(context, body, name, given)
    return _checked(body, diagnostics)


@np.errstate(over="ignore", invalid="ignore")
def load_body_text(
    text: str,
    diagnostics: Diagnostics | None = None,
    *,
    kind: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    name: str = "text",
    sandbox: bool = False,
    resource_folders: Iterable[str | os.PathLike[str]] = (),
    arguments: Mapping[str, str] | None = None,
) -> Body:
    """Read a robot model from a text instead of a file; its body has no path.

    Args:
        text: The model.
        diagnostics: Receives notes and warnings; by default they are logged.
        kind: Format of the text, one of ``KINDS``; by default detected from its beginning:
            "#VRML" or "#X3D" is VRML, "<" is URDF, MJCF, SDF or COLLADA, anything else a
            Choreonoid body.
        folder: Folder to which relative references are relative; by default the working
            directory.
        name: Name of the text in messages, and of the body if the text does not name it.
        sandbox: As for ``load_body``; the model's own folder is ``folder``, if given.
        resource_folders: As for ``load_body``.
        arguments: Arguments of a xacro file, by name.

    Raises:
        ModelError: The model cannot be used; lists every problem with its place.
        ValueError: ``kind`` is unknown.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"unknown kind '{kind}': it must be one of {', '.join(KINDS)}")
    suffix = f".{kind}" if kind else _suffix(text)
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    folders = [] if folder is None else [Path(os.path.realpath(folder))]
    path = folders[0] / name.replace(os.sep, "_") if folders else None
    context = _context(diagnostics, (*folders, *map(Path, resource_folders)), sandbox)
    given = arguments or {}
    context.arguments = given if suffix in XML_SUFFIXES else {}
    body = context.read_text(Source(name, text.removeprefix("\ufeff"), path), suffix)
    _warn_of_arguments(context, body, name, given)
    return _checked(None if body is None else replace(body, path=None), diagnostics)


def load_xml(
    model: str | os.PathLike[str], diagnostics: Diagnostics | None = None
) -> Element | None:
    """Return the root element of a URDF, with its macros expanded; None for other formats.

    Args:
        model: As for ``load_body``.
        diagnostics: Receives notes and warnings; by default they are logged.

    Raises:
        ModelError: The file cannot be read.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    found: list[Element | None] = []

    def keep(source: Source, context: ReadContext) -> None:
        is_macro = context.open_files[-1].suffix.lower() == ".xacro"
        found.append((_expanded if is_macro else _parsed)(source, context))

    name, arguments = split_model_name(os.fspath(model))
    try:
        path = Path(os.path.realpath(path_from_uri(model)))
    except ResourceError as error:
        diagnostics.error("missing-model", str(error))
    else:
        if path.suffix.lower() in _ROBOT_SUFFIXES:
            context = _context(diagnostics, (path.parent,))
            context.arguments = arguments
            context.body_readers |= dict.fromkeys(_ROBOT_SUFFIXES, keep)
            context.read_body(path, name=name)
    diagnostics.raise_errors()
    root = found[0] if found else None
    return root if root is not None and root.tag == "robot" else None


def load_bodies(root: Element, diagnostics: Diagnostics) -> list[Body]:
    """Read all models of an ``<sdf>`` with a world, each at its pose in the world.

    Args:
        root: The element; without a path, relative paths start at the working directory.
        diagnostics: Receives all problems; after errors, bodies may be missing.
    """
    from .readers import sdf

    path = root.source.path
    context = _context(diagnostics, (Path() if path is None else path.parent,))
    with context.entering(path or Path(root.source.name), None):
        found = sdf.read_world(root, context)
    for original in {id(original): original for _, original in found}.values():
        validate(original, diagnostics)
    return [validated_as(body, original) for body, original in found]


def _suffix(text: str) -> str:
    suffixes = (suffix for beginning, suffix in _BEGINNINGS if re.match(beginning, text))
    return next(suffixes, ".body")


def _context(
    diagnostics: Diagnostics, folders: Iterable[Path], sandbox: bool = False
) -> ReadContext:
    roots = tuple(Path(os.path.realpath(folder)) for folder in folders)
    access = FileAccess(roots, sandboxed=sandbox)
    return ReadContext(diagnostics, dict(_SCENE_READERS), dict(_BODY_READERS), access=access)


def _warn_of_arguments(
    context: ReadContext, body: Body | None, name: str, given: Mapping[str, str]
) -> None:
    """Warn of arguments of a model that has no macros."""
    if body is not None and given and not (context.arguments and context.has_macros):
        message = f"'{name}' takes no arguments: only xacro files do; they are ignored"
        context.diagnostics.warn("unknown-argument", message)


def _checked(body: Body | None, diagnostics: Diagnostics) -> Body:
    """Return the validated body; raises ModelError."""
    # Validate even after errors, so that one run reports all of them; but not after syntax
    # errors, where rules would report what was merely skipped.
    if body is not None and not _SYNTAX_ERRORS.intersection(d.code for d in diagnostics.found):
        validate(body, diagnostics)
    diagnostics.raise_errors()
    if body is None:  # a reader returns None only after reporting an error
        raise ModelError(diagnostics.found)
    return body
