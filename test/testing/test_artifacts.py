"""What is kept of a failed run: a picture of the moment, and a recording around it."""

import pytest
from scenario_files import write_scenario
from sim.render.scenes import needs_opengl

from hrp_ros.testing import runs
from hrp_ros.testing.baseline_check import BaselineSettings
from hrp_ros.testing.runs import load_scenario_test, run_scenario_test

# The upper block falls from 0.5 m, and is at 0.3 m after some 0.2 s.
MISSED = "expect: [ { always: upper.z > 30 cm } ]\n"


def keep(folder, duration):
    """Run a scenario whose block falls too low; return the run, after keeping its files."""
    folder.mkdir()
    path = write_scenario(folder, f"world: world.yaml\nduration: {duration}\n{MISSED}")
    run = run_scenario_test(load_scenario_test(path), BaselineSettings(command=""))
    lines = runs.keep_artifacts(run, folder)
    assert [line for line in lines if line.startswith("there is no")] == []
    return run


@needs_opengl
def test_the_picture_is_that_of_the_earliest_problem(tmp_path):
    """It equals that of a run which ends there."""
    pytest.importorskip("mcap", reason="recordings need mcap")
    run = keep(tmp_path / "long", 0.4)
    assert run.moment == pytest.approx((2 * 0.2 / 9.80665) ** 0.5, abs=0.002)
    assert keep(tmp_path / "short", run.moment).outcome.time == run.moment
    late = (tmp_path / "long" / runs.PICTURE).read_bytes()
    assert late == (tmp_path / "short" / runs.PICTURE).read_bytes()


@needs_opengl
def test_the_recording_is_of_the_time_around_the_problem(tmp_path, monkeypatch):
    pytest.importorskip("mcap", reason="recordings need mcap")
    from hrp_msgs.recording import Recording

    monkeypatch.setattr(runs, "_BEFORE", 0.1)
    monkeypatch.setattr(runs, "_AFTER", 0.05)
    run = keep(tmp_path / "run", 0.4)
    recording = Recording(tmp_path / "run" / runs.RECORDING)
    times = [message.time_ns * 1e-9 for message in recording.messages(["/clock"])]
    assert min(times) == pytest.approx(run.moment - 0.1, abs=0.011)  # the clock has 100 Hz
    assert max(times) == pytest.approx(run.moment + 0.05, abs=0.011)
