"""Cache folders of the user."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


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
