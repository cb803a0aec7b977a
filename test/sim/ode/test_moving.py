"""Bodies that jump: where their links are then, what the shapes and joints do, and the way back."""

import numpy as np
import pytest
from sim.ode.menagerie import drive, placements, slider_crank, top, walker
from sim.physics.scenes import REVOLUTE, Z, at, fixed, floor, lone, moving, one_joint, placed, world

from hrp_model.geometry import Box, Sphere
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Pose, rpy_matrix
from hrp_sim.engine.engine import PhysicsError

THERE = at(0.3, -2.0, 1.7, R=rpy_matrix(0.5, -1.0, 2.0))


def fk(placement):
    state = BodyState(placement.body)
    state.q[:], state.dq[:] = placement.q, placement.dq
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.v[0], state.w[0] = placement.v, placement.w
    state.calc_forward_kinematics(velocity=True)
    return state


def random_jump(rng, placed_first):
    n = len(placed_first.body.moving_links)
    still = placed_first.fixed
    return {
        "name": placed_first.name,
        "body": placed_first.body,
        "fixed": still,
        "X_WL": at(*rng.uniform(-3.0, 3.0, 3), R=rpy_matrix(*rng.uniform(-3.0, 3.0, 3))),
        "q": rng.uniform(-9.0, 9.0, n),
        "dq": rng.uniform(-2.0, 2.0, n),
        "v": np.zeros(3) if still else rng.uniform(-1.0, 1.0, 3),
        "w": np.zeros(3) if still else rng.uniform(-1.0, 1.0, 3),
    }


@pytest.mark.parametrize("make", [walker, top, slider_crank])
def test_the_links_are_where_forward_kinematics_says(make):
    rng = np.random.default_rng(5)
    first = (moving if make is walker else fixed)(make(), THERE)
    engine, robot = world(first)
    engine.step(20)
    for _ in range(5):
        placement = type(first)(**random_jump(rng, first))
        engine.move_body(placement)
        expected = fk(placement)
        for name in ("p", "R", "v", "w", "q", "dq"):
            actual = getattr(robot.motion, name)
            np.testing.assert_allclose(actual, getattr(expected, name), atol=1e-12, err_msg=name)
        for name in ("a", "alpha", "force", "torque", "effort"):
            assert not np.any(getattr(robot.motion, name))


@pytest.mark.parametrize("make", [top, slider_crank])
def test_a_fixed_robot_swings_elsewhere_as_if_it_had_always_been_there(make):
    """Also its loops and shapes: to the last bit, since it is made of the same numbers."""
    body = make()
    q = np.full(len(body.moving_links), 0.0)
    start = {"q": q, "dq": q + (3.0 if make is top else 0.0)}
    ball = moving(lone(placed(Sphere(0.1))), THERE @ at(0.7, 0.2, 0.5), name="ball")
    engine, robot, _ = world(fixed(body, **start), ball)
    other, native, _ = world(fixed(body, THERE, **start), ball)
    engine.step(50)
    engine.restore(engine.save())
    engine.reset()
    engine.move_body(fixed(body, at(9.0), **start))
    engine.move_body(fixed(body, THERE, **start))
    for simulated in (robot, native):
        simulated.drive.effort[:] = 0.2
    for _ in range(4):
        engine.step(100)
        other.step(100)
        for name in ("p", "R", "v", "w", "q", "dq"):
            np.testing.assert_allclose(
                getattr(robot.motion, name), getattr(native.motion, name), atol=1e-9, err_msg=name
            )
    if make is slider_crank:
        end = native.motion.R[3] @ [0.5, 0, 0] + native.motion.p[3]
        assert abs((THERE.inverse().R @ end + THERE.inverse().p)[1]) < 1e-3


def test_the_shapes_of_static_bodies_move_along():
    engine, ground, ball = world(floor(), moving(lone(placed(Sphere(0.1))), at(z=0.1)))
    down, start = np.array([[0.0, 0.0, -1.0]]), np.array([[5.0, 5.0, 5.0]])
    assert engine.cast_rays(start, down, 20.0)[0] == pytest.approx(5.0)
    engine.step(100)
    assert ball.motion.p[0, 2] == pytest.approx(0.1, abs=1e-3)
    engine.move_body(fixed(ground.body, at(z=-1.0)))
    assert engine.cast_rays(start, down, 20.0)[0] == pytest.approx(6.0)
    np.testing.assert_allclose(ground.motion.p[0], [0.0, 0.0, -1.0])
    engine.step(1000)
    assert ball.motion.p[0, 2] == pytest.approx(-0.9, abs=1e-3)
    engine.reset()
    assert engine.cast_rays(start, down, 20.0)[0] == 5.0
    engine.step(100)
    assert ball.motion.p[0, 2] == pytest.approx(0.1, abs=1e-3)


def test_a_shape_keeps_its_place_on_its_static_link():
    """A wall on a root that is turned by a quarter turn stands across its old direction."""
    wall = placed(Box(np.array([0.2, 4.0, 4.0])), at(3.0))
    body = one_joint(REVOLUTE, Z)
    body = type(body)(name="one", links=(lone(wall).links[0], *body.links[1:]))
    engine, _ = world(fixed(body))
    quarter = Pose(rpy_matrix(0.0, 0.0, np.pi / 2), np.array([0.0, 1.0, 0.0]))
    engine.move_body(fixed(body, quarter, q=np.zeros(1)))
    origin = np.zeros((2, 3))
    distances = engine.cast_rays(origin, np.array([[1.0, 0, 0], [0, 1.0, 0]]), 50.0)
    np.testing.assert_allclose(distances, [np.inf, 3.9])


def test_a_hinge_may_jump_to_any_turn():
    engine, wheel = world(fixed(top()), gravity=(0, 0, 0))
    engine.move_body(fixed(wheel.body, q=np.array([40.0]), dq=np.array([1.0])))
    engine.step(1000)
    assert wheel.motion.q[0] == pytest.approx(41.0, abs=0.01)
    engine.reset()
    assert wheel.motion.q[0] == 0.0


def test_a_reset_leads_back_to_the_first_placements_to_the_last_bit():
    first = placements()
    engine, *_ = world(*first.values())
    other, *_ = world(*first.values())
    rng = np.random.default_rng(6)
    for placement in first.values():
        engine.move_body(type(placement)(**random_jump(rng, placement)))
    engine.step(30)
    engine.reset()
    for each in (engine, other):
        drive(each)
        each.step(300)
    for name, simulated in engine.state.bodies.items():
        native = other.state.bodies[name].motion
        for field in ("p", "R", "v", "w", "q", "dq", "effort", "force"):
            np.testing.assert_array_equal(getattr(simulated.motion, field), getattr(native, field))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X_WL": at(np.nan)}, "its initial position must be below"),
        ({"X_WL": Pose(np.diag([1.0, 1.0, 2.0]))}, "not a finite rigid transform"),
        ({"q": np.array([np.nan])}, "link 'WHEEL'"),
        ({"q": np.zeros(3)}, r"q must be of shape \(1,\), not \(3,\)"),
        ({"fixed": False}, "is fixed and cannot become free"),
        ({"body": top()}, "a placement of another model"),
    ],
)
def test_a_jump_that_cannot_be_changes_nothing(changes, words):
    body = top()
    engine, _ = world(fixed(body, dq=np.array([1.0])))
    engine.step(10)
    before = engine.save()
    wanted = {"name": "top", "body": body, "fixed": True, "X_WL": at(1.0)} | changes
    with pytest.raises(PhysicsError, match=words):
        engine.move_body(type(fixed(body))(**wanted))
    after = engine.save()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    with pytest.raises(KeyError):
        engine.move_body(moving(lone(), name="nobody"))
