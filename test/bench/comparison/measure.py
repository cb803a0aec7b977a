"""Interleaved timing: the contenders take turns over slices of the same simulated time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import ceil
from statistics import quantiles

from .contenders import Contender, Touching
from .targets import Measured

SLICES = 10  # per run, so that a disturbance affects few of the ratios
TOLERANCE = 1e-9  # [m, N, ...], of results that differ by rounding alone
MIN_SLICE = 0.02  # [s], so that caches evicted by the contender before matter little


Makers = Mapping[Measured, Callable[[], Contender]]
Times = dict[Measured, list[float]]  # [us], of each slice
Contacts = dict[Measured, list[tuple[int, float]]]  # number and depth [m], after each run


@dataclass(frozen=True, slots=True)
class Ratio:
    """Median and quartiles of the ratios of all slices."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, times: list[float], reference: list[float]) -> Ratio:
        """Compare slice by slice: times of the same steps, taken one after the other."""
        ratios = [a / b for a, b in zip(times, reference, strict=True)]
        if len(ratios) < 2:
            return cls(ratios[0], ratios[0], ratios[0])
        low, middle, high = quantiles(ratios, n=4, method="inclusive")
        return cls(middle, low, high)


@contextmanager
def on_one_core() -> Iterator[None]:
    """Pin this process, and the programs that it starts, to one core, to keep caches warm."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def measure_interleaved(
    makers: Makers,
    steps: int,
    runs: int,
    on_run: Callable[[], None] = lambda: None,
    min_slice: float = MIN_SLICE,
) -> tuple[Times, Contacts]:
    """Time contenders that step the same scene, slice by slice, run by run.

    Every run starts with new contenders and a slice that is not counted.

    Args:
        makers: Functions that make the contenders.
        steps: Steps of one run; more if slices would be too short.
        runs: Number of runs.
        on_run: Called after each run.
        min_slice: Minimum time of a slice, in [s].

    Returns:
        CPU times of a step, in [us], for each slice; contacts after each run, of those that count
        them.
    """
    size = max(1, steps // SLICES)
    slices = min(SLICES, steps)
    times: Times = {name: [] for name in makers}
    contacts: Contacts = {}
    for run in range(runs):
        with ExitStack() as stack:
            contenders: dict[Measured, Contender] = {}
            for name, make in makers.items():
                contenders[name] = make()
                stack.callback(contenders[name].close)
            warm = [contender.advance(size) for contender in contenders.values()]
            if run == 0:
                size = max(size, ceil(min_slice * size / max(min(warm), 1e-9)))
            for k in range(slices):
                for name in _rotated(list(contenders), run + k):
                    times[name].append(contenders[name].advance(size) / size * 1e6)
            for name, contender in contenders.items():
                if isinstance(contender, Touching):
                    touched = contender.contacts, contender.depth()
                    contacts.setdefault(name, []).append(touched)
        on_run()
    return times, contacts


def _rotated(names: list[Measured], first: int) -> list[Measured]:
    """Return the names, rotated by the round, so that each is the first in turn."""
    first %= len(names)
    return names[first:] + names[:first]
