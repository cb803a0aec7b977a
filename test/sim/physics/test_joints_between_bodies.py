"""Joints between links of two bodies, made and removed at run time, in both engines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sim.physics.scenes import (
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
    one_joint,
    placed,
    root,
    world,
)

from hrp_model.body import Body, ExtraJointType
from hrp_model.geometry import Box
from hrp_model.rigid import Pose, axis_angle_matrix, unit_vector
from hrp_sim.engine.engine import PhysicsError, Solver
from hrp_sim.engine.state import BodyJoint

BALL, HINGE, FIXED = ExtraJointType.BALL, ExtraJointType.HINGE, ExtraJointType.FIXED
SOLVERS = pytest.mark.parametrize("solver", list(Solver))
EXACT = pytest.mark.parametrize("solver", [Solver.WORLD])
SIZE = np.array([0.1, 0.1, 0.1])


def box(name="box", mass=1.0):
    return lone(placed(Box(SIZE)), name=name, mass=mass, inertia=box_inertia(mass, SIZE))


def pose(body, link=0):
    return Pose(body.motion.R[link], body.motion.p[link])


def joined(name, a, b, *, links=(0, 0), kind=FIXED, **ends):
    """Return a joint that is closed now, by default at the origin of B's link."""
    X_WA, X_WB = pose(a, links[0]), pose(b, links[1])
    ends = {"X_AJ": X_WA.inverse() @ X_WB @ ends.get("X_BJ", Pose())} | ends
    return BodyJoint(name=name, type=kind, bodies=(a.name, b.name), links=links, **ends)


def hand_and_box(solver):
    """A hand on a hinge at 1 m, which touches a box from above; a floor."""
    shape = placed(Box(np.array([0.4, 0.05, 0.05])), at(0.2))
    hand = one_joint(REVOLUTE, Y, X_PL=at(z=1.0), collision=(shape,))
    engine, robot, thing, _ = world(
        fixed(hand), moving(box(), at(0.3, 0.0, 0.925)), floor(), solver=solver
    )
    robot.drive.kp[:], robot.drive.kd[:] = 1e4, 100.0
    return engine, robot, thing


@SOLVERS
def test_a_gripped_box_follows_the_hand_and_falls_when_let_go(solver):
    engine, robot, thing = hand_and_box(solver)
    engine.add_joint(joined("grip", robot, thing, links=(1, 0)))
    held = pose(robot, 1).inverse() @ pose(thing)
    near = 1e-3 if solver is Solver.QUICK else 1e-5
    for k in range(1000):
        robot.drive.q[:] = 0.5 * np.sin(2.0 * np.pi * 0.001 * k)
        engine.step()
        now = pose(robot, 1).inverse() @ pose(thing)
        assert_allclose(now.p, held.p, atol=near)
        assert_allclose(now.R, held.R, atol=10.0 * near)
    assert engine.contacts == 0  # gripped links do not collide
    engine.remove_joint("grip")
    height = thing.motion.p[0, 2]
    v = thing.motion.v[0, 2]
    engine.step(100)
    assert_allclose(thing.motion.p[0, 2], height + 0.1 * v - 0.005 * G, atol=1e-3)
    engine.step(900)
    assert engine.contacts > 0
    assert_allclose(thing.motion.p[0, 2], 0.05, atol=1e-3)


def chain(count, length=0.1):
    """A cable of rods along X, each on two hinges to the one before."""
    links = [root("C0", free=True, mass=0.1, inertia=np.eye(3) * 1e-4)]
    for i in range(1, count):
        links += [
            child(f"B{i}", links[-1].name, REVOLUTE, Y, X_PL=at(length), mass=0.02,
                  inertia=np.eye(3) * 1e-5, damping=1e-3),
            child(f"C{i}", f"B{i}", REVOLUTE, Z, mass=0.1, inertia=np.eye(3) * 1e-4, damping=1e-3),
        ]  # fmt: skip
    return Body(name="cable", links=tuple(links))


@EXACT
def test_a_cable_between_two_bodies_stays_closed(solver):
    """An arm swings a load that hangs on a cable; both ends of the cable are balls."""
    length, count = 0.1, 8
    cable = chain(count, length)
    post = one_joint(REVOLUTE, X, X_PL=at(z=1.0))
    load = box("load", mass=2.0)
    engine, holder, rope, weight = world(
        fixed(post),
        moving(cable, at(0.0, 0.3, 1.0, axis_angle_matrix(Y, np.pi / 2.0))),
        moving(load, at(0.0, 0.3, 1.0 - count * length)),
        solver=solver,
    )
    last = len(cable.links) - 1
    engine.add_joint(joined("near", holder, rope, links=(1, 0), kind=BALL))
    end = at(length)
    engine.add_joint(joined("far", weight, rope, links=(0, last), kind=BALL, X_BJ=end))
    holder.drive.kp[:], holder.drive.kd[:] = 100.0, 10.0
    swing = 0.0
    for k in range(1000):
        holder.drive.q[:] = 0.8 * np.sin(0.04 * k)
        engine.step(10)
        gaps = [
            (pose(rope, last) @ end).p - weight.motion.p[0],
            rope.motion.p[0] - (pose(holder, 1) @ at(y=0.3)).p,
        ]
        assert np.abs(gaps).max() < 1e-4
        swing = max(swing, abs(weight.motion.p[0, 1] - 0.3))
    assert swing > 0.1


@pytest.mark.parametrize("kind", list(ExtraJointType))
def test_solvers_agree(kind):
    """Both give the same motion, which is unique without contacts."""
    ends = []
    for solver in Solver:
        a, b = box("a"), box("b", mass=2.0)
        engine, one, two = world(
            moving(a, at(R=axis_angle_matrix([0, 0, 1], 0.3)), w=np.array([1.0, -2.0, 0.5])),
            moving(b, at(0.3, 0.1, 0.2), v=np.array([0.3, 0.0, -0.2])),
            solver=solver,
        )
        axis = unit_vector(np.array([0.3, 0.5, 0.8]))
        engine.add_joint(joined("j", one, two, kind=kind, axis=axis, X_BJ=at(-0.1)))
        engine.step(500)
        ends.append(np.concatenate([one.motion.p[0], two.motion.p[0], two.motion.w[0]]))
    assert_allclose(ends[0], ends[1], atol=1e-4)  # by iteration


@SOLVERS
@pytest.mark.parametrize("kind", [BALL, HINGE, FIXED])
def test_two_bodies_keep_their_momentum(solver, kind):
    a, b = box("a"), box("b", mass=2.0)
    engine, one, two = world(
        moving(a, w=np.array([1.0, -2.0, 0.5])),
        moving(b, at(0.3), v=np.array([0.3, 0.1, -0.2])),
        solver=solver,
        gravity=(0.0, 0.0, 0.0),
    )
    engine.add_joint(joined("j", one, two, kind=kind, X_BJ=at(-0.15)))
    before = one.motion.v[0] + 2.0 * two.motion.v[0]
    engine.step(300)
    assert_allclose(one.motion.v[0] + 2.0 * two.motion.v[0], before, atol=1e-9)
    gap = (pose(two) @ at(-0.15)).p - (pose(one) @ engine.joints["j"].X_AJ).p
    assert_allclose(gap, 0.0, atol=1e-5)


@SOLVERS
def test_a_saved_world_with_joints_continues_bit_by_bit(solver):
    engine, robot, thing = hand_and_box(solver)
    engine.step(3)
    engine.add_joint(joined("grip", robot, thing, links=(1, 0)))
    engine.add_joint(joined("rail", robot, thing, kind=ExtraJointType.Z, axis=Y))
    robot.drive.q[:] = 0.4
    engine.step(50)
    saved = engine.save()
    engine.step(200)
    end = engine.state.digest()
    engine.remove_joint("grip")  # another set of joints now
    engine.step(10)
    engine.restore(saved)
    assert list(engine.joints) == ["grip", "rail"]
    engine.step(200)
    assert engine.state.digest() == end
    fresh, *_ = hand_and_box(solver)
    fresh.restore(saved)
    fresh.step(200)
    assert fresh.state.digest() == end


def test_a_reset_removes_joints():
    engine, robot, thing = hand_and_box(Solver.WORLD)
    engine.step(100)
    start = engine.state.digest()
    engine.reset()
    engine.add_joint(joined("grip", robot, thing, links=(1, 0)))
    engine.step(100)
    assert engine.state.digest() != start
    engine.reset()
    assert not engine.joints
    engine.step(100)
    assert engine.state.digest() == start


@pytest.mark.parametrize("act", ["remove", "move"])
@pytest.mark.parametrize("which", ["one", "box"])
def test_removing_or_moving_a_body_ends_its_joints(act, which):
    engine, robot, thing = hand_and_box(Solver.WORLD)
    engine.add_joint(joined("grip", robot, thing, links=(1, 0)))
    engine.step(10)
    if act == "remove":
        engine.remove_body(which)
    else:
        body = {"one": fixed(robot.body, at(y=5.0)), "box": moving(thing.body, at(2.0, 0.0, 0.5))}
        engine.move_body(body[which])
    assert not engine.joints
    engine.step(1000)
    if which == "one" or act == "move":
        assert_allclose(thing.motion.p[0, 2], 0.05, atol=1e-3)


def test_a_joint_to_a_static_link_hangs_a_body_on_the_world():
    engine, ground, thing = world(floor(), moving(box(), at(z=2.0)))
    engine.add_joint(joined("hook", thing, ground, kind=BALL, X_BJ=at(0.0, 0.0, 2.0)))
    engine.step(500)
    assert_allclose(thing.motion.p[0], [0.0, 0.0, 2.0], atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bodies": ("box", "box")}, "must connect two bodies"),
        ({"bodies": ("one", "bax")}, "no body 'bax'"),
        ({"links": (1, 7)}, "no link 7"),
        ({"X_AJ": at(np.nan)}, "finite"),
        ({"X_BJ": Pose(2.0 * np.eye(3))}, "not a rotation"),
        ({"axis": np.zeros(3)}, "axis must be finite and not zero"),
        ({"bodies": ("one", "floor"), "links": (0, 0)}, "neither of .* can move"),
        ({"name": "grip"}, "a joint 'grip' already"),
    ],
)
def test_an_impossible_joint_is_refused(change, message):
    engine, robot, thing = hand_and_box(Solver.WORLD)
    engine.add_joint(joined("grip", robot, thing, links=(1, 0)))
    fields = {"name": "new", "type": FIXED, "bodies": ("one", "box"), "links": (1, 0)}
    with pytest.raises(PhysicsError, match=message):
        engine.add_joint(BodyJoint(**fields | change))
    assert list(engine.joints) == ["grip"]
    engine.step(5)


def test_an_unknown_joint_cannot_be_removed():
    engine, *_ = hand_and_box(Solver.WORLD)
    with pytest.raises(KeyError, match="no joint between bodies 'x'"):
        engine.remove_joint("x")


@pytest.mark.parametrize("key", ["type", "links", "frames", "bodies"])
def test_a_spoiled_snapshot_changes_nothing(key):
    engine, robot, thing = hand_and_box(Solver.WORLD)
    engine.add_joint(joined("grip", robot, thing, links=(1, 0)))
    saved = engine.save()
    wrong = np.array([["one", "gone"]]) if key == "bodies" else saved[f"body_joints_{key}"] + 9
    before = engine.state.digest()
    with pytest.raises(PhysicsError):
        engine.restore(saved | {f"body_joints_{key}": wrong})
    assert (engine.state.digest(), list(engine.joints)) == (before, ["grip"])
