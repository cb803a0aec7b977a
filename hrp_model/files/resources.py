"""From the words a model uses for another file to the file itself."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from .file_watch import record_file
from .package_search import PackageSearch

PACKAGE = "hrp_ros"
# Sizes of files in [B], far beyond any model. What is read of a file takes up to seven times its
# size: within these limits it stays below a gigabyte.
MAX_FILE_SIZE = 1 << 27  # models, worlds, pictures, binary meshes of 2.7 million triangles
MAX_TEXT_SIZE = 1 << 26  # meshes in text
MAX_MARKUP_SIZE = 1 << 24  # models in XML, which name their meshes
_UNSIZED = 1 << 20  # read of files whose size is only known once they are read, as in /proc
# A single letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://)?(?P<rest>.*)$", re.DOTALL)
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Where the folders that Choreonoid names by variables lie in its top folder.
_PLACES = {"SHARE": "share", "PROGRAM_TOP": "", "PROJECT_DIR": ""}
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class ResourceError(ValueError):
    """A reference that names no file; the message says where was looked."""


class OutsideError(ResourceError):
    """A reference to a file outside the folders that a model may read from."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """Which files the references of a model may lead to.

    Always inside are the folders of ``roots`` with all below them, and the packages on
    AMENT_PREFIX_PATH and ROS_PACKAGE_PATH. Links are followed before it is decided.

    Attributes:
        roots: Real paths of folders.
        sandboxed: Whether nothing else may be read. If not, the folder of the file that
            makes a reference is inside too, and a reference may leave by saying so: with
            "..", an absolute path, a URI, "~" or a variable.
    """

    roots: tuple[Path, ...] = ()
    sandboxed: bool = False

    def check(self, path: Path, folder: Path, explicit: bool) -> None:
        """Refuse a file, whether it exists or not, that a reference must not lead to.

        Args:
            path: The file.
            folder: Of the file that refers to it.
            explicit: Whether the reference says that it leaves this folder.

        Raises:
            OutsideError: The file is outside.
        """
        if explicit and not self.sandboxed:
            return
        real = Path(os.path.realpath(path))
        roots = self.roots if self.sandboxed else (*self.roots, Path(os.path.realpath(folder)))
        if any(real.is_relative_to(root) for root in roots) or _is_in_package(real):
            return
        if self.sandboxed:
            raise OutsideError(f"{path} is outside the folder of the model")
        raise OutsideError(f"{path} is a link to {real}, outside the folder of the model")

    def allows_search(self, path: Path) -> bool:
        """Whether a search for packages may look at a folder or file."""
        return not self.sandboxed or any(
            Path(os.path.realpath(path)).is_relative_to(root) for root in self.roots
        )


def resolve(
    uri: str, folder: Path, access: FileAccess | None = None, packages: PackageSearch | None = None
) -> Path:
    """Return the existing file that a model's reference names.

    Understood are plain paths (relative to ``folder``, that of the referring file),
    ``file://``, ``package://name/…`` and ``model://name/…``, "~", and ``${VARIABLE}`` from
    the environment; ``${SHARE}``, ``${PROGRAM_TOP}`` and ``${PROJECT_DIR}`` without one there
    stand for folders above ``folder``. Packages are looked for along AMENT_PREFIX_PATH and
    ROS_PACKAGE_PATH, then above ``folder``. Back slashes of Windows paths count as slashes.

    In a sandboxed access nothing else is taken from the environment, and no home folder is looked
    up. No message shows the value of a variable or a home folder.

    Args:
        uri: The reference.
        folder: That of the file that makes it.
        access: Where it may lead; by default anywhere.
        packages: The search above ``folder``, for callers with many references.

    Raises:
        OutsideError: The file is outside the access. Nothing was looked at there.
        ResourceError: There is no such file, package or variable, or the file cannot be reached.
    """
    try:
        return _existing(uri.strip(), folder, access, packages or package_search(access))
    except (RecursionError, ResourceError):  # the first is not this reference's fault
        raise
    # A name too long, a loop of links, "~nobody", a character that no name may have.
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResourceError(f"cannot use '{uri}': {reason}") from None


def package_search(access: FileAccess | None) -> PackageSearch:
    """Return a search for packages in the folders above models, inside of a sandboxed access."""
    return PackageSearch(lambda path: access is None or access.allows_search(path))


def _existing(
    written: str, folder: Path, access: FileAccess | None, packages: PackageSearch
) -> Path:
    """Return the file of a reference; errors of the system are not yet those of ``resolve``."""
    is_sandboxed = access is not None and access.sandboxed
    match = _VARIABLE.match(written)
    # Choreonoid's own folders: those of a copy of the program that the model is part of.
    if match and match[1] in _PLACES and (is_sandboxed or match[1] not in os.environ):
        return _first_file(_above(match[1], written[match.end() :], folder), folder, access)
    if is_sandboxed and (match := _VARIABLE.search(written)):
        raise OutsideError(f"environment variables such as {match[0]} are not used in a sandbox")
    text = _VARIABLE.sub(_variable, written)
    try:
        meanings = _meanings(text, text != written, folder, is_sandboxed, packages)
        return _first_file(meanings, folder, access)
    except (OSError, RuntimeError, ValueError):
        if text == written:
            raise
        names = ", ".join(dict.fromkeys(_VARIABLE.findall(written)))  # not what they stand for
        raise ResourceError(f"no such file ({names} is taken from the environment)") from None


def _above(place: str, rest: str, folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield what a reference below one of Choreonoid's own folders may mean, the nearest first."""
    here = Path(os.path.abspath(folder))
    for above in (here, *here.parents):
        yield str(above / _PLACES[place] / rest.lstrip("/\\")), True


def _meanings(
    text: str, is_replaced: bool, folder: Path, is_sandboxed: bool, packages: PackageSearch
) -> Iterator[tuple[str, bool]]:
    """Yield the paths that a reference may mean, and whether it says that it leaves its folder."""
    match = _SCHEME.match(text)
    if match is None:
        yield text, is_replaced
        return
    scheme, rest = match["scheme"].lower(), unquote(match["rest"])
    if scheme == "file":
        yield rest, True
    elif scheme in ("package", "model"):
        name, _, inside = rest.partition("/")
        for package in _package_folders(name, folder, is_sandboxed, packages):
            yield str(package / inside), True
    else:
        raise ResourceError(f"'{scheme}:' references are not understood; use file:// or package://")


def _package_folders(
    name: str, folder: Path, is_sandboxed: bool, packages: PackageSearch
) -> Iterator[Path]:
    """Yield the folders of a package: the installed one, then those above the model.

    Raises:
        ResourceError: There is none.
    """
    if not _PACKAGE_NAME.fullmatch(name):
        raise ResourceError(f"'{name}' is no name of a package")
    found: Path | None = None
    with suppress(ResourceError):
        found = package_folder(name)
        yield found
    for found in packages.folders(name, folder):
        yield found
    if found is None:
        hint = "allow its folder with --allow" if is_sandboxed else "is its workspace sourced?"
        raise ResourceError(
            f"no package '{name}' in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH, nor in the "
            f"folders above the model{' that may be read' if is_sandboxed else ''}; {hint}"
        )


def _first_file(
    meanings: Iterator[tuple[str, bool]], folder: Path, access: FileAccess | None
) -> Path:
    """Return the first file that is there; without one, raise what is wrong with the first."""
    first: tuple[str, bool] | None = None
    for meaning in meanings:
        first = first or meaning
        with suppress(OSError, ResourceError):
            return _file(*meaning, folder, access)
    assert first is not None  # a reference that means nothing has raised before
    return _file(*first, folder, access)


def _file(text: str, is_explicit: bool, folder: Path, access: FileAccess | None) -> Path:
    """Return the file at a path, which a reference may write in the way of Windows."""
    spellings = [Path(text)]
    is_home = text.startswith("~")
    if is_home:
        if access is not None and access.sandboxed:
            raise OutsideError("home folders (~) are not used in a sandbox")
        spellings = [Path(text).expanduser()]
    if "\\" in text:
        spellings.append(Path(text.replace("\\", "/")))
    for spelling in spellings:
        path = folder / spelling
        if "\0" in str(path):
            continue
        if access is not None:
            says_so = is_explicit or is_home or spelling.is_absolute() or ".." in spelling.parts
            access.check(path, folder, says_so)
        record_file(path)
        if path.is_file():
            return path.resolve()
    raise ResourceError(f"no such file: {text if is_home else folder / spellings[0]}")


def read_file(path: Path, limit: int = MAX_FILE_SIZE) -> bytes:
    """Return the content of a file.

    Args:
        path: The file.
        limit: Largest size that is read, in [B].

    Raises:
        OSError: It cannot be read, is no ordinary file (reading a pipe or a device may
            never end), is larger than the limit, or only stands for a file that Git LFS
            has not fetched.
    """
    record_file(path)
    status = path.stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
    with path.open("rb") as file:
        data = b"" if status.st_size > limit else file.read(max(status.st_size, _UNSIZED) + 1)
    if max(status.st_size, len(data)) > limit:
        raise OSError(errno.EFBIG, f"Larger than {limit / 2**20:g} MiB", str(path))
    if data.startswith(_LFS_POINTER):
        message = "Only a pointer of Git LFS; 'git lfs pull' fetches the file"
        raise OSError(errno.ENODATA, message, str(path))
    return data


def path_from_uri(name: str | os.PathLike[str]) -> Path:
    """Return the path a user means: a path, or a ``file://`` or ``package://`` URI.

    Raises:
        ResourceError: The URI names nothing that exists. A plain path is not looked at.
    """
    text = os.fspath(name)
    return resolve(text, Path.cwd()) if "://" in text else Path(text)


def package_folder(name: str) -> Path:
    """Return the share folder of a ROS package.

    Looks along AMENT_PREFIX_PATH and ROS_PACKAGE_PATH, and knows this package
    itself wherever it was installed.

    Raises:
        ResourceError: The package is in none of these places.
    """
    if not _PACKAGE_NAME.fullmatch(name):
        raise ResourceError(f"'{name}' is no name of a package")
    if name == PACKAGE:
        return share_folder()
    for prefix in _path_list("AMENT_PREFIX_PATH"):
        if (prefix / "share" / name).is_dir():
            return prefix / "share" / name
    for folder in _path_list("ROS_PACKAGE_PATH"):
        for candidate in (folder / name, folder):
            if candidate.name == name and (candidate / "package.xml").is_file():
                return candidate
    raise ResourceError(
        f"no package '{name}' in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH; is its workspace sourced?"
    )


def share_folder() -> Path:
    """Return the folder of this package's own models, worlds, launch and configuration files.

    That is the source tree where the package runs from one, else share/hrp_ros of the
    prefix it was installed to.
    """
    source = Path(__file__).resolve().parents[2]
    if (source / "package.xml").is_file() and (source / "models").is_dir():
        return source
    prefixes = [*_path_list("AMENT_PREFIX_PATH"), Path(sys.prefix), Path(sys.base_prefix)]
    for prefix in prefixes:
        if (prefix / "share" / PACKAGE / "models").is_dir():
            return prefix / "share" / PACKAGE
    raise ResourceError(f"the data files of {PACKAGE} are not installed beside its code")


def _is_in_package(real: Path) -> bool:
    """Whether a real path lies in a package of this machine, or in the source of one.

    Installed with links (colcon --symlink-install), a package's files lie beside the
    package.xml in its source. Only the places of packages are looked at.
    """
    for folder in (real, *real.parents):
        with suppress(ResourceError):
            package = package_folder(folder.name)
            source = Path(os.path.realpath(package / "package.xml")).parent
            if folder in (Path(os.path.realpath(package)), source):
                return True
    with suppress(ResourceError):
        return real.is_relative_to(os.path.realpath(share_folder()))
    return False


def _variable(match: re.Match[str]) -> str:
    value = os.environ.get(match[1])
    if value is None:
        raise ResourceError(f"the environment variable {match[1]} is not set")
    return value


def _path_list(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, "").split(os.pathsep) if p]
