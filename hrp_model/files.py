"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it; its folder is made if missing.

    Raises:
        OSError: The folder or the file cannot be written; it names ``path``.
    """
    write_all({path: content})


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write files so that nobody ever sees half of one, and none if one cannot be written.

    All are written beside their places before the first is moved there. Missing folders are
    made. Links are followed; what is there but is no ordinary file, such as a pipe, is
    written to as it is, in the end.

    Raises:
        OSError: A file or its folder cannot be written; it names the file. The folders are
            then as they were, unless it was the last step that failed: to replace a file
            that is there and must not be, or to write to a pipe.
    """
    made: list[Path] = []
    unfinished: list[tuple[Path, Path, Path]] = []
    at = Path()
    try:
        for path, content in files.items():
            at = path
            if is_special(path):
                continue
            target = Path(os.path.realpath(path))
            if target.is_dir():
                raise IsADirectoryError(21, "Is a directory")
            made = [*_make_folders(target.parent), *made]
            draft = _unused(target.parent)
            unfinished.append((path, draft, target))
            with draft.open("xb") as file:
                file.write(content)
        for path, draft, target in unfinished:
            at = path
            draft.replace(target)
        for path, content in files.items():
            at = path
            if is_special(path):
                path.write_bytes(content)
    except OSError as error:
        error.filename, error.filename2 = str(at), None
        raise
    finally:
        for _, draft, _ in unfinished:
            with suppress(OSError):
                draft.unlink()  # none is left when all went well
        _remove_empty(made)


def is_special(path: Path) -> bool:
    """Tell whether a path leads to what is not put in a folder: a pipe, a terminal.

    So is whatever the system shows below /dev, even if it is a file: /dev/stdout is the one
    that the output was sent to.
    """
    if path.absolute().parts[:2] in (("/", "dev"), ("/", "proc")):
        return path.exists()
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder, whose files come to lie in ``folder`` when a block ends well.

    Each file then appears whole, in place of one of the same name; other files stay. Where
    there is no file, no folder is made. When the block raises, nothing is left of it, nor of
    folders made on the way.

    Raises:
        OSError: The folder cannot be made or written; it names ``folder``, or a file in it,
            never the place where it was staged.
    """
    target = Path(os.path.realpath(folder))
    made: list[Path] = []
    try:
        made = _make_folders(target.parent)
        # Inside of what is there already, for the folder around it need not be ours.
        home = target if target.exists() else target.parent
        staged = _unused(home)
        staged.mkdir()
    except OSError as error:
        _remove_empty(made)
        error.filename, error.filename2 = str(folder), None
        raise
    try:
        yield staged
        _move_into(staged, target)
    except OSError as error:
        error.filename = _where_it_belongs(error.filename, staged, folder)
        raise
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        _remove_empty(made)


def _where_it_belongs(name: object, staged: Path, folder: Path) -> object:
    """Return what a user knows a file by that was to be written into a staged folder."""
    if isinstance(name, str) and Path(name).is_relative_to(staged):
        return str(folder / Path(name).relative_to(staged))
    return name


def _move_into(staged: Path, folder: Path) -> None:
    """Move all files, and make the folders that they lie in; none for no files."""
    if not any(staged.iterdir()):
        return
    if not folder.exists():
        staged.rename(folder)
        return
    for path in sorted(staged.rglob("*")):
        target = folder / path.relative_to(staged)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            path.replace(target)


def _unused(folder: Path) -> Path:
    """Return a path in a folder that nobody has, not even another thread; hidden, and short.

    Not from ``tempfile``, whose files and folders are for their owner alone, whatever the
    umask says.
    """
    return folder / f".hrp_model-{secrets.token_hex(8)}"


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those around it; return the ones that were missing, innermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            made.insert(0, path)
    except OSError:
        _remove_empty(made)
        raise
    return made


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders in which nothing came to lie."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
