"""The room is what its documentation says, so that scans and images can be judged by it."""

from itertools import combinations

import numpy as np
import pytest
from paths import MODELS

from hrp_model import load_body
from hrp_model.geometry import Box, Cylinder, Sphere

SCANNER = np.array([0.12, 0.0, 0.95])
CAMERA = np.array([0.12, 0.0, 1.30])
FOCAL = 120.0 / np.tan(np.radians(30.0))  # [pixel]: 240 rows across 60 degrees


@pytest.fixture(scope="module")
def room():
    body = load_body(MODELS / "room.body")
    assert body.is_static
    (link,) = body.links
    return link.collision


def the(room, kind):
    """Return the one thing of this kind to look at, walls and floor left aside."""
    (found,) = (s for s in room if isinstance(s.geometry, kind) and not is_wall(s))
    return found


def is_wall(shape):
    return isinstance(shape.geometry, Box) and shape.geometry.size.max() > 3.0


def nearest(room, origin, direction):
    """Return the distance along a ray to the nearest shape, in [m]."""
    return min(
        distance(s.geometry, *(into(s, v, w) for v, w in ((origin, 1.0), (direction, 0.0))))
        for s in room
    )


def into(shape, vector, w):
    """Return a point (w = 1) or direction (w = 0) in the shape's own frame."""
    return (np.linalg.inv(shape.T_FG) @ [*vector, w])[:3]


def distance(geometry, o, d):
    """Return the distance to a primitive from outside, inf without a hit."""
    if isinstance(geometry, Sphere):
        return quadratic(d @ d, o @ d, o @ o - geometry.radius**2)
    if isinstance(geometry, Cylinder):  # the side alone: level rays meet no cap
        o, d = o[[0, 2]], d[[0, 2]]
        return quadratic(d @ d, o @ d, o @ o - geometry.radius**2)
    d = np.where(d == 0.0, 1e-300, d)
    near, far = np.sort([(-geometry.size / 2 - o) / d, (geometry.size / 2 - o) / d], axis=0)
    return near.max() if 0.0 < near.max() <= far.min() else np.inf


def quadratic(a, b, c):
    """Return the lesser root of a t^2 + 2 b t + c, inf when there is none ahead."""
    discriminant = b * b - a * c
    if discriminant < 0.0 or b > 0.0:
        return np.inf
    return (-b - np.sqrt(discriminant)) / a


def bearing(degrees):
    """Return the level direction at an angle counter-clockwise from x."""
    angle = np.radians(degrees)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


@pytest.mark.parametrize(("degrees", "expected"), [(0, 2.88), (90, 2.0), (-90, 1.5), (180, 2.62)])
def test_the_scanner_is_this_far_from_the_walls(room, degrees, expected):
    np.testing.assert_allclose(nearest(room, SCANNER, bearing(degrees)), expected, atol=1e-12)


def test_no_two_sides_are_equally_far():
    sides = (2.88, 2.0, 1.5, 2.62)
    assert min(abs(a - b) for a, b in combinations(sides, 2)) > 0.2


def test_the_scan_meets_the_green_cylinder_on_the_right_and_not_the_red_box(room):
    expected = np.hypot(1.78, 0.8) - 0.2
    degrees = np.degrees(np.arctan2(-0.8, 1.78))
    np.testing.assert_allclose(nearest(room, SCANNER, bearing(degrees)), expected, atol=1e-12)
    assert (round(degrees, 1), round(expected, 2)) == (-24.2, 1.75)
    box = the(room, Box)
    assert box.T_FG[2, 3] + box.geometry.size[2] / 2.0 < SCANNER[2] - 0.1


def pixel(p):
    """Return (column, row) of a point in the humanoid's camera, which faces x."""
    forward, left, up = p - CAMERA
    return 159.5 - FOCAL * left / forward, 119.5 - FOCAL * up / forward


def test_the_camera_sees_red_left_green_right_and_blue_above(room):
    red, green, blue = (the(room, kind) for kind in (Box, Cylinder, Sphere))
    for shape, channel in ((red, 0), (green, 1), (blue, 2)):
        assert np.argmax(shape.material.diffuse) == channel
        column, row = pixel(shape.T_FG[:3, 3])
        assert 20.0 < column < 300.0
        assert 20.0 < row < 220.0
    assert pixel(red.T_FG[:3, 3])[0] < 130.0
    assert pixel(green.T_FG[:3, 3])[0] > 190.0
    assert pixel(blue.T_FG[:3, 3])[1] < 90.0
    assert pixel(red.T_FG[:3, 3])[1] > 150.0


def test_walls_differ_in_colour(room):
    colours = [np.array(s.material.diffuse) for s in room if is_wall(s)]
    assert len(colours) == 5  # the floor with them
    assert min(np.abs(a - b).max() for a, b in combinations(colours, 2)) > 0.15


def test_the_floors_of_room_and_floor_end_at_zero(room):
    (floor,) = load_body(MODELS / "floor.body").root.collision
    lowest = min(room, key=lambda s: s.T_FG[2, 3])
    for shape in (floor, lowest):
        np.testing.assert_allclose(shape.T_FG[2, 3] + shape.geometry.size[2] / 2.0, 0.0, atol=1e-12)
