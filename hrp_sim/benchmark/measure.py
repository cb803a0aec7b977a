"""Turns and ratios: everybody takes a slice of the same simulated time, one after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import ceil
from statistics import quantiles

from .contenders import Contender
from .targets import Measured

SLICES = 10  # that a run is cut into, so that what disturbs one slice disturbs few ratios
SAME = 1e-9  # [m, N, ...], what rounding may make of the same work
LEAST_SLICE = 0.02  # [s], so that it matters little whose caches the one before has emptied

Makers = Mapping[Measured, Callable[[], Contender]]
Times = dict[Measured, list[float]]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Median of the ratios of all slices, and the quartiles on both sides of it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, times: list[float], reference: list[float]) -> Ratio:
        """Compare slice by slice: the same steps, taken one after the other."""
        ratios = [a / b for a, b in zip(times, reference, strict=True)]
        if len(ratios) < 2:
            return cls(ratios[0], ratios[0], ratios[0])
        low, middle, high = quantiles(ratios, n=4, method="inclusive")
        return cls(middle, low, high)


@contextmanager
def on_one_core() -> Iterator[None]:
    """Stay on one core, and all programs started meanwhile, too: no caches get cold."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def take_turns(
    makers: Makers,
    steps: int,
    runs: int,
    on_run: Callable[[], None] = lambda: None,
    least: float = LEAST_SLICE,
) -> Times:
    """Let all step the same scene, slice by slice, run by run.

    Every run begins anew, with a slice that does not count.

    Args:
        makers: Make the contenders.
        steps: Of one run, in all; more where slices would be too short.
        runs: How many.
        on_run: Called after each run.
        least: CPU time that a slice takes at least, in [s].

    Returns:
        CPU times of a step, in [us], for each slice.
    """
    size = max(1, steps // SLICES)
    slices = min(SLICES, steps)
    times: Times = {name: [] for name in makers}
    for run in range(runs):
        with ExitStack() as stack:
            contenders: dict[Measured, Contender] = {}
            for name, make in makers.items():
                contenders[name] = make()
                stack.callback(contenders[name].close)
            warm = [contender.advance(size) for contender in contenders.values()]
            if run == 0:
                size = max(size, ceil(least * size / max(min(warm), 1e-9)))
            for k in range(slices):
                for name in _in_turn(list(contenders), run + k):
                    times[name].append(contenders[name].advance(size) / size * 1e6)
        on_run()
    return times


def _in_turn(names: list[Measured], first: int) -> list[Measured]:
    """Return the names beginning with another one: nobody always follows the same."""
    first %= len(names)
    return names[first:] + names[:first]
