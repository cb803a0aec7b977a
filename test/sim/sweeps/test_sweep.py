"""Sweeps: equal results on every executor, failures as rows, folders, limits."""

import gc
import pickle
import subprocess
import sys
from concurrent.futures import BrokenExecutor

import numpy as np
import pytest
import sweep_functions
from paths import ROOT
from sweep_functions import STEPS

from hrp_model import ModelError
from hrp_sim import InlineExecutor, Simulation, SweepLimits, load_world, sweep
from hrp_sim.sweeps.content_hash import content_hash
from hrp_sim.sweeps.worker import forget_simulations, run_case

WORLD = ROOT / "models" / "blocks" / "wood.body"
FORCES = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


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


def test_processes_give_equal_results_although_one_is_killed(tmp_path):
    cases = forces(mark=str(tmp_path / "mark"))
    result = sweep(WORLD, cases, sweep_functions.killed_once, jobs=2)
    assert (tmp_path / "mark").exists()
    serial = inline(cases, sweep_functions.killed_once)
    assert result.failures == {}
    assert result.state_hashes == serial.state_hashes
    assert result.fingerprints == serial.fingerprints
    for name, array in serial.values.items():
        np.testing.assert_array_equal(result.values[name], array)


def test_a_case_that_kills_its_worker_is_the_only_failure():
    result = sweep(WORLD, forces(), sweep_functions.killed_always, jobs=2)
    assert result.failures == {3: "its worker process died twice"}
    assert np.isnan(result.values["distance"][3])
    assert result.state_hashes[4] == fresh(forces()[4])[1]


class Flaky(InlineExecutor):
    """Fails to run some of the cases that it gets, by count."""

    def __init__(self, failing):
        self.failing, self.count = failing, 0

    def submit(self, fn, /, *args, **kwargs):
        self.count += 1
        if self.count - 1 not in self.failing:
            return super().submit(fn, *args, **kwargs)
        return super().submit(lambda: (1).to_bytes("no"))


def test_a_case_that_a_worker_could_not_run_runs_again():
    result = sweep(WORLD, forces(), sweep_functions.pushed, Flaky({2}))
    assert result.failures == {}
    assert result.state_hashes == inline(forces(), sweep_functions.pushed).state_hashes
    result = sweep(WORLD, forces(), sweep_functions.pushed, Flaky({2, 3}))
    assert set(result.failures) == {2}
    assert result.errors[2].startswith("it could not be run, twice: TypeError")


def test_a_broken_executor_of_the_caller_ends_the_sweep(tmp_path):
    class Broken(InlineExecutor):
        def submit(self, fn, /, *args, **kwargs):
            if len(list(tmp_path.iterdir())) == 3:
                raise BrokenExecutor("gone")
            return super().submit(fn, *args, **kwargs)

    with pytest.raises(BrokenExecutor, match="gone"):
        sweep(WORLD, forces(), sweep_functions.pushed, Broken(), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_case_that_raises_is_a_row_with_the_place(caplog):
    result = inline(forces(), sweep_functions.raising)
    assert "1 of 6 cases failed; case 2: ValueError: too strong" in caplog.text
    assert set(result.failures) == {2}
    assert result.errors[2].startswith("ValueError: too strong (")
    assert "sweep_functions.py:" in result.errors[2]
    assert np.isnan(result.values["path"][2]).all()
    assert result.values["path"].shape == (len(FORCES), STEPS, 3)


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
        ([{"error": 1}], "reserved name 'error'"),
        ([{"a": object()}], "case 0: <object"),
        ([5], "case 0 must be a mapping"),
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


def test_a_script_without_a_guard_gets_words(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(
        "from hrp_sim import sweep\ndef run(sim, case): return {}\n"
        f"sweep({str(WORLD)!r}, [{{'a': 1}}], run, jobs=1)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "__name__ == '__main__'" in done.stderr.splitlines()[-1]


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
    first = inline(cases, sweep_functions.logged, folder=folder)
    assert set(first.failures) == {2}
    assert len(list(folder.iterdir())) == len(cases) - 1

    (tmp_path / "log.fail").unlink()
    log.unlink()
    again = inline(cases, sweep_functions.logged, folder=folder)
    assert log.read_text().split() == ["2.0"]
    assert again.failures == {}
    plain = inline(forces(), sweep_functions.pushed)
    assert again.state_hashes == plain.state_hashes
    for name, array in plain.values.items():
        np.testing.assert_array_equal(again.values[name], array)
        assert again.values[name].dtype == array.dtype

    log.unlink()
    inline(cases, sweep_functions.logged, folder=folder)
    assert not log.exists()
    other = load_world(WORLD).with_physics(time_step=0.002)
    sweep(other, cases[:1], sweep_functions.logged, InlineExecutor(), folder=folder)
    assert log.read_text().split() == ["0.0"]


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
        "from hrp_sim import load_world\nfrom hrp_sim.sweeps.content_hash import content_hash\n"
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
    forget_simulations()
    assert len(closed) == 1


def test_a_worker_does_not_grow():
    def count(meddle, cases):
        case = {"force": 1.0, "meddle": meddle}
        for _ in range(cases):
            run_case(world, "world", sweep_functions.meddling, case, 1000)
        gc.collect()
        return len(gc.get_objects())

    world = pickle.dumps(load_world(WORLD))
    try:
        for meddle in ("", "control", "spawn"):
            assert count(meddle, 10) == pytest.approx(count(meddle, 40), abs=10)
    finally:
        forget_simulations()


def test_the_example_of_the_page_runs(tmp_path):
    page = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    script = tmp_path / "study.py"
    code = page.partition("```python\n")[2].partition("```")[0]
    script.write_text(code.replace("range(20)], run", "range(4)], run, jobs=1"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("(4, 6) {}\n", "")


def test_importing_the_simulation_loads_no_library_of_sweeps():
    command = (
        "import sys, hrp_sim; print({'xarray', 'dask', 'rich', 'multiprocessing'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_a_dataset_has_coordinates_units_and_dimensions():
    pytest.importorskip("xarray", reason="xarray is not installed")
    cases = [{"force": f, "how": h, "at": [f, 0]} for f, h in ((1.0, "a"), (2.0, "b"))]
    result = inline(cases, sweep_functions.raising)
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
