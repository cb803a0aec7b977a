"""Measure what a sweep costs beside the steps of its cases. Prints a table.

    python test/bench/bench_sweeps.py [--cases N] [--dask]

Measurements in processor time are little disturbed by other programs; those in wall time are.
What is compared runs in turns, and medians are printed.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from pathlib import Path
from statistics import median

from hrp_sim import Simulation, SweepLimits, SweepResult, load_world, sweep
from hrp_sim.lab.sweeps import InlineExecutor

WORLD = "humanoid_in_room"
DURATION = 1.0  # [s] of simulated time of a case
ROUNDS = 3


def standing(sim: Simulation, _case: Mapping[str, object]) -> dict[str, object]:
    """Let the humanoid stand; return processor times of this process before and after, in [s]."""
    before = time.process_time()
    sim.run(DURATION)
    return {"before": before, "after": time.process_time()}


def short(sim: Simulation, _case: Mapping[str, object]) -> dict[str, object]:
    """Step ten times; return the memory of this process in [MiB]."""
    for _ in range(10):
        sim.step()
    return {"memory": int(Path("/proc/self/statm").read_text().split()[1]) / 256}


def cases(count: int) -> list[dict[str, object]]:
    """Return cases that differ only in their names."""
    return [{"number": i} for i in range(count)]


def timed(jobs: int, count: int) -> tuple[SweepResult, float, float]:
    """Return a sweep of standing humanoids, its wall time and the caller's processor time, in [s].

    Without those of the start of the processes.
    """
    walls, own, results = [], [], []
    for size in (2 * jobs, count + 2 * jobs):
        wall, processor = time.perf_counter(), time.process_time()
        results.append(sweep(WORLD, cases(size), standing, jobs=jobs))
        walls.append(time.perf_counter() - wall)
        own.append(time.process_time() - processor)
    return results[1], walls[1] - walls[0], own[1] - own[0]


def report(name: str, value: str) -> None:
    """Print one line of the table."""
    print(f"{name:62} {value}", flush=True)


def compare_with_steps(count: int) -> None:
    """Report the processor time of a sweep beside that of its steps, and that of two processes."""
    steps, workers, callers, speedups = [], [], [], []
    for _ in range(ROUNDS):
        result, one, own = timed(1, count)
        before, after = (result.values[name] for name in ("before", "after"))
        stepping = float((after - before)[1:].sum())
        steps.append(stepping / (len(before) - 1))
        workers.append(float(before[-1] - before[1]) / float((after - before)[1:-1].sum()) - 1.0)
        callers.append(own / count / steps[-1])
        _, two, _ = timed(2, count)
        speedups.append(one / two)
    report("steps of a case, processor time", f"{median(steps) * 1e3:.1f} ms")
    report("added by the worker, processor time", percent(workers))
    report("added by the caller, processor time", percent(callers))
    report(
        "two processes / one, speed by the clock", " ".join(f"{s:.2f}" for s in sorted(speedups))
    )


def percent(shares: list[float]) -> str:
    """Return shares as text."""
    return " ".join(f"{share:.1%}" for share in sorted(shares))


def measure_short(count: int) -> None:
    """Report memory of a worker, and the costs of short cases."""
    start = time.process_time()
    result = sweep(WORLD, cases(count), short, jobs=1)
    caller = time.process_time() - start
    memory = result.values["memory"]
    at = [count // 20, count // 2, count - 1]
    report("memory of a worker", ", ".join(f"{memory[i]:.1f} MiB after {i + 1}" for i in at))
    report("caller, per short case, processor time", f"{caller / count * 1e6:.0f} us")
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        sweep(WORLD, cases(count), short, jobs=1, folder=folder)
        written = time.process_time() - start
        report("the same with a folder", f"{written / count * 1e6:.0f} us")
        start = time.process_time()
        sweep(WORLD, cases(count), short, jobs=1, folder=folder)
        report(
            "a case read from the folder", f"{(time.process_time() - start) / count * 1e6:.0f} us"
        )
        sizes = [path.stat().st_size for path in Path(folder).iterdir()]
        report("file of a case", f"{median(sizes):.0f} bytes")


class Weighing(Executor):
    """Runs chunks in this process, and weighs what would travel."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int, int]] = []  # cases, bytes there, bytes back

    def submit(self, fn: Callable[..., object], /, *args: object, **kw: object) -> Future[object]:
        """Call a function now."""
        future = InlineExecutor().submit(fn, *args, **kw)
        found = future.result()
        sizes = len(pickle.dumps(args)), len(pickle.dumps(found))
        self.sizes.append((len(found), *sizes))  # type: ignore[attr-defined]
        return future


def measure_bytes() -> None:
    """Report how many bytes travel."""
    scale = Weighing()
    sweep(WORLD, cases(300), short, scale)
    report("pickled world", f"{len(pickle.dumps(load_world(WORLD)))} bytes")
    for chunk, there, back in (scale.sizes[0], max(scale.sizes)):
        report(f"chunk of {chunk}: there and back", f"{there} and {back} bytes")


def measure_dask(count: int) -> None:
    """Report what a task costs the scheduler and the client, in processes of their own."""
    from distributed import Client

    def time_of(process: int) -> float:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/scheduler.json"
        options = ["--no-dashboard", "--scheduler-file", file]
        programs = [["scheduler", "--host", "127.0.0.1", "--port", "0"], ["worker", "--nthreads=1"]]
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "dask", *program, *options], stderr=subprocess.DEVNULL
            )
            for program in programs
        ]
        try:
            with Client(scheduler_file=file, timeout=60) as client:
                client.wait_for_workers(1)
                sweep(WORLD, cases(10), short, client.get_executor())
                for name, limits in (
                    ("a case per task", SweepLimits(chunk_seconds=1e-9)),
                    ("in chunks", SweepLimits()),
                ):
                    before, own = time_of(started[0].pid), time.process_time()
                    sweep(WORLD, cases(count), short, client.get_executor(), limits=limits)
                    scheduler, caller = time_of(started[0].pid) - before, time.process_time() - own
                    report(
                        f"Dask, {name}: scheduler and caller, per case",
                        f"{scheduler / count * 1e6:.0f} us and {caller / count * 1e6:.0f} us",
                    )
        finally:
            for process in started:
                process.kill()
                process.wait()


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100, help="cases of 1 s simulated time")
    parser.add_argument("--short", type=int, default=2000, help="short cases")
    parser.add_argument("--dask", action="store_true", help="measure Dask's scheduler, too")
    arguments = parser.parse_args()
    compare_with_steps(arguments.cases)
    measure_short(arguments.short)
    measure_bytes()
    if arguments.dask:
        measure_dask(arguments.short)


if __name__ == "__main__":
    main()
