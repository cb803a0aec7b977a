"""Polygons with holes as polygons without, strips and fans as triangles."""

import numpy as np
import pytest
from each_case import all_cases

from hrp_model.shapes.triangulate import (
    fan_corners,
    polygon_with_holes,
    polygons_to_triangles,
    strip_corners,
)


def ring(radius, count, center, start=0.0, turn=1):
    angles = start + turn * 2.0 * np.pi * np.arange(count) / count
    x, y = center
    return np.c_[x + radius * np.cos(angles), y + radius * np.sin(angles), np.zeros(count)]


def flat_area(loop):
    x, y = loop[:, 0], loop[:, 1]
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2.0


def triangulated(loops):
    points = np.concatenate(loops)
    return points, polygons_to_triangles(points, polygon_with_holes(loops))[0]


@all_cases("seed", range(8))
def test_holes_are_cut_out(seed):
    rng = np.random.default_rng(seed)
    outline = ring(10.0, int(rng.integers(6, 12)), (0, 0))
    count = int(rng.integers(1, 6))
    centers = [p[:2] for p in ring(5.0, count, (0, 0), rng.uniform(0, 6))]
    turns = rng.choice([-1, 1], count)
    holes = [
        ring(1.5, int(rng.integers(3, 9)), center, rng.uniform(0, 6), turn)
        for center, turn in zip(centers, turns, strict=True)
    ]
    expected = flat_area(outline) - sum(map(flat_area, holes))
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    points, triangles = triangulated([loop @ R.T for loop in (outline, *holes)])
    corners = points[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(areas, axis=1).sum() / 2.0 == pytest.approx(expected)
    normal = areas.sum(axis=0)
    assert (areas @ normal >= -1e-9 * np.linalg.norm(normal) ** 2).all()


def test_a_hole_in_a_concave_outline_is_cut_out():
    outline = np.array(
        [(0, 0, 0), (9, 0, 0), (9, 9, 0), (6, 9, 0), (6, 3, 0), (3, 3, 0), (3, 9, 0), (0, 9, 0)],
        float,
    )
    holes = [ring(0.5, 4, (7.5, 8.0)), ring(0.5, 4, (1.5, 8.0))]
    points, triangles = triangulated([outline, *holes])
    corners = points[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    assert areas.sum() / 2.0 == pytest.approx(81.0 - 18.0 - 2.0 * 0.5)
    assert (areas >= -1e-9).all()


def test_too_many_holes_are_filled():
    outline = np.array([(-1, -1, 0), (20, -1, 0), (20, 20, 0), (-1, 20, 0)], float)
    holes = [ring(0.1, 4, (x, y)) for x in range(19) for y in range(19)]
    assert polygon_with_holes([outline, *holes]).tolist() == [0, 1, 2, 3]
    count = 100
    _, triangles = triangulated([outline, *holes[:count]])
    assert len(triangles) == 4 + 4 * count + 2 * count - 2


def test_loops_that_are_no_polygons_are_no_holes():
    outline = ring(1.0, 6, (0, 0))
    assert polygon_with_holes([outline, outline[:2]]).tolist() == list(range(6))
    assert polygon_with_holes([outline[:2], outline]).tolist() == [0, 1]


def test_strips_alternate_and_fans_share_their_first_corner():
    assert strip_corners(5).tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4]]
    assert fan_corners(5).tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]
    for count in range(3):
        assert strip_corners(count).shape == fan_corners(count).shape == (0, 3)
