"""Sweeps: results of cases, failures as rows, worlds of cases, folders, limits."""

import gc
import itertools
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sweep_functions
from each_case import mostly_slow
from paths import ROOT

from hrp_model import ModelError
from hrp_sim import InlineExecutor, Simulation, SweepLimits, load_world, sweep
from hrp_sim.lab.sweeps import worker
from hrp_sim.lab.sweeps.worker import content_hash

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


def inline(cases, run, world=WORLD, **options):
    return sweep(world, cases, run, InlineExecutor(), **options)


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
    assert result.values["path"].shape == (len(FORCES), sweep_functions.STEPS, 3)
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
    assert result.values["path"].shape == (len(FORCES), sweep_functions.STEPS, 3)


@pytest.mark.parametrize("meddle", ["spawn", "control", "ignore", "fail", "close"])
def test_what_a_case_changes_is_undone(meddle):
    cases = [{"force": 1.0, "meddle": how} for how in (meddle, "", meddle, "")]
    result = inline(cases, sweep_functions.meddling)
    assert set(result.state_hashes[1::2]) == {fresh({"force": 1.0})[1]}
    assert set(result.failures) == ({0, 2} if meddle in ("fail", "close") else set())
    if meddle == "fail":
        assert "ArithmeticError: broken law" in result.errors[0]


@pytest.mark.parametrize("meddle", mostly_slow(["", "control", "spawn"], 1))
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


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (3.0, "must return a dict"),
        ({"x": object()}, "'x' as object"),
        ({"x": [[1.0], [1.0, 2.0]]}, "'x', which is no regular array"),
        ({"error": 1.0}, "every result has already"),
        ({"a": 1.0}, "the case has already"),
        ({"x": np.zeros(100)}, "limit case_bytes"),
        ({"x": 2**64 - 1}, "beyond"),
        ({"x": np.zeros((1,) * 9)}, "9 dimensions"),
        ({"a\nb": 1.0}, "not printable"),
    ],
)
def test_bad_values_are_failures(returned, words):
    result = inline([{"a": 0}], lambda *_: returned, limits=SweepLimits(case_bytes=200))
    assert words in result.errors[0]


def test_values_unlike_those_of_most_cases_are_failures():
    returned = [{"x": [1, 2], "how": "fell"}, {"x": [1.5, 2], "how": "stood"}, {"x": [1]}, 1]
    result = inline([{"returned": r} for r in returned], sweep_functions.returning)
    assert set(result.failures) == {2, 3}
    assert "'x' of shape (1,) where most cases have" in result.errors[2]
    np.testing.assert_array_equal(result.values["x"], [[1, 2], [1.5, 2], *2 * [[np.nan] * 2]])
    assert result.values["how"].tolist() == ["fell", "stood", "", ""]


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([], "there are 0 cases"),
        ([{"a": 1}, {"b": 1}], "case 1 lacks 'a' of case 0"),
        ([{"a": 1}, {"a": 1, "b": 1}], "case 1 has 'b', unlike case 0"),
        ([{"error": 1}], "reserved name 'error'"),
        ([{"a": object()}], "case 0: <object"),
        ([5], "case 0 must be a mapping"),
        ({"a": [1, 2]}, "cases must be a list of mappings, not dict"),
        ([{"a": 1}] * 4, "there are 4 cases; there must be 1 to 3"),
    ],
)
def test_bad_cases_are_refused_before_anything_runs(cases, words):
    with pytest.raises((TypeError, ValueError), match=words):
        inline(cases, lambda *_: pytest.fail("it ran"), limits=SweepLimits(cases=3))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jobs": 0}, "jobs must be a whole number of at least 1, not 0"),
        ({"jobs": 1.5}, "jobs must be a whole number of at least 1, not 1.5"),
        ({"jobs": 1, "executor": InlineExecutor()}, "jobs is for the default executor only"),
        ({"executor": 4}, "executor must be a concurrent.futures.Executor"),
        ({"timeout": "3"}, "timeout must be a number above 0 s"),
        ({"timeout": float("nan")}, "timeout must be a number above 0 s"),
        ({"run": "pushed"}, "run must be a function of a simulation and a case"),
        ({"run": lambda *_: {}}, "at the top of a module"),
        (
            {"run": lambda *_: {}, "executor": InlineExecutor(), "folder": "done"},
            "at the top of a module",
        ),
        (
            {"executor": InlineExecutor(), "limits": SweepLimits(total_bytes=300)},
            "300 bytes, the limit total_bytes",
        ),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        sweep(**{"world": WORLD, "cases": forces(), "run": sweep_functions.pushed} | options)


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
    inline(cases[:1], logged, load_world(WORLD).with_physics(time_step=0.002), folder=folder)
    assert log.read_text().split() == ["0.0"]


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x04N."])
def test_broken_files_of_a_folder_are_named(content, tmp_path):
    inline(forces()[:1], sweep_functions.pushed, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"'{path}' is not the result of a case"):
        inline(forces()[:1], sweep_functions.pushed, folder=tmp_path)


def test_a_folder_of_finished_cases_is_only_read(tmp_path, monkeypatch):
    first = inline(forces(), sweep_functions.pushed, folder=tmp_path)
    tmp_path.chmod(0o555)
    monkeypatch.setattr(os, "access", lambda *_args: False)  # also for root
    again = inline(forces(), sweep_functions.pushed, folder=tmp_path)
    assert again.state_hashes == first.state_hashes
    with pytest.raises(PermissionError, match=f"cannot be written: '{tmp_path}'"):
        inline([{"force": 9.0}], sweep_functions.pushed, folder=tmp_path)


def test_a_full_disk_ends_the_sweep_but_loses_nothing(tmp_path, caplog):
    config = load_world(WORLD)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full_at_the_end(case):
        if case["force"] == 5.0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
        return config

    try:
        with pytest.raises(OSError, match=r"free space, then repeat the call: .*/\w+\.npz"):
            inline(forces(), sweep_functions.pushed, full_at_the_end, folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert "5 of 6 cases are finished" in caplog.text
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(times) == 5
    assert inline(forces(), sweep_functions.pushed, config, folder=tmp_path).failures == {}
    assert all(path.stat().st_mtime_ns == then for path, then in times.items())


def stepped(case):
    """Return the world of a case: its time step."""
    if case["step"] < 0.0:
        raise ArithmeticError("backwards")
    return load_world(WORLD).with_physics(time_step=case["step"])


def test_each_case_runs_in_its_world_and_equal_worlds_share_a_simulation(monkeypatch):
    cases = [{"force": 1.0, "step": step} for step in (0.001, 0.002, -1.0, 0.001, 0.002)]
    created = []
    create = Simulation.__init__
    monkeypatch.setattr(
        Simulation,
        "__init__",
        lambda self, *a, **k: (created.append(self), create(self, *a, **k))[1],
    )
    closed = []
    close = Simulation.close
    monkeypatch.setattr(Simulation, "close", lambda self: (closed.append(self), close(self))[1])
    result = inline(cases, sweep_functions.pushed, stepped)
    assert len(created) == 2
    assert set(map(id, closed)) == set(map(id, created))
    assert set(result.failures) == {2}
    assert result.errors[2].startswith("world: ArithmeticError: backwards (")
    for i in (0, 1):
        alone = inline([{"force": 1.0}], sweep_functions.pushed, stepped(cases[i]))
        assert result.state_hashes[i] == result.state_hashes[i + 3] == alone.state_hashes[0]
    result = inline(cases, sweep_functions.pushed, lambda _case: "arm")
    assert "must return a WorldConfig, not str" in result.errors[0]


def test_a_world_that_cannot_be_simulated_fails_its_case_or_ends_the_sweep(tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(
        f"bodies: [{{name: box, model: {WORLD}}}]\n"
        "controllers: [{class: 'json:JSONDecoder', body: box}]\n"
    )
    with pytest.raises(ModelError, match="JSONDecoder"):
        inline(forces(), sweep_functions.pushed, path)
    with pytest.raises(ModelError, match="JSONDecoder"):
        sweep(path, forces()[:1], sweep_functions.pushed, jobs=1)
    worlds = [load_world(WORLD), load_world(path)]
    cases = [{"force": 1.0, "which": which} for which in (0, 1, 0)]
    result = inline(cases, sweep_functions.pushed, lambda case: worlds[case["which"]])
    assert set(result.failures) == {1}
    assert "JSONDecoder" in result.errors[1]


def test_the_hash_of_a_world_is_that_of_its_content():
    arm = ROOT / "models" / "worlds" / "arm.yaml"
    command = (
        "from hrp_sim import load_world\nfrom hrp_sim.lab.sweeps.worker import content_hash\n"
        f"print(content_hash(load_world({str(arm)!r})))\n"
        "import sys; print({'xarray', 'dask', 'rich', 'multiprocessing'} & {*sys.modules})"
    )
    world = load_world(arm)
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    # Whatever the order of its sets; and nothing is loaded that only sweeps need.
    assert done.stdout.split("\n")[:2] == [content_hash(world), "set()"]
    assert content_hash(world.with_physics(seed=1)) != content_hash(world)


def test_workers_that_compute_differently_are_reported_once(monkeypatch, caplog):
    names = itertools.cycle(["ODE one", "ODE two"])
    monkeypatch.setattr(worker, "fingerprint", lambda: next(names))
    assert inline(forces(), sweep_functions.pushed).failures == {}
    found = re.findall("cannot be compared.* with (ODE one), .* with (ODE two)", caplog.text)
    assert found == [("ODE one", "ODE two")]


def test_a_dataset_has_coordinates_units_and_dimensions(monkeypatch):
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
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"pip install 'hrp_ros\[sweep\]'"):
        result.to_xarray()
