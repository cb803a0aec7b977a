"""Equal results from every executor, and what a case that dies or hangs costs."""

import importlib
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import sweep_functions
from each_case import mostly_slow
from paths import ROOT

from hrp_model import __version__
from hrp_sim import InlineExecutor, SweepLimits, sweep
from hrp_sim.lab.sweeps import WorkerError

WORLD = ROOT / "models" / "blocks" / "wood.body"
COUNT = 12
TIME = 300.0  # [s] in which anything must have happened
LIMIT = 3.0  # [s]; of a case, far above the milliseconds that one takes without other load


def counted(tmp_path, troubles=None, **more):
    """Return cases that leave a file for each of their runs; some have troubles, by index."""
    folder = tmp_path / "runs"
    folder.mkdir()
    troubles = troubles or {}
    return [
        {"force": float(i), "folder": str(folder), "trouble": troubles.get(i, ""), **more}
        for i in range(COUNT)
    ]


def runs(tmp_path):
    """Return the forces of all runs, sorted, and the numbers of their processes."""
    names = [path.name.split("-") for path in (tmp_path / "runs").glob("*-*")]
    return sorted(float(name[0]) for name in names), {int(name[1]) for name in names}


ONCE = [float(i) for i in range(COUNT)]


@pytest.fixture(scope="module")
def expected():
    """Return the state hashes of the cases, from this process."""
    cases = [{"force": force} for force in ONCE]
    return sweep(WORLD, cases, sweep_functions.pushed, InlineExecutor()).state_hashes


@pytest.fixture(scope="module")
def client():
    """Return the client of a Dask cluster of two processes, each with two threads."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True, "silence_logs": 50}
    with (
        distributed.LocalCluster(**options, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_threads_run_every_case_once(expected, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        result = sweep(WORLD, counted(tmp_path), sweep_functions.counted, threads)
    assert result.state_hashes == expected
    assert runs(tmp_path)[0] == ONCE


def test_a_dask_cluster_runs_every_case_once(client, expected, tmp_path):
    result = sweep(WORLD, counted(tmp_path), sweep_functions.counted, client.get_executor())
    assert result.state_hashes == expected
    assert runs(tmp_path)[0] == ONCE


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


@pytest.mark.slow
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
    assert runs(tmp_path)[0] == ONCE


def test_processes_run_every_case_once_and_cases_in_trouble_fail_alone(expected, tmp_path):
    late = f"it took longer than {LIMIT:g} s, and its process was ended"
    errors = {
        1: ("raises", "ValueError: too strong ("),
        3: ("exits", "SystemExit: enough ("),
        4: ("dies", "its process died (SIGKILL)"),
        8: ("holds the lock", late),
    }
    cases = counted(tmp_path, {i: trouble for i, (trouble, _) in errors.items()})
    result = sweep(WORLD, cases, sweep_functions.troubled, jobs=2, timeout=LIMIT)
    assert set(result.failures) == set(errors)
    for i, (_, error) in errors.items():
        assert result.errors[i].startswith(error)
    others = [i for i in range(COUNT) if i not in errors]
    assert [result.state_hashes[i] for i in others] == [expected[i] for i in others]
    forces, processes = runs(tmp_path)
    assert forces == others
    assert len(processes - {os.getpid()}) > 1


@pytest.mark.parametrize("executor", mostly_slow(["this process", "Dask"], 1))
def test_a_time_limit_holds_with_other_executors(executor, request, expected, tmp_path):
    inline = executor == "this process"
    executor = InlineExecutor() if inline else request.getfixturevalue("client").get_executor()
    cases = counted(tmp_path, {3: "holds the lock", 9: "leaves a thread"})
    result = sweep(WORLD, cases, sweep_functions.troubled, executor, timeout=LIMIT)
    assert set(result.failures) == {3}
    assert result.state_hashes[4:] == expected[4:]
    assert os.getpid() not in runs(tmp_path)[1]


@pytest.mark.slow
def test_a_dask_worker_that_is_killed_costs_no_case(client, expected, tmp_path):
    cases, run = counted(tmp_path, {3: "dies once"}), sweep_functions.troubled
    assert sweep(WORLD, cases, run, client.get_executor()).state_hashes == expected


class Remote(Executor):
    """Not known to run in this process, so that it gets chunks; some fail, by count."""

    def __init__(self, failing=()):
        self.failing, self.sizes = failing, []

    def submit(self, fn, /, *args, **kwargs):
        future = InlineExecutor().submit(fn, *args, **kwargs)
        self.sizes.append(len(future.result()))
        if len(self.sizes) - 1 in self.failing:
            return InlineExecutor().submit(lambda: (1).to_bytes("no"))
        return future


def test_short_cases_are_submitted_in_chunks():
    cases, limits = [{"force": float(i)} for i in range(100)], SweepLimits(chunk_seconds=0.02)
    remote = Remote()
    result = sweep(WORLD, cases, sweep_functions.pushed, remote, limits=limits)
    assert result.failures == {}
    assert remote.sizes[0] == 1
    assert max(remote.sizes) > 1
    assert sum(remote.sizes) == len(cases)


def test_cases_of_a_chunk_that_failed_run_alone():
    cases, limits = [{"force": float(i)} for i in range(20)], SweepLimits(chunk_seconds=60.0)
    remote = Remote({0, 1, 3})  # the first case, a chunk, and the second of its cases
    result = sweep(WORLD, cases, sweep_functions.pushed, remote, limits=limits)
    assert remote.sizes == [1, 19, *19 * [1]]
    assert set(result.failures) == {0, 2}
    assert result.errors[2].startswith("it could not be run: TypeError")


def test_a_broken_executor_of_the_caller_ends_the_sweep(tmp_path):
    class Broken(InlineExecutor):
        def submit(self, fn, /, *args, **kwargs):
            if len(list(tmp_path.iterdir())) == 3:
                raise BrokenExecutor("gone")
            return super().submit(fn, *args, **kwargs)

    cases = [{"force": force} for force in ONCE]
    with pytest.raises(BrokenExecutor, match="gone"):
        sweep(WORLD, cases, sweep_functions.pushed, Broken(), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


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


@pytest.mark.slow
def test_a_cluster_whose_scheduler_dies_ends_the_sweep(tmp_path):
    from distributed import Client

    file = tmp_path / "scheduler.json"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    commands = (
        ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"],
        ["worker", "--nthreads", "1", "--no-dashboard", "--no-nanny"],
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
        with Client(scheduler_file=str(file), timeout=TIME) as client:
            client.wait_for_workers(1, timeout=TIME)
            cases = counted(tmp_path, {3: "kills another"}, victim=processes[0].pid)
            with pytest.raises(WorkerError, match="cancelled"):
                sweep(WORLD, cases, sweep_functions.troubled, client.get_executor())
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(TIME)


def wait_until(condition):
    end = time.monotonic() + TIME
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_running(process):
    """Return whether a process is neither gone nor a zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.parametrize("end", [signal.SIGINT, *mostly_slow([signal.SIGKILL], 0)])
def test_processes_end_with_their_caller_and_finished_cases_are_kept(end, tmp_path):
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
            wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
            wait_until(lambda: len(list((tmp_path / "done").glob("*.npz"))) == 4)
            workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
            assert all(map(is_running, workers))
            process.send_signal(end)
            _, errors = process.communicate(timeout=TIME)
        finally:
            process.kill()
    wait_until(lambda: not any(map(is_running, workers)))
    if end is signal.SIGINT:
        assert "KeyboardInterrupt" in errors
        assert "4 of 6 cases are finished" in errors
        assert "in 'done', and the same call continues" in errors


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("print(sweep(WORLD, CASES, run, jobs=1).errors[0])", "__name__ == '__main__'"),
        pytest.param(
            "if __name__ == '__main__': print(sweep(WORLD, CASES, run, jobs=1).errors[0])",
            "",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_function_of_a_script_keeps_its_place_and_its_globals(script, words, tmp_path):
    path = tmp_path / "study.py"
    path.write_text(
        "import threading\nfrom hrp_sim import sweep\nlock = threading.Lock()\n"
        "def run(sim, case):\n    with lock:\n        raise ValueError('no')\n"
        f"WORLD, CASES = {str(WORLD)!r}, [{{'a': 1}}]\n{script}\n"
    )
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=TIME)
    if words:
        assert done.returncode == 1
        assert words in done.stderr.splitlines()[-1]
    else:
        assert done.stdout == f"ValueError: no ({path}:6)\n"


def test_an_interactive_session_gets_words():
    session = "from hrp_sim import sweep\ndef run(sim, case): return {}\n"
    session += f"sweep({str(WORLD)!r}, [{{'a': 1}}], run, jobs=1)\n"
    done = subprocess.run(
        [sys.executable, "-"], input=session, capture_output=True, text=True, timeout=TIME
    )
    assert done.returncode == 1
    assert "interactive session" in done.stderr.splitlines()[-1]
