"""The camera with which films and pages begin: it sees the robot."""

from dataclasses import replace

import numpy as np
import pytest

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.geometry import Box, Mesh, Shape
from hrp_model.rigid import rpy_matrix
from hrp_model.shapes.extents import Extents, first_viewpoint, sphere
from hrp_model.shapes.tessellate import mesh_of

DISTANCE = 4.0
IDENTITY = np.eye(3)


def box_at(size, place):
    T = np.eye(4)
    T[:3, 3] = place
    return Shape(Box(size), T)


def body_of(joint, *shapes):
    link = Link(name="L", parent=None, joint=Joint(type=joint, name="L"), visual=shapes)
    return Body(name="b", links=(link,))


def poses_of(p=(0.0, 0.0, 0.0), R=IDENTITY):
    return np.array([p], float), np.array([R])


def first(*scenery, R=IDENTITY):
    """The viewpoint of a robot at the origin in a scenery, its extents and poses."""
    robot = body_of(JointType.FREE, box_at((0.4, 0.4, 1.0), (0, 0, 0.5)))
    bodies = {"things": body_of(JointType.FIXED, *scenery), "robot": robot}
    poses = {"things": poses_of(), "robot": poses_of(R=R)}
    extents = Extents(bodies)
    points = extents.points(poses)
    outer = extents.outer_walls(poses)
    view = first_viewpoint(extents, poses, points, lambda _: DISTANCE, lambda _: outer)
    return view, sphere(points).center + (view.distance or DISTANCE) * view.backward


FLOOR = box_at((9, 9, 0.1), (0, 0, -0.05))


@pytest.mark.parametrize("yaw", [0.0, 2.0, -1.0])
def test_it_looks_at_the_front_of_the_robot(yaw):
    view, _ = first(FLOOR, R=rpy_matrix(0.0, 0.0, yaw))
    front = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    assert view.distance is None
    assert view.backward @ front > 0.7
    assert view.backward[2] > 0.0


def test_it_looks_past_what_hides_the_robot():
    block = box_at((0.6, 6.0, 2.5), (1.5, 0.0, 1.25))
    _, eye = first(FLOOR, block)
    rays = np.linspace(eye, [0.0, 0.0, 0.5], 200)
    inside = (np.abs(rays - [1.5, 0.0, 1.25]) < [0.3, 3.0, 1.25]).all(axis=1)
    assert not inside.any()


def test_it_is_not_inside_of_anything():
    place = np.array([3.1, 2.2, 1.5])
    _, eye = first(FLOOR, box_at((2.0, 2.0, 3.0), place))
    assert (np.abs(eye - place) > [1.0, 1.0, 1.5]).any()


def test_it_is_inside_of_a_closed_room_whose_walls_do_not_vanish():
    shell = mesh_of(Box((3.0, 3.0, 2.0)))
    room = replace(shell, solid=False)
    T = np.eye(4)
    T[2, 3] = 0.99
    _, eye = first(Shape(room, T))
    assert (np.abs(eye - T[:3, 3]) < [1.5, 1.5, 1.0]).all()


def test_walls_of_a_room_vanish_from_outside_and_boards_do_not():
    walls = [box_at((0.1, 4, 3), (x, 0, 1.5)) for x in (-2, 2)]
    walls += [box_at((4, 0.1, 3), (0, y, 1.5)) for y in (-2, 2)]
    view, _ = first(FLOOR, *walls)
    assert view.distance is None
    robot = body_of(JointType.FREE, box_at((0.4, 0.4, 1.0), (0, 0, 0.5)))
    poses = {"things": poses_of(), "robot": poses_of()}

    def outer(*shapes):
        return Extents({"things": body_of(JointType.FIXED, *shapes), "robot": robot}).outer_walls(
            poses
        )

    inner = box_at((0.1, 2, 3), (0.8, 0, 1.5))
    found = outer(FLOOR, *walls, inner)
    assert found.keys() == {FLOOR, *walls}
    for wall in walls:
        np.testing.assert_allclose(found[wall], wall.T_FG[:3, 3] * [0.5, 0.5, 0.0])
    assert outer(FLOOR, inner) == {}
    assert outer() == {}


def test_damaged_poses_and_shapes_do_not_end_it():
    broken = Shape(Mesh(np.full((3, 3), np.nan), np.array([[0, 1, 2]], np.int32)))
    view, _ = first(broken, R=np.full((3, 3), np.nan))
    assert np.isfinite(view.backward).all()
