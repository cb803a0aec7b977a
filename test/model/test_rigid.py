"""Poses and rotations, by the axioms they obey."""

from itertools import product
from math import cos, pi, sin

import numpy as np
import pytest
from each_case import all_cases
from numpy.testing import assert_allclose

from hrp_model.rigid import (
    Pose,
    axis_angle_matrix,
    axis_by_name,
    frozen_array,
    is_rotation,
    matrix_quaternion,
    matrix_rpy,
    quaternion_matrix,
    rpy_matrix,
    skew,
    unit_vector,
)

EXACT = {"rtol": 0.0, "atol": 1e-14}
IDENTITY = Pose()


def random_rotation(rng):
    """Return a rotation made without the module under test: Q of a random matrix."""
    Q, upper = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(upper))
    return Q * np.linalg.det(Q)


def random_pose(rng):
    return Pose(random_rotation(rng), rng.uniform(-2.0, 2.0, 3))


def assert_same(a, b):
    assert_allclose(a.matrix(), b.matrix(), **EXACT)


def matrix_of(quaternion):
    """Return the matrix of a quaternion (x, y, z, w): v -> q v q*."""
    x, y, z, w = quaternion
    u = np.array([x, y, z])
    return (w * w - u @ u) * np.eye(3) + 2.0 * np.outer(u, u) + 2.0 * w * skew(u)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_poses_form_a_group(rng):
    for _ in range(50):
        a, b, c = (random_pose(rng) for _ in range(3))
        assert_same((a @ b) @ c, a @ (b @ c))
        assert_same(a @ IDENTITY, a)
        assert_same(IDENTITY @ a, a)
        assert_same(a @ a.inverse(), IDENTITY)
        assert_same(a.inverse() @ a, IDENTITY)
        assert_same((a @ b).inverse(), b.inverse() @ a.inverse())


def test_composing_poses_is_multiplying_homogeneous_matrices(rng):
    for _ in range(20):
        a, b = random_pose(rng), random_pose(rng)
        assert_allclose((a @ b).matrix(), a.matrix() @ b.matrix(), **EXACT)
        assert_allclose(a.inverse().matrix(), np.linalg.inv(a.matrix()), atol=1e-13)


def test_poses_do_not_commute():
    turn, move = Pose(rpy_matrix(0, 0, pi / 2)), Pose(p=[1, 0, 0])
    assert_allclose((turn @ move).p, [0, 1, 0], **EXACT)
    assert_allclose((move @ turn).p, [1, 0, 0], **EXACT)


def test_a_pose_cannot_be_changed_from_outside():
    p = np.array([1.0, 2.0, 3.0])
    pose = Pose(p=p)
    p[0] = 9.0
    assert pose.p[0] == 1.0
    for array in (pose.p, pose.R, IDENTITY.p, IDENTITY.R):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


@pytest.mark.parametrize(("R", "p"), [(np.eye(4), np.zeros(3)), (np.eye(3), np.zeros((1, 3)))])
def test_a_pose_refuses_other_shapes(R, p):
    with pytest.raises(ValueError, match="must have shape"):
        Pose(R, p)


def test_frozen_arrays_are_shared_and_in_rows_whatever_they_were_made_from():
    first = frozen_array([[1, 2], [3, 4]], (2, 2), "x")
    assert frozen_array(first, (2, 2), "x") is first
    columns = frozen_array(first.T, (2, 2), "x")
    assert columns.flags.c_contiguous
    assert columns.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    view = np.arange(6.0)[::2]
    view.setflags(write=False)
    frozen = frozen_array(view, (3,), "x")
    view.base[0] = 7.0
    assert frozen.tolist() == [0.0, 2.0, 4.0]


def test_skew_is_the_matrix_of_the_cross_product(rng):
    for _ in range(10):
        a, b = rng.normal(size=(2, 3))
        assert_allclose(skew(a) @ b, np.cross(a, b), **EXACT)


def test_axis_angle_keeps_the_axis_turns_by_the_angle_and_adds_up(rng):
    for _ in range(20):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        s, t = rng.uniform(-pi, pi, 2)
        R = axis_angle_matrix(axis, t)
        assert_allclose(R @ R.T, np.eye(3), **EXACT)
        assert_allclose(R @ axis, axis, **EXACT)
        across = np.cross(axis, [0.3, -0.5, 0.8])
        assert_allclose(R @ across, cos(t) * across + sin(t) * np.cross(axis, across), **EXACT)
        assert_allclose(axis_angle_matrix(axis, s) @ R, axis_angle_matrix(axis, s + t), atol=1e-14)


def test_roll_pitch_yaw_are_turns_about_fixed_axes_in_that_order(rng):
    for roll, pitch, yaw in rng.uniform(-pi, pi, (20, 3)):
        x, y, z = np.eye(3)
        turns = axis_angle_matrix(z, yaw) @ axis_angle_matrix(y, pitch) @ axis_angle_matrix(x, roll)
        assert_allclose(rpy_matrix(roll, pitch, yaw), turns, **EXACT)


def test_roll_pitch_yaw_come_back_where_they_are_unique(rng):
    for rpy in rng.uniform([-pi, -pi / 2, -pi], [pi, pi / 2, pi], (50, 3)):
        assert_allclose(matrix_rpy(rpy_matrix(*rpy)), rpy, atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-4])
def test_near_gimbal_lock_the_rotation_keeps_its_digits(off, sign, rng):
    for roll, yaw in rng.uniform(-pi, pi, (20, 2)):
        R = rpy_matrix(roll, sign * (pi / 2 - off), yaw)
        assert_allclose(rpy_matrix(*matrix_rpy(R)), R, rtol=0.0, atol=2e-12)


def test_in_gimbal_lock_yaw_is_zero():
    R = np.array([[0.0, sin(0.4), cos(0.4)], [0.0, cos(0.4), -sin(0.4)], [-1.0, 0.0, 0.0]])
    assert matrix_rpy(R) == pytest.approx((0.4, pi / 2, 0.0))


def test_quaternions_give_the_rotation_back(rng):
    for _ in range(100):
        R = random_rotation(rng)
        q = matrix_quaternion(R)
        assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
        assert q[3] >= 0.0
        assert_allclose(matrix_of(q), R, **EXACT)


def test_half_turns_have_quaternions_with_all_their_digits(rng):
    coordinate_axes = [np.array(a, dtype=float) for a in product((-1, 0, 1), repeat=3) if any(a)]
    for axis in [*coordinate_axes, *rng.normal(size=(50, 3))]:
        axis /= np.linalg.norm(axis)
        for angle in (pi, pi - 1e-12, pi - 1e-8, -pi + 1e-8):
            R = axis_angle_matrix(axis, angle)
            q = matrix_quaternion(R)
            assert_allclose(matrix_of(q), R, atol=2e-15)
            assert_allclose(np.abs(q[:3]), np.abs(axis), atol=1e-8)


def test_the_quaternion_of_a_quarter_turn_is_known():
    half = 0.5**0.5
    assert matrix_quaternion(rpy_matrix(0, 0, pi / 2)) == pytest.approx((0, 0, half, half))
    assert matrix_quaternion(np.eye(3)) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("size", [1e-300, 1.0, 0.3, 1e200, 1.7e308])
def test_a_quaternion_of_any_length_is_a_rotation(size, rng):
    assert np.array_equal(quaternion_matrix((0.0, 0.0, 0.0, 0.0)), np.eye(3))
    for _ in range(50):
        R = random_rotation(rng)
        q = np.array(matrix_quaternion(R)) * size
        assert_allclose(quaternion_matrix(q), R, **EXACT)
        assert_allclose(quaternion_matrix((-q).tolist()), R, **EXACT)


@all_cases("size", [5e-324, 1e-200, 1.0, 1e200, 1.7e308])
def test_a_unit_vector_has_length_one_whatever_the_size(size):
    assert_allclose(unit_vector([0.0, -size, size]), [0.0, -(0.5**0.5), 0.5**0.5], **EXACT)
    assert unit_vector([0.0, 0.0, 0.0]) is None


def test_a_unit_vector_stays_as_it_is():
    for vector in ([0.0, 0.6, 0.8], [1.0, 0.0, 0.0]):
        assert unit_vector(vector).tolist() == vector


def test_axes_have_names():
    assert axis_by_name("X").tolist() == [1, 0, 0]
    assert axis_by_name(" -y ").tolist() == [0, -1, 0]
    assert axis_by_name("+Z").tolist() == [0, 0, 1]
    for word in ("W", "", "-", "XY", "X-"):
        assert axis_by_name(word) is None


def test_a_rotation_is_told_from_other_matrices():
    rng = np.random.default_rng(5)
    R = random_rotation(rng)
    assert is_rotation(R)
    assert not is_rotation(-R)
    assert not is_rotation(R * 1.001)
    assert not is_rotation(R + 1e-3 * rng.normal(size=(3, 3)))
