"""What the result of a case depends on: the content of its world, and what has computed it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path, PurePath

import numpy as np

from hrp_model.diagnostics import Span
from hrp_model.version import __version__


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


@cache
def fingerprint() -> str:
    """Return the versions of hrp_ros, Python and numpy, the hash of the ODE library, and the CPU.

    Results of equal fingerprints can be compared to the last bit. To be called once ODE is
    loaded.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return f"hrp_ros {__version__}, ODE {_ode()}, numpy {np.__version__}, Python {python}, {_cpu()}"


def _ode() -> str:
    """Return the start of the hash of the library's file, as this process has loaded it."""
    with suppress(OSError):
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            path = Path(line.split(maxsplit=5)[-1])
            if path.name.startswith(("libode.", "libode-")):  # a wheel's has a hash in its name
                return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return "unknown"


def _cpu() -> str:
    machine = platform.machine()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return f"{machine} {value.strip()}"
    return machine
