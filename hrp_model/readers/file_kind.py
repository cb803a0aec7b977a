"""Detect models and worlds of ``hrp-sim`` by suffix and content of files."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from ..files.model_file import format_suffix, is_compressed, unpacked
from ..files.resources import MAX_FILE_SIZE, read_file
from .yaml.nodes import Mapping, Node

MODEL_SUFFIXES = (".body", ".dae", ".mjcf", ".sdf", ".urdf", ".wrl", ".xacro")
YAML_SUFFIXES = (".yaml", ".yml")  # of models and worlds
FILE_SUFFIXES = (*MODEL_SUFFIXES, *YAML_SUFFIXES)
WRAPPER_KEYS = ("model_file", "modelFile")  # of YAML files that refer to a model and extend it
_CHUNK = 1 << 20  # [B]
_OVERLAP = 64  # [B]; longer than any match
_XML_PROLOG = r"(?s)<!--.*?-->|<\?.*?\?>"
_SDF_WORLD = r"<world\s[^<>]*\bname\s*="  # plugins have elements <world> without names
_NAMED_ROBOT = rb"<robot\b[^>]*\sname\s*="
# By suffix, what distinguishes a robot from mere shapes, anywhere in the file.
_MARKS = {
    ".dae": rb"<kinematics_model\b",
    ".wrl": rb"\b(?:Humanoid|Joint)\s{0,40}\{",
}
# Keys at the top level of a YAML file; a file in flow style begins with a brace.
_TOP_KEY = rb"(?m)(?:^|\A\s*\{\s*)[\"']?%s[\"']?\s*:"
_FORMAT = _TOP_KEY % rb"format" + rb"(\s*[\"']?ChoreonoidBody)?"
_WRAPPER = _TOP_KEY % f"(?:{'|'.join(WRAPPER_KEYS)})".encode()
_WORLD = _TOP_KEY % rb"bodies"


class FileKind(Enum):
    """Kind of a file by its suffix and its text; a broken model is still a model."""

    MODEL = "model"
    WORLD = "world"
    OTHER = "other"


def is_world(top: Node | None) -> bool:
    """Return whether a YAML file is a world: it has ``bodies`` and no ``format`` at its top."""
    return isinstance(top, Mapping) and "bodies" in top and "format" not in top


def is_mjcf(text: str) -> bool:
    """Return whether an XML text is MJCF: its root element is <mujoco>."""
    return _without_prolog(text).startswith("<mujoco")


def is_sdf_world(text: str) -> bool:
    """Return whether an XML text is SDF with a world: its root element is <sdf>."""
    beginning = _without_prolog(text)
    return beginning.startswith("<sdf") and re.search(_SDF_WORLD, beginning) is not None


def _without_prolog(text: str) -> str:
    """Return the beginning of an XML text without comments and instructions."""
    return re.sub(_XML_PROLOG, "", text[:_CHUNK]).lstrip("\ufeff \t\r\n")


def file_kind(path: Path) -> FileKind:
    """Return the kind of a file with the suffix of a model or of YAML, without parsing it.

    A .wrl file is a model if it has a Humanoid or Joint node; a .xacro file if its robot has a
    name, which files of macros have not; an .sdf file if it has no world; a .dae file if it has a
    kinematics model; a YAML file if it is a Choreonoid body or refers to a model. Worlds in YAML
    are defined by ``is_world``. An unreadable file is treated as a model, so that its reader
    reports the error.
    """
    suffix = format_suffix(path)
    try:
        if suffix in _MARKS:
            return FileKind.MODEL if _has_mark(path, _MARKS[suffix]) else FileKind.OTHER
        if suffix == ".xacro":
            return FileKind.MODEL if _has_name(path) else FileKind.OTHER
        if suffix == ".sdf":
            return FileKind.WORLD if _has_world(path) else FileKind.MODEL
        if suffix in YAML_SUFFIXES:
            return _yaml_kind(path)
    except OSError:
        pass
    return FileKind.MODEL


def _has_mark(path: Path, mark: bytes) -> bool:
    """Search for what only robots have.

    Without loading the whole file into memory, unless it is compressed.
    """
    with path.open("rb") as file:
        if is_compressed(file.read(_OVERLAP)):
            return re.search(mark, unpacked(read_file(path), path, MAX_FILE_SIZE)) is not None
        file.seek(0)
        end = b""
        while chunk := file.read(_CHUNK):
            if re.search(mark, end + chunk):
                return True
            end = chunk[-_OVERLAP:]
    return False


def _has_name(path: Path) -> bool:
    with path.open("rb") as file:
        return re.search(_NAMED_ROBOT, file.read(_CHUNK)) is not None


def _has_world(path: Path) -> bool:
    with path.open("rb") as file:
        return is_sdf_world(file.read(_CHUNK).decode("utf-8", errors="replace"))


def _yaml_kind(path: Path) -> FileKind:
    with path.open("rb") as file:
        text = file.read(_CHUNK).removeprefix(b"\xef\xbb\xbf")
    if format_key := re.search(_FORMAT, text):
        return FileKind.MODEL if format_key[1] else FileKind.OTHER
    if re.search(_WORLD, text):
        return FileKind.WORLD
    return FileKind.MODEL if re.search(_WRAPPER, text) else FileKind.OTHER
