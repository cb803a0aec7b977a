"""Write files atomically, and never over files that were read; the user's cache folders.

Texts in YAML have no character that steers a terminal or reorders what is shown.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from ..printable import printable_lines
from .file_watch import was_read

IS_READ = "this command reads it and never overwrites its input; name another file"
_SYSTEM_FOLDERS = (("dev",), ("proc",))
# Open file descriptors of this process, to which /dev/stdout links.
_DESCRIPTOR = r"/(?:dev|proc/self)/fd/([0-9]+)"
_MAX_LINKS = 40  # as in Linux
_NOT_PLAIN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically; missing folders are created.

    Raises:
        OSError: The folder or the file cannot be written; it names ``path``.
    """
    write_all_atomically({path: content})


def write_all_atomically(files: Mapping[Path, bytes]) -> None:
    """Write files atomically, and none of them if one cannot be written.

    All are written to temporary files beside their targets before the first is moved. Missing
    folders are created. Symbolic links are followed and kept. Existing special files, such as
    pipes, are written last, in place. A file that was read is not replaced unless its content
    stays the same (see ``file_watch.was_read``).

    Raises:
        OSError: A file or its folder cannot be written; it names the file. The folders are
            unchanged then, unless the last step failed: replacing a protected file or
            writing to a pipe.
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
                if _is_unchanged(target, content):
                    continue
                made = [*_make_folders(target.parent), *made]
                draft = _temporary_path(target.parent)
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
                draft.unlink()  # does not exist after success
        _remove_empty(made)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Replace the file name of each OSError in a ``with`` block by the user's name of the file."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        del error.filename2  # None would be part of its text
        raise


def open_stream(path: Path) -> TextIO:
    """Open a text file for incremental writing, so that others can follow it.

    Folders, links and special files are treated as by ``write_all_atomically``.

    Raises:
        OSError: It cannot be written; it names ``path``.
    """
    with naming(path):
        if is_special(path):
            return os.fdopen(_open_special(path), "w", encoding="utf-8")
        target = _target(path)
        _is_unchanged(target, None)
        _make_folders(target.parent)
        return target.open("w", encoding="utf-8")


def check_writable(path: Path) -> None:
    """Raise if a file could not be written; changes nothing.

    Raises:
        OSError: It could not be written; it names ``path``.
    """
    with naming(path):
        if is_special(path):
            if stat.S_ISSOCK(path.stat().st_mode):
                raise OSError(errno.ENXIO, "a socket cannot be written as a file")
            return
        target = _target(path)
        _is_unchanged(target, None)
        folder = target.parent
        while not os.path.lexists(folder):
            folder = folder.parent
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def is_special(path: Path) -> bool:
    """Return whether a path is a special file, such as a pipe, which is never replaced.

    Everything below /dev and /proc is special, even a regular file: /dev/stdout may link to the
    file to which output is redirected.

    Raises:
        OSError: The path is invalid: its links form a loop, or it is too long.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    is_regular = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return not is_regular or any(map(_is_in_system_folder, _link_chain(path)))


def _link_chain(path: Path) -> Iterator[Path]:
    """Yield a path and the target of each symbolic link that it leads through."""
    target = Path(os.path.abspath(path))
    for _ in range(_MAX_LINKS):
        yield target
        if not target.is_symlink():
            return
        target = Path(os.path.abspath(target.parent / os.readlink(target)))


def _is_in_system_folder(path: Path) -> bool:
    folders = path.parts[1:3]
    return folders[:1] in _SYSTEM_FOLDERS and folders != ("dev", "shm")


def _open_special(path: Path) -> int:
    """Open a special file, without creating or truncating it."""
    matches = filter(None, (re.fullmatch(_DESCRIPTOR, str(target)) for target in _link_chain(path)))
    descriptor = next(matches, None)
    if descriptor is None:
        return os.open(path, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # keep the order of the output
    return os.dup(int(descriptor[1]))  # shares the file offset, if output goes to a file


def _target(path: Path) -> Path:
    """Return the real path to write a file to.

    Raises:
        OSError: The path is a folder, a file without write permission, or invalid.
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


def _is_unchanged(target: Path, content: bytes | None) -> bool:
    """Return whether a file was read and already has the new content.

    Raises:
        FileExistsError: It was read, and its content would change.
    """
    if not was_read(target):
        return False
    if content is not None and target.read_bytes() == content:
        return True
    raise FileExistsError(errno.EEXIST, IS_READ)


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield a path for a draft of a file, which replaces the file when a ``with`` block succeeds.

    For files that are too large for ``write_atomically``, or are written by other programs.
    Folders, links and special files are treated as by ``write_all_atomically``. If the block
    raises, the draft is removed and nothing has changed.

    Raises:
        OSError: The file cannot be written; it names ``path``.
    """
    with naming(path):
        into_stream = is_special(path)
        target = Path(tempfile.gettempdir(), "stream") if into_stream else _target(path)
        _is_unchanged(target, None)
        made = _make_folders(target.parent)
    draft = _temporary_path(target.parent)
    try:
        yield draft
        with naming(path):
            if into_stream:
                with draft.open("rb") as file, os.fdopen(_open_special(path), "wb") as stream:
                    shutil.copyfileobj(file, stream)
                return
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink()  # does not exist after success
        _remove_empty(made)


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder whose files are moved to ``folder`` when a ``with`` block succeeds.

    Each file appears atomically and replaces one of the same name; other files are kept. Without
    files no folder is made. If the block raises, its files and all new folders are removed.

    Raises:
        OSError: The folder cannot be created or written; it names ``folder`` or a file in it,
            never the staging folder.
    """
    target = Path(os.path.realpath(folder))
    made: list[Path] = []
    try:
        made = _make_folders(target.parent)
        # In the target if it exists, since its parent may not be writable.
        home = target if target.exists() else target.parent
        staged = _temporary_path(home)
        staged.mkdir()
    except OSError as error:
        _remove_empty(made)
        error.filename = str(folder)
        del error.filename2
        raise
    try:
        yield staged
        _move_into(staged, target)
    except OSError as error:
        error.filename = _final_name(error.filename, staged, folder)
        raise
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        _remove_empty(made)


def _final_name(name: object, staged: Path, folder: Path) -> object:
    """Return the name in ``folder`` of a file in its staging folder."""
    if isinstance(name, str) and Path(name).is_relative_to(staged):
        return str(folder / Path(name).relative_to(staged))
    return name


def _move_into(staged: Path, folder: Path) -> None:
    """Move all files into a folder, and create missing folders; without files nothing is made."""
    if not any(staged.iterdir()):
        return
    if not folder.exists():
        staged.rename(folder)
        return
    for path in sorted(staged.rglob("*")):
        target = folder / path.relative_to(staged)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        elif not _is_unchanged(target, path.read_bytes()):
            path.replace(target)


def _temporary_path(folder: Path) -> Path:
    """Return a hidden path in a folder, unique even between threads.

    ``tempfile`` is not used because its files are private to their owner, whatever the umask.
    """
    return folder / f".hrp_model-{os.urandom(8).hex()}"


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and its missing parents; return the new ones, innermost first."""
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
    """Remove those folders that are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def cache_folder(name: str) -> Path | None:
    """Return the user's cache folder of this name, created if missing; None if it cannot be.

    According to the XDG Base Directory Specification it lies in ``$XDG_CACHE_HOME``, if that is
    an absolute path, else in ``~/.cache``.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
        folder = root / "hrp_ros" / name
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def mesh_folder() -> Path:
    """Return a folder for mesh files that persists after this process."""
    return cache_folder("meshes") or Path(tempfile.mkdtemp(prefix="hrp_ros-"))


def is_ambiguous(text: str) -> bool:
    """Return whether some reader of YAML, as that of rcl, takes a word for a boolean or number."""
    try:
        float(text)
    except ValueError:
        return text.lower() in _NOT_PLAIN
    return True


def yaml_text(data: Any, *, width: int | None = None, is_compact: bool = False) -> str:
    """Return plain data as YAML, with the keys in their order.

    Letters of all scripts are written as they are, control and format characters are escaped.

    Args:
        data: The data.
        width: Columns of a line; None for 80.
        is_compact: Write lists of numbers on one line, and equal parts again instead of aliases.
    """
    import yaml  # which few commands write

    class Dumper(yaml.SafeDumper):
        def choose_scalar_style(self) -> str:
            """Return the style of a scalar: quoted if it has such characters, or is ambiguous."""
            text: str = self.event.value  # type: ignore[union-attr]  # called for scalars only
            is_text = self.event.tag == "tag:yaml.org,2002:str"  # type: ignore[union-attr]
            if printable_lines(text) != text or (is_text and is_ambiguous(text)):
                return '"'
            style: str = super().choose_scalar_style()
            return style

        def write_double_quoted(self, text: str, split: bool = True) -> None:
            """Write a scalar in quotes."""
            self.allow_unicode = printable_lines(text) == text
            super().write_double_quoted(text, split)
            self.allow_unicode = True

        def represent_sequence(
            self, tag: str, sequence: Any, flow_style: bool | None = None
        ) -> Any:
            if is_compact and all(isinstance(x, float) for x in sequence):
                flow_style = True
            return super().represent_sequence(tag, sequence, flow_style)

        def ignore_aliases(self, data: Any) -> bool:
            return is_compact or super().ignore_aliases(data)

    text: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=width)
    return text
