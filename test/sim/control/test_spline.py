"""Curves through points, against closed forms and scipy's polynomials."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sim.control.bench import NS

from hrp_sim.control.spline import Spline
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint

interpolate = pytest.importorskip("scipy.interpolate")

TIMES = np.array([0.0, 0.4, 0.5, 2.0, 2.125])
JOINTS = 3


def numbers(seed=0):
    """Positions, velocities, accelerations and efforts at random, shape (4, points, joints)."""
    return np.random.default_rng(seed).normal(size=(4, len(TIMES), JOINTS))


def curve_through(points, start_ns=0):
    names = [f"J{j}" for j in range(len(points[0].positions))]
    return Spline.through(JointTrajectory(names, points).table, start_ns)


def spline(values, orders, start_ns=0):
    """Return the curve of ``orders`` rows of values; effort is the last of four."""
    points = []
    for k, time in enumerate(TIMES):
        rows = [values[r, k].tolist() if r in orders else () for r in range(4)]
        points.append(TrajectoryPoint(round(time * NS), *rows))
    return curve_through(points, start_ns)


def sampled(curve, times, start_ns=0):
    return np.array([curve.at(start_ns + round(t * NS)) for t in times])


def inner_times(count=200):
    rng = np.random.default_rng(7)
    return np.sort(np.concatenate([rng.uniform(0.0, TIMES[-1] - 1e-6, count), TIMES[:-1]]))


def test_positions_alone_are_joined_by_straight_lines():
    values, times = numbers(), inner_times()
    found = sampled(spline(values, {0}), times)
    for j in range(JOINTS):
        assert_allclose(found[:, 0, j], np.interp(times, TIMES, values[0, :, j]), atol=1e-8)
    slopes = np.diff(values[0], axis=0) / np.diff(TIMES)[:, None]
    rounded = np.round(times * NS) / NS
    assert_allclose(found[:, 1], slopes[np.searchsorted(TIMES, rounded, "right") - 1], rtol=1e-12)
    assert not found[:, 2:].any()


@pytest.mark.parametrize("orders", [{0, 1}, {0, 1, 2}])
def test_what_derivatives_are_given_for_has_the_polynomial_that_scipy_finds(orders):
    values = numbers(1)
    times = np.round(inner_times() * NS) / NS
    found = sampled(spline(values, orders), times)
    rows = [[values[r, k] for r in sorted(orders)] for k in range(len(TIMES))]
    peer = interpolate.BPoly.from_derivatives(TIMES, rows)
    for derivative in range(3):
        expected = peer.derivative(derivative)(times) if derivative else peer(times)
        scale = np.abs(expected).max()
        assert_allclose(found[:, derivative] / scale, expected / scale, atol=1e-12)


@pytest.mark.parametrize(("orders", "smooth"), [({0}, 1), ({0, 1}, 2), ({0, 1, 2}, 3)])
def test_points_are_passed_as_they_were_given(orders, smooth):
    values = numbers(2)
    curve = spline(values, orders)
    for k, time_ns in enumerate(curve.times_ns[:-1].tolist()):
        assert_allclose(curve.at(time_ns)[:smooth], values[:smooth, k], atol=1e-12)
        assert_allclose(curve.at(time_ns - 1 if k else 0)[:smooth], values[:smooth, k], atol=1e-2)


def test_derivatives_are_those_of_the_positions():
    curve = spline(numbers(3), {0, 1, 2})
    h = 1e-5
    for t in inner_times(40)[1:]:
        if np.abs(TIMES - t).min() < 2 * h:
            continue
        before, now, after = sampled(curve, [t - h, t, t + h])
        assert_allclose(now[1], (after[0] - before[0]) / (2 * h), rtol=1e-4, atol=1e-4)
        assert_allclose(now[2], (after[1] - before[1]) / (2 * h), rtol=1e-4, atol=1e-3)


def test_effort_goes_in_straight_lines_where_both_ends_have_it():
    values, times = numbers(4), inner_times()
    found = sampled(spline(values, {0, 1, 3}), times)
    for j in range(JOINTS):
        assert_allclose(found[:, 3, j], np.interp(times, TIMES, values[3, :, j]), atol=1e-8)
    assert not sampled(spline(values, {0, 1}), times)[:, 3].any()


def test_between_unlike_points_the_lesser_of_both_counts():
    points = [
        TrajectoryPoint(0, [0.0], [1.0], [0.0]),
        TrajectoryPoint(NS, [1.0], [1.0]),
        TrajectoryPoint(2 * NS, [4.0]),
    ]
    curve = curve_through(points)
    assert_allclose(curve.at(NS // 2), [[0.5], [1.0], [0.0], [0.0]], atol=1e-15)
    assert_allclose(curve.at(3 * NS // 2), [[2.5], [3.0], [0.0], [0.0]], atol=1e-15)


def test_minimum_jerk_is_the_quintic_between_two_rests():
    """Flash and Hogan: x = 10 s^3 - 15 s^4 + 6 s^5."""
    rest = [[0.0]] * 2
    curve = curve_through([TrajectoryPoint(0, [2.0], *rest), TrajectoryPoint(4 * NS, [5.0], *rest)])
    s = np.linspace(0.0, 1.0, 41)[:-1]
    expected = 2.0 + 3.0 * (10 * s**3 - 15 * s**4 + 6 * s**5)
    assert_allclose(sampled(curve, 4.0 * s)[:, 0, 0], expected, rtol=1e-14)


def test_it_stands_before_its_start_and_after_its_end():
    values = numbers(5)
    curve = spline(values, {0, 1, 2, 3}, start_ns=5 * NS)
    for time_ns, k in ((4 * NS, 0), (curve.end_ns, -1), (curve.end_ns + NS, -1)):
        found = curve.at(time_ns)
        assert_array_equal(found[[0, 3]], values[[0, 3], k])
        assert not found[1:3].any()


def test_from_a_state_it_leads_to_the_points_that_are_left():
    values = numbers(6)
    state = np.random.default_rng(8).normal(size=(4, JOINTS))
    whole = spline(values, {0, 1, 2, 3})
    curve = whole.from_state(NS // 2 + 1, state)
    assert curve.times_ns.tolist() == [NS // 2 + 1, 2 * NS, whole.end_ns]
    assert_allclose(curve.at(NS // 2 + 1), state, rtol=1e-15)
    assert_allclose(curve.at(2 * NS), values[:, 3], atol=1e-12)
    onto = whole.from_state(NS // 2, state)  # a point is due at this very time
    assert_array_equal(onto.at(NS // 2)[0], values[0, 2])
    assert whole.from_state(whole.end_ns, state).times_ns.tolist() == [whole.end_ns]


def test_the_shortest_of_spans_and_the_greatest_of_numbers_stay_finite():
    high = [1e11]
    points = [
        TrajectoryPoint(0, [-1e11], high, high, high),
        TrajectoryPoint(1, high, high, high, high),
        TrajectoryPoint(10**18, [-1e11], high, high, high),
    ]
    curve = curve_through(points)
    for time_ns in (0, 1, 2, 10**9, 5 * 10**17, 10**18 - 1, 10**18):
        assert np.isfinite(curve.at(time_ns)).all()
