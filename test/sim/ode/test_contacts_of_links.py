"""Links of many shapes touch like links of one, and no contact is missed."""

import numpy as np
import pytest
from each_case import mostly_slow
from sim.physics.scenes import (
    FREE,
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

from hrp_model.body import Body
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.engine.engine import Placement

UPRIGHT = axis_angle_matrix(X, np.pi / 2.0)  # a model's cylinder lies along Y
SOLE = np.array([0.24, 0.14, 0.03])


def box(length, width, height, **place):
    return placed(Box(np.array([length, width, height])), at(**place))


def tiles(columns=11, rows=2):
    """The sole as boxes side by side, all with the bottom of the sole."""
    x, y, z = SOLE / [columns, rows, 1]
    return [
        box(x, y, z, x=(i - (columns - 1) / 2.0) * x, y=(k - (rows - 1) / 2.0) * y)
        for i in range(columns)
        for k in range(rows)
    ]


def tilted(shapes, torque=6.0, **settings):
    """Return the motion of a heavy body on a sole that is pushed to and fro, over time.

    From 7 N m on, edges of the sole lift.
    """
    body = lone(*shapes, mass=20.0, inertia=np.eye(3) * 2.0, com=(0.01, -0.02, 0.6))
    engine, thing, _ = world(moving(body, at(0.02, 0.01, SOLE[2] / 2.0)), floor(), **settings)
    path, contacts = [], []
    for step in range(1500):
        push = torque * np.sin(step * 0.02) if step < 1257 else 0.0
        thing.wrench.torque[0] = push * (3.0 * Y + X)
        engine.step()
        path.append(np.concatenate([thing.motion.p[0], thing.motion.R[0].ravel()]))
        contacts.append(engine.contacts)
    return np.array(path), contacts


def test_a_sole_of_many_shapes_stands_like_a_sole_of_one():
    one, _ = tilted([box(*SOLE)])
    many, contacts = tilted(tiles())
    assert max(contacts) == 4
    np.testing.assert_allclose(many, one, atol=5e-5)  # rounding grows where points come and go


@pytest.mark.parametrize("shapes", [[box(*SOLE)], tiles()])
def test_a_sole_that_rocks_on_its_edges_comes_back(shapes):
    path, _ = tilted(shapes, torque=8.0)
    assert 2e-4 < np.abs(path - path[0]).max() < 1e-3
    np.testing.assert_allclose(path[-1], path[0], atol=6e-5)


def test_the_order_of_shapes_does_not_matter():
    shapes = tiles()
    forth, _ = tilted(shapes)
    back, _ = tilted([shapes[k] for k in np.random.default_rng(3).permutation(len(shapes))])
    np.testing.assert_allclose(back, forth, atol=1e-6)


@pytest.mark.parametrize("most", [2, 3, 7])
def test_a_pair_of_links_has_no_more_contacts_than_allowed(most):
    _, contacts = tilted(tiles(), max_contacts=most)
    assert max(contacts) <= most


def test_a_mesh_stands_on_a_face_like_the_box_it_shows():
    one, _ = tilted([box(*SOLE)], torque=8.0)
    mesh, contacts = tilted([placed(mesh_of(Box(SOLE)))], torque=8.0)
    assert max(contacts) == 4
    np.testing.assert_allclose(mesh, one, atol=5e-6)  # ODE rounds the depths of boxes differently


def room():
    """A floor and two walls as one link; the corner is at the origin."""
    shapes = [box(2, 2, 1, x=1, y=1, z=-0.5), box(1, 3, 2, x=-0.5), box(3, 1, 2, y=-0.5)]
    return fixed(Body(name="room", links=(root("ROOM", mass=0.0, collision=tuple(shapes)),)))


def test_a_box_in_the_corner_of_a_room_touches_all_three_sides():
    cube = lone(box(0.2, 0.2, 0.2), inertia=box_inertia(1.0, [0.2] * 3))
    engine, thing, _ = world(moving(cube, at(0.1, 0.1, 0.1)), room(), friction=0.3)
    thing.wrench.force[0] = [-20.0, -30.0, 0.0]
    engine.record_contacts = True
    engine.step(1000)
    np.testing.assert_allclose(thing.motion.p[0], 0.1, atol=2e-4)
    np.testing.assert_allclose(thing.motion.R[0], np.eye(3), atol=1e-4)
    points = engine.contact_points()
    assert len(points) == 12
    pushes = np.abs(points.force.sum(axis=0))
    np.testing.assert_allclose(pushes, [20.0, 30.0, G], rtol=1e-3)


@pytest.mark.parametrize("wheel", [Sphere(0.1), Cylinder(0.1, 0.08)])
@pytest.mark.parametrize("com", [(0.0, 0.0, 0.1), (0.35, 0.25, 0.2), (-0.35, 0.1, 0.1)])
def test_a_vehicle_stands_on_wheels_that_are_shapes_of_its_body(wheel, com):
    """The outer ones of six carry it."""
    wheels = [placed(wheel, at(x, y, 0.1)) for x in (-0.4, 0.0, 0.4) for y in (-0.3, 0.3)]
    body = lone(*wheels, mass=10.0, inertia=np.eye(3), com=com)
    engine, thing, _ = world(moving(body, at(z=0.0005)), floor())
    engine.step(2000)
    assert thing.motion.p[0, 2] == pytest.approx(0.0, abs=3e-4)
    assert thing.motion.R[0, 2, 2] == pytest.approx(1.0, abs=1e-6)
    assert np.abs(thing.motion.p[0, :2]).max() < 1e-3
    assert engine.contacts == 4


def test_a_long_beam_lies_on_two_rests_of_one_link():
    rests = (box(0.02, 0.3, 0.4, x=-4.0, z=-0.2), box(0.02, 0.3, 0.4, x=4.0, z=-0.2))
    below = fixed(Body(name="rests", links=(root("RESTS", mass=0.0, collision=rests),)))
    size = [9.0, 0.1, 0.1]
    beam = lone(box(*size), mass=50.0, inertia=box_inertia(50.0, size))
    engine, thing, _ = world(moving(beam, at(z=0.0502)), below)
    engine.record_contacts = True
    engine.step(2000)
    assert np.abs(thing.motion.p[0] - [0.0, 0.0, 0.05]).max() < 3e-4
    np.testing.assert_allclose(thing.motion.R[0], np.eye(3), atol=1e-5)
    points = engine.contact_points()
    assert sorted(np.round(points.position[:, 0]).astype(int)) == [-4, -4, 4, 4]


@pytest.mark.parametrize("parts", [1, 5])
def test_a_roller_of_several_shapes_rolls_on(parts):
    length = 0.5 / parts
    shapes = [
        placed(Cylinder(0.1, length), at(y=(k - (parts - 1) / 2.0) * length)) for k in range(parts)
    ]
    inertia = np.diag([0.02, 0.005, 0.02])
    start = moving(lone(*shapes, inertia=inertia), at(z=0.0999), v=0.5 * X, w=5.0 * Y)
    engine, thing, _ = world(start, floor())
    contacts = []
    for _ in range(1000):
        engine.step()
        contacts.append(engine.contacts)
    assert max(contacts) <= 4
    assert thing.motion.v[0, 0] == pytest.approx(0.5, abs=5e-3)
    assert abs(thing.motion.p[0, 1]) < 1e-3
    assert thing.motion.R[0, 1, 1] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("slope", [0.3, 1.2])
def test_a_ball_in_a_groove_touches_both_sides(slope):
    sides = []
    for sign in (-1.0, 1.0):
        R = axis_angle_matrix(X, sign * slope)
        center = R @ np.array([0.0, sign * 0.5, -0.05])
        sides.append(placed(Box(np.array([2.0, 1.0, 0.1])), at(*center, R=R)))
    groove = fixed(Body(name="groove", links=(root("GROOVE", mass=0.0, collision=tuple(sides)),)))
    ball = lone(placed(Sphere(0.1)), inertia=np.eye(3) * 0.004)
    engine, thing, _ = world(moving(ball, at(z=0.1 / np.cos(slope))), groove)
    engine.record_contacts = True
    engine.step(1000)
    np.testing.assert_allclose(thing.motion.p[0], [0.0, 0.0, 0.1 / np.cos(slope)], atol=5e-4)
    points = engine.contact_points()
    assert len(points) == 2
    np.testing.assert_allclose(np.abs(points.force[:, 2]), G / 2.0, rtol=1e-3)


KINDS = (
    [box(0.2, 0.15, 0.1)],
    [placed(Sphere(0.1))],
    [placed(Cylinder(0.08, 0.2), at(R=UPRIGHT))],
    [placed(Capsule(0.06, 0.15))],
    [placed(mesh_of(Cylinder(0.1, 0.1)))],
    [placed(Sphere(0.07), at(0.1)), box(0.1, 0.1, 0.2), placed(Sphere(0.05), at(-0.1))],
    [placed(mesh_of(Box(np.array([0.25, 0.1, 0.1])))), placed(Capsule(0.05, 0.1), at(y=0.1))],
)


def swarm(seed):
    """Loose links of one body that fly through each other's ways above a floor."""
    rng = np.random.default_rng(seed)
    links = [root(free=True, collision=KINDS[0])]
    for k in range(14):
        place = at(*rng.uniform(-0.5, 0.5, 2), rng.uniform(0.2, 1.2))
        shapes = tuple(KINDS[k % len(KINDS)])
        links.append(child(f"L{k}", "BASE", FREE, X_PL=place, collision=shapes))
    return moving(Body(name="swarm", links=tuple(links)), at(z=1.5))


def pushed(engine, body, step):
    rng = np.random.default_rng(step)
    body.wrench.force[:] = rng.uniform(-60.0, 60.0, body.wrench.force.shape)
    body.wrench.torque[:] = rng.uniform(-1.0, 1.0, body.wrench.force.shape)
    engine.step(10)


def poses(body):
    return np.concatenate([body.motion.p.ravel(), body.motion.R.ravel()])


@pytest.mark.parametrize("seed", mostly_slow([1, 2], 1))
def test_what_was_far_apart_before_does_not_matter(seed):
    """A world that was just made finds the same contacts, to the last bit."""
    engine, body, _ = world(swarm(seed), floor())
    contacts = 0
    for step in range(0, 800, 10):
        if step % 40 == 0:
            other, same, _ = world(swarm(seed), floor())
            other.restore(engine.save())
        pushed(engine, body, step)
        pushed(other, same, step)
        np.testing.assert_array_equal(poses(same), poses(body))
        contacts += engine.contacts
    assert contacts > 80


def test_links_that_are_moved_into_each_other_touch_at_once():
    """However far they were apart, and however long."""
    links = (
        root(),
        child("A", "BASE", REVOLUTE, Z, collision=(box(0.5, 0.05, 0.05, x=0.5),)),
        child("B", "BASE", REVOLUTE, Z, collision=(box(0.5, 0.05, 0.05, x=0.5),)),
    )
    scissors = Body(name="scissors", links=links)
    engine, thing = world(fixed(scissors, q=np.array([0.0, 2.0])), gravity=(0, 0, 0))
    engine.step(1000)
    assert engine.contacts == 0
    for angle in (0.05, 1.0, -0.05):
        engine.move_body(
            Placement(
                name="scissors", body=scissors, X_WL=at(), fixed=True, q=np.array([0.0, angle])
            )
        )
        engine.step()
        assert (engine.contacts > 0) == (abs(angle) < 0.1)
    assert thing.motion.p.shape == (3, 3)


def channel():
    """A mesh with a groove, in which shapes are not outside its bounds."""
    sides = [mesh_of(Box(np.array([0.3, 0.03, 0.2]))) for _ in range(2)]
    corners = [m.vertices + y * Y for m, y in zip(sides, (-0.2, 0.2), strict=True)]
    triangles = np.vstack([sides[0].triangles, sides[1].triangles + len(corners[0])])
    return placed(Mesh(np.vstack(corners), triangles))


@pytest.mark.parametrize("kind", range(7))
def test_links_of_a_body_touch_where_two_bodies_do(kind):
    """Also as they slide by each other; ODE alone looks for contacts of two bodies."""
    rng = np.random.default_rng(kind)
    other = (*KINDS, [channel()])[kind if kind < 4 else kind + 1]
    touched = 0
    for _ in range(6):
        axis = rng.normal(size=3)
        R = axis_angle_matrix(axis / np.linalg.norm(axis), rng.uniform(0.0, np.pi))
        X_PL = at(*rng.uniform(-0.25, 0.25, 3), R=R)
        links = (
            root(),
            child("A", "BASE", PRISMATIC, X, collision=(channel(),)),
            child("B", "BASE", PRISMATIC, X, X_PL=X_PL, collision=tuple(other)),
        )
        body = Body(name="one", links=links)
        one, _ = world(fixed(body, q=np.array([0.0, 2.0])), gravity=(0, 0, 0))
        loose = lone(*other, name="B")
        still = moving(lone(channel()))
        two, *_ = world(still, moving(loose, at(5.0)), gravity=(0, 0, 0))
        one.record_contacts = two.record_contacts = True
        for q in np.cumsum(rng.normal(0.0, 0.03, 40)):
            one.move_body(fixed(body, q=np.array([0.0, q])))
            X_WL = Pose(X_PL.R, X_PL.p + q * X_PL.R @ X)
            two.move_body(moving(loose, X_WL))
            two.move_body(still)
            one.step()
            two.step()
            found, expected = (e.contact_points().depth for e in (one, two))
            assert (len(found) > 0) == (len(expected) > 0)
            deepest = (d.max(initial=0.0) for d in (found, expected))
            np.testing.assert_allclose(*deepest, atol=1e-9)
            touched += len(found) > 0
    assert 20 < touched < 220


def test_a_world_without_bodies_or_shapes_can_be_stepped():
    engine = world()[0]
    engine.step(3)
    thing = engine.add_body(moving(lone()))
    engine.step(10)
    engine.remove_body("thing")
    engine.step(3)
    assert engine.contacts == 0
    assert thing.motion.v[0, 2] == pytest.approx(-G * 0.01)
