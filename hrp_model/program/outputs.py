"""Outputs of a command, checked before the work begins."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ..files.resources import ResourceError, path_from_uri
from ..files.writer import IS_READ, check_writable, is_special, write_atomically
from .command import UsageError
from .console import print_data, print_note

# Models, worlds, meshes and what belongs to them: hard to replace, and easily named by mistake.
_PRECIOUS = frozenset(
    (
        *(".body", ".cnoid", ".sdf", ".srdf", ".urdf", ".vrml", ".world", ".wrl", ".xacro", ".xml"),
        *(".dae", ".glb", ".gltf", ".mtl", ".obj", ".ply", ".scen", ".stl"),
        *(".npz", ".rviz", ".yaml", ".yml"),
    )
)
_SEARCHED = 1 << 20  # bytes in which the mark of a kind is looked for


class Kind(Enum):
    """Kinds of outputs, and how to recognise those with a precious suffix.

    Attributes:
        noun: Its name in messages.
        suffixes: Those of ``_PRECIOUS`` that files of the kind have.
        mark: Bytes that a file of the kind contains.
    """

    URDF = "URDF", (".urdf", ".xml"), b"<robot"
    SRDF = "SRDF", (".srdf", ".xml"), b"<robot"
    CONTROLLERS = "file of ROS parameters", (".yaml", ".yml"), b"ros__parameters"
    LOOPS = "file of closed loops", (".yaml",), b"closed loops of a robot"
    RVIZ = "RViz configuration", (".rviz",), b"Visualization Manager"
    STATE = "state of a simulation", (".npz",), b"format.npy"
    TRACE = "trace", (), b""
    JSON = "JSON file", (), b""
    MARKDOWN = "Markdown file", (), b""

    def __init__(self, noun: str, suffixes: tuple[str, ...], mark: bytes) -> None:
        self.noun = noun
        self.suffixes = suffixes
        self.mark = mark

    def may_replace(self, path: Path) -> bool:
        """Return whether a file is of this kind, or of no value.

        Raises:
            OSError: It cannot be read.
        """
        suffix = path.suffix.lower()
        if suffix not in _PRECIOUS or not path.is_file() or path.stat().st_size == 0:
            return True
        if suffix not in self.suffixes:
            return False
        with path.open("rb") as file:
            return self.mark in file.read(_SEARCHED)


@dataclass(frozen=True)
class Output:
    """A file that a command is to write.

    Attributes:
        option: Its option on the command line, such as "--save".
        path: Its path; None if it is not asked for.
        kind: Its kind; None if its writer itself keeps a file that is there.
    """

    option: str
    path: Path | None
    kind: Kind | None


def add_force(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the option with which files of other kinds are replaced."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="let outputs replace models, worlds and meshes; never those that are read",
    )


def check_outputs(
    outputs: Sequence[Output],
    *,
    folders: Iterable[Path | None] = (),
    inputs: Iterable[str | Path] = (),
    force: bool = False,
) -> None:
    """Refuse outputs that would destroy something, or cannot be written.

    Refused are files that the command reads, two outputs in one file and, without ``force``, a
    model, world or mesh of another kind than the output. A device or pipe, such as /dev/null, is
    always accepted.

    Args:
        outputs: Of one command.
        folders: Those in which it makes files of its own; None for one not asked for.
        inputs: Files that it reads: paths or URIs.
        force: Whether to replace what is there.

    Raises:
        UsageError: The message names the output, the reason and a way out.
    """
    with writing():
        for folder in filter(None, folders):
            with suppress(FileNotFoundError):
                os.stat(folder)  # fails for a loop of links
        wanted = []
        for output in outputs:
            if output.path is not None:
                check_writable(output.path)
                if not is_special(output.path):
                    wanted.append((output, output.path))
    _refuse_equal_places(wanted)
    read = [path for name in inputs if (path := _path(name)) is not None]
    for output, path in wanted:
        if any(_is_same(path, other) for other in read):
            raise UsageError(f"cannot write {path}: {IS_READ}")
        if not force and output.kind is not None:
            _refuse_other_kind(output.option, path, output.kind)


def _refuse_other_kind(option: str, path: Path, kind: Kind) -> None:
    with writing():
        is_replaceable = kind.may_replace(path)
    if not is_replaceable:
        reason = f"there is a file already, and it is no {kind.noun}, as {option} writes"
        raise UsageError(f"cannot write {path}: {reason}; name another file, or add --force")


@contextmanager
def writing() -> Iterator[None]:
    """Report a file that cannot be written as wrong use.

    Raises:
        UsageError: It names the file.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:  # it is not about a file
            raise UsageError(error.strerror or str(error)) from None
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from None


def print_or_write(text: str, path: Path | None) -> None:
    """Print the result of a command on the standard output, or write it to the file of ``-o``.

    Raises:
        UsageError: The file cannot be written.
    """
    if path is None:
        print_data(text)
    else:
        with writing():
            write_atomically(path, text.encode())


def _refuse_equal_places(wanted: Iterable[tuple[Output, Path]]) -> None:
    places: list[tuple[Output, Path]] = []
    for output, path in wanted:
        for other, place in places:
            if _is_same(path, place):
                options = f"{other.option} and {output.option}"
                raise UsageError(f"{options} are the same file, {path}")
        places.append((output, path))


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
    """Report the files that were written; nothing of pipes and terminals.

    Args:
        paths: The files.
        more: Descriptions of what else was written.
    """
    parts = [*(str(path) for path in paths if not is_special(path)), *more]
    if parts:
        print_note(f"wrote {', '.join(parts)}")
