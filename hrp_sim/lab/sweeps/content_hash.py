"""Hash of a world's content, equal in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath

import numpy as np

from hrp_model.diagnostics import Span


def content_hash(thing: object) -> str:
    """Return the SHA-256 of dataclasses, arrays, containers and plain values.

    Not that of pickled bytes: these differ between processes, since they depend on the order of
    sets and on which objects are identical. Places in files do not count.

    Raises:
        TypeError: It contains something else.
    """
    return _digest(thing, {}).hex()


def _digest(thing: object, known: dict[int, bytes]) -> bytes:
    """Return the hash of an object; ``known`` holds those of shared objects by identity."""
    digest = known.get(id(thing))
    if digest is None:
        sha = hashlib.sha256(type(thing).__qualname__.encode())
        for part in _parts(thing, known):
            sha.update(len(part).to_bytes(8, "little") + part)
        digest = known[id(thing)] = sha.digest()
    return digest


def _parts(thing: object, known: dict[int, bytes]) -> list[bytes]:
    if thing is None or isinstance(thing, Span):
        return []
    if isinstance(thing, Enum):
        return [thing.name.encode()]
    if isinstance(thing, bool | int | float | str | PurePath):
        return [repr(thing).encode()]
    if isinstance(thing, bytes):
        return [thing]
    if isinstance(thing, np.ndarray | np.generic) and thing.dtype.kind in "biufU":
        return [thing.dtype.str.encode(), repr(thing.shape).encode(), thing.tobytes()]
    if isinstance(thing, AbstractSet):
        return sorted(_digest(item, known) for item in thing)
    if isinstance(thing, Mapping):
        return [_digest(item, known) for pair in thing.items() for item in pair]
    if isinstance(thing, list | tuple):
        return [_digest(item, known) for item in thing]
    if is_dataclass(thing):
        # Fields that are not arguments are caches.
        return [_digest(getattr(thing, f.name), known) for f in fields(thing) if f.init]
    raise TypeError(f"a {type(thing).__name__} has no content hash")
