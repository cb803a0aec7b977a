"""Sweeps that end early, or whose workers differ: what is kept, and what is reported."""

import io
import itertools
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor
from pathlib import Path

import pytest
import sweep_functions
from paths import ROOT
from rich.console import Console

from hrp_sim import InlineExecutor, SweepLimits, load_world, sweep
from hrp_sim.lab.sweeps import worker
from hrp_sim.lab.sweeps.worker import forget_simulations

WORLD = ROOT / "models" / "blocks" / "wood.body"
TIME = 300.0  # [s] in which anything must have happened


def forces(count):
    return [{"force": float(i)} for i in range(count)]


def wait_until(condition):
    end = time.monotonic() + TIME
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def runs(process):
    """Return whether a process is running, neither gone nor a zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


@pytest.fixture
def endless(tmp_path):
    """Start a sweep in a process of its own, whose last two cases never end."""
    script = tmp_path / "study.py"
    script.write_text(
        "import sweep_functions\nfrom hrp_sim import sweep\nif __name__ == '__main__':\n"
        f"    cases = [{{'force': float(i), 'folder': {str(tmp_path)!r}}} for i in range(6)]\n"
        f"    sweep({str(WORLD)!r}, cases, sweep_functions.endless, jobs=2, folder='done')\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, script], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            # Finished cases are files before both workers hang, in the order of submission.
            wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
            yield process
        finally:
            process.kill()


def test_workers_end_with_a_caller_that_is_killed(endless, tmp_path):
    workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    assert all(runs(process) for process in workers)
    endless.kill()
    wait_until(lambda: not any(runs(process) for process in workers))


def test_an_interrupted_sweep_states_how_it_continues(endless, tmp_path):
    wait_until(lambda: len(list((tmp_path / "done").glob("*.npz"))) == 4)
    workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    endless.send_signal(signal.SIGINT)
    _, errors = endless.communicate(timeout=TIME)
    assert "KeyboardInterrupt" in errors
    assert "4 of 6 cases are finished" in errors
    assert "in 'done', and the same call continues" in errors
    wait_until(lambda: not any(runs(process) for process in workers))


def test_a_full_disk_ends_the_sweep_but_loses_nothing(tmp_path, caplog):
    config = load_world(WORLD)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full_at_the_end(case):
        if case["force"] == 5.0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
        return config

    def go_on(world):
        return sweep(world, forces(6), sweep_functions.pushed, InlineExecutor(), folder=tmp_path)

    try:
        with pytest.raises(OSError, match=r"free space, then repeat the call: .*/\w+\.npz"):
            go_on(full_at_the_end)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert "5 of 6 cases are finished" in caplog.text
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(times) == 5
    assert go_on(config).failures == {}
    assert len(list(tmp_path.iterdir())) == 6
    assert all(path.stat().st_mtime_ns == then for path, then in times.items())


def test_workers_that_compute_differently_are_reported_once(monkeypatch, caplog):
    names = itertools.cycle(["ODE one", "ODE two"])
    monkeypatch.setattr(worker, "fingerprint", lambda: next(names))
    result = sweep(WORLD, forces(6), sweep_functions.pushed, InlineExecutor())
    assert result.failures == {}
    assert caplog.text.count("cannot be compared") == 1
    assert "ODE one" in caplog.text
    assert "ODE two" in caplog.text


class Remote(Executor):
    """Not known to run in this process, so that it gets chunks; their sizes are noted."""

    def __init__(self):
        self.sizes = []

    def submit(self, fn, /, *args, **kwargs):
        future = InlineExecutor().submit(fn, *args, **kwargs)
        self.sizes.append(len(future.result().results))
        return future


def test_short_cases_are_submitted_in_chunks():
    limits, remote = SweepLimits(chunk_seconds=0.02), Remote()
    result = sweep(WORLD, forces(200), sweep_functions.pushed, remote, limits=limits)
    forget_simulations()
    assert result.failures == {}
    assert sum(remote.sizes) == 200
    assert remote.sizes[0] == 1
    assert max(remote.sizes) > 1


def test_cases_of_a_chunk_that_takes_longer_than_the_first_all_run():
    limits, remote = SweepLimits(chunk_seconds=0.02), Remote()
    result = sweep(WORLD, forces(30), sweep_functions.slower, remote, limits=limits)
    forget_simulations()
    assert result.failures == {}
    assert sum(remote.sizes) == 30
    assert remote.sizes[-5:] == [1] * 5


def test_a_terminal_shows_finished_and_failed_cases_and_their_rate(monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr("hrp_sim.lab.sweeps.display.message_console", lambda: terminal)
    result = sweep(WORLD, forces(6), sweep_functions.raising, InlineExecutor())
    assert set(result.failures) == {2}
    last = terminal.file.getvalue().rpartition("sweep")[2]
    assert "6/6" in last
    assert "1 failed" in last
    assert "cases/s" in last
