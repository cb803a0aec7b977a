"""The distance of convex hulls, against closed forms and an independent solver."""

import numpy as np
import pytest

from hrp_model.rigid import rpy_matrix
from hrp_sim.simulator.convex_distance import hull_distance

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


@pytest.mark.parametrize(
    ("offset", "distance"),
    [
        ((3, 0, 0), 1.0),
        ((3, 3, 0), np.sqrt(2)),
        ((3, -4, 3), np.sqrt(1 + 4 + 1)),
        ((2.0, 0, 0), 0.0),
        ((1.5, 1.5, 1.5), 0.0),
        ((0, 0, 0), 0.0),
        ((2.001, 0, 0), 0.001),
    ],
)
def test_cubes_are_as_far_apart_as_their_faces_edges_and_corners(offset, distance):
    assert hull_distance(CUBE, CUBE + offset) == pytest.approx(distance, abs=1e-7)


def test_a_point_is_its_own_hull():
    assert hull_distance(np.array([[0.0, 0.0, 5.0]]), CUBE) == pytest.approx(4.0)
    assert hull_distance(np.array([[0.2, 0.3, 0.4]]), CUBE) == 0.0


def test_flat_and_doubled_points_do_no_harm():
    square = CUBE[CUBE[:, 2] > 0] * [1, 1, 0]
    assert hull_distance(np.vstack([square, square]), CUBE + np.array([0, 0, 4])) == pytest.approx(
        3.0
    )


def test_random_hulls_are_as_far_apart_as_quadratic_programming_says():
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(7)
    for _ in range(25):
        a = rng.normal(size=(rng.integers(1, 9), 3))
        b = rng.normal(size=(rng.integers(1, 9), 3)) @ rpy_matrix(*rng.normal(size=3)).T
        b += rng.normal(size=3) * 3

        def square(weights, a=a, b=b):
            gap = weights[: len(a)] @ a - weights[len(a) :] @ b
            return gap @ gap

        n = len(a), len(b)
        ones = [np.r_[np.ones(n[0]), np.zeros(n[1])], np.r_[np.zeros(n[0]), np.ones(n[1])]]
        found = optimize.minimize(
            square,
            np.r_[np.full(n[0], 1 / n[0]), np.full(n[1], 1 / n[1])],
            bounds=[(0, 1)] * sum(n),
            constraints=[{"type": "eq", "fun": lambda w, o=o: o @ w - 1} for o in ones],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert hull_distance(a, b) == pytest.approx(np.sqrt(max(found.fun, 0.0)), abs=2e-4)
