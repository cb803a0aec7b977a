"""The comparison with plain C: both simulate the same, and its results are reported."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from bench import compare
from bench.comparison.contenders import EngineRun, ScannerRun
from bench.comparison.measure import Ratio, measure_interleaved
from bench.comparison.mujoco_twin import MujocoTwin, TwinError
from bench.comparison.plain_c import BenchError, PlainC, compile_loop
from bench.comparison.rows import rows_of
from bench.comparison.scene_file import write_scene
from bench.comparison.scenes import SCENE_NAMES, Scene, Subject, make_scene
from bench.comparison.session import Session
from bench.comparison.targets import Measured, Quantity, Target
from each_case import mostly_slow
from page_tools import data_rows
from paths import MODELS
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    X,
    Z,
    at,
    child,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model import Pose
from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.body import Range as JointRange
from hrp_model.geometry import Box, Capsule, Sphere
from hrp_model.rigid import rpy_matrix
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.control import HOLD, LIMP
from hrp_sim.physics.engine import PhysicsSettings, Solver
from hrp_sim.physics.materials import ContactMaterial, MaterialTable, material_pair
from hrp_sim.world.config import BodyEntry, WorldConfig

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
STEPPED = [name for name in SCENE_NAMES if make_scene(name).subject is Subject.STEPS]
SAME = 1e-12  # [m]; on x86 nothing differs at all
CLOSE = 1e-5  # [m] after ten steps of another solver
OF_ODE = pytest.mark.parametrize("solver", [Solver.DENSE, Solver.QUICK])
HUMANOID = MODELS / "humanoid" / "humanoid.body"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_loop(tmp_path_factory.mktemp("bench"))


def tie(kind, a, b, axis, X_AJ, X_BJ):
    return ExtraJoint(type=kind, links=(a, b), axis=axis, X_AJ=X_AJ, X_BJ=X_BJ)


def mixed_scene(control):
    """Balls of two materials, a mesh, and a leg with all that joints may have, above a floor."""
    limb = (placed(Box(np.array([0.1, 0.1, 0.4])), at(z=-0.2)),)
    weak = {"effort": JointRange(-6.0, 4.0), "position": JointRange(-0.4, 0.2)}
    rough = {"damping": 0.02, "friction": 0.1}
    links = (
        root(free=True, mass=5.0, inertia=np.eye(3) * 0.1, collision=(placed(Capsule(0.1, 0.2)),)),
        child("LEG", "BASE", REVOLUTE, X, X_PL=at(z=-0.2), collision=limb, rotor=0.05, **weak),
        child("TOE", "LEG", PRISMATIC, Z, X_PL=at(z=-0.4), collision=limb, rotor=0.5, **rough),
        child("ARM", "BASE", REVOLUTE, X, X_PL=at(y=0.3), rotor=0.01, **rough),
        child("HAND", "ARM", REVOLUTE, X, X_PL=at(y=0.2)),
        child("P", "BASE", REVOLUTE, X, X_PL=at(x=0.3)),
        child("Q", "BASE", REVOLUTE, X, X_PL=at(x=0.3, y=0.1)),
        child("S", "BASE", REVOLUTE, X, X_PL=at(x=-0.3)),
    )
    kind = ExtraJointType
    ties = (
        tie(kind.BALL, "HAND", "BASE", Z, at(z=-0.2), at(y=0.5, z=-0.2)),
        tie(kind.XY, "P", "Q", X, at(z=-0.2), at(y=-0.1, z=-0.2)),
        tie(kind.Z, "S", "BASE", Z, at(y=0.2), at(x=-0.3, y=0.2)),
    )
    crate = lone(placed(mesh_of(Box(np.full(3, 0.2)))), name="crate")
    ball = lone(placed(Sphere(0.1)), name="ball")
    rubber = replace(ball.links[0], contact_material="Rubber")
    leg = Body(name="leg", links=links, extra_joints=ties)
    bodies = (
        floor(),
        moving(ball, at(1.0, 0.0, 0.1)),
        moving(replace(ball, links=(rubber,)), at(2.0, 0.0, 0.3), name="rubber ball"),
        moving(crate, at(-1.0, 0.0, 0.1)),
        moving(leg, at(z=1.2), q=np.array([0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0])),
    )
    bounces = {material_pair("Rubber", "Default"): ContactMaterial(friction=0.3, restitution=0.8)}
    physics = PhysicsSettings(materials=MaterialTable(pairs=bounces))
    entries = tuple(BodyEntry(placement=p, control=control) for p in bodies)
    world = WorldConfig(physics=physics, bodies=entries)
    return Scene(name="mixed", description="many things", world=world)


def with_solver(scene, solver):
    """Return the scene for a solver; plain C knows no contact that sticks."""
    world = scene.world.with_physics(solver=solver)
    physics = replace(world.physics, predict_sticking=False)
    return replace(scene, world=replace(world, physics=physics))


def beside_plain_c(scene, program, folder, **options):
    """Return the engine and the plain C program, before the first step."""
    engine = EngineRun(scene)
    drives = {name: s.drive for name, s in engine.engine.state.bodies.items()}
    write_scene(scene.world, drives, folder / "scene.bin", **options)
    return engine, PlainC(program, folder / "scene.bin", ordered=True)


def difference(engine, plain, steps):
    """Step both; return by how far any link is elsewhere, in [m]."""
    assert engine.advance(steps) > 0.0 < plain.advance(steps)
    return np.abs(engine.positions() - plain.positions()).max()


@needs_compiler
@OF_ODE
@pytest.mark.parametrize("name", mostly_slow(STEPPED, 4))
def test_every_scene_ends_where_plain_c_ends(name, solver, program, tmp_path):
    scene = with_solver(make_scene(name), solver)
    engine, plain = beside_plain_c(scene, program, tmp_path)
    start = engine.positions()
    assert difference(engine, plain, 20) <= SAME
    assert difference(engine, plain, 60) <= SAME
    assert np.abs(engine.positions() - start).max() > 1e-6
    plain.close()


@needs_compiler
@pytest.mark.parametrize("name", mostly_slow(STEPPED, 4))
def test_our_own_solver_begins_as_plain_c_does(name, program, tmp_path):
    engine, plain = beside_plain_c(with_solver(make_scene(name), Solver.WORLD), program, tmp_path)
    assert difference(engine, plain, 10) <= CLOSE
    plain.close()


@needs_compiler
@OF_ODE
@pytest.mark.parametrize("control", [HOLD, LIMP], ids=["hold", "limp"])
def test_all_kinds_of_shapes_and_joints_do(control, solver, program, tmp_path):
    scene = with_solver(mixed_scene(control), solver)
    engine, plain = beside_plain_c(scene, program, tmp_path)
    highest, is_bounded = 0.0, False
    for _ in range(40):
        assert difference(engine, plain, 10) <= SAME
        bodies = engine.engine.state.bodies
        highest = max(highest, bodies["rubber ball"].motion.v[0, 2])
        is_bounded |= bodies["leg"].motion.effort[0] in (-6.0, 4.0)
    assert highest > 0.5
    assert is_bounded == (control is HOLD)
    plain.close()


@needs_compiler
def test_contacts_in_any_order_are_the_same_physics(program, tmp_path):
    engine, plain = beside_plain_c(with_solver(mixed_scene(LIMP), Solver.DENSE), program, tmp_path)
    plain.close()
    plain = PlainC(program, tmp_path / "scene.bin")
    assert difference(engine, plain, 300) <= 2e-6
    plain.close()


@needs_compiler
def test_both_find_boxes_that_ode_loses(program, tmp_path):
    """Of bricks aligned with an oblique slope ODE does not see every tenth touch it."""
    brick = lone(placed(Box(np.array([0.3, 0.2, 0.05]))))
    rng = np.random.default_rng(1)
    for heading, angle, turn in rng.uniform(-0.45, 0.45, (30, 3)):
        R = rpy_matrix(heading, angle, turn)
        bodies = moving(brick, Pose(R, R @ [0.0, 0.0, 0.0249])), floor(R=R)
        entries = tuple(BodyEntry(placement=p, control=LIMP) for p in bodies)
        scene = Scene(
            name="slope", description="a brick on a slope", world=WorldConfig(bodies=entries)
        )
        engine, plain = beside_plain_c(with_solver(scene, Solver.QUICK), program, tmp_path)
        assert difference(engine, plain, 3) <= SAME
        plain.close()


@needs_compiler
@pytest.mark.parametrize(
    ("name", "layers"), [("scan", 1), pytest.param("layers", 15, marks=pytest.mark.slow)]
)
def test_both_see_the_same_along_every_ray(name, layers, program, tmp_path):
    session = Session(make_scene(name), Solver.WORLD, program, tmp_path)
    session.check()
    scanner, plain = ScannerRun(make_scene(name)), PlainC(program, tmp_path / "scene.bin")
    assert scanner.advance(3) > 0.0 < plain.scan(3)
    seen = plain.distances()
    assert seen.shape == (721 * layers,)
    assert 300 * layers < np.isfinite(seen).sum() < 721 * layers
    np.testing.assert_allclose(scanner.distances(), seen, rtol=0.0, atol=SAME)
    plain.close()
    scanner.close()


@needs_compiler
@OF_ODE
def test_the_original_falls_as_fast(solver, program, tmp_path):
    """Without rotors, limits and contacts only its integration differs: it is of first order.

    After a time t, symplectic Euler has fallen farther than g t^2 / 2, by g t h / 2.
    """
    links = (
        root(free=True, mass=2.0),
        child("A", "BASE", REVOLUTE, X, X_PL=at(y=0.2)),
        child("B", "A", REVOLUTE, Z, X_PL=at(y=0.2)),
    )
    chain = moving(Body(name="chain", links=links), at(z=5.0), dq=np.array([1.0, -2.0]))
    world = WorldConfig(bodies=(BodyEntry(placement=chain, control=LIMP),))
    scene = with_solver(Scene(name="fall", description="falls", world=world), solver)
    engine, plain = beside_plain_c(scene, program, tmp_path, original=True)
    farther = 9.80665 * 0.2 * 0.001 / 2.0
    assert difference(engine, plain, 200) == pytest.approx(farther, rel=0.02)
    plain.close()


@needs_compiler
def test_the_original_stands_on_its_floor(program, tmp_path):
    """More contacts, no rotors: another fall, but the same floor below."""
    engine, plain = beside_plain_c(
        with_solver(make_scene("pile"), Solver.DENSE), program, tmp_path, original=True
    )
    assert difference(engine, plain, 50) < 0.01
    plain.close()


@needs_compiler
def test_another_scene_is_noticed(program, tmp_path):
    session = Session(make_scene("arm"), Solver.DENSE, program, tmp_path)
    session.check()
    numbers = np.fromfile(tmp_path / "scene.bin")
    numbers[4] *= 1.01  # gravity
    numbers.tofile(tmp_path / "scene.bin")
    with pytest.raises(BenchError, match=rf"scene 'arm', {Solver.DENSE.value} solver: .* differ"):
        session.check()
    numbers[:100].tofile(tmp_path / "scene.bin")
    with pytest.raises(BenchError, match="the scene ends too early"):
        session.check()


def test_the_documentation_has_a_row_of_each_implementation():
    names = {cell for row in data_rows("speed") for cell in row[:4]}
    optional = {Measured.MUJOCO, Measured.DENSE}  # where there is such a library or solver
    assert {measured.value for measured in set(Measured) - optional} <= names


@needs_compiler
@pytest.mark.slow
def test_the_command_prints_tables_and_writes_files(capsys, tmp_path, monkeypatch):
    written = tmp_path / "out.json"
    monkeypatch.setattr(compare, "write_tables", partial(compare.write_tables, folder=tmp_path))
    arguments = ["--duration", "0.01", "--runs", "1", "--json", written, "--page"]
    scenes = ["--scene", "arm", "--scene", "scan", "--solver", Solver.DENSE.value, "--original"]
    assert compare.main([str(HUMANOID), *map(str, [*scenes, *arguments])]) == 0
    printed = capsys.readouterr().out
    solver = f"{Solver.DENSE.value} solver"
    for title in (f"arm, {solver}", "scan", f"humanoid.body, {solver}", "plain C"):
        assert title in printed
    content = json.loads(written.read_text())
    assert content["schema"] == 2
    assert set(content) == {"schema", "machine", "duration_s", "runs", "rows"}
    assert set(content["machine"]) == {
        *("processor", "cores", "system", "ode", "compiler", "python", "numpy"),
    }
    for row in content["rows"]:
        assert set(row) == {
            *("scene", "description", "solver", "measured", "us", "real_time_factor", "ratio"),
            *("ratio_to_original", "ratio_to_dense", "ratio_to_mujoco", "targets"),
        }
        assert row["us"] > 0.0
    rows = {(row["scene"], row["measured"]): row for row in content["rows"]}
    step = rows["arm", Measured.ENGINE.value]
    assert set(step["ratio"]) == {"median", "low", "high"}
    assert step["ratio"]["low"] <= step["ratio"]["median"] <= step["ratio"]["high"]
    assert step["real_time_factor"] == pytest.approx(1000.0 / step["us"])
    assert step["targets"][0]["quantity"] == "ratio"
    assert rows["scan", Measured.SCAN.value]["real_time_factor"] is None
    limp = rows["humanoid.body", Measured.SIMULATION_STICKING.value]
    assert limp["ratio_to_original"]["median"] > 0.0
    assert ("humanoid.body", Measured.ORIGINAL.value) in rows
    tables = {path.stem: path.read_text() for path in tmp_path.glob("*.csv")}
    assert content["machine"]["processor"] in tables["speed_machine"]
    step = next(line for line in tables["speed"].splitlines() if "engine, 1 step" in line)
    assert step.startswith("arm,")
    target = '"engine, 1 step a call","ratio <= 1.1, very good 1.03",'
    assert f"arm,{Solver.DENSE.value},{target}" in tables["speed_targets"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scene", "moon"], "invalid choice: 'moon'"),
        (["--runs", "0"], "--runs must be 1 or greater, not 0"),
        (["--original"], "--original needs a FILE"),
        (["--holding"], "--holding needs a FILE"),
        (["--json", f"{__file__}/x.json"], "test_compare.py/x.json: Not a directory"),
        (["--json", __file__, __file__], "never overwrites its input"),
    ],
)
def test_wrong_use_is_refused_at_once(arguments, message, capsys):
    assert compare.main(arguments) == 2
    assert message in capsys.readouterr().err


@needs_compiler
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


def test_a_missing_compiler_is_reported(monkeypatch, capsys):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert compare.main([str(HUMANOID)]) == 1
    assert "no C compiler 'no-such-compiler'" in capsys.readouterr().err


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

    makers = {m: lambda m=m: Counting(m) for m in (Measured.ENGINE, Measured.PLAIN)}
    times = measure_interleaved(makers, steps=50, runs=2, min_slice=0.0)
    assert {len(t) for t in times.values()} == {20}
    assert times[Measured.ENGINE] == pytest.approx([1.0] * 20)
    assert calls.count((Measured.ENGINE, 5)) == calls.count((Measured.PLAIN, 5)) == 22
    assert calls.count((Measured.PLAIN, "closed")) == 2
    assert {steps for _, steps in calls if steps != "closed"} == {5}
    calls.clear()
    measure_interleaved(makers, steps=50, runs=1, min_slice=19.5e-6)
    assert [steps for _, steps in calls] == [5, 5] + [20] * 20 + ["closed"] * 2
    # Nobody always goes first.
    assert {calls[2][0], calls[4][0]} == {Measured.ENGINE, Measured.PLAIN}


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
