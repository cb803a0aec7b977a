"""Sweeps: equal results from every executor, whoever wrote it, and whatever dies."""

import importlib
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
import sweep_functions
from each_case import mostly_slow
from paths import ROOT

from hrp_model.version import __version__
from hrp_sim import InlineExecutor, sweep
from hrp_sim.lab.sweeps import WorkerError

WORLD = ROOT / "models" / "blocks" / "wood.body"
QUIET = 50  # no messages of Dask about workers that die
TIME = 300.0  # [s] in which anything must have happened
LIMIT = 2  # [s]; of a case, far above the milliseconds that one takes without other load


def counted(tmp_path, cases=20):
    """Return cases that leave a file for each of their runs."""
    folder = tmp_path / "runs"
    folder.mkdir()
    mark = tmp_path / "mark"
    return [{"force": float(i), "folder": str(folder), "mark": str(mark)} for i in range(cases)]


def runs(tmp_path):
    """Return the forces of all runs, sorted."""
    return sorted(float(path.name.partition("-")[0]) for path in (tmp_path / "runs").iterdir())


def processes(tmp_path):
    """Return the numbers of the processes that ran cases."""
    return {int(path.name.split("-")[1]) for path in (tmp_path / "runs").iterdir()}


@pytest.fixture(scope="module")
def expected():
    """Return the state hashes of the cases, from this process."""
    cases = [{"force": float(i)} for i in range(20)]
    return sweep(WORLD, cases, sweep_functions.pushed, InlineExecutor()).state_hashes


@pytest.fixture(scope="module")
def client():
    """Return the client of a Dask cluster of two processes, each with two threads."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    dask = pytest.importorskip("dask")
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True}
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        # A LocalCluster ends the nanny of a worker that is dead that long after an earlier death,
        # even if it has died a second time meanwhile and is about to be replaced.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(**options, dashboard_address=None, silence_logs=QUIET) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_two_processes_run_every_case_once(expected, tmp_path):
    result = sweep(WORLD, counted(tmp_path), sweep_functions.counted, jobs=2)
    assert result.state_hashes == expected
    assert runs(tmp_path) == [float(i) for i in range(20)]
    assert len(processes(tmp_path) - {os.getpid()}) == 2


def test_threads_of_this_process_run_every_case_once(expected, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        result = sweep(WORLD, counted(tmp_path), sweep_functions.counted, threads)
    assert result.state_hashes == expected
    assert runs(tmp_path) == [float(i) for i in range(20)]


def test_a_dask_cluster_runs_every_case_once(client, expected, tmp_path):
    result = sweep(WORLD, counted(tmp_path), sweep_functions.counted, client.get_executor())
    assert result.state_hashes == expected
    assert runs(tmp_path) == [float(i) for i in range(20)]


def test_a_dask_worker_that_is_killed_costs_no_case(client, expected, tmp_path):
    cases = counted(tmp_path)
    result = sweep(WORLD, cases, sweep_functions.killed_counted, client.get_executor())
    assert (tmp_path / "mark").exists()
    assert result.failures == {}
    assert result.state_hashes == expected
    assert set(runs(tmp_path)) == {float(i) for i in range(20)}


@pytest.mark.parametrize("hang", ["loops", *mostly_slow(["is deaf", "holds the lock"], 0)])
def test_a_case_that_hangs_in_a_dask_worker_is_the_only_failure(client, hang, expected, tmp_path):
    cases = [case | {"hang": hang} for case in counted(tmp_path)]
    run, executor = sweep_functions.hanging, client.get_executor()
    result = sweep(WORLD, cases, run, executor, timeout=LIMIT)
    assert set(result.failures) == {3}
    assert result.errors[3].startswith(f"it took longer than {LIMIT} s")
    assert runs(tmp_path).count(3.0) == (hang == "holds the lock")  # others hang before they count
    assert result.state_hashes[4:] == expected[4:]


@pytest.mark.slow
def test_a_case_that_kills_every_dask_worker_is_the_only_failure(client, expected):
    cases = [{"force": float(i)} for i in range(20)]
    result = sweep(WORLD, cases, sweep_functions.killed_always, client.get_executor())
    assert result.failures == {3: "all workers died that ran it"}
    assert result.state_hashes[4:] == expected[4:]


def test_a_worker_with_another_version_ends_the_sweep(client, monkeypatch):
    # That of the workers cannot be changed, since those that died are replaced at any time.
    monkeypatch.setattr("hrp_sim.lab.sweeps.executors.__version__", "0.1")
    words = f"has hrp_ros {re.escape(__version__)}, and this process 0.1: install the same version"
    with pytest.raises(WorkerError, match=words):
        sweep(WORLD, [{"force": 1.0}], sweep_functions.pushed, client.get_executor())


def test_a_worker_without_hrp_ros_ends_the_sweep():
    lacking = ("import sys; sys.modules['hrp_sim'] = None",)
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=exec, initargs=lacking
    ) as executor:
        words = (
            rf"a worker cannot import hrp_sim\S*: install hrp_ros {re.escape(__version__)} there"
        )
        with pytest.raises(WorkerError, match=words):
            sweep(WORLD, [{"force": 1.0}], sweep_functions.pushed, executor)


def test_a_module_that_workers_lack_is_named(client, tmp_path, monkeypatch):
    (tmp_path / "study_of_mine.py").write_text("def run(sim, case): return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    run = importlib.import_module("study_of_mine").run

    with pytest.raises(WorkerError, match="cannot import run: No module named 'study_of_mine'"):
        sweep(WORLD, [{"force": 1.0}], run, client.get_executor())


@pytest.fixture
def scheduler_file(tmp_path):
    """Start a Dask scheduler and two workers as separate processes; return the scheduler's file."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    file = tmp_path / "scheduler.json"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    commands = (
        ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"],
        *2 * [["worker", "--nthreads", "1", "--no-dashboard", "--no-nanny"]],
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *command, "--scheduler-file", str(file)],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    try:
        yield file, processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(TIME)


@pytest.mark.slow
def test_a_cluster_of_separate_processes_runs_every_case_once(scheduler_file, expected, tmp_path):
    from distributed import Client

    file, (scheduler, *workers) = scheduler_file
    with Client(scheduler_file=str(file), timeout=TIME) as client:
        client.wait_for_workers(2, timeout=TIME)
        result = sweep(WORLD, counted(tmp_path), sweep_functions.counted, client.get_executor())
        assert result.state_hashes == expected
        assert runs(tmp_path) == [float(i) for i in range(20)]
        assert processes(tmp_path) == {worker.pid for worker in workers}

        cases = [{"force": float(i), "victim": scheduler.pid} for i in range(20)]
        run, executor = sweep_functions.killing_another, client.get_executor()
        with pytest.raises(WorkerError, match="cancelled"):
            sweep(WORLD, cases, run, executor, folder=tmp_path / "done")


MPI_SCRIPT = """
import sys
import sweep_functions
from mpi4py.futures import MPIPoolExecutor
from test_executors import WORLD, counted
from pathlib import Path
from hrp_sim import sweep

if __name__ == "__main__":
    with MPIPoolExecutor(2, path=sys.path) as executor:
        result = sweep(WORLD, counted(Path.cwd()), sweep_functions.counted, executor)
    print(*result.state_hashes)
"""


def test_processes_of_mpi_run_every_case_once(expected, tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    # MPI changes the process that starts it, and ends it with any of its other processes.
    script = tmp_path / "script.py"
    script.write_text(MPI_SCRIPT, encoding="utf-8")
    paths = [path for path in sys.path if path] + [os.path.dirname(__file__)]
    ended = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIME,
    )
    if "cannot load MPI library" in ended.stderr:
        pytest.skip("mpi4py finds no MPI library")
    assert ended.returncode == 0, ended.stderr
    assert tuple(ended.stdout.split()) == expected
    assert runs(tmp_path) == [float(i) for i in range(20)]
