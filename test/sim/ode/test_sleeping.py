"""Islands of bodies at rest: when they sleep, what is read of them, and what wakes them."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from each_case import mostly_slow
from numpy.testing import assert_allclose, assert_array_equal
from paths import PYTHONPATH
from sim.ode.tumbling import digest, tumbling
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    box_inertia,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)

from hrp_model.body import Body, ExtraJointType
from hrp_model.devices import ForceSensor
from hrp_model.devices import Imu as ImuDevice
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import Pose
from hrp_sim import Simulation
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver
from hrp_sim.engine.state import BodyJoint
from hrp_sim.world.config import BodyEntry, WorldConfig

SIZE = np.array([0.2, 0.2, 0.2])
STEP = 0.005
ENOUGH = 150  # steps until what lies still sleeps
SLOW = {"time_step": STEP}


@cache  # a body is moved with its own model
def model(name):
    if name in ("table", "post", "wall"):
        shape = placed(Box(np.array([1.0, 1.0, 0.2])), at(z=-0.1))
        return Body(name=name, links=(root("TOP", mass=0.0, collision=(shape,)),))
    if name == "ball":
        return lone(placed(Sphere(0.1)), name=name)
    return lone(placed(Box(SIZE)), name=name, inertia=box_inertia(1.0, SIZE))


def box(name, x=0.0, z=0.1):
    return moving(model(name), at(x, 0.0, z))


def table(name="table", x=0.0, z=0.0):
    return fixed(model(name), at(x, 0.0, z))


def ball(x=0.0, y=0.0, z=2.0, **motion):
    return moving(model("ball"), at(x, y, z), **motion)


def lift(sleeping=True, **settings):
    """A platform on a vertical slider, beside a hinge with a force sensor."""
    plate = placed(Box(np.array([0.5, 0.5, 0.1])), at(z=-0.05))
    links = (
        root("POST"),
        child("PLATE", "POST", PRISMATIC, Z, mass=2.0, collision=(plate,)),
        child("ARM", "POST", REVOLUTE, Y, X_PL=at(x=3.0), center_of_mass=X, mass=1.0),
    )
    sensors = (ForceSensor(name="force", link="ARM"),)
    engine, robot, thing = world(
        fixed(Body(name="lift", links=links, devices=sensors)),
        box("box"),
        sleeping=sleeping,
        **(SLOW | settings),
    )
    robot.drive.kp[:], robot.drive.kd[:] = 1e5, 1e4
    return engine, robot, thing


def stack(*more, sleeping=True, **settings):
    """Two boxes on each other on a table, and one beside them: two islands."""
    boxes = box("lower"), box("upper", z=0.3), box("beside", x=0.35)
    return world(table(), *boxes, *more, sleeping=sleeping, **(SLOW | settings))


def sleeps(*bodies):
    """Whether bodies do not move at all; one that rests settles by rounding."""
    return [not (np.any(b.motion.v) or np.any(b.motion.w)) for b in bodies]


def test_what_lies_still_sleeps_half_a_second_later():
    engine, _, *boxes = stack()
    engine.step(round(0.5 / STEP) - 1)
    assert not any(sleeps(*boxes))
    engine.step(5)
    assert all(sleeps(*boxes))
    before = [b.motion.p.copy() for b in boxes]
    engine.step(1000)
    for b, p in zip(boxes, before, strict=True):
        assert_array_equal(b.motion.p, p)
        assert not np.any(b.motion.a)
        assert not np.any(b.motion.alpha)


@pytest.mark.parametrize("solver", list(Solver))
def test_states_are_equal_while_nothing_sleeps(solver):
    engines = [tumbling(solver, sleeping=sleeping) for sleeping in (False, True)]
    for _ in range(6):
        for engine in engines:
            engine.step(100)
        assert digest(engines[0]) == digest(engines[1])


def test_by_default_nothing_sleeps():
    assert not PhysicsSettings().sleeping
    engine, _, *boxes = stack(sleeping=False)
    engine.step(2 * ENOUGH)
    assert not any(sleeps(*boxes))


def test_the_quick_solver_lets_nothing_sleep():
    engine, _, *_boxes = stack(solver=Solver.QUICK)
    other, _, *_ = stack(solver=Solver.QUICK, sleeping=False)
    engine.step(2 * ENOUGH)
    other.step(2 * ENOUGH)
    assert digest(engine) == digest(other)
    engine.restore(engine.save())


def test_steps_in_one_call_are_those_in_many():
    engines = [stack(ball(0.35, 0.0, 8.0))[0] for _ in range(2)]
    for _ in range(400):
        engines[0].step()
    for count in (1, 99, 7, 200, 93):
        engines[1].step(count)
    assert digest(engines[0]) == digest(engines[1])


def test_contacts_stay_reported():
    engine, *_ = stack()
    engine.step(ENOUGH)
    engine.record_contacts = True
    engine.step()
    asleep = engine.contact_points()
    assert len(asleep.depth) == engine.contacts == 12
    up = dict.fromkeys(asleep.bodies, 0.0)
    for pair, force, normal in zip(asleep.bodies, asleep.force, asleep.normal, strict=True):
        up[pair] += force[2] * np.sign(normal[2])
    assert_allclose(sorted(up.values()), np.array([1.0, 1.0, 2.0]) * G, rtol=1e-6)
    engine.step(10)
    again = engine.contact_points()
    for name in ("position", "normal", "force", "depth"):
        assert_array_equal(getattr(asleep, name), getattr(again, name))
    engine.record_contacts = False
    engine.step()
    assert not len(engine.contact_points().depth)
    assert engine.contacts == 12


def test_sensors_of_what_sleeps_read_what_they_read_before():
    """An IMU reads gravity, a force sensor the weight and its moment."""
    engine, robot, thing = lift()
    engine.step(ENOUGH + 50)
    assert all(sleeps(robot, thing))
    arm = robot.body.link_index("ARM")
    assert_allclose(robot.motion.force[arm], [0.0, 0.0, G], atol=1e-5)
    assert_allclose(robot.motion.effort, [3.0 * G, -G], rtol=1e-5)
    sensed = Body(
        name="sensed",
        links=(root(free=True, collision=(placed(Box(SIZE)),)),),
        devices=(ImuDevice(name="imu", link="BASE"),),
    )
    entries = (BodyEntry(placement=floor()), BodyEntry(placement=moving(sensed, at(z=0.1))))
    physics = PhysicsSettings(sleeping=True, **SLOW)
    with Simulation(WorldConfig(physics=physics, bodies=entries)) as sim:
        reading = sim.run(1.0)["imu"]
        assert all(sleeps(sim.bodies["sensed"]))
        assert_allclose(reading.linear_acceleration, [0.0, 0.0, G], atol=1e-12)
        assert not np.any(reading.angular_velocity)


def falls(engine, thing, z, steps=20):
    """Whether a body falls freely from a height, from rest."""
    engine.step(steps)
    t = steps * STEP
    assert_allclose(thing.motion.p[0, 2], z - G / 2.0 * t * t, atol=1e-5)


def test_what_loses_its_support_falls():
    """The floor is removed, or moved away, or the box below is."""
    for act in ("remove", "move", "remove lower", "move lower", "remove upper"):
        engine, _, lower, upper, beside = stack()
        engine.step(ENOUGH)
        if act == "remove":
            engine.remove_body("table")
            falls(engine, beside, 0.1)
        elif act == "move":
            engine.move_body(table(x=5.0))
            falls(engine, lower, 0.1)
        elif act == "remove lower":
            engine.remove_body("lower")
            falls(engine, upper, 0.3, steps=10)
            assert all(sleeps(beside))
        elif act == "move lower":
            engine.move_body(box("lower", x=-0.35, z=0.5))
            falls(engine, lower, 0.5)
            assert all(sleeps(beside))
        else:
            engine.remove_body("upper")
            engine.step(10)
            assert sleeps(lower, beside) == [False, True]
            engine.record_contacts = True
            engine.step(ENOUGH)
            assert all(sleeps(lower, beside))
            assert len(engine.contact_points().depth) == 8


def agree(act, bodies=("lower", "upper", "beside"), wakes=("lower", "upper"), steps=60, **options):
    """Whether what an act leads to is what it does where nothing sleeps."""
    worlds = [stack(*options.get("more", ()), sleeping=sleeping) for sleeping in (True, False)]
    for engine, *_ in worlds:
        engine.step(ENOUGH)
        act(engine)
        engine.step(3)
    states = [engine.state.bodies for engine, *_ in worlds]
    asleep = {name for name in bodies if all(sleeps(states[0][name]))}
    assert asleep == set(bodies) - set(wakes)
    for engine, *_ in worlds:
        engine.step(steps)
    for name in states[1]:
        here, there = (state[name].motion for state in states)
        assert_allclose(here.p, there.p, atol=1e-5, err_msg=name)
        assert_allclose(here.v, there.v, atol=1e-4, err_msg=name)
    return worlds[0][0]


def test_a_wrench_moves_the_island_it_acts_on_alone():
    def lift(engine):  # and not push: where a box may slide or tip, rounding decides
        engine.state.bodies["upper"].wrench.force[0] = [5.0, 0.0, 20.0]

    engine = agree(lift)
    assert engine.state.bodies["upper"].motion.v[0, 2] > 1.0


def test_what_hits_an_island_wakes_it():
    def throw(engine):
        engine.move_body(ball(z=1.0, v=-2.0 * Z))
        engine.step(40)

    agree(throw, more=(ball(-5.0),))


def test_what_comes_near_wakes_nothing():
    engine, _, *boxes, _ball = stack(ball(0.175, 0.3, 3.0))
    engine.step(round(0.7 / STEP))
    assert all(sleeps(*boxes))


def test_a_neighbour_that_is_teleported_onto_it_wakes_an_island():
    agree(
        lambda engine: engine.move_body(box("beside", x=0.05, z=0.5)),
        wakes=("lower", "upper", "beside"),
    )


def test_a_wall_that_appears_in_a_body_wakes_it():
    wall = table("wall", x=0.35 + 0.1 + 0.5 - 0.005, z=0.2)
    for act, more in (("add_body", ()), ("move_body", (table("wall", x=9.0),))):
        engine, _, *boxes = stack(*more)
        engine.step(ENOUGH)
        getattr(engine, act)(wall)
        engine.step(ENOUGH // 2)
        assert sleeps(*boxes[:3]) == [True, True, False]
        assert boxes[2].motion.p[0, 0] < 0.348


def test_a_joint_wakes_both_bodies_and_its_end_does_too():
    def hook(engine, name="hook", a="upper"):
        poses = [
            Pose(b.motion.R[0], b.motion.p[0])
            for b in (engine.state.bodies[a], engine.state.bodies["post"])
        ]
        X_AJ = poses[0].inverse() @ poses[1]
        kind = ExtraJointType.FIXED
        engine.add_joint(
            BodyJoint(name=name, type=kind, bodies=(a, "post"), links=(0, 0), X_AJ=X_AJ)
        )

    post = table("post", x=5.0)
    agree(hook, more=(post,))
    engine, _, lower, upper, beside, _ = stack(post)
    hook(engine)
    engine.step(ENOUGH)
    assert all(sleeps(lower, upper, beside))
    engine.remove_body("table")
    engine.step(40)
    assert not any(sleeps(lower, beside))
    engine.step(ENOUGH)
    height = upper.motion.p[0, 2]
    assert sleeps(upper) == [True]
    assert height == pytest.approx(0.3, abs=1e-3)
    engine.remove_joint("hook")
    falls(engine, upper, height)


def test_a_conveyor_carries_what_slept_on_it():
    def convey(engine):
        engine.state.bodies["table"].drive.surface_velocity[0, 3:] = 0.2 * X

    engine = agree(convey, wakes=("lower", "upper", "beside"))
    assert engine.state.bodies["upper"].motion.v[0, 0] == pytest.approx(0.2, rel=1e-3)


def test_nothing_sleeps_on_a_surface_or_a_joint_that_moves_slowly():
    """Slower than what counts as rest: it would stop for ever."""
    speed = 5e-5
    engine, top, lower, *_ = stack()
    top.drive.surface_velocity[0, 3:] = speed * X
    engine.step(500)
    assert lower.motion.p[0, 0] == pytest.approx(500 * STEP * speed, rel=0.01)
    engine, robot, thing = lift(gravity=(0.0, 0.0, 0.0))
    robot.drive.kp[1] = 0.0
    robot.drive.dq[1] = speed
    engine.step(200)
    q = float(robot.motion.q[1])
    engine.step(200)
    assert robot.motion.q[1] - q == pytest.approx(200 * STEP * speed, rel=0.01)
    assert sleeps(robot, thing) == [False, True]


def test_nothing_sleeps_under_a_push_however_weak():
    force, steps = 1e-6, 2000
    engine, thing = world(box("box"), sleeping=True, gravity=(0.0, 0.0, 0.0), **SLOW)
    thing.wrench.force[0, 0] = force
    engine.step(steps)
    t = steps * STEP
    assert_allclose(thing.motion.v[0], force * t * X, rtol=1e-9)
    assert_allclose(thing.motion.p[0, 0], force * t * t / 2.0, rtol=1e-9)
    thing.wrench.force[0, 0] = 0.0
    engine.step(ENOUGH)
    assert sleeps(thing) == [True]


def test_a_command_wakes_a_robot_and_what_it_carries():
    worlds = [lift(sleeping) for sleeping in (True, False)]
    for engine, robot, thing in worlds:
        engine.step(ENOUGH + 50)
        robot.drive.q[0] = 0.05
        engine.step(100)
        assert thing.motion.p[0, 2] == pytest.approx(0.15, abs=2e-3)
    (_, robot, thing), (_, other, same) = worlds
    for name in ("p", "v", "force", "q", "effort"):
        for a, b in ((robot, other), (thing, same)):
            assert_allclose(getattr(a.motion, name), getattr(b.motion, name), atol=1e-3)


def test_a_holder_that_moves_takes_along_what_slept_in_its_grip():
    engine, robot, thing = lift()
    engine.move_body(box("box", x=1.0, z=0.5))
    kind, X_AJ = ExtraJointType.FIXED, at(1.0, 0.0, 0.5)
    ends = {"bodies": ("lift", "box"), "links": (robot.body.link_index("PLATE"), 0)}
    engine.add_joint(BodyJoint(name="grip", type=kind, **ends, X_AJ=X_AJ))
    engine.step(2 * ENOUGH)
    assert all(sleeps(robot, thing))
    robot.drive.q[0] = 0.05
    engine.step(200)
    assert thing.motion.p[0, 2] == pytest.approx(0.55, abs=2e-3)
    engine.step(ENOUGH)
    assert all(sleeps(robot, thing))
    falls_from = float(thing.motion.p[0, 2])
    engine.remove_joint("grip")
    falls(engine, thing, falls_from)


def test_an_island_sleeps_as_a_whole():
    """A ball that spins on the upper box keeps all awake; the neighbour sleeps."""
    engine, _, lower, upper, beside, _ = stack(ball(z=0.5, w=5.0 * Z))
    engine.step(ENOUGH)
    assert sleeps(lower, upper, beside) == [False, False, True]


def test_a_reset_wakes_all_and_repeats_the_run():
    engine, _, *boxes = stack()
    engine.step(50)
    there = digest(engine)
    engine.step(ENOUGH)
    engine.reset()
    engine.step(50)
    assert digest(engine) == there
    assert not any(sleeps(*boxes))


def test_a_failed_step_changes_no_motion():
    engine, _, lower, upper, _ = stack()
    engine.step(ENOUGH)
    before = digest(engine)
    upper.wrench.force[0, 0] = np.nan
    with pytest.raises(PhysicsError, match="must be finite"):
        engine.step()
    assert digest(engine) == before
    upper.wrench.force[0, 0] = 0.0
    engine.step(2 * ENOUGH)
    assert all(sleeps(lower, upper))


def scene():
    """Boxes that sleep at 1 s, and a ball that hits them at 1.4 s."""
    return stack(ball(0.05, 0.0, 10.5))


def test_a_restored_world_sleeps_and_wakes_as_the_saved_one(tmp_path):
    engine, _, *boxes, _ = scene()
    engine.record_contacts = True
    engine.step(250)
    assert all(sleeps(*boxes))
    saved = engine.save()
    np.savez(tmp_path / "asleep.npz", **saved)
    hashes = []
    for _ in range(2):
        engine.step(30)
        points = engine.contact_points()
        engine.step(120)
        hashes.append(digest(engine))
        assert not any(sleeps(*boxes[:2]))
        engine.restore(saved)
    assert hashes[0] == hashes[1]
    fresh, *_ = scene()
    fresh.restore(saved)
    fresh.record_contacts = True
    fresh.step(30)
    for name in ("position", "normal", "force", "depth", "bodies"):
        assert_array_equal(getattr(fresh.contact_points(), name), getattr(points, name))
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    for start in ("", str(tmp_path / "asleep.npz")):
        command = [sys.executable, "-m", "sim.ode.test_sleeping", start]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert run.stdout.split() == [hashes[0]]


def test_a_conveyor_that_sleeps_below_a_box_that_moves_does_so_after_a_restore():
    engine, top, *_ = stack()
    top.drive.surface_velocity[0, 3:] = 0.2 * X
    engine.step(ENOUGH)
    fresh, *_ = stack()
    fresh.restore(engine.save())
    for one in (engine, fresh):
        one.step(100)
    assert engine.state.digest() == fresh.state.digest()


@pytest.mark.parametrize("seed", mostly_slow(range(12), 2))
def test_whatever_happens_a_restored_world_is_the_same(seed):
    """Random removals, jumps, pushes, joints, saves and restores between long rests."""
    rng = np.random.default_rng(seed)
    options = {"time_step": 0.02, "sleeping": True}
    first = {
        p.name: p
        for p in (table(), *(box(f"b{k}", 0.2 * (k % 3), 0.1 + 0.2 * (k // 3)) for k in range(6)))
    }
    engine, *_ = world(*first.values(), **options)
    snapshots = []
    for _ in range(40):
        here = engine.state.bodies
        name = str(rng.choice(list(first)))
        action = rng.choice(["add", "remove", "jump", "push", "rest", "save", "restore", "join"])
        if action == "add" and name not in here:
            engine.add_body(first[name])
        elif action == "remove" and name in here and len(here) > 4:
            engine.remove_body(name)
        elif action == "jump" and name in here:
            there = (
                at(*rng.uniform([-0.2, -0.2, 0.0], [0.2, 0.2, 0.6]))
                if name != "table"
                else at(z=rng.uniform(-0.1, 0.0))
            )
            engine.move_body(replace(first[name], X_WL=there))
        elif action == "push" and name in here:
            here[name].wrench.force[:] = rng.uniform(-3.0, 3.0, 3)
        elif action == "rest":
            engine.step(int(rng.integers(1, 60)))
        elif action == "join" and {"b0", "b1"} <= here.keys():
            if "pair" in engine.joints:
                engine.remove_joint("pair")
            else:
                engine.add_joint(
                    BodyJoint(
                        name="pair",
                        type=ExtraJointType.BALL,
                        bodies=("b0", "b1"),
                        links=(0, 0),
                        X_AJ=at(0.1),
                        X_BJ=at(-0.1),
                    )
                )
        elif action == "save":
            saved = engine.save()
            engine.step(40)
            snapshots.append((saved, digest(engine)))
        elif action == "restore" and snapshots:
            saved, later = snapshots[int(rng.integers(len(snapshots)))]
            if set(saved["bodies"].tolist()) == set(here):
                engine.restore(saved)
                engine.step(40)
                assert digest(engine) == later
    if snapshots:
        saved, later = snapshots[-1]
        fresh, *_ = world(*(first[name] for name in reversed(saved["bodies"].tolist())), **options)
        fresh.restore(saved)
        fresh.step(40)
        assert digest(fresh) == later


def test_a_snapshot_of_other_settings_is_refused():
    engine, *_ = stack()
    engine.step(ENOUGH)
    saved = engine.save()
    for other in ({"sleeping": False}, {"gravity": (0.0, 0.0, -1.0)}, {"friction": 0.5}):
        with pytest.raises(PhysicsError, match=f"other settings: {next(iter(other))}="):
            stack(**other)[0].restore(saved)


def spoiled():
    """Yield how the arrays of a snapshot may be bad, and what is said of it."""

    def put(name, *index):
        def change(arrays, value=index[-1]):
            arrays[name][index[:-1]] = value

        return change

    yield put("sleep_bodies", 1, 0, -1), "'sleep_bodies' .* out of range"
    yield put("sleep_bodies", 1, 0, 101), "'sleep_bodies' .* out of range"
    yield put("sleep_bodies", 1, 1, 6), "'sleep_bodies' .* out of range"
    yield put("sleep_bodies", 1, 1, 0), "an island without its first body"
    yield put("sleep_bodies", 2, 1, 3), "joint 'hook' is of two islands"
    yield put("sleep_bodies", 3, 1, 0), "'table' and 'beside' do not sleep"
    yield put("sleep_contacts", 0, 0, 5), "'sleep_contacts' .* out of range"
    yield put("sleep_contacts", 0, 5, -1), "'sleep_contacts' .* out of range"
    yield put("sleep_contacts", 0, 6, 128), "'sleep_contacts' .* out of range"
    yield put("sleep_contacts", 0, 1, 1), "an unknown link"
    yield put("sleep_contacts", 0, slice(0, 4, 2), 0), "'table' and 'table' do not sleep"
    yield put("sleep_values", 0, 0, np.nan), "'sleep_values' .* not finite"
    yield put("upper/group_v", 0, 0, 0.1), "'upper' sleeps, but moves"
    yield lambda arrays: arrays.pop("sleep_bodies"), "lacks 'sleep_bodies'"
    yield lambda a: a.update(sleep_bodies=a["sleep_bodies"][:-1]), r"shape \(3, 6\), not \(4, 6\)"


@pytest.mark.parametrize(("spoil", "words"), list(spoiled()), ids=[w for _, w in spoiled()])
def test_a_bad_snapshot_is_named_and_changes_nothing(spoil, words):
    engine, *_ = stack()
    ends = {"X_AJ": at(z=0.1), "X_BJ": at(z=-0.1)}
    pair = ("lower", "upper")
    engine.add_joint(
        BodyJoint(name="hook", type=ExtraJointType.BALL, bodies=pair, links=(0, 0), **ends)
    )
    engine.step(ENOUGH)
    bad = engine.save()
    assert np.all(bad["sleep_bodies"][:, 1] > 0)
    spoil(bad)
    before = digest(engine)
    with pytest.raises(PhysicsError, match=words):
        engine.restore(bad)
    assert digest(engine) == before
    engine.step(10)
    assert digest(engine) != before  # the time
    engine.restore(engine.save())


def main(start):
    engine, *_ = scene()
    if start:
        with np.load(start) as file:
            engine.restore(dict(file))
    engine.step(400 - round(engine.state.time_ns * 1e-9 / STEP))
    print(digest(engine))


if __name__ == "__main__":
    main(*sys.argv[1:])
