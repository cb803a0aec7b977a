"""Transforms between their samples."""

from math import pi

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrp_model.description.frame_tree import Transform, poses_in_world
from hrp_model.rigid import axis_angle_matrix, matrix_quaternion
from hrp_sim.recording import recorded_run
from hrp_sim.recording.recorded_run import TransformTracks, slerp

AXIS = np.array([1.0, 2.0, 2.0]) / 3.0


def turned(angle):
    return matrix_quaternion(axis_angle_matrix(AXIS, angle))


def tracks(*samples, is_static=False):
    """Return tracks of (time, x, angle[, parent]) of the frame "f"."""
    made = TransformTracks()
    for time_ns, x, angle, *parent in samples:
        transform = Transform("f", *(parent or ["world"]), (x, 0.0, 0.0, *turned(angle)))
        made.add(time_ns, transform, is_static=is_static)
    return made


def pose(made, time_ns):
    (frame,) = made.at(time_ns)
    return frame.pose


def test_between_samples_position_and_angle_are_proportional_to_time():
    made = tracks((100, 0.0, 0.2), (200, 1.0, 1.0))
    for passed in (0.0, 0.25, 0.5, 1.0):
        found = pose(made, 100 + round(100 * passed))
        assert_allclose(found.p, [passed, 0.0, 0.0], atol=1e-15)
        expected = axis_angle_matrix(AXIS, 0.2 + 0.8 * passed)
        assert_allclose(found.R, expected, atol=1e-14)


def test_before_the_first_and_after_the_last_sample_nothing_moves():
    made = tracks((100, 1.0, 0.0), (200, 2.0, 1.0))
    assert pose(made, -5).p[0] == 1.0
    assert pose(made, 10**18).p[0] == 2.0


def test_static_transforms_hold_until_the_next_one():
    made = tracks((100, 1.0, 0.0), (200, 2.0, 0.0), is_static=True)
    assert [pose(made, t).p[0] for t in (0, 100, 199, 200)] == [1.0, 1.0, 1.0, 2.0]
    assert made.moving == frozenset()
    assert made.times().tolist() == []


def test_a_new_parent_takes_effect_at_once():
    made = tracks((100, 1.0, 0.0, "a"), (200, 5.0, 0.0, "b"))
    (before,), (after,) = made.at(199), made.at(200)
    assert (before.parent, before.pose.p[0]) == ("a", 1.0)
    assert (after.parent, after.pose.p[0]) == ("b", 5.0)


def test_samples_of_one_time_count_in_their_order():
    made = tracks((100, 1.0, 0.0), (100, 2.0, 0.0), (200, 3.0, 0.0))
    assert pose(made, 100).p[0] == 2.0
    assert pose(made, 150).p[0] == 2.5


def test_slerp_takes_the_shorter_arc():
    a, b = np.array(turned(0.1)), -np.array(turned(0.3))
    middle = slerp(a, b, 0.5)
    expected = np.array(turned(0.2))
    assert abs(middle @ expected) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, pi - 1e-9])
def test_slerp_gives_unit_quaternions_for_any_angle(angle):
    middle = slerp(np.array(turned(0.0)), np.array(turned(angle)), 0.5)
    assert np.linalg.norm(middle) == pytest.approx(1.0, abs=1e-12)


def test_quaternions_of_length_zero_do_not_turn():
    made = TransformTracks()
    for time_ns in (0, 100):
        made.add(time_ns, Transform("f", "w", (0.0,) * 7), is_static=False)
    assert_allclose(pose(made, 50).R, np.eye(3))


def test_of_very_many_samples_every_second_is_dropped(monkeypatch):
    monkeypatch.setattr(recorded_run, "MAX_SAMPLES", 100)
    made = tracks(*((t, float(t), 0.0) for t in range(1000)))
    assert made.stride == 16
    assert len(made.times()) <= 100
    for time_ns in (0, 16, 333, 900):
        assert poses_in_world(made.at(time_ns))["f"].p[0] == pytest.approx(time_ns)
