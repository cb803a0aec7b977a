"""How the memory of this process grows while something is done again and again."""

from __future__ import annotations

import ctypes
import gc
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SAMPLES = 100
MIB = 2**20
WARM_UP = 0.1  # share of the calls before which memory may grow


@dataclass(frozen=True)
class Growth:
    """Growth of the memory of the process after the warm-up, in [byte].

    Attributes:
        before, after: Resident memory at the first and the last sample.
        slope: Of the line fitted to the resident memory, per call.
        heap: Growth of the memory allocated by malloc; 0 if the C library does not report it.
        calls: Calls between the first and the last sample.
        seconds: Processor time of these calls, in [s].
    """

    before: int
    after: int
    slope: float
    heap: int
    calls: int
    seconds: float

    def exceeds(self, bound: float) -> bool:
        """Return whether either kind of memory has grown by more than a bound."""
        return max(self.after - self.before, self.slope * self.calls, self.heap) > bound


def resident() -> int:
    """Return the resident memory of this process, in [byte]."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


class _MallInfo(ctypes.Structure):
    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]


def heap() -> int:
    """Return the memory allocated by malloc, in [byte]; 0 if the C library does not report it."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = _MallInfo
    info = mallinfo()
    return int(info.uordblks) + int(info.hblkhd)


def watch(
    call: Callable[[], None], calls: int, report: Callable[[str], None] = lambda _: None
) -> Growth:
    """Call a function repeatedly and return the growth of memory after a tenth of the calls."""
    warm_up = int(WARM_UP * calls)
    for _ in range(warm_up):
        call()
    done, samples, heaps = 0, [], []
    began = time.process_time()
    for k in range(SAMPLES + 1):
        while done < (calls - warm_up) * k // SAMPLES:
            call()
            done += 1
        gc.collect()
        samples.append((done, resident()))
        heaps.append(heap())
        seconds = time.process_time() - began
        each = seconds / done * 1e6 if done else 0.0
        report(
            f"{warm_up + done}/{calls} calls, {samples[-1][1] / MIB:.2f} MiB, {each:.0f} us each"
        )
    slope = float(np.polyfit(*np.array(samples, dtype=np.float64).T, 1)[0]) if done else 0.0
    return Growth(samples[0][1], samples[-1][1], slope, heaps[-1] - heaps[0], done, seconds)
