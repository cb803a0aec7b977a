"""The comparison with other programs: what is measured, and how its results are reported."""

import csv
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from bench import compare
from bench.comparison import scenes
from bench.comparison.bullet_twin import BulletTwin
from bench.comparison.contenders import BenchError, EngineRun
from bench.comparison.drake_twin import DrakeTwin
from bench.comparison.mujoco_twin import MujocoBoxes, MujocoTwin, without_pairs
from bench.comparison.scenes import Scene, make_scene
from bench.comparison.targets import Measured
from page_tools import data_rows
from paths import MODELS

from hrp_model import Body, JointType, Link
from hrp_model.body import Joint
from hrp_model.geometry import Box, Mesh, Shape, Sphere
from hrp_model.rigid import Pose
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.control import LIMP
from hrp_sim.engine.engine import Placement, Solver
from hrp_sim.world.config import BodyEntry, WorldConfig

ARM = MODELS / "arm" / "arm.body"


def test_the_measured_table_has_a_row_of_each_implementation():
    names = {row[3] for row in data_rows("speed")}
    optional = {Measured.MUJOCO, Measured.BULLET, Measured.DRAKE, Measured.PYODE}
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
    assert content["schema"] == 5
    assert all(row["us"] > 0.0 for row in content["rows"])
    rows = {(row["scene"], row["measured"]): row for row in content["rows"]}
    step, simulation = (rows["arm", m.value] for m in (Measured.ENGINE, Measured.SIMULATION))
    assert step["ratio"] is None
    assert (step["contacts"], step["depth_m"]) == (0, 0.0)  # the arm touches nothing
    assert rows["scan", Measured.SCAN.value]["contacts"] is None
    low, middle, high = (simulation["ratio"][key] for key in ("low", "median", "high"))
    assert low <= middle <= high
    assert step["real_time_factor"] == pytest.approx(1000.0 / step["us"])
    assert rows["scan", Measured.SCAN.value]["real_time_factor"] is None
    assert rows["scan", Measured.SCAN.value]["targets"][0]["quantity"] == "us"
    assert ("arm.body holding", Measured.ENGINE.value) in rows
    with (tmp_path / "speed.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(x["scene"], x["measured"]) for x in table] == list(rows)


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


def test_boxes_sleep_in_mujoco_where_they_sleep_here(monkeypatch):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo lets nothing sleep")
    monkeypatch.setattr(scenes, "RESTING", 10)
    scene = make_scene("resting-heaps")
    ours = EngineRun(scene).engine.state.bodies.values()
    here = [b.motion.p[0] for b in ours if not b.body.is_static]
    there = MujocoBoxes(scene).data.qpos.reshape(-1, 7)[:, :3]
    assert np.abs(here - there).max() < 2e-3
    for maker in (EngineRun, MujocoBoxes):
        with pytest.raises(BenchError, match="sleep"):
            maker(replace(scene, settling=0.01))


def robots(name):
    """Return the scene of one of this package's robots, and its body in an engine."""
    return robot_of(make_scene(name))


def robot_of(scene):
    """Return a scene, and its only moving body in an engine."""
    engine = EngineRun(scene)
    (robot,) = (b for b in engine.engine.state.bodies.values() if not b.body.is_static)
    engine.close()
    return scene, robot


def test_mujoco_stands_as_we_do():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    scene, robot = robots("humanoid")
    twin, engine = MujocoTwin(scene.world, robot), EngineRun(scene)
    assert twin.advance(1000) > 0.0 < engine.advance(1000)
    assert twin.model.opt.timestep == scene.world.physics.time_step
    assert twin.contacts == engine.engine.contacts == 8
    robot = next(b for b in engine.engine.state.bodies.values() if not b.body.is_static)
    np.testing.assert_allclose(twin.data.qpos[:3], robot.motion.p[0], atol=2e-3)
    moving = len(robot.body.moving_links)  # in MuJoCo also the world and the root
    assert twin.model.nbody == moving + 2
    masses = sum(link.mass for link in robot.body.links)
    assert twin.model.body_mass.sum() == pytest.approx(masses)
    engine.close()


def test_mujoco_falls_as_we_do():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    scene, robot = robots("arm")
    twin, engine = MujocoTwin(scene.world, robot), EngineRun(scene)
    twin.advance(200)
    engine.advance(200)
    (arm,) = (b for b in engine.engine.state.bodies.values() if not b.body.is_static)
    np.testing.assert_allclose(twin.data.qpos, arm.motion.q, atol=2e-3)
    engine.close()


@pytest.mark.parametrize("self_collision", [True, False])
def test_mujoco_leaves_out_the_pairs_that_do_not_collide_here(self_collision):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    scene, _ = robots("humanoid")
    physics = replace(scene.world.physics, self_collision=self_collision)
    entry = next(e for e in scene.world.bodies if not e.placement.body.is_static)
    angles = np.random.default_rng(3).uniform(-1.5, 1.5, len(entry.placement.initial_q))
    folded = replace(entry, placement=replace(entry.placement, q=angles))
    bodies = tuple(folded if e is entry else e for e in scene.world.bodies)
    world = replace(scene.world, physics=physics, bodies=bodies)
    engine = EngineRun(replace(scene, world=world))
    robot = engine.engine.state.bodies[entry.placement.name]
    twin = MujocoTwin(world, robot)
    mujoco.mj_forward(twin.model, twin.data)
    is_own = (twin.model.geom_bodyid[twin.data.contact.geom] > 0).all(axis=1)
    assert bool(robot.overlapping) == self_collision
    assert not (is_own & (twin.data.contact.dist < -1e-3)).any()
    assert self_collision or not is_own.any()
    engine.close()


@pytest.mark.parametrize(("name", "twin"), [("pybullet", BulletTwin), ("pydrake", DrakeTwin)])
def test_other_programs_stand_as_we_do(name, twin):
    pytest.importorskip(name, reason=f"{name} is not installed")
    scene, robot = robots("humanoid")
    theirs = twin(scene.world, robot)
    assert theirs.advance(300) > 0.0
    assert theirs.contacts in (2, 8)  # Drake has one for each sole
    assert 0.0 <= theirs.depth() < 2e-3
    theirs.close()


def ball_between_plates():
    """Return a scene with a ball that swings between two plates of one mesh, two joints below."""
    plate = mesh_of(Box(np.array([0.02, 0.4, 0.4])))
    plates = Mesh(
        vertices=np.concatenate([plate.vertices + np.array([x, 0.0, 0.0]) for x in (-0.2, 0.2)]),
        triangles=np.concatenate([plate.triangles, plate.triangles + len(plate.vertices)]),
    )
    ball = Shape(Sphere(0.05), Pose(np.eye(3), np.array([0.03, 0.02, 0.01])).matrix())
    names, shapes = ("plates", "rod", "ball"), ((Shape(plates),), (), (ball,))
    links = tuple(
        Link(
            name=name,
            parent=names[i - 1] if i else None,
            joint=Joint(type=JointType.REVOLUTE if i else JointType.FIXED, name=name),
            mass=1.0,
            inertia=np.eye(3) * 0.01,
            collision=shapes[i],
        )
        for i, name in enumerate(names)
    )
    placed = Placement(name="ball", body=Body(name="ball", links=links), fixed=True)
    world = WorldConfig(bodies=(BodyEntry(placement=placed, control=LIMP),))
    return Scene(name="ball", description="", world=world)


def test_pairs_that_mujoco_cannot_collide_are_left_out_here():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    scene, robot = robot_of(ball_between_plates())
    assert not robot.overlapping
    twin = MujocoTwin(scene.world, robot)
    assert twin.apart == {frozenset(("plates", "ball"))}
    fair = without_pairs(scene.world, twin.apart)
    _, robot = robot_of(replace(scene, world=fair))
    assert not MujocoTwin(fair, robot).apart
    (entry,) = fair.bodies
    assert frozenset(("plates", "ball")) in entry.placement.body.self_collision_disabled
