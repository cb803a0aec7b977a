"""Convex parts of meshes, kept on disk for the next time."""

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

_FORMAT = 1  # of the files; another number makes old ones unknown


class PartsCache:
    """Keeps the parts of meshes in files named after all that the parts depend on.

    Several processes may use one folder: files appear whole. A file that cannot be read, or
    that is damaged, counts as none, and is replaced by the next ``save``.

    Args:
        folder: Where they are; made when there is something to keep. None keeps nothing.
        maker: What the parts depend on besides the mesh: library, version and settings, as
            JSON can tell them.
    """

    def __init__(self, folder: Path | None, maker: Sequence[object]) -> None:
        self._folder = folder
        self._maker = json.dumps([_FORMAT, *maker], sort_keys=True).encode()

    def key(self, mesh: Mesh) -> str:
        """Return a digest of a mesh and of what makes its parts."""
        digest = blake2b(self._maker, digest_size=16)
        for array in (mesh.vertices, mesh.triangles):
            digest.update(np.int64(len(array)).tobytes())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def load(self, key: str) -> list[Mesh] | None:
        """Return the parts of a mesh by its key; None if they are not there."""
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
        except Exception:  # of many kinds, and whatever it is, there is no file to be used
            return None
        return parts if all(map(_is_sound, parts)) else None

    def save(self, key: str, parts: Sequence[Mesh]) -> None:
        """Keep the parts of a mesh, if they can be kept."""
        if self._folder is None:
            return
        content = BytesIO()
        np.savez(
            content,
            vertices=np.concatenate([part.vertices for part in parts]),
            triangles=np.concatenate([part.triangles for part in parts]),
            counts=[(len(part.vertices), len(part.triangles)) for part in parts],
        )
        with suppress(OSError):  # they are made anew the next time
            write_atomically(self._path(key), content.getvalue())

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{key}.npz"


def _is_sound(part: Mesh) -> bool:
    """Tell whether a part is a mesh at all: a file may hold anything."""
    count, triangles = len(part.vertices), part.triangles
    return bool(
        triangles.size
        and np.isfinite(part.vertices).all()
        and triangles.min() >= 0
        and triangles.max() < count
    )
