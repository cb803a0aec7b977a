"""What engines tell of contacts, against closed forms."""

import numpy as np
import pytest
from sim.physics.scenes import (
    G,
    X,
    Y,
    Z,
    at,
    box_inertia,
    child,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model.body import Body, JointType
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim.engine.engine import PhysicsError, Placement, Solver

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
SIZE = np.array([0.4, 0.3, 0.2])
LAYER = 1e-4  # [m], the depth that contacts keep


def watched(world, *placements, **settings):
    engine, *_ = world(*placements, **settings)
    engine.record_contacts = True
    return engine


def box(mass=2.5, name="box"):
    return lone(placed(Box(SIZE)), name=name, mass=mass, inertia=box_inertia(mass, SIZE))


def resting(z=0.1 - LAYER, **options):
    return moving(box(**options), at(z=z))


@SOLVERS
def test_four_corners_carry_the_weight_of_a_box(world, solver):
    exact = solver is Solver.WORLD
    engine = watched(world, resting(), floor(), solver=solver)
    engine.step(500)
    told = engine.contact_points()
    assert told.time_ns == 500_000_000
    assert set(told.bodies) == {("box", "floor")}
    np.testing.assert_allclose(
        told.force.sum(axis=0), 2.5 * G * Z, atol=(1e-6 if exact else 1e-4) * 2.5 * G
    )
    np.testing.assert_allclose(told.normal, np.tile(Z, (4, 1)), atol=1e-9)
    corners = {tuple(np.sign(p[:2])) for p in told.position}
    assert corners == {(1, 1), (1, -1), (-1, 1), (-1, -1)}
    np.testing.assert_allclose(np.abs(told.position[:, :2]), np.tile(SIZE[:2] / 2, (4, 1)))
    # In a flat stance at rest all corners carry the same, and nothing turns.
    moment = np.cross(told.position, told.force).sum(axis=0)
    np.testing.assert_allclose(moment, 0.0, atol=1e-5 if exact else 1e-2)


@SOLVERS
def test_forces_do_not_depend_on_which_body_came_first(world, solver):
    for placements in ((resting(), floor()), (floor(), resting())):
        engine = watched(world, *placements, solver=solver)
        engine.step(300)
        told = engine.contact_points()
        first, second = told.bodies[0]
        upwards = 1.0 if first == "box" else -1.0
        np.testing.assert_allclose(upwards * told.normal, np.tile(Z, (4, 1)), atol=1e-9)
        np.testing.assert_allclose(told.force_on("box"), 2.5 * G * Z, atol=1e-4)
        np.testing.assert_allclose(told.force_on("floor"), -2.5 * G * Z, atol=1e-4)
        assert {first, second} == {"box", "floor"}


def test_a_box_that_slides_is_braked_by_mu_times_its_weight(world):
    mu, heading = 0.3, np.array([0.8, 0.6, 0.0])
    start = moving(box(), at(z=0.1 - LAYER), v=2.0 * heading)
    engine = watched(world, start, floor(), friction=mu)
    engine.step(100)
    force = engine.contact_points().force_on("box")
    weight = 2.5 * G
    assert force @ Z == pytest.approx(weight, rel=1e-6)
    # Friction turns with the slip of each corner, which hardly turns with the box.
    np.testing.assert_allclose(force - (force @ Z) * Z, -mu * weight * heading, rtol=1e-3)


def test_a_slope_pushes_as_its_angle_says(world):
    angle = 0.3
    R = axis_angle_matrix(Y, angle)
    start = moving(box(), Pose(R, R @ [0.0, 0.0, 0.1 - LAYER]))
    engine = watched(world, start, floor(R=R), friction=0.5)
    engine.step(300)
    told = engine.contact_points()
    normal, downhill = R @ Z, R @ X
    push, friction = told.force @ normal, told.force @ downhill
    weight = 2.5 * G
    assert push.sum() == pytest.approx(weight * np.cos(angle), rel=1e-6)
    assert friction.sum() == pytest.approx(-weight * np.sin(angle), rel=1e-6)
    assert (push >= 0.0).all()
    np.testing.assert_allclose(told.normal, np.tile(normal, (4, 1)), atol=1e-9)


def test_boxes_on_each_other_exert_opposite_forces(world):
    upper = moving(box(1.0, "upper"), at(z=0.3 - 2 * LAYER))
    engine = watched(world, upper, resting(mass=4.0, z=0.1 - LAYER), floor())
    engine.step(500)
    told = engine.contact_points()
    np.testing.assert_allclose(told.force_on("upper"), 1.0 * G * Z, atol=1e-5)
    np.testing.assert_allclose(told.force_on("box"), 4.0 * G * Z, atol=1e-5)
    np.testing.assert_allclose(told.force_on("floor"), -5.0 * G * Z, atol=1e-5)


def test_links_are_told_apart_and_their_forces_too(world):
    leg = (placed(Sphere(0.1), at(z=-0.5)),)
    sides = [
        child(n, "BASE", JointType.FIXED, X_PL=at(y=y), mass=m, collision=leg)
        for n, y, m in (("L", 0.3, 1.0), ("R", -0.3, 1.0), ("B", 0.0, 2.0))
    ]
    rear = child("T", "BASE", JointType.FIXED, X_PL=at(x=-0.4), mass=1e-3, collision=leg)
    body = Body(name="stool", links=(root(free=True), *sides, rear))
    engine = watched(world, moving(body, at(z=0.6 - LAYER)), floor())
    engine.step(300)
    told = engine.contact_points()
    feet = {body.links[i].name for i in told.links[:, 0]}
    assert feet >= {"L", "R"}
    assert "BASE" not in feet
    on_each = [told.force_on("stool", body.link_index(name)) for name in ("L", "R", "B", "T")]
    np.testing.assert_allclose(sum(on_each), 5.001 * G * Z, atol=1e-5)
    np.testing.assert_allclose(sum(on_each), told.force_on("stool"), atol=1e-12)
    np.testing.assert_allclose(on_each[0], on_each[1], atol=1e-5)


def test_an_impact_exerts_what_stops_it(world):
    ball = lone(placed(Sphere(0.1)), name="ball", mass=2.0)
    engine = watched(world, moving(ball, at(z=0.1 - LAYER), v=-1.0 * Z), floor())
    simulated = engine.state.bodies["ball"]
    engine.step()
    impulse = engine.contact_points().force_on("ball") * 1e-3
    np.testing.assert_allclose(impulse, 2.0 * (simulated.motion.v[0] + Z + G * 1e-3 * Z), atol=1e-9)


@SOLVERS
def test_telling_changes_no_bit_of_the_motion(world, solver):
    def states(tells):
        engine, *_ = world(solver=solver)
        rng = np.random.default_rng(5)
        for k in range(4):
            R = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), rng.uniform(0.0, 3.0))
            engine.add_body(moving(box(name=f"box{k}"), at(*rng.uniform(-0.1, 0.1, 2), 0.3 + k, R)))
        engine.add_body(floor())
        engine.record_contacts = tells
        engine.step(1200)
        return [s.motion.p.tobytes() + s.motion.R.tobytes() for s in engine.state.bodies.values()]

    assert states(tells=True) == states(tells=False)


def test_nothing_is_told_where_no_step_led(world):
    start = resting()
    engine = watched(world, start, floor())
    saved = engine.save()
    engine.step(5)
    assert len(engine.contact_points()) == 4
    engine.move_body(Placement(name="box", body=start.body, X_WL=at(z=5.0)))
    assert len(engine.contact_points()) == 0
    engine.restore(saved)
    assert len(engine.contact_points()) == 0
    engine.step()
    assert len(engine.contact_points()) == 4
    engine.reset()
    engine.step(0)
    assert len(engine.contact_points()) == 0
    engine.step()
    engine.remove_body("box")
    engine.step()
    assert len(engine.contact_points()) == engine.contacts == 0


def test_nothing_is_told_that_nobody_asked_for(world):
    engine = watched(world, resting(), floor())
    engine.record_contacts = False
    engine.step()
    assert engine.contacts == 4
    assert len(engine.contact_points()) == 0
    engine.record_contacts = True
    assert len(engine.contact_points()) == 0
    engine.step()
    assert len(engine.contact_points()) == 4


def test_a_step_that_fails_tells_nothing_and_the_next_one_does(world):
    engine = watched(world, resting(), floor())
    engine.step()
    simulated = engine.state.bodies["box"]
    simulated.wrench.force[0] = 1e11
    with pytest.raises(PhysicsError):
        engine.step(100)
    assert len(engine.contact_points()) == 0
    simulated.wrench.force[0] = 0.0
    engine.reset()
    engine.step()
    assert len(engine.contact_points()) == 4


def test_what_is_no_room_for_contacts_is_refused(world):
    engine = watched(world, resting(), floor())
    engine.step()
    with pytest.raises(ValueError, match="16 elements"):
        engine._world.read_contacts(np.empty((3, 4), dtype=np.int32), np.empty((4, 10)))
    with pytest.raises(TypeError, match="float64"):
        engine._world.read_contacts(np.empty((4, 4), dtype=np.int32), np.empty((4, 10), np.float32))
    with pytest.raises(TypeError, match="deleted"):
        del engine._world.record_contacts
