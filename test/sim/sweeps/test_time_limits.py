"""Sweeps: cases that take too long fail, and do not cost the others."""

import time

import pytest
import sweep_functions
from each_case import mostly_slow
from paths import ROOT

from hrp_sim import InlineExecutor, sweep
from hrp_sim.lab.sweeps.time_limit import has_ended_process, process_limit

LIMIT = 2  # [s]; of a case, far above the milliseconds that one takes without other load
WORLD = ROOT / "models" / "blocks" / "wood.body"


def forces(folder, hang):
    return [{"force": float(i), "folder": str(folder), "hang": hang} for i in range(6)]


def ran(folder):
    """Return the forces of the cases that ran, once for each run."""
    return sorted(float(path.name.partition("-")[0]) for path in folder.iterdir())


@pytest.mark.parametrize("hang", ["is deaf", *mostly_slow(["loops", "sleeps"], 0)])
def test_a_case_that_hangs_is_the_only_failure(hang, tmp_path):
    cases = forces(tmp_path, hang)
    result = sweep(WORLD, cases, sweep_functions.hanging, jobs=2, timeout=LIMIT)
    assert set(result.failures) == {3}
    assert result.errors[3].startswith(f"it took longer than {LIMIT} s")
    assert ran(tmp_path) == [0.0, 1.0, 2.0, 4.0, 5.0]


def test_a_case_that_never_releases_the_global_lock_runs_once(tmp_path):
    cases = forces(tmp_path, "holds the lock")
    result = sweep(WORLD, cases, sweep_functions.hanging, jobs=2, timeout=LIMIT)
    assert result.failures == {
        3: f"it took longer than {LIMIT} s, and its worker process was ended"
    }
    assert ran(tmp_path) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_time_limit_needs_no_mark(tmp_path):
    (tmp_path / "file").touch()
    for mark in (tmp_path / "missing" / "0", tmp_path / "file" / "0"):
        with process_limit(600.0, mark):
            pass
        assert not has_ended_process(mark)


def test_in_this_process_a_case_that_hangs_is_interrupted(tmp_path):
    executor = InlineExecutor()
    cases = forces(tmp_path, "loops")
    result = sweep(WORLD, cases, sweep_functions.hanging, executor, timeout=LIMIT)
    assert result.failures == {3: f"it took longer than {LIMIT} s"}
    plain = sweep(WORLD, cases[4:], sweep_functions.pushed, executor)
    assert result.state_hashes[4:] == plain.state_hashes


def test_in_this_process_a_call_that_blocks_is_waited_for(monkeypatch):
    def late(sim, case):
        time.sleep(0.3)
        return {"x": 1}

    monkeypatch.setattr(sweep_functions, "late", late, raising=False)
    result = sweep(WORLD, [{"a": 1}], late, InlineExecutor(), timeout=0.1)
    assert result.failures == {0: "it took longer than 0.1 s"}


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_limit_must_be_a_time(timeout):
    with pytest.raises(ValueError, match="timeout must be"):
        sweep(WORLD, [{"a": 1}], sweep_functions.pushed, InlineExecutor(), timeout=timeout)
