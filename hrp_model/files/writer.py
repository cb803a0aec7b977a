"""The one writer of files: whole or not at all, and never over what was read."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from .file_watch import was_read

# Why a file is refused.
IS_READ = "this command reads it, and never writes over what it reads; name another file"

_FOLDERS_OF_SYSTEM = (("dev",), ("proc",))
# Open files of this process, as /dev/stdout leads to.
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]+)")
_MOST_LINKS = 40  # as Linux follows


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it; its folder is made if missing.

    Raises:
        OSError: The folder or the file cannot be written; it names ``path``.
    """
    write_all_atomically({path: content})


def write_all_atomically(files: Mapping[Path, bytes]) -> None:
    """Write files so that nobody ever sees half of one, and none if one cannot be written.

    All are written beside their places before the first is moved there. Missing folders are
    made. Links are followed and stay; what is there but is no ordinary file, such as a pipe, is
    written to as it is, in the end. A file that was read is not replaced, unless its content
    stays the same (see ``file_watch.was_read``).

    Raises:
        OSError: A file or its folder cannot be written; it names the file. The folders are
            then as they were, unless it was the last step that failed: to replace a file
            that is there and must not be, or to write to a pipe.
    """
    made: list[Path] = []
    unfinished: list[tuple[Path, Path, Path]] = []
    special: list[Path] = []
    try:
        for path, content in files.items():
            with naming(path):
                if is_special(path):
                    special.append(path)
                    continue
                target = _target(path)
                if _is_settled(target, content):
                    continue
                made = [*_make_folders(target.parent), *made]
                draft = _unused(target.parent)
                unfinished.append((path, draft, target))
                with draft.open("xb") as file:
                    file.write(content)
                if target.exists():
                    shutil.copymode(target, draft)
        for path, draft, target in unfinished:
            with naming(path):
                draft.replace(target)
        for path in special:
            with naming(path), os.fdopen(_open_special(path), "wb") as file:
                file.write(files[path])
    finally:
        for _, draft, _ in unfinished:
            with suppress(OSError):
                draft.unlink()  # none is left when all went well
        _remove_empty(made)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give each OSError of a block the name that the user knows the file by."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def open_stream(path: Path) -> TextIO:
    """Open a text file that is written bit by bit, for whoever looks at it meanwhile.

    Everything else is as with ``write_all_atomically``.

    Raises:
        OSError: It cannot be written; it names ``path``.
    """
    with naming(path):
        if is_special(path):
            return os.fdopen(_open_special(path), "w", encoding="utf-8")
        target = _target(path)
        _is_settled(target, None)
        _make_folders(target.parent)
        return target.open("w", encoding="utf-8")


def check_writable(path: Path) -> None:
    """Find out, before the work, whether a file could be written; nothing is changed.

    Raises:
        OSError: It could not; it names ``path``.
    """
    with naming(path):
        if is_special(path):
            if stat.S_ISSOCK(path.stat().st_mode):
                raise OSError(errno.ENXIO, "it is a socket, which is no place for a file")
            return
        target = _target(path)
        _is_settled(target, None)
        folder = target.parent
        while not os.path.lexists(folder):
            folder = folder.parent
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def is_special(path: Path) -> bool:
    """Return whether a path leads to a pipe or device, which a file never replaces.

    So is whatever the system shows below /dev and /proc, even if it is a file: /dev/stdout is
    the one that the output was sent to.

    Raises:
        OSError: The path leads nowhere: its links form a loop, or it is too long.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    is_ordinary = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return not is_ordinary or any(map(_is_of_system, _places(path)))


def _places(path: Path) -> Iterator[Path]:
    """Yield a path, and the target of each link on its way."""
    place = Path(os.path.abspath(path))
    for _ in range(_MOST_LINKS):
        yield place
        if not place.is_symlink():
            return
        place = Path(os.path.abspath(place.parent / os.readlink(place)))


def _is_of_system(place: Path) -> bool:
    folders = place.parts[1:3]
    return folders[:1] in _FOLDERS_OF_SYSTEM and folders != ("dev", "shm")


def _open_special(path: Path) -> int:
    """Open a special file; it is neither created nor truncated."""
    found = filter(None, (_DESCRIPTOR.fullmatch(str(place)) for place in _places(path)))
    descriptor = next(found, None)
    if descriptor is None:
        return os.open(path, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # what was printed comes first
    return os.dup(int(descriptor[1]))  # goes on where the others are, in a file, too


def _target(path: Path) -> Path:
    """Return where a file is to lie.

    Raises:
        OSError: There is a folder, or a file that must not be changed, or no place at all.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target


def _is_settled(target: Path, content: bytes | None) -> bool:
    """Return whether a file was read and has the new content already.

    Raises:
        FileExistsError: It was read, and would become something else.
    """
    if not was_read(target):
        return False
    if content is not None and target.read_bytes() == content:
        return True
    raise FileExistsError(errno.EEXIST, IS_READ)


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
        elif not _is_settled(target, path.read_bytes()):
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
