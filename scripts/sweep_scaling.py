"""Print what a sweep costs on many workers, by a simulation of caller, scheduler and workers.

    python scripts/sweep_scaling.py

The model: the caller keeps up to ``in_flight`` chunks with a scheduler, which hands them to idle
workers. Caller and scheduler each process one chunk at a time, and need a time for it, once when
it is submitted and once when its result comes back. Constants are those that
``test/bench/bench_sweeps.py --dask`` measures. docs/performance.md has the results.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from random import Random

# Measured: processor time in [s], and sizes in [byte].
SCHEDULER_TASK = 1.0e-3
CALLER_TASK = 0.9e-3  # of Dask's client
CALLER_CASE = 25e-6
CALLER_FILE = 0.4e-3  # a case with a folder
CHECKED_CASE = 5e-6  # before the first is submitted
WORKER_CASE = 1.0e-3  # restoring the world
WORLD, CASE_THERE, CASE_BACK = 17_500, 11, 125
RESULT = 800  # memory of the caller
FILE, BLOCK = 1_700, 4_096
CREATION = 0.4  # of a simulation, once per worker
JITTER = 0.2  # standard deviation of the duration of cases, relative


@dataclass(frozen=True)
class Sweep:
    """A sweep to predict.

    Attributes:
        cases: Their number.
        seconds: Duration of a case, in [s].
        workers: Number of workers.
        chunk_seconds: As of ``SweepLimits``.
        in_flight: As of ``SweepLimits``.
        folder: Whether results are written to a folder.
    """

    cases: int
    seconds: float
    workers: int
    chunk_seconds: float = 0.5
    in_flight: int = 1000
    folder: bool = False

    @property
    def chunk(self) -> int:
        """Number of cases of a chunk."""
        return max(1, min(1000, int(self.chunk_seconds / self.seconds)))


@dataclass(frozen=True)
class Load:
    """What was simulated: time in [s], and shares of it in which something was busy."""

    seconds: float
    workers: float
    scheduler: float
    caller: float


class Server:
    """Processes one thing after another."""

    def __init__(self) -> None:
        self.free = 0.0  # when it is, in [s]
        self.busy = 0.0  # for how long it was, in [s]

    def process(self, now: float, cost: float) -> float:
        """Return when something is done that arrives now."""
        self.free = max(self.free, now) + cost
        self.busy += cost
        return self.free


def simulate(sweep: Sweep, most: int = 200_000) -> Load:
    """Return the load of a sweep, by simulating its first chunks.

    Args:
        sweep: The sweep.
        most: Maximum number of chunks to simulate.
    """
    random = Random(1)
    chunks = -(-sweep.cases // sweep.chunk)
    count = min(chunks, most)
    per_result = sweep.chunk * (CALLER_CASE + (CALLER_FILE if sweep.folder else 0.0))
    spread = JITTER / sweep.chunk**0.5
    caller, scheduler = Server(), Server()
    idle = [CREATION] * sweep.workers  # when each worker is free
    events: list[tuple[float, str]] = []  # what arrives when, at scheduler or caller
    submitted = finished = 0

    def submit(now: float) -> None:
        nonlocal submitted
        submitted += 1
        heapq.heappush(events, (caller.process(now, CALLER_TASK / 2.0), "submitted"))

    busy = 0.0
    while submitted < min(count, sweep.in_flight):
        submit(0.0)
    while finished < count:
        now, kind = heapq.heappop(events)
        if kind == "finished":
            finished += 1
            caller.process(now, CALLER_TASK / 2.0 + per_result)
            if submitted < count:
                submit(now)
            continue
        now = scheduler.process(now, SCHEDULER_TASK / 2.0)
        if kind == "ended":
            heapq.heappush(events, (now, "finished"))
            continue
        took = sweep.chunk * (sweep.seconds + WORKER_CASE) * max(random.gauss(1.0, spread), 0.1)
        ended = max(heapq.heappop(idle), now) + took
        busy += took
        heapq.heappush(idle, ended)
        heapq.heappush(events, (ended, "ended"))
    end = caller.free
    return Load(
        end * chunks / count, busy / (sweep.workers * end), scheduler.busy / end, caller.busy / end
    )


def duration(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def print_loads(sweeps: list[Sweep]) -> None:
    """Print a table of sweeps."""
    print(
        "| case | workers | `chunk_seconds` | `in_flight` | folder | chunk | time | workers busy |",
        end="",
    )
    print(" scheduler busy | caller busy |")
    print("| --- " * 10 + "|")
    for s in sweeps:
        load = simulate(s)
        settings = f"{s.seconds:g} s | {s.workers} | {s.chunk_seconds:g} | {s.in_flight}"
        shares = f"{load.workers:.0%} | {load.scheduler:.0%} | {load.caller:.0%}"
        folder = "yes" if s.folder else "no"
        print(f"| {settings} | {folder} | {s.chunk} | {duration(load.seconds)} | {shares} |")


def print_sizes(cases: int) -> None:
    """Print what the cases of a sweep need in bytes, and before they start."""
    print(f"\nOf {cases} cases:\n")
    print("| quantity | value |\n| --- | --- |")
    print(f"| check of the cases, before the first | {duration(cases * CHECKED_CASE)} |")
    for chunk in (1, 10, 100):
        sent = cases * (WORLD / chunk + CASE_THERE)
        print(f"| sent to workers, in chunks of {chunk} | {sent / 1e9:.2f} GB |")
    print(f"| sent back | {cases * CASE_BACK / 1e9:.2f} GB |")
    print(f"| memory of the caller, for results of one number | {cases * RESULT / 1e9:.1f} GB |")
    print(f"| files of a folder | {cases}, {cases * max(FILE, BLOCK) / 1e9:.1f} GB on the disk |")


def main() -> None:
    """Print the tables."""
    million = 1_000_000
    print_loads(
        [
            Sweep(million, 1.0, 100),
            Sweep(million, 1.0, 1000),
            Sweep(million, 1.0, 1000, in_flight=3000),
            Sweep(million, 1.0, 1000, chunk_seconds=10.0, in_flight=3000),
            Sweep(million, 1.0, 1000, chunk_seconds=10.0, in_flight=3000, folder=True),
            Sweep(million, 0.1, 1000, in_flight=3000),
            Sweep(million, 0.1, 1000, chunk_seconds=10.0, in_flight=3000),
            Sweep(million, 0.1, 1000, chunk_seconds=10.0, in_flight=3000, folder=True),
            Sweep(million, 10.0, 1000, in_flight=3000),
            Sweep(million, 10.0, 10_000, chunk_seconds=60.0, in_flight=30_000),
        ]
    )
    print_sizes(million)


if __name__ == "__main__":
    main()
