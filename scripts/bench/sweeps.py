"""Print what a sweep costs on many workers, by a simulation of caller, scheduler and workers.

The model: the caller keeps up to ``in_flight`` chunks with a scheduler, which hands them to idle
workers. Caller and scheduler each process one chunk at a time, and need a time for it, once when
it is submitted and once when its result comes back. Constants are those that
``test/bench/bench_sweeps.py --dask`` measures. docs/performance.md has the results.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass
from random import Random

from scripts.data_tables import Table, print_tables

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
MOST = 200_000  # chunks that are simulated
CASES = 1_000_000


@dataclass(frozen=True)
class Plan:
    """A run of a million cases to predict.

    Attributes:
        seconds: Duration of a case, in [s].
        workers: Number of workers.
        chunk_seconds: As of ``SweepLimits``.
        in_flight: As of ``SweepLimits``.
        folder: Whether results are written to a folder.
    """

    seconds: float
    workers: int
    chunk_seconds: float = 0.5
    in_flight: int = 1000
    folder: bool = False

    @property
    def chunk(self) -> int:
        """Number of cases of a chunk."""
        return max(1, min(1000, int(self.chunk_seconds / self.seconds)))


PLANS = (
    Plan(1.0, 100),
    Plan(1.0, 1000),
    Plan(1.0, 1000, in_flight=3000),
    Plan(1.0, 1000, chunk_seconds=10.0, in_flight=3000),
    Plan(1.0, 1000, chunk_seconds=10.0, in_flight=3000, folder=True),
    Plan(0.1, 1000, in_flight=3000),
    Plan(0.1, 1000, chunk_seconds=10.0, in_flight=3000),
    Plan(0.1, 1000, chunk_seconds=10.0, in_flight=3000, folder=True),
    Plan(10.0, 1000, in_flight=3000),
    Plan(10.0, 10_000, chunk_seconds=60.0, in_flight=30_000),
)


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


def simulate(plan: Plan) -> tuple[float, list[float]]:
    """Return the time of a sweep, in [s], and how busy workers, scheduler and caller were.

    Its first chunks are simulated.
    """
    random = Random(1)
    chunks = -(-CASES // plan.chunk)
    count = min(chunks, MOST)
    per_result = plan.chunk * (CALLER_CASE + (CALLER_FILE if plan.folder else 0.0))
    spread = JITTER / plan.chunk**0.5
    caller, scheduler = Server(), Server()
    idle = [CREATION] * plan.workers  # when each worker is free
    events: list[tuple[float, str]] = []  # what arrives when, at scheduler or caller
    submitted = finished = 0

    def submit(now: float) -> None:
        nonlocal submitted
        submitted += 1
        heapq.heappush(events, (caller.process(now, CALLER_TASK / 2.0), "submitted"))

    busy = 0.0
    while submitted < min(count, plan.in_flight):
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
        took = plan.chunk * (plan.seconds + WORKER_CASE) * max(random.gauss(1.0, spread), 0.1)
        ended = max(heapq.heappop(idle), now) + took
        busy += took
        heapq.heappush(idle, ended)
        heapq.heappush(events, (ended, "ended"))
    end = caller.free
    return end * chunks / count, [
        busy / plan.workers / end,
        scheduler.busy / end,
        caller.busy / end,
    ]


def duration(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def loads() -> Table:
    """Return how long each sweep takes, and what is busy."""
    header = ["case", "workers", "`chunk_seconds`", "`in_flight`", "folder", "chunk", "time"]
    rows = []
    for s in PLANS:
        seconds, shares = simulate(s)
        settings = [f"{s.seconds:g} s", f"{s.workers}", f"{s.chunk_seconds:g}", f"{s.in_flight}"]
        cells = ["yes" if s.folder else "no", str(s.chunk), duration(seconds)]
        rows.append([*settings, *cells, *(f"{share:.0%}" for share in shares)])
    return [*header, "workers busy", "scheduler busy", "caller busy"], rows


def sizes() -> Table:
    """Return what the cases of a sweep need in bytes, and before they start."""
    rows = [("check of the cases, before the first", duration(CASES * CHECKED_CASE))]
    for chunk in (1, 10, 100):
        sent = CASES * (WORLD / chunk + CASE_THERE)
        rows.append((f"sent to workers, in chunks of {chunk}", f"{sent / 1e9:.2f} GB"))
    memory, disk = CASES * RESULT, CASES * max(FILE, BLOCK)
    rows += [
        ("sent back", f"{CASES * CASE_BACK / 1e9:.2f} GB"),
        ("memory of the caller, for results of one number", f"{memory / 1e9:.1f} GB"),
        ("files of a folder", f"{CASES}, {disk / 1e9:.1f} GB on the disk"),
    ]
    return ["quantity", "value"], rows


def add_options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(_: argparse.Namespace) -> int:
    """Print the tables."""
    print_tables({"loads": loads(), f"of {CASES} cases": sizes()})
    return 0
