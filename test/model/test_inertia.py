"""Mass properties, against sums over clouds of points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrp_model.inertia import (
    MassProperties,
    equivalent_box,
    is_symmetric,
    merge,
    point_inertia,
    symmetric,
    tensor,
)
from hrp_model.rigid import Pose, rpy_matrix


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def random_pose(rng):
    return Pose(rpy_matrix(*rng.uniform(-3.0, 3.0, 3)), rng.uniform(-1.0, 1.0, 3))


def cloud(rng, count=12):
    """Return masses in [kg] and places in [m] of points."""
    return rng.uniform(0.1, 2.0, count), rng.uniform(-1.0, 1.0, (count, 3))


def properties_of(masses, points):
    """Integrate by definition: I = sum m (|r|^2 E - r r^T) about the centre, by components."""
    center = (masses[:, None] * points).sum(axis=0) / masses.sum()
    x, y, z = (points - center).T
    moments = [[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z]]
    moments.append([-x * z, -y * z, x * x + y * y])
    return MassProperties(masses.sum(), center, np.array(moments) @ masses)


def assert_same(a, b):
    assert a.mass == pytest.approx(b.mass, rel=1e-14)
    assert_allclose(a.center_of_mass, b.center_of_mass, atol=1e-13)
    assert_allclose(a.inertia, b.inertia, atol=1e-12)


def test_a_point_has_the_inertia_of_its_distance_from_each_axis():
    assert point_inertia(np.array([1.0, 2.0, 3.0])).tolist() == [
        [13.0, -2.0, -3.0],
        [-2.0, 10.0, -6.0],
        [-3.0, -6.0, 5.0],
    ]


def test_parts_merge_to_what_all_their_points_have_together(rng):
    for _ in range(10):
        clouds = [cloud(rng) for _ in range(4)]
        whole = properties_of(*map(np.concatenate, zip(*clouds, strict=True)))
        assert_same(merge(properties_of(*c) for c in clouds), whole)


def test_points_alone_merge_by_the_parallel_axis_theorem(rng):
    masses, points = cloud(rng)
    alone = [MassProperties(m, p) for m, p in zip(masses, points, strict=True)]
    assert_same(merge(alone), properties_of(masses, points))


def test_the_same_part_in_another_frame_is_made_of_the_moved_points(rng):
    for _ in range(10):
        masses, points = cloud(rng)
        X = random_pose(rng)
        moved = properties_of(masses, points @ X.R.T + X.p)
        assert_same(properties_of(masses, points).expressed_in(X), moved)


def test_changing_frames_composes(rng):
    part, X, Y = properties_of(*cloud(rng)), random_pose(rng), random_pose(rng)
    assert_same(part.expressed_in(X).expressed_in(Y), part.expressed_in(Y @ X))
    assert_same(part.expressed_in(X).expressed_in(X.inverse()), part)


def test_two_half_boxes_make_a_box():
    def box(mass, x, y, z):
        return mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])

    halves = [MassProperties(1.5, np.array([s, 0, 0]), box(1.5, 0.5, 0.4, 0.3)) for s in (0, 0.5)]
    assert_same(merge(halves), MassProperties(3.0, np.array([0.25, 0, 0]), box(3.0, 1.0, 0.4, 0.3)))


def test_what_has_no_mass_keeps_its_inertia_and_stays_at_the_origin():
    weightless = merge([MassProperties(inertia=np.eye(3)), MassProperties(inertia=2 * np.eye(3))])
    assert_same(weightless, MassProperties(0.0, np.zeros(3), 3 * np.eye(3)))
    assert_same(merge([]), MassProperties())


def test_an_inertia_is_written_with_nine_numbers_or_six():
    full = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    assert_allclose(tensor(np.arange(1.0, 7.0)), full)
    assert_allclose(tensor(full.ravel()), full)
    assert tensor(np.ones(8)) is None


def test_rounded_digits_do_not_make_an_inertia_asymmetric():
    nearly = np.eye(3)
    nearly[0, 1] = 1e-7
    assert is_symmetric(nearly)
    assert symmetric(nearly)[1, 0] == 0.5e-7
    nearly[0, 1] = 1e-5
    assert not is_symmetric(nearly)
    assert is_symmetric(np.zeros((3, 3)))


def test_the_equivalent_box_of_a_turned_box_is_that_box():
    edges, mass = np.array([0.3, 0.5, 1.1]), 7.0
    squares = edges**2
    R = rpy_matrix(0.3, -0.8, 1.9)
    inertia = R @ np.diag(mass / 12.0 * (squares.sum() - squares)) @ R.T
    found, R_found = equivalent_box(mass, inertia)
    np.testing.assert_allclose(np.sort(found), edges)
    assert np.linalg.det(R_found) == pytest.approx(1.0)
    squares = found**2
    again = R_found @ np.diag(mass / 12.0 * (squares.sum() - squares)) @ R_found.T
    np.testing.assert_allclose(again, inertia, atol=1e-12)


def test_the_equivalent_box_of_an_impossible_inertia_is_flat():
    edges, _ = equivalent_box(1.0, np.diag([1.0, 1.0, 5.0]))
    assert edges.min() == 0.0
    assert np.isfinite(edges).all()


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_without_a_mass_there_is_no_equivalent_box(mass):
    assert equivalent_box(mass, np.eye(3)) is None
