"""The comparison with other programs: what is measured, and how its results are reported."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from bench import compare
from bench.comparison.contenders import EngineRun
from bench.comparison.measure import Ratio, measure_interleaved
from bench.comparison.mujoco_twin import MujocoTwin, TwinError
from bench.comparison.rows import rows_of
from bench.comparison.scenes import make_scene
from bench.comparison.targets import Measured, Quantity, Target
from page_tools import data_rows
from paths import MODELS

from hrp_sim.engine.engine import Solver

ARM = MODELS / "arm" / "arm.body"


def test_the_measured_table_has_a_row_of_each_implementation():
    names = {row[3] for row in data_rows("speed")}
    optional = {Measured.MUJOCO, Measured.PYODE}  # where there are such libraries
    assert {m.value for m in set(Measured) - optional} <= names


@pytest.mark.slow
def test_the_command_prints_tables_and_writes_files(capsys, tmp_path, monkeypatch):
    written = tmp_path / "out.json"
    monkeypatch.setattr(compare, "write_tables", partial(compare.write_tables, folder=tmp_path))
    arguments = ["--duration", "0.01", "--runs", "1", "--json", written, "--page"]
    scenes = ["--scene", "arm", "--scene", "scan", "--solver", Solver.QUICK.value, "--holding"]
    assert compare.main([str(ARM), *map(str, [*scenes, *arguments])]) == 0
    printed = capsys.readouterr().out
    solver = f"{Solver.QUICK.value} solver"
    for title in (f"arm, {solver}", "scan", f"arm.body, {solver}", f"arm.body holding, {solver}"):
        assert title in printed
    content = json.loads(written.read_text())
    assert content["schema"] == 4
    assert set(content) == {"schema", "machine", "duration_s", "runs", "rows"}
    assert set(content["machine"]) == {"processor", "system", "programs"}
    for row in content["rows"]:
        assert set(row) == {
            *("scene", "description", "solver", "measured", "us", "real_time_factor", "ratio"),
            *("ratio_to_mujoco", "targets"),
        }
        assert row["us"] > 0.0
    rows = {(row["scene"], row["measured"]): row for row in content["rows"]}
    step, simulation = (rows["arm", m.value] for m in (Measured.ENGINE, Measured.SIMULATION))
    assert step["ratio"] is None
    assert set(simulation["ratio"]) == {"median", "low", "high"}
    low, middle, high = (simulation["ratio"][key] for key in ("low", "median", "high"))
    assert low <= middle <= high
    assert step["real_time_factor"] == pytest.approx(1000.0 / step["us"])
    assert rows["scan", Measured.SCAN.value]["real_time_factor"] is None
    assert rows["scan", Measured.SCAN.value]["targets"][0]["quantity"] == "us"
    assert ("arm.body holding", Measured.ENGINE.value) in rows
    with (tmp_path / "speed.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(x["scene"], x["measured"]) for x in table] == list(rows)
    assert ["processor", content["machine"]["processor"]] in [
        *csv.reader((tmp_path / "speed_machine.csv").read_text().splitlines())
    ]


def test_the_solver_of_this_package_is_compared_with_mujoco(tmp_path):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    written = tmp_path / "out.json"
    options = ["--scene=arm", "--solver=world", "--duration=0.01", "--runs=1"]
    assert compare.main([*options, "--json", str(written)]) == 0
    rows = {row["measured"]: row for row in json.loads(written.read_text())["rows"]}
    engine = rows[Measured.ENGINE.value]
    assert engine["ratio_to_mujoco"]["median"] > 0.0
    assert engine["targets"][0]["quantity"] == "real-time factor"
    assert Measured.MUJOCO.value in rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scene", "moon"], "invalid choice: 'moon'"),
        (["--runs", "0"], "--runs must be 1 or greater, not 0"),
        (["--holding"], "--holding needs a FILE"),
        (["--json", f"{__file__}/x.json"], "test_compare.py/x.json: Not a directory"),
        (["--json", __file__, __file__], "never overwrites its input"),
    ],
)
def test_wrong_use_is_refused_at_once(arguments, message, capsys):
    assert compare.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("ghost.body", "link 'GHOST': it moves, so its mass must be positive"),
        ("absent.body", "absent.body"),
    ],
)
def test_a_file_that_cannot_be_simulated_is_reported_once(
    model, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ghost.body").write_text(
        "format: ChoreonoidBody\nformat_version: 2.0\nname: Ghost\n"
        "links:\n  - { name: GHOST, joint_type: free, mass: 0 }\n"
    )
    assert compare.main([model]) == 1
    assert capsys.readouterr().err.count(message) == 1


def test_the_script_runs_from_anywhere(tmp_path):
    command = [sys.executable, compare.__file__, "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "--scene" in done.stdout


def test_ratios_compare_slice_by_slice():
    """A slice that was slow for both says nothing about either."""
    ratio = Ratio.of([1.1, 22.0, 1.3], [1.0, 20.0, 1.0])
    assert ratio.median == pytest.approx(1.1)
    assert ratio.low <= ratio.median <= ratio.high
    assert Ratio.of([3.0], [2.0]) == Ratio(1.5, 1.5, 1.5)


def test_contenders_take_the_same_steps_in_turn():
    calls = []

    class Counting:
        def __init__(self, name):
            self.name = name

        def advance(self, steps):
            calls.append((self.name, steps))
            return 1e-6 * steps

        def close(self):
            calls.append((self.name, "closed"))

    makers = {m: lambda m=m: Counting(m) for m in (Measured.ENGINE, Measured.SIMULATION)}
    times = measure_interleaved(makers, steps=50, runs=2, min_slice=0.0)
    assert {len(t) for t in times.values()} == {20}
    assert times[Measured.ENGINE] == pytest.approx([1.0] * 20)
    assert calls.count((Measured.ENGINE, 5)) == calls.count((Measured.SIMULATION, 5)) == 22
    assert calls.count((Measured.SIMULATION, "closed")) == 2
    assert {steps for _, steps in calls if steps != "closed"} == {5}
    calls.clear()
    measure_interleaved(makers, steps=50, runs=1, min_slice=19.5e-6)
    assert [steps for _, steps in calls] == [5, 5] + [20] * 20 + ["closed"] * 2
    # Nobody always goes first.
    assert {calls[2][0], calls[4][0]} == {Measured.ENGINE, Measured.SIMULATION}


@pytest.mark.parametrize(
    ("quantity", "value", "verdict"),
    [
        (Quantity.RATIO, 1.03, "very good"),
        (Quantity.RATIO, 1.05, "good"),
        (Quantity.RATIO, 1.2, "missed"),
        (Quantity.SPEED, 1.2, "very good"),
        (Quantity.SPEED, 1.0, "missed"),
    ],
)
def test_a_target_is_an_upper_bound_but_of_speed(quantity, value, verdict):
    bounds = (1.05, 1.1) if quantity is Quantity.SPEED else (1.1, 1.03)
    assert Target(quantity, *bounds).verdict(value) == verdict


def robots(name):
    """Return the scene of one of this package's robots, and its body's drive."""
    scene = make_scene(name)
    engine = EngineRun(scene)
    (drive,) = (b.drive for b in engine.engine.state.bodies.values() if not b.body.is_static)
    engine.close()
    return scene, drive


def test_mujoco_stands_as_we_do():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    scene, drive = robots("humanoid")
    twin, engine = MujocoTwin(scene.world, drive), EngineRun(scene)
    assert twin.advance(1000) > 0.0 < engine.advance(1000)
    assert twin.model.opt.timestep == scene.world.physics.time_step
    assert twin.contacts == engine.engine.contacts == 8
    robot = next(b for b in engine.engine.state.bodies.values() if not b.body.is_static)
    np.testing.assert_allclose(twin.data.qpos[:3], robot.motion.p[0], atol=2e-3)
    masses = sum(link.mass for link in robot.body.links)
    assert twin.model.body_mass.sum() == pytest.approx(masses)
    engine.close()


def test_mujoco_falls_as_we_do():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    scene, drive = robots("arm")
    twin, engine = MujocoTwin(scene.world, drive), EngineRun(scene)
    twin.advance(200)
    engine.advance(200)
    (arm,) = (b for b in engine.engine.state.bodies.values() if not b.body.is_static)
    np.testing.assert_allclose(twin.data.qpos, arm.motion.q, atol=2e-3)
    engine.close()


@pytest.mark.parametrize(
    ("name", "reason"), [("tracks", "no tracks"), ("pile", "50 moving bodies, not one")]
)
def test_what_mujoco_cannot_simulate_is_left_out(name, reason):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    scene = make_scene(name)
    with pytest.raises(TwinError, match=reason):
        MujocoTwin(scene.world, drive=None)


def test_the_targets_of_well_known_robots_are_those_of_their_simulation():
    standing = replace(make_scene("humanoid"), name="SR1.body holding")
    default = Measured.SIMULATION
    times = {default: [59.0, 61.0], Measured.ENGINE: [50.0, 50.0], Measured.MUJOCO: [50.0, 40.0]}
    rows = {row.measured: row for row in rows_of(standing, Solver.WORLD, times)}
    assert [(str(t), v) for t, v in rows[default].verdicts()] == [
        ("us <= 60, very good 50", "good"),
        ("ratio to MuJoCo <= 1.5, very good 1", "good"),
    ]
    assert Quantity.TO_MUJOCO not in rows[Measured.MUJOCO].to_peers
