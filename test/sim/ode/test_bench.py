"""The bench compares two programs that simulate the same."""

import shutil

import numpy as np
import pytest
from paths import MODELS
from sim.ode.scenes import PRISMATIC, REVOLUTE, X, Z, at, child, floor, lone, moving, placed, root

from hrp_model.body import Body
from hrp_model.geometry import Box, Capsule, Sphere
from hrp_model.tessellate import mesh_of
from hrp_sim import bench
from hrp_sim.config import BodyEntry, WorldConfig
from hrp_sim.engine import Solver

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    return bench.compile_loop(bench.LOOP_SOURCE, tmp_path_factory.mktemp("bench"))


def scene():
    limb = (placed(Box(np.array([0.1, 0.1, 0.4])), at(z=-0.2)),)
    links = (
        root(free=True, mass=5.0, inertia=np.eye(3) * 0.1, collision=(placed(Capsule(0.1, 0.2)),)),
        child("LEG", "BASE", REVOLUTE, X, X_PL=at(z=-0.2), collision=limb, rotor=0.05),
        child("TOE", "LEG", PRISMATIC, Z, X_PL=at(z=-0.4), collision=limb, rotor=0.5),
    )
    crate = lone(placed(mesh_of(Box(np.full(3, 0.2)))), name="crate")
    bodies = (
        floor(),
        moving(lone(placed(Sphere(0.1)), name="ball"), at(1.0, 0.0, 0.1)),
        moving(crate, at(-1.0, 0.0, 0.1)),
        moving(Body(name="leg", links=links), at(z=1.2)),
    )
    return WorldConfig(bodies=tuple(BodyEntry(placement=p) for p in bodies))


@needs_compiler
@pytest.mark.parametrize("solver", list(Solver))
def test_engine_and_plain_c_end_in_the_same_place(solver, loop, tmp_path):
    world = scene().with_physics(solver=solver)
    bench.write_scene(world, tmp_path / "scene.txt")
    for steps in (100, 300):
        engine = bench.run_engine(world, steps)
        plain = bench.run_loop(loop, tmp_path / "scene.txt", steps)
        assert engine.height == pytest.approx(plain.height, abs=2e-6)
        assert engine.step_us > 0.0 < plain.step_us


@needs_compiler
def test_the_command_prints_a_table(capsys):
    assert bench.bench(MODELS / "humanoid" / "humanoid.body", "world", 0.01, 1) == 0
    printed = capsys.readouterr().out
    assert "plain C" in printed
    assert "humanoid.body, world solver" in printed


def test_without_the_source_it_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(bench, "LOOP_SOURCE", tmp_path / "absent.c")
    assert bench.bench(MODELS / "humanoid" / "humanoid.body", "world", 0.01, 1) == 1
    assert "source checkout" in capsys.readouterr().err
