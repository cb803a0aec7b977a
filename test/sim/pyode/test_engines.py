"""Engines by name, what PyODE refuses, and that it never ends the process."""

import gc
import sys
from dataclasses import replace

import numpy as np
import pytest
from paths import MODELS
from sim.physics.scenes import (
    REVOLUTE,
    G,
    X,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    one_joint,
    placed,
    root,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.devices import Holder
from hrp_model.geometry import Box, Cone, Sphere, Surface, SurfaceRule
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import Simulation
from hrp_sim.cli.main import main
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver, make_engine
from hrp_sim.engine.ode import OdeEngine
from hrp_sim.engine.state import BodyJoint

ARM = str(MODELS / "worlds" / "arm.yaml")

needs_pyode = pytest.mark.usefixtures("pyode")


@pytest.fixture
def pyode():
    pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")


def test_the_first_engine_is_ours():
    assert type(make_engine("ode", PhysicsSettings())) is OdeEngine


def test_an_unknown_engine_is_refused():
    with pytest.raises(
        PhysicsError, match=r"no engine 'bullet'; the engines are 'ode' and 'pyode'"
    ):
        make_engine("bullet", PhysicsSettings())


def test_without_pyode_it_says_what_to_install(monkeypatch, capsys):
    for name in [n for n in sys.modules if n.startswith("hrp_sim.engine.pyode")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ode", None)
    assert main(["run", ARM, "--duration", "0.01", "--engine", "pyode"]) == 1
    assert "apt install python3-pyode" in capsys.readouterr().err


@needs_pyode
def test_the_command_runs_it():
    assert main(["run", ARM, "--duration", "0.2", "--engine", "pyode"]) == 0


@needs_pyode
@pytest.mark.parametrize(
    ("name", "value", "solver"),
    [
        ("over_relaxation", 1.5, Solver.QUICK),
        ("seed", 7, Solver.QUICK),
        ("max_contacts", 2, Solver.WORLD),
    ],
)
def test_settings_that_it_lacks_are_refused(name, value, solver):
    with pytest.raises(PhysicsError, match=rf"{name} is {value}, .*--engine ode"):
        make_engine("pyode", PhysicsSettings(solver=solver, **{name: value}))


@needs_pyode
def test_settings_out_of_range_are_refused():
    with pytest.raises(PhysicsError, match="time_step must be from"):
        make_engine("pyode", PhysicsSettings(time_step=np.nan))


@needs_pyode
def test_a_library_whose_errors_would_end_the_process_is_refused(monkeypatch):
    from hrp_sim.engine.pyode import engine

    monkeypatch.setattr(engine.faults, "take_messages", lambda: 0)
    with pytest.raises(PhysicsError, match=r"linked with another ODE library.*; .*--engine ode"):
        make_engine("pyode", PhysicsSettings())


HOLDER = Holder(name="hand", link="BASE")
PISTON = ExtraJoint(type=ExtraJointType.PISTON, links=("ARM", "BASE"), axis=X)
ROUGH = Surface(rule=SurfaceRule.GAZEBO, friction=0.5)


@needs_pyode
@pytest.mark.parametrize(
    ("link", "problem", "body"),
    [
        ("BASE", "mesh", lone(placed(Cone(0.1, 0.2)))),
        ("BASE", "declares friction", lone(replace(placed(Sphere(0.1)), surface=ROUGH))),
        ("BASE", "holder 'hand'", replace(lone(placed(Sphere(0.1))), devices=(HOLDER,))),
        ("ARM", "type piston", replace(one_joint(REVOLUTE, X), extra_joints=(PISTON,))),
    ],
    ids=["mesh", "surface", "holder", "piston"],
)
def test_bodies_with_what_it_lacks_are_refused_by_name(link, problem, body):
    engine = make_engine("pyode", PhysicsSettings())
    engine.add_body(floor())
    with pytest.raises(PhysicsError, match=rf"body 'it', link '{link}': .*{problem}.*--engine ode"):
        engine.add_body(moving(body, name="it"))
    assert list(engine.state.bodies) == ["floor"]
    engine.step(5)


@needs_pyode
def test_joints_between_bodies_are_refused_by_name():
    engine = make_engine("pyode", PhysicsSettings())
    joint = BodyJoint(name="rope", type=ExtraJointType.BALL, bodies=("a", "b"), links=(0, 0))
    with pytest.raises(PhysicsError, match=r"joint 'rope' is between two bodies.*--engine ode"):
        engine.add_joint(joint)
    assert not engine.joints


@needs_pyode
@pytest.mark.parametrize("option", ["--save", "--restore"])
def test_states_to_save_or_restore_are_refused_before_the_run(option, tmp_path, capsys):
    assert main(["run", ARM, "--engine", "pyode", option, str(tmp_path / "x.npz")]) == 2
    assert "the engine 'pyode' cannot save or restore" in capsys.readouterr().err
    simulation = Simulation(ARM, engine=make_engine("pyode", PhysicsSettings()))
    with simulation, pytest.raises(PhysicsError, match="cannot save its state"):
        simulation.save()


@needs_pyode
def test_what_ode_fails_at_again_and_again_is_an_error_each_time():
    from hrp_sim.engine.ode.faults import OdeError, guarded

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
@pytest.mark.parametrize("call", ["setMass", "collide"])
def test_a_body_that_ode_fails_at_is_refused_and_not_added(monkeypatch, call):
    from hrp_sim.engine.pyode.engine import faults

    def fail_at(function, *arguments):
        if function.__name__ == call:
            raise faults.OdeError("ODE has failed")
        return function(*arguments)

    engine = make_engine("pyode", PhysicsSettings())
    engine.add_body(floor())
    with monkeypatch.context() as patch:
        patch.setattr(faults, "guarded", fail_at)
        with pytest.raises(PhysicsError, match="body 'thing' cannot be simulated: ODE has failed"):
            engine.add_body(moving(lone(placed(Sphere(0.1)))))
    assert list(engine.state.bodies) == ["floor"]
    engine.add_body(moving(lone(placed(Sphere(0.1)))))
    engine.step(5)


@needs_pyode
def test_bodies_come_and_go_without_growth():
    ode = pytest.importorskip("ode")
    shapes = (placed(Sphere(0.1)),)
    links = (root(free=True, collision=shapes), child("A", "BASE", REVOLUTE, X, collision=shapes))
    thing = moving(Body(name="thing", links=links), at(z=0.19))
    base = replace(fixed(thing.body, at(y=5.0)), name="base")
    engine = make_engine("pyode", PhysicsSettings())
    engine.add_body(floor())

    def alive():
        gc.collect()
        kinds = (ode.World, ode.Body, ode.Joint, ode.GeomObject)
        return sum(isinstance(thing, kinds) for thing in gc.get_objects())

    before = alive()
    for _ in range(8):
        engine.add_body(thing)
        engine.add_body(base)
        engine.move_body(replace(base, X_WL=at(0.0, 5.0, 2.0)))
        engine.step(2)
        engine.reset()
        engine.remove_body("base")
        engine.remove_body("thing")
    assert alive() == before


@needs_pyode
@pytest.mark.parametrize("fails", [False, True])
def test_a_step_that_was_refused_pushes_nothing_in_the_next(monkeypatch, fails):
    from hrp_sim.engine.pyode import engine as module

    engine = make_engine("pyode", PhysicsSettings())
    engine.add_body(floor())
    box = engine.add_body(moving(lone(placed(Box(np.full(3, 0.2)))), at(z=1.0)))
    box.wrench.force[0] = (0.0, 0.0, 1000.0)
    if fails:
        with monkeypatch.context() as patch:
            patch.setattr(module, "_MAX_ROWS", -1)
            with pytest.raises(PhysicsError, match=r"constraint rows at 0 s .*solver: quick"):
                engine.step()
    engine.step(10)
    assert box.motion.v[0, 2] == pytest.approx((1000.0 - G) * 0.01, rel=1e-9)


@needs_pyode
def test_boxes_with_the_same_oblique_rotation_rest_on_each_other():
    rng = np.random.default_rng(5)
    for _ in range(4):
        axis = rng.normal(size=3)
        R = axis_angle_matrix(axis / np.linalg.norm(axis), rng.uniform(0.1, 3.0))
        gravity = tuple((-G * R[:, 2]).tolist())
        engine = make_engine("pyode", PhysicsSettings(gravity=gravity))
        engine.add_body(floor(R=R))
        start = R @ [0.0, 0.0, 0.0999]
        box = engine.add_body(moving(lone(placed(Box(np.full(3, 0.2)))), at(*start, R)))
        engine.step(50)
        np.testing.assert_allclose(box.motion.p[0], start, atol=1e-5)
