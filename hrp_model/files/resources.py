"""Resolve references to files, and read files within limits."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice, product
from pathlib import Path
from urllib.parse import unquote

from ..late_dataclass import dataclass
from .file_watch import record_file
from .model_file import split_model_name
from .package_search import PackageSearch

PACKAGE = "hrp_ros"
# Limits of file sizes in [B], far beyond any model. A file in memory takes up to seven times its
# size, which these limits keep below 1 GB.
MAX_FILE_SIZE = 1 << 27  # models, worlds, images, binary meshes of 2.7 million triangles
MAX_TEXT_SIZE = 1 << 26  # meshes in text formats
MAX_XML_SIZE = 1 << 24  # models in XML, which refer to mesh files
_MIN_READ = 1 << 20  # at least this much is read, since files in /proc report a size of 0
# A single letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://)?(?P<rest>.*)$", re.DOTALL)
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Variables of Choreonoid and OpenHRP for their own folders, relative to the top folder.
_CHOREONOID_FOLDERS = {"SHARE": "share", "PROGRAM_TOP": "", "PROJECT_DIR": "", "OPENHRPHOME": ""}
# Folders of models of Gazebo, and names of models.
_MODEL_PATHS = ("GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
_MODEL_NAME = r"[A-Za-z0-9_][A-Za-z0-9_. -]*"
_SHARE = "SHARE"
# Folders that the build of Choreonoid adds to its folder "share", and their place in its source.
_BUILT_SHARES = (
    ("motion/SR1/", "sample/SimpleController/"),
    ("motion/", "sample/PoseSeq/motion/"),
    ("WRS2018/", "sample/WRS2018/"),
    ("CameraEffect/", "sample/CameraEffect/"),
    ("agx/", "sample/AGXDynamics/"),
)
_MAX_ALTERNATIVES = 64
_PACKAGE_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"


class ResourceError(ValueError):
    """A reference cannot be resolved; the message states where the file was searched.

    Attributes:
        code: Code of its diagnostic.
    """

    code = "missing-resource"


class UnsourcedError(ResourceError):
    """A package, or a file that its build may install, is in no sourced workspace."""

    code = "unsourced-package"


class OutsideError(ResourceError):
    """A reference leads outside the folders that a model may read from."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """The files that a model may read.

    The folders of ``roots``, with everything below them, and the packages on AMENT_PREFIX_PATH
    and ROS_PACKAGE_PATH are always allowed. Symbolic links are resolved before the check.

    Attributes:
        roots: Real paths of folders.
        sandboxed: Whether nothing else is allowed. If not, the folder of the referring file is
            allowed too, and any file that a reference names explicitly outside of it: by "..",
            an absolute path, a URI, "~" or a variable.
    """

    roots: tuple[Path, ...] = ()
    sandboxed: bool = False

    def check(self, path: Path, folder: Path, explicit: bool) -> None:
        """Raise if a reference must not lead to a file, existing or not.

        Args:
            path: The file.
            folder: Folder of the file that refers to it.
            explicit: Whether the reference leaves that folder explicitly.

        Raises:
            OutsideError: The file is not allowed.
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
        """Whether a search for packages may access a folder or file."""
        return not self.sandboxed or any(
            Path(os.path.realpath(path)).is_relative_to(root) for root in self.roots
        )


def resolve(
    uri: str, folder: Path, access: FileAccess | None = None, packages: PackageSearch | None = None
) -> Path:
    """Return the existing file that a reference in a model names.

    Supported are plain paths (relative to ``folder``), ``file://``, ``package://name/…`` and
    ``model://name/…``, "~", and ``${VARIABLE}`` from the environment. ``${SHARE}``,
    ``${PROGRAM_TOP}``, ``${PROJECT_DIR}`` and ``${OPENHRPHOME}``, unless set in the environment,
    stand for folders above ``folder``. Packages are searched along AMENT_PREFIX_PATH and
    ROS_PACKAGE_PATH, then above ``folder``. Backslashes of Windows paths are accepted as slashes.

    A sandbox uses no other environment variables and no home folders. No message contains the
    value of a variable or a home folder.

    Args:
        uri: The reference.
        folder: Folder of the referring file.
        access: The files that may be read; by default any.
        packages: The search above ``folder``, to share between many references.

    Raises:
        OutsideError: The file must not be read; it was not accessed.
        ResourceError: The file, package or variable does not exist, or cannot be accessed.
    """
    try:
        return _resolve(uri.strip(), folder, access, packages or package_search(access))
    except (RecursionError, ResourceError):  # RecursionError: not caused by this reference
        raise
    # Too long a name, a loop of links, "~nobody", a character not allowed in names.
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResourceError(f"cannot use '{uri}': {reason}") from None


def find_package(
    name: str, folder: Path, access: FileAccess, packages: PackageSearch | None = None
) -> Path:
    """Return the share folder of a package, searched as for ``resolve``.

    Args:
        name: Name of the package.
        folder: Folder of the referring file.
        access: The files that may be read.
        packages: The search above ``folder``.

    Raises:
        ResourceError: The package is not found.
    """
    search = packages or package_search(access)
    return next(_package_folders(name, folder, access.sandboxed, search))


def package_search(access: FileAccess | None) -> PackageSearch:
    """Return a search for packages in the folders above models that may be read."""
    return PackageSearch(lambda path: access is None or access.allows_search(path))


def _resolve(
    written: str, folder: Path, access: FileAccess | None, packages: PackageSearch
) -> Path:
    """Return the file of a reference; also raises errors of the operating system."""
    is_sandboxed = access is not None and access.sandboxed
    match = _VARIABLE.match(written)
    # Choreonoid's own folders, where the model lies in a copy of the program.
    if match and match[1] in _CHOREONOID_FOLDERS and (is_sandboxed or match[1] not in os.environ):
        candidates = _choreonoid_candidates(match[1], written[match.end() :], folder)
        try:
            return _first_file(candidates, folder, access)
        except ResourceError as error:
            if is_sandboxed or isinstance(error, OutsideError):
                raise
            raise ResourceError(f"{error}{_further_search(match[1])}") from None
    if is_sandboxed and (match := _VARIABLE.search(written)):
        raise OutsideError(f"environment variables such as {match[0]} are not used in a sandbox")
    if _VARIABLE.search(written) is None:
        candidates = _candidates(written, False, folder, is_sandboxed, packages)
        return _first_file(candidates, folder, access, packages)
    texts = _with_variables(written)
    try:
        replaced = (_candidates(text, True, folder, is_sandboxed, packages) for text in texts)
        return _first_file(chain.from_iterable(replaced), folder, access, packages)
    except (OSError, RuntimeError, ValueError):
        names = ", ".join(dict.fromkeys(_VARIABLE.findall(written)))  # not their values
        raise ResourceError(f"no such file ({names} is taken from the environment)") from None


def _choreonoid_candidates(variable: str, rest: str, folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the paths that ``${variable}/rest`` may mean, the nearest first."""
    start = Path(os.path.abspath(folder))
    parents = (start, *start.parents)
    inside = rest.lstrip("/\\")
    for parent in parents:
        yield str(parent / _CHOREONOID_FOLDERS[variable] / inside), True
    if variable != _SHARE:
        return
    for built, source in _BUILT_SHARES:
        if inside.startswith(built):
            for parent in parents:
                yield str(parent / source / inside.removeprefix(built)), True
    # Folders of a project, such as "model", that its build installs into "share".
    for parent in parents[:-1]:
        yield str(parent / inside), True


def _further_search(variable: str) -> str:
    """Return where else a file in one of Choreonoid's folders was searched."""
    inner = _CHOREONOID_FOLDERS[variable]
    folders = f"folders '{inner}'" if inner else "folders"
    return f", nor in {folders} further above; the variable {variable} is not set"


def _candidates(
    text: str, is_replaced: bool, folder: Path, is_sandboxed: bool, packages: PackageSearch
) -> Iterator[tuple[str, bool]]:
    """Yield the paths that a reference may mean, and whether it leaves its folder explicitly."""
    match = _SCHEME.match(text)
    if match is None:
        yield text, is_replaced
        return
    scheme, rest = match["scheme"].lower(), unquote(match["rest"])
    if scheme == "file":
        yield rest, True
    elif scheme in ("package", "model"):
        name, _, inside = rest.partition("/")
        find = _package_folders if scheme == "package" else _model_folders
        for found in find(name, folder, is_sandboxed, packages):
            yield str(found / inside), True
    else:
        raise ResourceError(f"'{scheme}:' references are not supported; use file:// or package://")


def _model_folders(
    name: str, folder: Path, is_sandboxed: bool, packages: PackageSearch
) -> Iterator[Path]:
    """Yield the folders of a model of Gazebo, or of a package of that name.

    Raises:
        ResourceError: There is none.
    """
    if not re.fullmatch(_MODEL_NAME, name):
        raise ResourceError(f"'{name}' is not a valid name of a model")
    is_found = False
    listed = () if is_sandboxed else _MODEL_PATHS
    for parent in (path for variable in listed for path in _path_list(variable)):
        if (parent / name).is_dir():
            is_found = True
            yield parent / name
    for found in packages.models(name, folder):
        is_found = True
        yield found
    try:
        yield from _package_folders(name, folder, is_sandboxed, packages)
    except UnsourcedError:
        if not is_found:
            message = f"no model '{name}' in {', '.join(_MODEL_PATHS)}, nor in the folders above "
            raise ResourceError(f"{message}the file and folders of models in them") from None


def _package_folders(
    name: str, folder: Path, is_sandboxed: bool, packages: PackageSearch
) -> Iterator[Path]:
    """Yield the folders of a package: the installed one, then those above the model.

    Raises:
        ResourceError: The package is not found.
    """
    if not re.fullmatch(_PACKAGE_NAME, name):
        raise ResourceError(f"'{name}' is not a valid package name")
    found: Path | None = None
    with suppress(ResourceError):
        found = package_folder(name)
        yield found
    for found in packages.folders(name, folder):
        yield found
    if found is None:
        searched = f"no package '{name}' in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH, nor in the "
        searched += "folders above the model"
        if is_sandboxed:
            hint = "allow its folder with --allow"
            raise ResourceError(f"{searched} that may be read; {hint}")
        raise UnsourcedError(f"{searched}; is its workspace sourced?")


def _first_file(
    candidates: Iterator[tuple[str, bool]],
    folder: Path,
    access: FileAccess | None,
    packages: PackageSearch | None = None,
) -> Path:
    """Return the first existing file; if there is none, raise the error of the first candidate.

    With ``packages``, absolute paths may be those at which the build of a package installs files
    of its source folder.
    """
    tried: list[tuple[str, bool]] = []
    for candidate in candidates:
        tried.append(candidate)
        with suppress(OSError, ResourceError):
            return _existing_file(*candidate, folder, access)
    of_packages = [] if packages is None else [x for x in tried if os.path.isabs(x[0])]
    for text, is_explicit in of_packages:
        assert packages is not None
        for source in packages.sources(Path(text)):
            with suppress(OSError, ResourceError):
                return _existing_file(str(source), is_explicit, folder, access)
    try:
        # Without a candidate, an error was raised before.
        return _existing_file(*tried[0], folder, access)
    except OutsideError:
        raise
    except ResourceError as error:
        if packages is None or not (of_packages and packages.is_source(Path(tried[0][0]))):
            raise
        reason = "the package is in no sourced workspace, and its build may install this file"
        raise UnsourcedError(f"{error}; {reason}") from None


def _existing_file(text: str, is_explicit: bool, folder: Path, access: FileAccess | None) -> Path:
    """Return the file at a path, which may be written with backslashes."""
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
            leaves = is_explicit or is_home or spelling.is_absolute() or ".." in spelling.parts
            access.check(path, folder, leaves)
        record_file(path)
        if path.is_file():
            return path.resolve()
    raise ResourceError(f"no such file: {text if is_home else folder / spellings[0]}")


def read_file(path: Path, limit: int = MAX_FILE_SIZE) -> bytes:
    """Return the content of a file.

    Args:
        path: The file.
        limit: Maximum size, in [B].

    Raises:
        OSError: It cannot be read, is not a regular file (reading a pipe or a device may
            never end), is larger than the limit, or is the pointer of a file that Git LFS
            has not fetched.
    """
    record_file(path)
    status = path.stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    with path.open("rb") as file:
        data = b"" if status.st_size > limit else file.read(max(status.st_size, _MIN_READ) + 1)
    if max(status.st_size, len(data)) > limit:
        raise OSError(errno.EFBIG, f"Larger than {limit / 2**20:g} MiB", str(path))
    if data.startswith(_LFS_POINTER):
        message = "Only a Git LFS pointer; fetch the file with 'git lfs pull'"
        raise OSError(errno.ENODATA, message, str(path))
    return data


def path_from_uri(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file, given as path or as ``file://`` or ``package://`` URI.

    Arguments of a xacro file are left out, see ``model_name``.

    Raises:
        ResourceError: The file of the URI does not exist.
    """
    text, _ = split_model_name(os.fspath(name))
    return resolve(text, Path.cwd()) if "://" in text else Path(text)


def package_folder(name: str) -> Path:
    """Return the share folder of a ROS package.

    Searches AMENT_PREFIX_PATH and ROS_PACKAGE_PATH. This package itself is always found.

    Raises:
        ResourceError: The package is not found.
    """
    if not re.fullmatch(_PACKAGE_NAME, name):
        raise ResourceError(f"'{name}' is not a valid package name")
    if name == PACKAGE:
        return share_folder()
    for prefix in _path_list("AMENT_PREFIX_PATH"):
        if (prefix / "share" / name).is_dir():
            return prefix / "share" / name
    for folder in _path_list("ROS_PACKAGE_PATH"):
        for candidate in (folder / name, folder):
            if candidate.name == name and (candidate / "package.xml").is_file():
                return candidate
    raise UnsourcedError(
        f"no package '{name}' in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH; is its workspace sourced?"
    )


def share_folder() -> Path:
    """Return the folder of this package's own models, worlds, launch and configuration files.

    That is the source tree if the package runs from one, else share/hrp_ros of the prefix in
    which its modules lie. All ways of installation place both in one: pip also with ``--user``,
    ``--target`` and ``--prefix``, and colcon.
    """
    source = Path(__file__).resolve().parents[2]
    if (source / "package.xml").is_file() and (source / "models").is_dir():
        return source
    for prefix in Path(os.path.abspath(__file__)).parents:  # not resolved: uv may install links
        if (prefix / "share" / PACKAGE / "models").is_dir():
            return prefix / "share" / PACKAGE
    raise ResourceError(f"the data files of {PACKAGE} are not installed")


def _is_in_package(real: Path) -> bool:
    """Whether a real path lies in an installed package or its source.

    After ``colcon build --symlink-install`` the real files lie beside the package.xml in the
    source folder.
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


def _with_variables(written: str) -> list[str]:
    """Return a reference with the values of environment variables, which may be lists of folders.

    Raises:
        ResourceError: A variable is not set.
    """
    values = []
    for name in _VARIABLE.findall(written):
        value = os.environ.get(name)
        if value is None:
            raise ResourceError(f"the environment variable {name} is not set")
        values.append(dict.fromkeys((value, *filter(None, value.split(os.pathsep)))))
    found = []
    for chosen in islice(product(*values), _MAX_ALTERNATIVES):
        parts = iter(chosen)
        found.append(_VARIABLE.sub(lambda _, parts=parts: next(parts), written))  # type: ignore[misc]
    return found


def _path_list(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, "").split(os.pathsep) if p]
