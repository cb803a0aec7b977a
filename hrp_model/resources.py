"""From the words a model uses for another file to the file itself."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote

PACKAGE = "hrp_ros"
# A single letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://)?(?P<rest>.*)$", re.DOTALL)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class ResourceError(ValueError):
    """A reference that names no file; the message says where was looked."""


def resolve(uri: str, folder: Path) -> Path:
    """Return the existing file that a model's reference names.

    Understood are plain paths (relative to ``folder``, that of the referring file),
    ``file://``, ``package://name/…`` and ``model://name/…``, and ``${VARIABLE}`` from
    the environment. Back slashes of Windows paths count as slashes.

    Raises:
        ResourceError: There is no such file, package or variable, or the file cannot be reached.
    """
    try:
        return _existing(uri, folder)
    except RecursionError:  # not this reference's fault: the reader knows what nests too deep
        raise
    except (OSError, RuntimeError) as error:  # a name too long, a loop of links, "~nobody"
        raise ResourceError(f"cannot use '{uri}': {error}") from None


def _existing(uri: str, folder: Path) -> Path:
    text = _VARIABLE.sub(_variable, uri.strip())
    match = _SCHEME.match(text)
    if match:
        path = _by_scheme(match["scheme"].lower(), unquote(match["rest"]))
    else:
        path = Path(text)
    path = folder / path.expanduser()
    if not path.is_file() and "\\" in text:
        path = folder / text.replace("\\", "/")
    if not path.is_file():
        raise ResourceError(f"no such file: {path}")
    return path.resolve()


def named_path(name: str | os.PathLike[str]) -> Path:
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
    source = Path(__file__).resolve().parents[1]
    if (source / "package.xml").is_file() and (source / "models").is_dir():
        return source
    prefixes = [*_path_list("AMENT_PREFIX_PATH"), Path(sys.prefix), Path(sys.base_prefix)]
    for prefix in prefixes:
        if (prefix / "share" / PACKAGE / "models").is_dir():
            return prefix / "share" / PACKAGE
    raise ResourceError(f"the data files of {PACKAGE} are not installed beside its code")


def _by_scheme(scheme: str, rest: str) -> Path:
    if scheme == "file":
        return Path(rest)
    if scheme in ("package", "model"):
        name, _, inside = rest.partition("/")
        return package_folder(name) / inside
    raise ResourceError(f"'{scheme}:' references are not understood; use file:// or package://")


def _variable(match: re.Match[str]) -> str:
    value = os.environ.get(match[1])
    if value is None:
        raise ResourceError(f"the environment variable {match[1]} is not set")
    return value


def _path_list(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, "").split(os.pathsep) if p]
