"""Boxes around shapes, and the order in which shapes hide each other."""

import numpy as np
import pytest
from sim.sensors.handmade import random_pose, random_rotation

from hrp_model.shapes.measure import OrientedBox, box_around
from hrp_sim.render.scene import MAX_COMPARED, back_to_front


def corners(box):
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    return box.center + (signs * box.half) @ box.axes.T


def hit_at(box, ray):
    """Return where a ray from the origin enters a box, as a multiple of it; inf if it does not."""
    with np.errstate(divide="ignore"):
        low, high = (
            (side * box.half + box.axes.T @ box.center) / (box.axes.T @ ray) for side in (-1, 1)
        )
    enters, leaves = np.minimum(low, high).max(), np.maximum(low, high).min()
    return enters if 0.0 < enters < leaves else np.inf


def cells(rng, count):
    """Return flat and long boxes in different cells of an oblique grid around the eye."""
    X = random_pose(rng)
    places = rng.permutation(5**3)
    for place in places[places != 62][:count]:  # the eye may be in the middle one
        middle = np.array(np.unravel_index(place, (5, 5, 5))) - 2.0
        low, high = middle - rng.uniform(0.3, 0.5, 3), middle + rng.uniform(0.3, 0.5, 3)
        half = (high - low) / 2.0
        half[rng.integers(3)] *= 0.1
        yield OrientedBox(X.R @ ((low + high) / 2.0), X.R, half)


@pytest.mark.parametrize("seed", range(5))
def test_along_every_ray_the_farther_is_drawn_before_the_nearer(seed):
    rng = np.random.default_rng(seed)
    boxes = list(cells(rng, 40))
    order = back_to_front(boxes)
    assert sorted(order) == list(range(40))
    crossed = 0
    for box in boxes * 8:
        ray = box.center + box.axes @ (box.half * rng.uniform(-1.0, 1.0, 3))
        distances = np.array([hit_at(boxes[i], ray) for i in order])
        distances = distances[np.isfinite(distances)]
        crossed += len(distances) > 1
        assert (np.diff(distances) < 0.0).all()
    assert crossed > 20


def test_a_pane_hides_what_is_behind_it_wherever_their_middles_are():
    pane = OrientedBox(np.array([0.0, 40.0, -3.0]), np.eye(3), np.array([50.0, 50.0, 0.0]))
    behind = OrientedBox(np.array([0.0, 0.0, -4.0]), np.eye(3), np.full(3, 0.5))
    before = OrientedBox(np.array([0.0, 0.0, -2.0]), np.eye(3), np.full(3, 0.5))
    boxes = {"pane": pane, "behind": behind, "before": before}
    for names in (("pane", "behind", "before"), ("before", "pane", "behind")):
        found = [names[i] for i in back_to_front([boxes[name] for name in names])]
        assert found == ["behind", "pane", "before"]


def test_what_nothing_keeps_apart_goes_by_its_distance():
    def ring(angle):  # three long boxes, each over the next and under the one before
        c, s = np.cos(angle), np.sin(angle)
        axes = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return OrientedBox(axes @ [0.0, 1.0, 0.0] - [0, 0, 5], axes, np.array([4.0, 0.2, 1.0]))

    cycle = [ring(a) for a in (0.0, 2.1, 4.2)]
    assert sorted(back_to_front(cycle)) == [0, 1, 2]
    many = [
        OrientedBox(np.array([0.0, 0.0, -float(i)]), np.eye(3), np.full(3, 2.0))
        for i in range(MAX_COMPARED + 1)
    ]
    assert back_to_front(many) == list(range(MAX_COMPARED, -1, -1))
    assert back_to_front([]) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_box_holds_all_points_and_fits_what_is_flat_or_was_turned(seed):
    rng = np.random.default_rng(seed)
    turn = random_rotation(rng)
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T * [1.0, 1.0, 1.5]
    flat = rng.uniform(-1.0, 1.0, (20, 3)) * [1.0, 1.0, 0.0]
    for points, A, volume in ((cube @ turn.T, turn * 2.0, 12.0), (flat @ turn.T, np.eye(3), 0.0)):
        points = points + rng.uniform(-3.0, 3.0, 3)
        box = box_around(points, A)
        inside = np.abs((points - box.center) @ box.axes)
        assert (inside <= box.half + 1e-9).all()
        assert 8.0 * np.prod(box.half) == pytest.approx(volume, abs=1e-9)
        X = random_pose(rng)
        moved = box.moved(np.column_stack([X.R, X.p]))
        np.testing.assert_allclose(corners(moved), corners(box) @ X.R.T + X.p, atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("at", "size"), [(1.0, 0.0), (0.0, 1e200), (0.0, 1e-200)])
def test_a_single_point_has_a_box_and_so_has_what_is_huge_or_tiny(at, size):
    points = at + size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    box = box_around(points, np.zeros((3, 3)))
    assert box.center.tolist() == [at + size / 2.0] * 3
    assert box.half.tolist() == [size / 2.0] * 3
