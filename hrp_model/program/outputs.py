"""Checks of a command's output files, done before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ..files.resources import ResourceError, path_from_uri
from ..files.writer import IS_READ, check_writable, is_special, write_atomically
from ..late_dataclass import dataclass
from .command import UsageError
from .console import print_data, print_note

if TYPE_CHECKING:
    from .parsing import Arguments

# Suffixes of models, worlds, meshes and related files, which must not be overwritten by mistake.
_PROTECTED = frozenset(
    (
        *(".body", ".cnoid", ".sdf", ".srdf", ".urdf", ".vrml", ".world", ".wrl", ".xacro", ".xml"),
        *(".dae", ".glb", ".gltf", ".mtl", ".obj", ".ply", ".scen", ".stl"),
        *(".npz", ".rviz", ".yaml", ".yml"),
    )
)
_MAX_SEARCHED = 1 << 20  # bytes in which the marker of a kind is searched


class Kind(Enum):
    """Kinds of outputs, and how to recognise those with a protected suffix.

    Attributes:
        noun: Its name in messages.
        suffixes: Suffixes in ``_PROTECTED`` of files of the kind.
        mark: Bytes that every file of the kind contains.
    """

    URDF = "URDF", (".urdf", ".xml"), b"<robot"
    SRDF = "SRDF", (".srdf", ".xml"), b"<robot"
    CONTROLLERS = "file of ROS parameters", (".yaml", ".yml"), b"ros__parameters"
    LOOPS = "file of closed loops", (".yaml",), b"closed loops of a robot"
    RVIZ = "RViz configuration", (".rviz",), b"Visualization Manager"
    SCENE = "scene", (), b""
    MAP = "map", (".yaml", ".yml"), b"occupied_thresh"
    STATE = "state of a simulation", (".npz",), b"format.npy"
    TRACE = "trace", (), b""
    PAGE = "page", (), b""
    FILM = "film or picture", (), b""
    PLOT = "plot", (), b""
    RECORDING = "recording", (), b""

    def __init__(self, noun: str, suffixes: tuple[str, ...], mark: bytes) -> None:
        self.noun = noun
        self.suffixes = suffixes
        self.mark = mark

    def may_replace(self, path: Path) -> bool:
        """Return whether a file is of this kind, or not protected.

        Raises:
            OSError: It cannot be read.
        """
        suffix = path.suffix.lower()
        if suffix not in _PROTECTED or not path.is_file() or path.stat().st_size == 0:
            return True
        if suffix not in self.suffixes:
            return False
        with path.open("rb") as file:
            return self.mark in file.read(_MAX_SEARCHED)


@dataclass(frozen=True)
class Output:
    """A file that a command is to write.

    Attributes:
        option: Its option on the command line, such as "--save".
        path: Its path; None if it is not written.
        kind: Its kind; None if its writer itself protects an existing file.
    """

    option: str
    path: Path | None
    kind: Kind | None


def add_force(parser: Arguments) -> None:
    """Add the option ``--force``, which allows overwriting files of other kinds."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite also model, world and mesh files, except the input files",
    )


def check_outputs(
    outputs: Sequence[Output],
    *,
    folders: Iterable[Path | None] = (),
    inputs: Iterable[str | Path] = (),
    force: bool = False,
) -> None:
    """Check that outputs can be written and overwrite nothing valuable.

    An output must not be an input of the command, nor the same file as another output, nor,
    without ``force``, an existing model, world or mesh of another kind. Devices and pipes, such
    as /dev/null, are always accepted.

    Args:
        outputs: Outputs of one command.
        folders: Folders in which it writes further files; None for one that is not used.
        inputs: Files that it reads: paths or URIs.
        force: Whether to overwrite protected files.

    Raises:
        UsageError: The message names the output, the reason and an alternative.
    """
    with writing():
        for folder in filter(None, folders):
            with suppress(FileNotFoundError):
                os.stat(folder)  # fails for a cycle of links
        selected = []
        for output in outputs:
            if output.path is not None:
                check_writable(output.path)
                if not is_special(output.path):
                    selected.append((output, output.path))
    _check_distinct(selected)
    read = [path for name in inputs if (path := _path(name)) is not None]
    for output, path in selected:
        if any(_is_same(path, other) for other in read):
            raise UsageError(f"cannot write {path}: {IS_READ}")
        if not force and output.kind is not None:
            _check_existing(output.option, path, output.kind)


def _check_existing(option: str, path: Path, kind: Kind) -> None:
    with writing():
        is_replaceable = kind.may_replace(path)
    if not is_replaceable:
        reason = f"the existing file is not of the kind that {option} writes ({kind.noun})"
        raise UsageError(f"cannot write {path}: {reason}; choose another file, or add --force")


@contextmanager
def writing() -> Iterator[None]:
    """Report a file that cannot be written as a usage error.

    Raises:
        UsageError: It names the file.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:  # not about a file
            raise UsageError(error.strerror or str(error)) from None
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from None


def print_or_write(text: str, path: Path | None) -> None:
    """Print the result of a command on standard output, or write it to the file of ``-o``.

    Raises:
        UsageError: The file cannot be written.
    """
    if path is None:
        print_data(text)
    else:
        with writing():
            write_atomically(path, text.encode())


def _check_distinct(outputs: Iterable[tuple[Output, Path]]) -> None:
    checked: list[tuple[Output, Path]] = []
    for output, path in outputs:
        for other, other_path in checked:
            if _is_same(path, other_path):
                options = f"{other.option} and {output.option}"
                raise UsageError(f"{options} are the same file, {path}")
        checked.append((output, path))


def _is_same(path: Path, other: Path) -> bool:
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    with suppress(OSError):
        return os.path.samefile(path, other)
    return False


def _path(name: str | Path) -> Path | None:
    with suppress(ResourceError, OSError, ValueError):
        return path_from_uri(name)
    return None


def report_written(paths: Iterable[Path], more: Sequence[str] = ()) -> None:
    """Report written files, without pipes and terminals.

    Args:
        paths: The files.
        more: Descriptions of further outputs.
    """
    parts = [*(str(path) for path in paths if not is_special(path)), *more]
    if parts:
        print_note(f"wrote {', '.join(parts)}")
