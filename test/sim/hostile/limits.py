"""Bounds for a process that does what may go wrong, so that nothing else suffers."""

import os
import resource

_MIB = 2**20


def bound(*, memory_mib, cpu_seconds):
    """Bound the address space and the processor time of this process.

    AddressSanitizer reserves terabytes of addresses, so under it only the time is bounded.
    """
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (memory_mib * _MIB,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
