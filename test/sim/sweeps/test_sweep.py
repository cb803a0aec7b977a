"""Sweeps: equal results on every executor, failures as rows, folders, limits."""

import gc
import io
import itertools
import os
import resource
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sweep_functions
from paths import ROOT
from rich.console import Console
from sweep_functions import STEPS

from hrp_model import ModelError
from hrp_sim import InlineExecutor, Simulation, SweepLimits, load_world, sweep
from hrp_sim.lab.sweeps import worker
from hrp_sim.lab.sweeps.provenance import content_hash

WORLD = ROOT / "models" / "blocks" / "wood.body"
FORCES = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def raising(sim, case):
    """Fail for one case."""
    if case["force"] == 2.0:
        raise ValueError("too strong")
    return sweep_functions.pushed(sim, case)


def logged(sim, case):
    """Append the case to a file, and fail for one case while another file exists."""
    with Path(case["log"]).open("a") as file:
        file.write(f"{case['force']}\n")
    if case["force"] == 2.0 and Path(case["log"] + ".fail").exists():
        raise RuntimeError("not yet")
    return sweep_functions.pushed(sim, case)


def inline(cases, run, **options):
    return sweep(WORLD, cases, run, InlineExecutor(), **options)


def forces(**more):
    return [{"force": force, **more} for force in FORCES]


def fresh(case):
    """Return what a simulation of its own gives for a case."""
    with Simulation(WORLD) as sim:
        return sweep_functions.pushed(sim, case), sim.state_hash()


def test_each_case_is_that_of_a_fresh_simulation():
    result = inline(forces(), sweep_functions.pushed)
    expected = [fresh(case) for case in forces()]
    assert list(result.state_hashes) == [state for _, state in expected]
    assert len(set(result.state_hashes)) == len(FORCES)
    assert result.values["path"].shape == (len(FORCES), STEPS, 3)
    np.testing.assert_array_equal(result.values["path"], [v["path"] for v, _ in expected])
    assert result.values["moved"].dtype == bool
    assert result.failures == {}


def test_a_case_that_raises_is_a_row_with_the_place(caplog):
    result = inline(forces(), raising)
    assert "1 of 6 cases failed; case 2: ValueError: too strong" in caplog.text
    assert set(result.failures) == {2}
    assert result.errors[2].startswith("ValueError: too strong (")
    assert "test_sweep.py:" in result.errors[2]
    assert np.isnan(result.values["path"][2]).all()
    assert result.values["path"].shape == (len(FORCES), STEPS, 3)


def test_a_function_that_cannot_be_sent_is_refused():
    run = lambda _sim, _case: {}  # noqa: E731
    run.lock = threading.Lock()
    with ProcessPoolExecutor(1) as executor, pytest.raises(TypeError, match="cannot be sent"):
        sweep(WORLD, forces(), run, executor)


@pytest.mark.parametrize("meddle", ["spawn", "control", "ignore", "fail", "close"])
def test_what_a_case_changes_is_undone(meddle):
    cases = [{"force": 1.0, "meddle": how} for how in (meddle, "", meddle, "")]
    result = inline(cases, sweep_functions.meddling)
    assert set(result.state_hashes[1::2]) == {fresh({"force": 1.0})[1]}
    assert set(result.failures) == ({0, 2} if meddle in ("fail", "close") else set())


def test_a_controller_that_fails_is_an_error_of_the_case():
    result = inline([{"force": 1.0, "meddle": "fail"}], sweep_functions.meddling)
    assert "ArithmeticError: broken law" in result.errors[0]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (3.0, "must return a dict"),
        ({"x": object()}, "'x' as object"),
        ({"x": [[1.0], [1.0, 2.0]]}, "'x', which is no regular array"),
        ({"error": 1.0}, "every result has already"),
        ({"returned": 1.0}, "the case has already"),
        ({"x": np.zeros(100)}, "limit case_bytes"),
        ({"x": 2**64 - 1}, "beyond"),
        ({"x": np.zeros((1,) * 9)}, "9 dimensions"),
        ({"a\nb": 1.0}, "not printable"),
    ],
)
def test_bad_values_are_failures(returned, words, monkeypatch):
    monkeypatch.setattr(sweep_functions, "returning", lambda _sim, _case: returned)
    limits = SweepLimits(case_bytes=200)
    result = inline([{"returned": 0}], sweep_functions.returning, limits=limits)
    assert words in result.errors[0]


def test_arrays_of_another_shape_than_most_are_failures():
    returned = [{"x": [1, 2]}, {"x": [1.5, 2]}, {"x": [1]}, {"y": 1}]
    result = inline([{"returned": r} for r in returned], sweep_functions.returning)
    assert set(result.failures) == {2, 3}
    assert "'x' of shape (1,) where most cases have numbers 'x' of shape (2,)" in result.errors[2]
    np.testing.assert_array_equal(result.values["x"][:2], [[1, 2], [1.5, 2]])


def test_texts_of_failures_are_empty():
    returned = [{"how": "fell"}, 1, {"how": "stood"}]
    result = inline([{"returned": r} for r in returned], sweep_functions.returning)
    assert result.values["how"].tolist() == ["fell", "", "stood"]


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([], "there are 0 cases"),
        ([{"a": 1}, {"b": 1}], "case 1 lacks 'a' of case 0; case 1 has 'b', unlike case 0"),
        ([{"a": 1}, *2 * [{"a": 1, "bb": 1}]], r"1 has 'bb', unlike case 0 \(and 1 more case\)$"),
        ([{"error": 1}], "reserved name 'error'"),
        ([{"a": object()}], "case 0: <object"),
        ([5], "case 0 must be a mapping"),
        ({"a": [1, 2]}, "cases must be a list of mappings, not dict"),
        ([{"a": 1}] * 4, "there are 4 cases; there must be 1 to 3"),
    ],
)
def test_bad_cases_are_refused_before_anything_runs(cases, words):
    with pytest.raises((TypeError, ValueError), match=words):
        inline(cases, lambda _sim, _case: pytest.fail("it ran"), limits=SweepLimits(cases=3))


def test_functions_that_processes_cannot_import_are_refused(tmp_path):
    with pytest.raises(TypeError, match="at the top of a module"):
        sweep(WORLD, forces(), lambda _sim, _case: {})
    with pytest.raises(TypeError, match="at the top of a module"):
        inline(forces(), lambda _sim, _case: {}, folder=tmp_path)


def test_every_wrong_name_is_named_once():
    cases = [{"a": 1}, *({"a": 1, f"name{i % 30}": 1} for i in range(90))]
    with pytest.raises(ValueError, match="unlike case 0") as caught:
        sweep(WORLD, cases, sweep_functions.pushed, InlineExecutor())
    words = str(caught.value)
    assert all(words.count(f"'name{i}'") == 1 for i in range(30))
    assert words.count("(and 2 more cases)") == 30


def test_a_run_must_be_a_function():
    with pytest.raises(TypeError, match="run must be a function of a simulation and a case"):
        inline(forces(), "pushed")


def test_the_text_of_a_key_error_is_not_quoted():
    def wrong(sim, _case):
        sim.push("blok", "ROOT", [0, 0, 0], [0, 0, 0], 0.1)

    assert inline([{"a": 1}], wrong).errors[0].startswith("KeyError: no body 'blok'; there is")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jobs": 0}, "jobs must be a whole number of at least 1, not 0"),
        ({"jobs": 1.5}, "jobs must be a whole number of at least 1, not 1.5"),
        ({"jobs": 1, "executor": InlineExecutor()}, "jobs is for the default executor only"),
        ({"executor": 4}, "executor must be a concurrent.futures.Executor"),
        ({"timeout": "3"}, "timeout must be a number above 0 s"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        sweep(WORLD, forces(), sweep_functions.pushed, **options)


def test_a_folder_that_cannot_be_made_is_found_before_anything_runs(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(OSError, match="file"):
            inline(forces(), ran_by_mistake, folder=folder)


def test_a_folder_of_finished_cases_is_only_read(tmp_path, monkeypatch):
    first = inline(forces(), sweep_functions.pushed, folder=tmp_path)
    tmp_path.chmod(0o555)
    monkeypatch.setattr(os, "access", lambda *_args: False)  # also for root
    again = inline(forces(), sweep_functions.pushed, folder=tmp_path)
    assert again.state_hashes == first.state_hashes
    with pytest.raises(PermissionError, match=f"cannot be written: '{tmp_path}'"):
        inline([{"force": 9.0}], sweep_functions.pushed, folder=tmp_path)


def ran_by_mistake(_sim, _case):
    pytest.fail("it ran")


def test_a_world_that_cannot_be_simulated_ends_the_sweep(tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(
        f"bodies: [{{name: box, model: {WORLD}}}]\n"
        "controllers: [{class: 'json:JSONDecoder', body: box}]\n"
    )
    with pytest.raises(ModelError, match="JSONDecoder"):
        sweep(path, forces(), sweep_functions.pushed, InlineExecutor())


def test_values_of_all_cases_are_limited():
    with pytest.raises(ValueError, match="total_bytes"):
        inline(forces(), sweep_functions.pushed, limits=SweepLimits(total_bytes=300))


def test_a_sweep_continues_from_its_folder(tmp_path):
    log, folder = tmp_path / "log", tmp_path / "done"
    cases = forces(log=str(log))
    (tmp_path / "log.fail").touch()
    first = inline(cases, logged, folder=folder)
    assert set(first.failures) == {2}
    assert len(list(folder.iterdir())) == len(cases) - 1

    (tmp_path / "log.fail").unlink()
    log.unlink()
    again = inline(cases, logged, folder=folder)
    assert log.read_text().split() == ["2.0"]
    assert again.failures == {}
    plain = inline(forces(), sweep_functions.pushed)
    assert again.state_hashes == plain.state_hashes
    for name, array in plain.values.items():
        np.testing.assert_array_equal(again.values[name], array)
        assert again.values[name].dtype == array.dtype

    log.unlink()
    inline(cases, logged, folder=folder)
    assert not log.exists()
    other = load_world(WORLD).with_physics(time_step=0.002)
    sweep(other, cases[:1], logged, InlineExecutor(), folder=folder)
    assert log.read_text().split() == ["0.0"]


class Stepped:
    """World of a case: its time step; counts how many were made."""

    def __init__(self):
        self.count = 0
        self.made = {}

    def __call__(self, case):
        self.count += 1
        step = case["step"]
        if step < 0.0:
            raise ArithmeticError("backwards")
        if step not in self.made:
            self.made[step] = load_world(WORLD).with_physics(time_step=step)
        return self.made[step]


def steps():
    return [{"force": 1.0, "step": step} for step in (0.001, 0.002, 0.001, 0.004, 0.002)]


def test_each_case_runs_in_its_world(tmp_path):
    world, cases = Stepped(), steps()
    result = sweep(world, cases, sweep_functions.pushed, InlineExecutor(), folder=tmp_path)
    for case, state in zip(cases, result.state_hashes, strict=True):
        other = load_world(WORLD).with_physics(time_step=case["step"])
        alone = sweep(other, [{"force": 1.0}], sweep_functions.pushed, InlineExecutor())
        assert state == alone.state_hashes[0]
    assert world.count == len(cases)
    processes = sweep(Stepped(), cases, sweep_functions.pushed, jobs=2)
    assert processes.state_hashes == result.state_hashes


def test_cases_of_equal_worlds_share_a_simulation(monkeypatch):
    created = []
    create = Simulation.__init__
    monkeypatch.setattr(
        Simulation, "__init__", lambda self, *a, **k: (created.append(1), create(self, *a, **k))[1]
    )
    equal = lambda case: load_world(WORLD).with_physics(time_step=case["step"])  # noqa: E731
    sweep(equal, steps(), sweep_functions.pushed, InlineExecutor())
    assert len(created) == 3


def test_a_case_is_found_in_the_folder_by_its_own_world(tmp_path):
    log, folder = tmp_path / "log", tmp_path / "done"
    cases = [case | {"log": str(log)} for case in steps()]
    sweep(Stepped(), cases[:2], logged, InlineExecutor(), folder=folder)
    other = {0.002: load_world(WORLD).with_physics(time_step=0.003)}
    changed = Stepped()
    changed.made |= other
    log.unlink()
    sweep(changed, cases[:2], logged, InlineExecutor(), folder=folder)
    assert len(log.read_text().split()) == 1  # only the one whose world is another


def test_a_case_whose_world_cannot_be_made_fails():
    cases = [{"force": 1.0, "step": step} for step in (0.001, -1.0, 0.002)]
    result = sweep(Stepped(), cases, sweep_functions.pushed, InlineExecutor())
    assert set(result.failures) == {1}
    assert result.errors[1].startswith("world: ArithmeticError: backwards (")
    result = sweep(lambda _case: "arm", cases, sweep_functions.pushed, InlineExecutor())
    assert "must return a WorldConfig, not str" in result.errors[0]


def test_a_case_whose_world_cannot_be_simulated_fails(tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(
        f"bodies: [{{name: box, model: {WORLD}}}]\n"
        "controllers: [{class: 'json:JSONDecoder', body: box}]\n"
    )
    worlds = [load_world(WORLD), load_world(path)]
    cases = [{"force": 1.0, "which": which} for which in (0, 1, 0)]
    result = sweep(lambda c: worlds[c["which"]], cases, sweep_functions.pushed, InlineExecutor())
    assert set(result.failures) == {1}
    assert "JSONDecoder" in result.errors[1]


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x04N."])
def test_broken_files_of_a_folder_are_named(content, tmp_path):
    inline(forces()[:1], sweep_functions.pushed, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"'{path}' is not the result of a case"):
        inline(forces()[:1], sweep_functions.pushed, folder=tmp_path)


def test_the_hash_of_a_world_is_that_of_its_content():
    arm = ROOT / "models" / "worlds" / "arm.yaml"
    command = (
        "from hrp_sim import load_world\nfrom hrp_sim.lab.sweeps.provenance import content_hash\n"
        f"print(content_hash(load_world({str(arm)!r})))"
    )
    world = load_world(arm)
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout.strip() == content_hash(world)  # whatever the order of its sets
    assert content_hash(world.with_physics(seed=1)) != content_hash(world)


def test_an_inline_sweep_leaves_no_simulation_behind(monkeypatch):
    closed = []
    close = Simulation.close
    monkeypatch.setattr(Simulation, "close", lambda self: (closed.append(self), close(self)))
    inline(forces(), sweep_functions.pushed)
    assert len(closed) == 1


def test_importing_the_simulation_loads_no_library_of_sweeps():
    command = (
        "import sys, hrp_sim; print({'xarray', 'dask', 'rich', 'multiprocessing'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_a_dataset_has_coordinates_units_and_dimensions():
    pytest.importorskip("xarray", reason="xarray is not installed")
    cases = [{"force": f, "how": h, "at": [f, 0]} for f, h in ((1.0, "a"), (2.0, "b"))]
    result = inline(cases, raising)
    data = result.to_xarray(
        units={"path": "m", "force": "N"}, dims={"path": ["step", "axis"], "at": ["axis2"]}
    )
    assert data["path"].dims == ("case", "step", "axis")
    assert data["path"].attrs == {"units": "m"}
    assert data["force"].values.tolist() == [1.0, 2.0]
    assert data["force"].attrs == {"units": "N"}
    assert data["at"].dims == ("case", "axis2")
    assert data["how"].values.tolist() == ["a", "b"]
    assert data["error"].values.tolist() == list(result.errors)
    with pytest.raises(ValueError, match="has no 'speed'"):
        result.to_xarray(units={"speed": "m/s"})


def test_without_xarray_a_dataset_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    result = inline(forces()[:1], sweep_functions.pushed)
    with pytest.raises(ImportError, match=r"pip install 'hrp_ros\[sweep\]'"):
        result.to_xarray()


@pytest.mark.parametrize("meddle", ["", "control", "spawn"])
def test_a_worker_does_not_grow(meddle):
    def count():
        gc.collect()
        return len(gc.get_objects())

    def measured(sim, case):
        sweep_functions.meddling(sim, case)
        return {"objects": count() if case["measure"] else 0}

    cases = [{"force": 1.0, "meddle": meddle, "measure": i % 10 == 9} for i in range(30)]
    objects = inline(cases, measured).values["objects"]
    assert objects[29] - objects[19] < 20 * 10  # of the results


def test_a_full_disk_ends_the_sweep_but_loses_nothing(tmp_path, caplog):
    config = load_world(WORLD)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full_at_the_end(case):
        if case["force"] == 5.0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
        return config

    def go_on(world):
        return sweep(world, forces(), sweep_functions.pushed, InlineExecutor(), folder=tmp_path)

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
    assert inline(forces(), sweep_functions.pushed).failures == {}
    assert caplog.text.count("cannot be compared") == 1
    assert "ODE one" in caplog.text
    assert "ODE two" in caplog.text


def test_a_terminal_shows_finished_and_failed_cases_and_their_rate(monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr("hrp_model.program.console.message_console", lambda: terminal)
    assert set(inline(forces(), raising).failures) == {2}
    last = terminal.file.getvalue().rpartition("remaining")[0]
    assert "6/6" in last
    assert "1 failed" in last
    assert "cases/s" in last
