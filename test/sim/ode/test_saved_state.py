"""A saved world goes on to the last bit, wherever and whatever came between."""

import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from each_case import mostly_slow
from paths import PYTHONPATH
from sim.ode.menagerie import drive, placements
from sim.ode.test_moving import random_jump
from sim.ode.tumbling import digest, tumbling
from sim.physics.scenes import REVOLUTE, X, at, fixed, lone, moving, one_joint, placed, world

from hrp_model.geometry import Sphere
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver
from hrp_sim.engine.ode import OdeEngine, _core
from hrp_sim.engine.state import BodyMotion

FIELDS = [field.name for field in fields(BodyMotion)]


def zoo(solver=Solver.WORLD, first=None):
    engine, *_ = world(*(placements() if first is None else first).values(), solver=solver)
    drive(engine)
    return engine


def everything(engine):
    """Return all that can be seen of a world, exactly."""
    arrays = {"time": engine.state.time_ns}
    for name, simulated in engine.state.bodies.items():
        for field in FIELDS:
            arrays[f"{name}.{field}"] = getattr(simulated.motion, field).tobytes()
    return arrays


def differing(a, b):
    assert a.keys() == b.keys()
    return [name for name in a if a[name] != b[name]]


@pytest.mark.parametrize("solver", list(Solver))
def test_it_goes_on_in_the_same_and_in_a_fresh_world(solver):
    engine = zoo(solver)
    engine.step(400)
    saved, at_save = engine.save(), everything(engine)
    assert np.any(saved["walker/joint_active"])
    assert saved["top/joint_turns"][0] >= 1
    assert np.any(saved["walker/motion_force"])
    engine.step(500)
    there = everything(engine)
    engine.restore(saved)
    assert differing(everything(engine), at_save) == []
    engine.step(500)
    assert differing(everything(engine), there) == []
    fresh = zoo(solver)
    fresh.restore(saved)
    assert differing(everything(fresh), at_save) == []
    fresh.step(500)
    assert differing(everything(fresh), there) == []


@pytest.mark.parametrize("solver", list(Solver))
def test_many_steps_of_one_call_lead_where_calls_of_one_step_do(solver):
    many, single = zoo(solver), zoo(solver)
    many.step(300)
    for _ in range(300):
        single.step()
    assert differing(everything(many), everything(single)) == []


def test_the_steps_before_one_that_fails_stay():
    """Of a call that takes many: something leaves the world while an arm swings."""
    arm = fixed(one_joint(REVOLUTE, X, center_of_mass=np.array([0.0, 0.1, 0.0])))
    far = moving(lone(), at(x=999_990.0), v=1000.0 * X, name="far")
    (engine, *failing), (twin, *good) = world(arm, far), world(arm, far)
    with pytest.raises(PhysicsError, match="body 'far'"):
        engine.step(100)
    done = engine.state.time_ns // engine.settings.step_ns
    assert 5 < done < 15
    twin.step(done)
    for name in ("p", "R", "q", "dq"):
        for one, other in zip(failing, good, strict=True):
            np.testing.assert_array_equal(getattr(one.motion, name), getattr(other.motion, name))


@pytest.mark.parametrize("solver", list(Solver))
def test_it_goes_on_after_bodies_came_went_and_jumped(solver):
    """The fresh world has the bodies in their first order, unmoved."""
    first = placements()
    engine = zoo(solver, first)
    rng = np.random.default_rng(7)
    engine.step(100)
    engine.remove_body("cone")
    engine.remove_body("crank")
    engine.add_body(moving(lone(placed(Sphere(0.2))), at(z=3.0), name="guest"))
    engine.step(100)
    for name in ("crank", "cone"):
        engine.add_body(first[name])
    for name in ("floor", "crank", "top"):
        jump = random_jump(rng, first[name])
        if name == "floor":
            jump["X_WL"] = at(0.5, 0.2, -0.3)
        engine.move_body(type(first[name])(**jump))
    engine.step(100)
    engine.remove_body("guest")
    drive(engine)
    engine.step(50)
    saved = engine.save()
    engine.step(300)
    there = everything(engine)
    fresh = zoo(solver)
    fresh.step(10)
    fresh.restore(saved)
    fresh.step(300)
    assert differing(there, everything(fresh)) == []
    assert list(fresh.state.bodies) == list(engine.state.bodies)
    fresh.reset()
    fresh.step(50)
    engine.reset()
    engine.step(50)
    assert differing(everything(engine), everything(fresh)) == []


def test_another_process_goes_on_with_it(tmp_path):
    """Three seconds in one go, in two processes, and cut after one: one state."""
    here = []
    for solver in Solver:
        engine = tumbling(solver, time_step=0.002)
        engine.step(500)
        np.savez(tmp_path / f"{solver.value}.npz", **engine.save())
        engine.step(1000)
        here.append(digest(engine))
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    for snapshots in ([], [f"{tmp_path}/"]):
        command = [sys.executable, "-m", "sim.ode.tumbling", "0.002", "1500", *snapshots]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert run.stdout.split() == here


@pytest.mark.parametrize("seed", mostly_slow(range(6), 2))
def test_whatever_happens_a_restored_world_is_the_same(seed):
    """Random spawns, removals, jumps, pushes, steps, saves and restores."""
    rng = np.random.default_rng(seed)
    solver = list(Solver)[seed % 2]
    first = placements()
    engine = zoo(solver, {"floor": first["floor"]})
    snapshots = []
    for _ in range(60):
        here = engine.state.bodies
        name = str(rng.choice(list(first)))
        action = rng.choice(["spawn", "remove", "jump", "push", "step", "save", "restore"])
        if action == "spawn" and name not in here:
            engine.add_body(first[name])
            drive(engine)
        elif action == "remove" and name in here and name != "floor":
            engine.remove_body(name)
            with pytest.raises(KeyError):
                engine.remove_body(name)
        elif action == "jump" and name in here and name != "floor":
            engine.move_body(type(first[name])(**random_jump(rng, first[name])))
        elif action == "push" and name in here:
            here[name].wrench.force[:] = rng.uniform(-1.0, 1.0, here[name].wrench.force.shape)
            here[name].wrench.torque[:] = rng.uniform(-0.1, 0.1, here[name].wrench.torque.shape)
        elif action == "step":
            engine.step(int(rng.integers(1, 30)))
        elif action == "save":
            saved = engine.save()
            engine.step(20)
            snapshots.append((saved, everything(engine)))
        elif action == "restore" and snapshots:
            saved, later = snapshots[int(rng.integers(len(snapshots)))]
            if set(saved["bodies"].tolist()) == set(here):
                engine.restore(saved)
                engine.step(20)
                assert differing(everything(engine), later) == []
    saved, later = snapshots[-1]
    fresh = zoo(solver, {name: first[name] for name in reversed(saved["bodies"].tolist())})
    fresh.restore(saved)
    fresh.step(20)
    assert differing(everything(fresh), later) == []
    for simulated in engine.state.bodies.values():
        assert np.all(np.isfinite(simulated.motion.p))


def test_a_snapshot_is_a_copy():
    engine = zoo()
    engine.step(10)
    saved = engine.save()
    kept = {name: array.copy() for name, array in saved.items()}
    engine.step(100)
    assert all(np.array_equal(saved[name], kept[name]) for name in saved)


def test_a_world_whose_step_failed_can_be_restored():
    engine, arm = world(fixed(one_joint(REVOLUTE, X)))
    engine.step(10)
    saved = engine.save()
    arm.drive.effort[0] = 5e9
    with pytest.raises(PhysicsError, match="its motion has diverged"):
        engine.step()
    engine.restore(saved)
    engine.step(10)
    assert engine.state.time_ns == 20_000_000


def spoiled():
    """Yield how a snapshot may be bad, and what is said of it."""
    yield "bodies", lambda a: a["bodies"][:-1], "lacks bodies of the world: 'ball'"
    yield "bodies", lambda a: np.append(a["bodies"], "x"), "lacks bodies of the snapshot: 'x'"
    yield "bodies", lambda a: np.append(a["bodies"], "top"), "two bodies of the same name"
    yield "bodies", lambda _: np.zeros(3), "lacks 'bodies'"
    yield (
        "settings",
        lambda a: a["settings"][1:],
        "other settings: .*; the world has time_step=0.001",
    )
    yield "top/fingerprint", lambda _: np.array("0" * 64), "body 'top' differs from the one"
    yield "top/drive_kp", None, "lacks 'top/drive_kp'"
    yield "top/more", lambda _: np.zeros(1), "'top/more'"
    yield "walker/group_p", lambda a: a["walker/group_p"][:-1], r"shape \(3, 3\), not \(4, 3\)"
    yield "walker/group_v", lambda a: a["walker/group_v"].astype(np.float32), "not of type float64"
    yield "walker/group_v", lambda a: a["walker/group_v"].tolist(), "not of type float64"
    yield "walker/group_v", lambda a: a["walker/group_v"] * np.nan, "not finite"
    yield "walker/group_v", lambda a: a["walker/group_v"] + 1e6, "'walker/group_v'.*not below"
    yield "walker/group_quaternion", lambda a: a["walker/group_quaternion"] * 2.0, "unit length"
    yield "walker/group_quaternion", lambda a: a["walker/group_quaternion"] * 0.0, "unit length"
    yield "walker/group_R", lambda a: a["walker/group_R"][:, ::-1], "differs from the rotation"
    yield "top/base_R", lambda a: a["top/base_R"] * 1.1, "not a rotation"
    yield "top/joint_turns", lambda a: a["top/joint_turns"] + 5, "does not match 'joint_q'"
    yield "top/joint_active", lambda a: a["top/joint_active"] + 256, "from 0 to 255"
    yield "time_ns", lambda _: np.array(-1), "out of range"
    yield "random", lambda _: np.array(2**32), "'random' of the snapshot is out of range"
    yield "habits", lambda _: np.zeros((3, 2), dtype=np.int32), r"shape \(3, 2\), not \(3, \d+\)"
    yield (
        "habits",
        lambda _: np.full((3, _core.MEMORY_NUMBERS), 128, dtype=np.int32),
        "'habits' .* out of range",
    )
    yield (
        "habits",
        lambda _: np.zeros((3_000_000, _core.MEMORY_NUMBERS), dtype=np.int32),
        "more than the 200000",
    )


@pytest.mark.parametrize(
    ("name", "spoil", "words"), list(spoiled()), ids=[f"{n}-{w[:12]}" for n, _, w in spoiled()]
)
def test_what_does_not_fit_is_named_and_changes_nothing(name, spoil, words):
    engine = zoo()
    engine.step(30)
    bad = engine.save()
    if spoil is None:
        del bad[name]
    else:
        bad[name] = spoil(bad)
    engine.step(20)
    before = everything(engine)
    with pytest.raises(PhysicsError, match=words):
        engine.restore(bad)
    assert differing(everything(engine), before) == []
    engine.step(20)


def test_a_changed_model_or_setting_is_refused():
    saved = zoo().save()
    first = placements()
    first["ball"] = moving(lone(placed(Sphere(0.11))), first["ball"].X_WL, name="ball")
    changed, *_ = world(*first.values())
    with pytest.raises(PhysicsError, match="body 'ball' differs from the one"):
        changed.restore(saved)
    with pytest.raises(PhysicsError, match="solver=world; the world has solver=quick"):
        zoo(Solver.QUICK).restore(saved)
    with pytest.raises(PhysicsError, match="lacks bodies of the snapshot: 'floor', 'crank'"):
        OdeEngine(PhysicsSettings()).restore(saved)
