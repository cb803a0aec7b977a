"""``hrp-sim bench``: every part of a step is measured once, and other settings are tried."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from silent_diagnostics import silent
from sim.render.scenes import needs_opengl

from hrp_model import Diagnostic, Severity
from hrp_model.geometry import Mesh, Shape
from hrp_model.program.tables import output_console
from hrp_sim.cli.main import main
from hrp_sim.engine.engine import PhysicsError, Solver
from hrp_sim.lab.benchmark import measure, runs
from hrp_sim.lab.benchmark.measure import (
    Alternative,
    BenchResult,
    SensorTime,
    Suggestion,
    WorldBench,
    alternatives,
    result_object,
    result_text,
    without_contacts,
)
from hrp_sim.lab.benchmark.runs import PairTime
from hrp_sim.world.load import load_world

DURATION = 0.1  # [s], each sensor of the tests is read in it


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Simulate once, however little time that takes."""
    monkeypatch.setattr(measure, "MIN_TIME", 1e-9)


def with_physics(world, **changes):
    return replace(world, physics=replace(world.physics, **changes))


def result_of(world, duration=DURATION):
    bench = WorldBench(world, silent())
    try:
        return bench.measure(duration)
    finally:
        bench.close()


def settings(world):
    return [x.setting for x in alternatives(world)]


def test_every_part_of_a_step_is_counted_once(monkeypatch):
    """With a clock that advances by 1 s whenever it is read."""
    monkeypatch.setattr(runs, "process_time", itertools.count().__next__)
    result = result_of(load_world("arm"))
    assert result.steps == 100
    # Its force sensor and the joints are read every 2 ms, the odometry every 10 ms.
    by_kind = {kind.kind: kind for kind in result.sensors}
    assert {k: x.rate for k, x in by_kind.items()} == {"force": 500, "joints": 500, "odometry": 100}
    assert all(x.time_per_reading == 1.0 for x in by_kind.values())
    assert result.physics == 1.0
    # A step without sensors reads the clock before and after the engine, and at its end.
    assert result.control == 2.0
    assert result.total == pytest.approx(3.0 + 0.5 + 0.5 + 0.1)


@needs_opengl
def test_sensors_are_listed_by_kind():
    result = result_of(load_world("humanoid_in_room"))
    assert {kind.kind: kind.count for kind in result.sensors} == {
        "joints": 1,
        "odometry": 1,
        "imu": 1,
        "force": 2,
        "range": 1,
        "camera": 1,
    }
    assert all(kind.time_per_step > 0.0 for kind in result.sensors)
    assert result.contact_points == pytest.approx(8.0, abs=0.5)
    assert 0.0 <= result.contacts <= result.physics


def test_runs_are_repeated_from_the_start(monkeypatch):
    monkeypatch.setattr(measure, "MIN_TIME", 10.0)
    monkeypatch.setattr(measure, "perf_counter", itertools.count(0.0, 0.25).__next__)
    bench, progress = WorldBench(load_world("slope"), silent()), []
    result = bench.measure(0.02, progress.append)
    assert result.steps == 2 * 20
    assert bench._profile.simulation.state.time_ns == 20_000_000
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    bench.close()


def test_alternatives_depend_on_the_settings_of_the_world():
    world = load_world("stack")
    assert settings(world) == ["solver: quick", "time_step: 0.002"]
    quick = with_physics(world, solver=Solver.QUICK, time_step=0.01, max_contacts=20)
    assert settings(quick) == ["solver: world", "iterations: 25", "max_contacts: 4"]
    assert "self_collision: false" in settings(load_world("arm"))
    for x in alternatives(quick):
        name, _, value = x.setting.partition(": ")
        changed = getattr(x.world.physics, name)
        assert str(getattr(changed, "value", changed)) == value
        assert with_physics(x.world, **{name: getattr(quick.physics, name)}) == quick


def test_hulls_are_tried_for_meshes_of_moving_bodies_alone():
    world = load_world("stack")
    mesh = Shape(Mesh(vertices=np.eye(3), triangles=np.array([[0, 1, 2]], dtype=np.int32)))

    def with_mesh(entry):
        body = entry.placement.body
        changed = replace(body, links=(replace(body.root, collision=(mesh,)), *body.links[1:]))
        return replace(entry, placement=replace(entry.placement, body=changed))

    static = [e.placement.body.is_static for e in world.bodies]
    for is_static in (True, False):
        k = static.index(is_static)
        bodies = (*world.bodies[:k], with_mesh(world.bodies[k]), *world.bodies[k + 1 :])
        tried = settings(replace(world, bodies=bodies))
        assert ("convex_meshes: true" in tried) == (not is_static)


def test_a_world_without_contacts_has_no_collision_shapes():
    bare = without_contacts(load_world("stack"))
    links = [link for entry in bare.bodies for link in entry.placement.body.links]
    assert len(links) == 11
    assert not any(link.collision for link in links)


def test_a_setting_that_cannot_be_used_is_reported_with_its_reason(monkeypatch):
    world = load_world("slope")
    tried = Alternative("time_step: 1", "", with_physics(world, time_step=1.0))
    monkeypatch.setattr(measure, "alternatives", lambda _: [tried])
    suggestions = result_of(world).suggestions  # on a slow machine also fewer readings
    [suggestion] = [x for x in suggestions if x.setting == tried.setting]
    assert suggestion.real_time_factor is None
    assert suggestion.error == "time_step must be from 1e-06 to 0.1, not 1"


def test_a_run_that_fails_in_a_step_has_no_time(monkeypatch):
    run = runs.PlainRun(load_world("slope"))
    run.advance(DURATION)
    assert run.ratio_to(run) == 1.0

    def fail(self, seconds):
        raise PhysicsError("it fell")

    monkeypatch.setattr(runs.Simulation, "run", fail)
    run.advance(DURATION)
    run.restart()
    run.advance(DURATION)
    assert str(run.error) == "it fell"
    assert run.ratio_to(run) is None
    run.close()


RESULT = BenchResult(
    time_step=0.002,
    steps=1000,
    physics=0.0005,
    contacts=0.0002,
    contact_points=4.5,
    control=0.0001,
    sensors=(
        SensorTime("camera", 2, 60.0, 0.0025, 0.0003),
        SensorTime("imu", 1, 500.0, 0.0001, 0.0001),
    ),
    suggestions=(
        Suggestion("solver: quick", "approximate", 12.34),
        Suggestion("iterations: 25", "less accurate", 2.05),
        Suggestion("convex_meshes: true", "hulls", None, "scipy is missing"),
    ),
    pairs=(
        PairTime(("rob/L_FOOT", "floor/FLOOR"), (988, 0), 4.0, 1e-4),
        PairTime(("rob/HAND", "rob/\x1b[2J"), (0, 12), 0.5, 5e-6),
        PairTime(("rob/A", "rob/B"), (0, 0), 0.0, 1e-7),
        PairTime(("rob/A", "rob/C"), (0, 0), 0.0, 1e-7),
    ),
    advice=(Diagnostic(Severity.WARNING, "slow-meshes", "finding contacts takes 2 ms"),),
)


def test_the_report_lists_parts_and_what_is_faster(capsys):
    output_console().print(result_text("rob\x1b[2J", RESULT))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0].endswith("2.00 x real time on this machine, 3.33 x without sensors")
    assert lines[2:] == [
        "time of a step of 2 ms us share",
        "physics 500.0 50%",
        "of which contacts 200.0 20% 4.5 points on average",
        "control and Python 100.0 10%",
        "sensors: camera (2) 300.0 30% 60 readings per simulated second, 2.50 ms each",
        "sensors: imu 100.0 10% 500 readings per simulated second, 100.0 us each",
        "total 1000.0 100%",
        "",
        "finding contacts of and triangles points us share",
        "rob/L_FOOT floor/FLOOR 988 + 0 4.0 100.0 10%",
        "rob/HAND rob/\ufffd[2J 0 + 12 0.5 5.0 0%",
        "2 other pairs 0.0 0.2 0%",
        "",
        "warning: finding contacts takes 2 ms",
        "",
        "what to try real time effect",
        "solver: quick 12 x approximate",
        "",
        "tried, but no faster: iterations: 25 (2.05 x); convex_meshes: true (scipy is missing)",
        "settings go under 'physics' in a world file; see docs/performance.md",
    ]
    assert "\x1b" not in lines[0]


def test_the_pairs_of_a_world_are_those_that_touch():
    pairs = result_of(load_world("stack")).pairs
    assert pairs
    assert sum(pair.contact_points for pair in pairs) == pytest.approx(40.0, abs=1.0)
    assert any(link.endswith("/FLOOR") for pair in pairs for link in pair.links)
    assert all(pair.triangles == (0, 0) for pair in pairs)
    assert [pair.time_per_step for pair in pairs] == sorted(
        (p.time_per_step for p in pairs), reverse=True
    )


def test_json_holds_the_same_in_si_units():
    content = json.loads(json.dumps(result_object("rob", RESULT), allow_nan=False))
    assert content["real_time_factor"] == pytest.approx(2.0)
    assert content["real_time_factor_without_sensors"] == pytest.approx(10.0 / 3.0)
    parts = content["physics"] + content["control"]
    parts += sum(kind["time_per_step"] for kind in content["sensors"])
    assert parts == pytest.approx(content["total"])
    assert content["suggestions"][2]["real_time_factor"] is None
    assert content["suggestions"][2]["error"] == "scipy is missing"


def test_the_command_prints_tables_or_json(capsys):
    assert main(["bench", "press", "--duration", "0.02"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("press: ")
    assert "control and Python" in out
    assert err == ""
    assert main(["bench", "press", "--duration", "0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["world"] == "press"


def test_a_model_that_cannot_be_simulated_is_explained(capsys, tmp_path):
    model = tmp_path / "ghost.body"
    model.write_text(
        "format: ChoreonoidBody\nformat_version: 2.0\nname: Ghost\n"
        "links:\n  - { name: GHOST, joint_type: free, mass: 0 }\n"
    )
    assert main(["bench", str(model)]) == 1
    assert "link 'GHOST': it moves, so its mass must be positive" in capsys.readouterr().err
    assert main(["bench", "absent.body"]) == 1
    assert capsys.readouterr().err.count("absent.body") == 1
