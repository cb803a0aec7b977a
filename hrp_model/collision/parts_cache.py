"""Cache of convex parts of meshes on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from io import BytesIO
from pathlib import Path

import numpy as np

from ..files.writer import write_atomically
from ..geometry import Mesh

_FORMAT = 1  # version of the files; a new number invalidates old ones


class PartsCache:
    """Stores the parts of meshes in files named after a hash of all that the parts depend on.

    Several processes may share a folder: files are written atomically. Missing, unreadable and
    damaged files are replaced by the next ``save``.

    Args:
        folder: Folder of the files, created when needed; None disables the cache.
        maker: Everything that the parts depend on besides the mesh: library, version and
            settings, as values that JSON can represent.
    """

    def __init__(self, folder: Path | None, maker: Sequence[object]) -> None:
        self._folder = folder
        self._maker = json.dumps([_FORMAT, *maker], sort_keys=True).encode()

    def key(self, mesh: Mesh) -> str:
        """Return a hash of a mesh and of everything else that its parts depend on."""
        digest = blake2b(self._maker, digest_size=16)
        for array in (mesh.vertices, mesh.triangles):
            digest.update(np.int64(len(array)).tobytes())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def load(self, key: str) -> list[Mesh] | None:
        """Return the parts of a mesh by its key; None if they are not in the cache."""
        if self._folder is None:
            return None
        try:
            with np.load(self._path(key), allow_pickle=False) as file:
                vertices, triangles = file["vertices"], file["triangles"]
                ends = np.cumsum(file["counts"], axis=0)[:-1]
            pairs = zip(
                np.split(vertices, ends[:, 0]), np.split(triangles, ends[:, 1]), strict=True
            )
            parts = [Mesh(*pair) for pair in pairs]
        except Exception:  # damaged files raise many kinds of errors
            return None
        return parts if all(map(_is_valid, parts)) else None

    def save(self, key: str, parts: Sequence[Mesh]) -> None:
        """Store the parts of a mesh; failures are ignored."""
        if self._folder is None:
            return
        content = BytesIO()
        np.savez(
            content,
            vertices=np.concatenate([part.vertices for part in parts]),
            triangles=np.concatenate([part.triangles for part in parts]),
            counts=[(len(part.vertices), len(part.triangles)) for part in parts],
        )
        with suppress(OSError):  # the parts are then computed again next time
            write_atomically(self._path(key), content.getvalue())

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{key}.npz"


def _is_valid(part: Mesh) -> bool:
    """Return whether a part from a file is a valid mesh."""
    count, triangles = len(part.vertices), part.triangles
    return bool(
        triangles.size
        and np.isfinite(part.vertices).all()
        and triangles.min() >= 0
        and triangles.max() < count
    )
