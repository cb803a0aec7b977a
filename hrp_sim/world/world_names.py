"""Which file a world is: a path, a URI, or the name of a world that comes with this package."""

from __future__ import annotations

import os
from pathlib import Path

from hrp_model.diagnostics import did_you_mean
from hrp_model.files.resources import ResourceError, path_from_uri, share_folder

# World of ``hrp-sim run`` without an argument.
DEFAULT_WORLD = "humanoid_in_room"


def bundled_worlds() -> dict[str, Path]:
    """Return the worlds that come with this package, by name."""
    folder = share_folder() / "models" / "worlds"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def world_path(world: str | os.PathLike[str]) -> Path:
    """Return the file of a world or model that a user names.

    Args:
        world: A path, a ``file://`` or ``package://`` URI, or the name of a bundled world, for
            which a file of the same name in the working directory goes first.

    Returns:
        The path; a plain path is not looked at. That of a folder that hides no bundled world.

    Raises:
        ResourceError: The URI names nothing that exists, or the name is neither a file nor a
            bundled world; the message lists these.
    """
    name = os.fspath(world)
    path = path_from_uri(name)
    if "://" in name or path.suffix or not _is_single_word(name) or _is_file_there(path):
        return path
    known = bundled_worlds()
    if name in known:
        return known[name]
    if path.is_dir():
        return path
    listed = f"The worlds of this package are {', '.join(known)}."
    raise ResourceError(
        f"there is no file '{name}', and no world of this name.{did_you_mean(name, known)} {listed}"
    )


def bundled_namesake(path: Path) -> str:
    """Return " Did you mean 'x'?" for a missing file that is called as a bundled world."""
    is_namesake = path.suffix and path.stem in bundled_worlds()
    return f" Did you mean '{path.stem}'?" if is_namesake else ""


def _is_single_word(name: str) -> bool:
    return bool(name) and os.path.basename(name) == name and name not in (os.curdir, os.pardir)


def _is_file_there(path: Path) -> bool:
    """Whether something of this name can be opened; a folder cannot, and hides no world."""
    return os.path.lexists(path) and not path.is_dir()
