"""Resolve a world given as a path, a URI or the name of a bundled world."""

from __future__ import annotations

import os
from pathlib import Path

from hrp_model.diagnostics import did_you_mean
from hrp_model.files.resources import ResourceError, path_from_uri, share_folder

# World of ``hrp-sim run`` without an argument.
DEFAULT_WORLD = "walking_humanoid"


def bundled_worlds() -> dict[str, Path]:
    """Return the paths of the bundled worlds by name."""
    folder = share_folder() / "models" / "worlds"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def world_path(world: str | os.PathLike[str]) -> Path:
    """Return the file of a world or model.

    Args:
        world: A path, a ``file://`` or ``package://`` URI, or the name of a bundled world. A file
            of that name in the working directory takes precedence over a bundled world, and a
            bundled world over a folder.

    Returns:
        The path, which need not exist if a path was given.

    Raises:
        ResourceError: The URI does not exist, or the name is neither a file nor a bundled world;
            the message lists the bundled worlds.
    """
    name = os.fspath(world)
    path = path_from_uri(name)
    if "://" in name or path.suffix or not _is_single_word(name) or _is_file_there(path):
        return path
    worlds = bundled_worlds()
    if name in worlds:
        return worlds[name]
    if path.is_dir():
        return path
    raise ResourceError(
        f"'{name}' is neither a file nor a bundled world.{did_you_mean(name, worlds)} "
        f"The bundled worlds are {', '.join(worlds)}."
    )


def bundled_world_hint(path: Path) -> str:
    """Return " Did you mean 'x'?" for a missing file with the name of a bundled world, or ""."""
    has_world_name = path.suffix and path.stem in bundled_worlds()
    return f" Did you mean '{path.stem}'?" if has_world_name else ""


def _is_single_word(name: str) -> bool:
    return bool(name) and os.path.basename(name) == name and name not in (os.curdir, os.pardir)


def _is_file_there(path: Path) -> bool:
    """Return whether the path exists and is no folder."""
    return os.path.lexists(path) and not path.is_dir()
