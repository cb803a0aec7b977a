"""Engines by name, what PyODE refuses, and that it never ends the process."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paths import MODELS, ROOT
from sim.ode.scenes import (
    REVOLUTE,
    X,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.geometry import Box, Cone, Sphere
from hrp_sim.cli.main import main
from hrp_sim.engines import make_engine
from hrp_sim.ode import OdeEngine
from hrp_sim.physics.engine import PhysicsError, PhysicsSettings

ARM = str(MODELS / "worlds" / "arm.yaml")
MANY_WORLDS = 100

needs_pyode = pytest.mark.usefixtures("pyode")


@pytest.fixture
def pyode():
    pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")


def test_the_first_engine_is_ours():
    assert type(make_engine("ode", PhysicsSettings())) is OdeEngine


def test_an_unknown_engine_is_refused():
    with pytest.raises(PhysicsError, match=r"no engine 'bullet'; there are 'ode', 'pyode'"):
        make_engine("bullet", PhysicsSettings())


def test_without_pyode_it_says_what_to_install(monkeypatch, capsys):
    for name in [n for n in sys.modules if n.startswith("hrp_sim.pyode")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ode", None)
    assert main(["run", ARM, "--duration", "0.01", "--engine", "pyode"]) == 1
    assert "apt install python3-pyode" in capsys.readouterr().err


@needs_pyode
def test_the_command_runs_either_engine_with_the_same_result(capsys):
    hashes = []
    for engine in ("ode", "pyode"):
        assert main(["run", ARM, "--duration", "0.2", "--engine", engine]) == 0
        hashes.append(capsys.readouterr().out.split("sha256:")[1].split()[0])
    assert hashes[0] == hashes[1]


@needs_pyode
@pytest.mark.parametrize("kind", [ExtraJointType.PISTON, ExtraJointType.XY, ExtraJointType.Z])
def test_extra_joints_that_it_lacks_are_refused_by_name(kind):
    links = (root(), child("ARM", "BASE", REVOLUTE, X))
    loop = ExtraJoint(type=kind, links=("ARM", "BASE"), axis=X)
    engine = make_engine("pyode", PhysicsSettings())
    words = rf"body 'b', link 'ARM': .* type {kind.value}; .*--engine ode"
    with pytest.raises(PhysicsError, match=words):
        engine.add_body(fixed(Body(name="b", links=links, extra_joints=(loop,))))
    assert not engine.state.bodies


@needs_pyode
def test_shapes_that_it_lacks_are_refused_by_name():
    engine = make_engine("pyode", PhysicsSettings())
    engine.add_body(floor())
    with pytest.raises(PhysicsError, match=r"body 'top', link 'BASE': .*mesh.*--engine ode"):
        engine.add_body(moving(lone(placed(Cone(0.1, 0.2)), name="top")))
    assert list(engine.state.bodies) == ["floor"]
    engine.step(5)


@needs_pyode
def test_errors_of_ode_do_not_end_the_process():
    command = [sys.executable, Path(__file__).with_name("wild_worlds_of_primitives.py")]
    path = os.pathsep.join([str(ROOT), str(ROOT / "test")])
    done = subprocess.run(
        [*command, str(MANY_WORLDS)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ran, failed, broken = map(int, done.stdout.split())
    assert ran + failed == MANY_WORLDS
    assert min(ran, failed) > 10
    assert broken > 0, "no world made ODE fail in the middle"


@needs_pyode
def test_what_ode_fails_at_again_and_again_is_an_error_each_time():
    from hrp_sim.ode.guard import OdeError, guarded

    ode = pytest.importorskip("ode")
    for _ in range(2 * sys.getrecursionlimit()):  # none of the calls that are left may count on
        world = ode.World()
        body = ode.Body(world)
        body.setAngularVel((np.nan, 0.0, 0.0))
        with pytest.raises(OdeError):
            guarded(world.step, 0.001)
    engine = make_engine("pyode", PhysicsSettings())
    ball = engine.add_body(moving(lone(placed(Sphere(0.1))), at(z=1.0)))
    engine.step(100)
    assert ball.motion.p[0, 2] == pytest.approx(1.0 - 9.80665 / 2 * 0.01, abs=1e-3)


@needs_pyode
def test_bodies_come_and_go_without_growth():
    resource = pytest.importorskip("resource")
    shapes = (placed(Sphere(0.1)),)
    links = (root(free=True, collision=shapes), child("A", "BASE", REVOLUTE, X, collision=shapes))
    thing = moving(Body(name="thing", links=links), at(z=1.0))
    base = replace(fixed(thing.body, at(y=5.0)), name="base")
    engine = make_engine("pyode", PhysicsSettings())
    engine.add_body(floor())

    def cycle(count):
        for _ in range(count):
            engine.add_body(thing)
            engine.add_body(base)
            saved = engine.save()
            engine.move_body(replace(base, X_WL=at(0.0, 5.0, 2.0)))
            engine.step(2)
            engine.restore(saved)
            engine.reset()
            engine.remove_body("base")
            engine.remove_body("thing")
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = cycle(1000)  # Python keeps memory of its own until it has enough
    assert cycle(1000) - before < 512  # kilobytes


@needs_pyode
def test_a_step_that_was_refused_pushes_nothing_in_the_next(monkeypatch):
    from hrp_sim.pyode import crowds

    paths = []
    for fails in (False, True):
        engine = make_engine("pyode", PhysicsSettings(predict_sticking=False))
        engine.add_body(floor())
        box = engine.add_body(moving(lone(placed(Box(np.full(3, 0.2)))), at(z=0.1)))
        box.wrench.force[0] = (0.0, 0.0, 1000.0)
        if fails:
            with monkeypatch.context() as patch:
                patch.setattr(crowds, "MOST_ROWS", 0)
                with pytest.raises(PhysicsError):
                    engine.step()
        engine.step(10)
        paths.append(box.motion.p.tobytes())
    assert paths[0] == paths[1]
