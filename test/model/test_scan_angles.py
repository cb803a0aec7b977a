"""The angles at which range sensors look."""

import numpy as np
import pytest
from each_case import all_cases

from hrp_model.devices import pitch_angles, yaw_angles

DEGREE = np.pi / 180.0


@all_cases(
    ("total", "step", "first", "last"),
    [
        (120, 1, -60, 60),
        (270, 0.25, -135, 135),
        (100, 3, -48, 48),
        (0.19, 0.1, 0, 0),
        (0, 1, 0, 0),
        (0, 0, 0, 0),
        (359.9, 1, -179, 179),
    ],
)
def test_yaw_angles_are_multiples_of_the_step_on_both_sides(total, step, first, last):
    angles = yaw_angles(total * DEGREE, step * DEGREE) / DEGREE
    assert angles[0] == pytest.approx(first)
    assert angles[-1] == pytest.approx(last)
    np.testing.assert_allclose(np.diff(angles), step)
    multiples = angles / (step or 1.0)
    np.testing.assert_allclose(multiples, np.round(multiples), atol=1e-9)


@all_cases("step", [90.0, 1.0, 0.25, 1.0 / 3.0, 0.7, 360.0 / 721.0, 180.0, 360.0, 700.0])
@all_cases("total", [360.0, 360.0 - 1e-9, 360.0 + 1e-9, 500.0])
def test_around_a_full_circle_no_direction_is_there_twice(total, step):
    angles = yaw_angles(total * DEGREE, step * DEGREE) / DEGREE
    gap = 360.0 - (angles[-1] - angles[0])  # across the back, from the last ray to the first
    assert gap >= step / 2.0 - 1e-6 or len(angles) == 1
    assert gap <= 2.0 * step
    assert 0.0 in angles


def test_a_full_circle_in_rounded_degrees_begins_at_the_back():
    angles = yaw_angles(6.28319, 0.0174533)
    assert len(angles) == 360
    assert angles[0] == -180 * 0.0174533


@all_cases(
    ("total", "step", "expected"),
    [
        (30, 2, np.arange(-15, 16, 2)),  # sixteen layers, none of them level
        (20, 5, [-10, -5, 0, 5, 10]),
        (10, 4, [-5, -1, 3]),
        (0.5, 1, [-0.25]),
        (0, 0, [0]),
    ],
)
def test_pitch_angles_begin_at_the_lowest(total, step, expected):
    angles = pitch_angles(total * DEGREE, step * DEGREE) / DEGREE
    np.testing.assert_allclose(angles, expected, atol=1e-9)


@all_cases("angles", [yaw_angles, pitch_angles])
@all_cases(
    ("total", "step"),
    [(1.0, 0.0), (1.0, -0.1), (1.0, np.nan), (-1.0, 0.1), (np.inf, 0.1), (np.nan, 0.1), (1, 1e-9)],
)
def test_impossible_scans_are_refused(angles, total, step):
    with pytest.raises(ValueError, match=r"impossible|too fine"):
        angles(total, step)
