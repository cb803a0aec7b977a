"""Fingerprint of what the last bits of a result depend on."""

from __future__ import annotations

import hashlib
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from hrp_model.version import __version__


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
