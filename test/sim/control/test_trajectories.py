"""Trajectories that a controller follows, on joints that do what they are asked."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sim.control.bench import BODY, FAST, INITIAL, NS, STEP, STEP_NS, A, B, Bench, C

from hrp_model import Range
from hrp_sim.control import LIMP, CancelTrajectory, ControlMode, TrajectoryRun
from hrp_sim.control import TrajectoryStatus as Status
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint


def ramp(*names, to=1.0, seconds=1.0, start_ns=None):
    """Straight to one place."""
    point = TrajectoryPoint(round(seconds * NS), [to] * len(names))
    return JointTrajectory(names, [point], start_ns)


def smooth(*names, to=1.0, seconds=1.0, start_ns=None):
    """To one place, where the joints stand without acceleration."""
    zero = [0.0] * len(names)
    point = TrajectoryPoint(round(seconds * NS), [to] * len(names), zero, zero)
    return JointTrajectory(names, [point], start_ns)


def through(name, *points, start_ns=None):
    """Through (seconds, position) in straight lines."""
    return JointTrajectory(
        [name], [TrajectoryPoint(round(t * NS), [q]) for t, q in points], start_ns
    )


@pytest.fixture
def bench():
    return Bench(follows=True)


def started(bench, trajectory):
    run = TrajectoryRun(trajectory)
    bench.give(run)
    return run


def asked(bench, joint, steps):
    """Positions that a joint is asked for, step by step."""
    found = []
    for _ in range(steps):
        bench.run()
        found.append(bench.drive.q[joint])
    return np.array(found)


def test_joints_go_straight_to_a_position_and_stay(bench):
    run = started(bench, ramp("A", "C"))
    bench.run(250)
    assert_allclose(bench.drive.q, [0.1 + 0.9 * 0.25, 0.2, 0.3 + 0.7 * 0.25], rtol=1e-12)
    assert_allclose(bench.drive.dq, [0.9, 0.0, 0.7])
    assert run.status is Status.RUNNING
    bench.run(750)
    assert run.status is Status.SUCCEEDED
    bench.run(100)
    assert_allclose(bench.drive.q, [1.0, 0.2, 1.0])
    assert not bench.drive.dq.any()


def test_where_the_last_point_has_a_speed_the_joint_stops_there_too(bench):
    """Who streams sends such points, each to be replaced before its end."""
    point = TrajectoryPoint(NS // 10, [0.2], [1.0])
    run = started(bench, JointTrajectory(["A"], [point]))
    bench.run(99)
    assert bench.drive.dq[A] == pytest.approx(1.0, abs=0.05)
    bench.run(100)
    assert run.status is Status.SUCCEEDED
    assert (bench.drive.q[A], bench.drive.dq[A]) == (pytest.approx(0.2), 0.0)


def test_points_are_passed_at_their_times(bench):
    run = started(bench, through("A", (0.2, 1.0), (0.5, 1.0), (0.8, -1.0)))
    expected = np.interp(STEP * np.arange(1, 1001), [0.0, 0.2, 0.5, 0.8], [0.1, 1.0, 1.0, -1.0])
    assert_allclose(asked(bench, A, 1000), expected, atol=1e-12)
    assert (run.status, run.message) == (Status.SUCCEEDED, "")


def test_a_smooth_one_begins_with_the_speed_that_the_joint_is_asked_for(bench):
    started(bench, ramp("A", to=2.1, seconds=2.0))  # 1 rad/s
    bench.run(500)
    started(bench, smooth("A", to=2.0))
    q = np.concatenate([[0.6], asked(bench, A, 1000)])
    speed = np.diff(q) / STEP
    assert speed[0] == pytest.approx(1.0, abs=1e-4)
    assert np.abs(np.diff(speed)).max() < 0.02
    assert q[-1] == pytest.approx(2.0)
    assert speed[-1] == pytest.approx(0.0, abs=1e-4)


def test_a_quintic_one_goes_on_with_the_acceleration_of_the_one_before(bench):
    started(bench, smooth("A", to=2.0))
    bench.run(300)
    started(bench, smooth("A", to=-1.0))
    speed = np.diff(asked(bench, A, 12)) / STEP
    # With s = 0.3 of 1 s: the minimum jerk of 1.9 rad has 1.9 (60 s - 180 s^2 + 120 s^3) / s^2.
    expected = 1.9 * (60 * 0.3 - 180 * 0.09 + 120 * 0.027)
    # A millisecond later; without that acceleration it would begin from zero.
    assert_allclose(np.diff(speed)[0] / STEP, expected, rtol=0.1)


def test_from_limp_it_begins_where_the_joint_is():
    bench = Bench(LIMP)
    bench.motion.q[:] = [0.5, 0.6, 0.7]
    started(bench, ramp("A", to=1.0))
    bench.run(1)
    assert bench.drive.q[A] == pytest.approx(0.5 + 0.5 * STEP)
    assert bench.drive.kp[A] > 0.0
    assert bench.drive.kp[B] == 0.0


def test_from_a_hold_it_begins_where_the_joint_is_aimed_at_and_not_where_it_sags():
    bench = Bench()
    bench.motion.q[A] = 0.05
    started(bench, ramp("A", to=1.1))
    bench.run(1)
    assert bench.drive.q[A] == pytest.approx(0.1 + STEP)


def test_one_in_the_future_waits_and_leaves_the_joint_to_others_until_then(bench):
    run = started(bench, ramp("A", to=1.0, seconds=0.1, start_ns=300 * STEP_NS))
    started(bench, ramp("A", to=0.6, seconds=1.0))
    # The one that starts first was sent last, so what was to come is off.
    assert run.status is Status.PREEMPTED
    bench.give(ramp("A", to=0.1, seconds=0.1))
    bench.run(200)
    run = started(bench, ramp("A", to=1.1, seconds=0.1, start_ns=300 * STEP_NS))
    bench.run(100)
    assert run.status is Status.WAITING
    assert bench.drive.q[A] == pytest.approx(0.1)
    bench.run(50)
    assert bench.drive.q[A] == pytest.approx(0.6)
    assert run.progress.elapsed_ns == 50 * STEP_NS


def test_the_present_one_goes_on_until_one_in_the_future_starts(bench):
    first = started(bench, ramp("A", to=1.1))
    second = started(bench, ramp("A", to=0.1, seconds=0.5, start_ns=500 * STEP_NS))
    assert_allclose(
        asked(bench, A, 1000),
        np.interp(STEP * np.arange(1, 1001), [0, 0.5, 1.0], [0.1, 0.6, 0.1]),
        atol=1e-12,
    )
    assert (first.status, second.status) == (Status.PREEMPTED, Status.SUCCEEDED)
    assert "joint 'A'" in first.message


def test_of_a_start_in_the_past_the_next_points_are_reached_in_time(bench):
    bench.run(500)
    run = started(bench, through("A", (0.1, 9.0), (0.6, 1.1), (0.8, 0.0), start_ns=STEP_NS))
    # 0.499 of 0.6 s are over: the first point is left out.
    times = STEP * np.arange(501, 801)
    expected = np.interp(times, [0.5, 0.601, 0.801], [0.1, 1.1, 0.0])
    assert_allclose(asked(bench, A, 300), expected, atol=1e-12)
    assert run.progress.index == 2
    bench.run(1)
    assert run.status is Status.SUCCEEDED


def test_zero_as_start_means_now(bench):
    bench.run(100)
    run = started(bench, ramp("A", start_ns=0))
    bench.run(1)
    assert run.progress.elapsed_ns == STEP_NS


def test_a_new_one_takes_the_joints_that_it_names_and_the_others_go_on(bench):
    first = started(bench, ramp("A", "C", to=1.0))
    bench.run(500)
    second = started(bench, ramp("C", to=0.0, seconds=0.25))
    assert first.status is Status.RUNNING  # commands count from the next step on
    bench.run(1)
    assert (first.status, second.status) == (Status.PREEMPTED, Status.RUNNING)
    bench.run(499)
    assert_allclose(bench.drive.q, [1.0, 0.2, 0.0], atol=1e-12)
    assert second.status is Status.SUCCEEDED
    bench.command("A", velocity=[0.1])  # nothing of the first is left to mind
    bench.run(10)
    assert bench.drive.kp[A] == 0.0


def test_trajectories_of_different_joints_run_side_by_side(bench):
    runs = [started(bench, ramp("A")), started(bench, ramp("C", to=2.0))]
    bench.run(1000)
    assert [run.status for run in runs] == [Status.SUCCEEDED] * 2
    assert_allclose(bench.drive.q, [1.0, 0.2, 2.0])


@pytest.mark.parametrize("kind", ["position", "velocity", "effort"])
def test_a_single_command_takes_its_joint(bench, kind):
    run = started(bench, ramp("A", "C"))
    bench.run(10)
    bench.command("A", **{kind: [0.5]})
    assert run.status is Status.PREEMPTED
    assert run.message == "another command took over joint 'A'"
    bench.run(990)
    assert bench.drive.q[C] == pytest.approx(1.0)
    assert (bench.drive.kp[A] > 0.0) == (kind == "position")


def test_a_command_of_nan_takes_nothing(bench):
    run = started(bench, ramp("A"))
    bench.run(10)
    bench.command("A", position=[np.nan])
    bench.run(990)
    assert run.status is Status.SUCCEEDED


def test_without_points_the_joints_stop_and_hold(bench):
    run = started(bench, ramp("A", "C"))
    bench.run(500)
    stop = started(bench, JointTrajectory(["A"], []))
    assert (run.status, stop.status) == (Status.PREEMPTED, Status.SUCCEEDED)
    bench.run(250)
    assert bench.drive.q[A] == pytest.approx(0.55)
    assert bench.drive.dq[A] == 0.0
    assert bench.drive.q[C] == pytest.approx(0.3 + 0.7 * 0.75)
    started(bench, JointTrajectory([], []))
    bench.run(250)
    assert bench.drive.q[C] == pytest.approx(0.3 + 0.7 * 0.75)
    assert not bench.drive.dq.any()


def test_a_joint_that_is_pushed_by_effort_holds_where_it_is_when_told_to_stop(bench):
    bench.command("A", effort=[3.0])
    bench.motion.q[A] = 0.77
    bench.give(JointTrajectory(["A"], []))
    assert (bench.drive.q[A], bench.drive.effort[A]) == (0.77, 0.0)
    assert bench.drive.kp[A] > 0.0


def test_cancel_lets_the_joints_hold(bench):
    run, other = started(bench, ramp("A")), started(bench, ramp("C"))
    bench.run(500)
    bench.give(CancelTrajectory(run))
    bench.run(500)
    assert (run.status, other.status) == (Status.CANCELED, Status.SUCCEEDED)
    assert bench.drive.q[A] == pytest.approx(0.55)
    assert bench.drive.dq[A] == 0.0
    bench.give(CancelTrajectory(run))
    assert run.status is Status.CANCELED


def test_one_that_was_canceled_on_its_way_never_starts(bench):
    run = TrajectoryRun(ramp("A"))
    bench.give(CancelTrajectory(run))
    bench.give(run)
    bench.run(10)
    assert run.status is Status.CANCELED
    assert_allclose(bench.drive.q, INITIAL)


def test_effort_is_added_on_the_way_and_kept_at_the_end(bench):
    points = [
        TrajectoryPoint(NS // 2, [0.1], [0.0], (), [4.0]),
        TrajectoryPoint(NS, [0.1], [0.0], (), [2.0]),
    ]
    bench.give(JointTrajectory(["A"], points))
    bench.run(250)
    assert bench.drive.effort[A] == pytest.approx(2.0)
    bench.run(500)
    assert bench.drive.effort[A] == pytest.approx(3.0)
    bench.run(300)
    assert bench.drive.effort[A] == 2.0


def test_a_first_point_that_is_due_at_once_is_approached_at_the_speed_of_the_joint(bench):
    bench.give(through("B", (0.0, 1.2), (2.0, 1.2)))
    found = asked(bench, B, 600)
    expected = np.minimum(1.2, 0.2 + FAST * STEP * np.arange(1, 601))
    assert_allclose(found, expected, atol=1e-12)


def test_what_is_still_approached_at_the_end_is_approached_on(bench):
    run = started(bench, through("B", (0.0, 1.2)))
    bench.run(1)
    assert run.status is Status.SUCCEEDED  # nobody asked for a tolerance
    bench.run(99)
    assert bench.drive.q[B] == pytest.approx(0.2 + FAST * 0.1)
    bench.run(1000)
    assert bench.drive.q[B] == pytest.approx(1.2)


def with_range(joint, allowed):
    """The robot of the bench with another range of one joint."""
    link = BODY.moving_links[joint]
    limited = replace(link, joint=replace(link.joint, position=allowed))
    return replace(BODY, links=tuple(limited if x is link else x for x in BODY.links))


def test_no_joint_is_asked_to_leave_its_range():
    bench = Bench(body=with_range(A, Range(-1.0, 0.5)), follows=True)
    bench.give(ramp("A", to=2.0))
    assert asked(bench, A, 1200).max() == 0.5


def test_a_joint_that_turns_without_limits_takes_the_nearest_of_equal_angles():
    bench = Bench(q=np.array([20.0, 0.2, 0.3]), follows=True)
    bench.give(through("A", (1.0, 1.0), (2.0, 2.0)))
    turns = 6.0 * pi  # 1 + 6 pi is next to 20
    bench.run(1000)
    assert bench.drive.q[A] == pytest.approx(1.0 + turns)
    bench.run(1000)
    assert bench.drive.q[A] == pytest.approx(2.0 + turns)
    bench.give(through("C", (1.0, 20.0)))  # a slider does not turn
    bench.run(1000)
    assert bench.drive.q[C] == pytest.approx(20.0)


def test_a_joint_with_limits_goes_all_the_way():
    body = with_range(A, Range(-30.0, 30.0))
    bench = Bench(body=body, q=np.array([20.0, 0.2, 0.3]), follows=True)
    bench.give(ramp("A", to=1.0))
    bench.run(1000)
    assert bench.drive.q[A] == pytest.approx(1.0)


@pytest.mark.parametrize("end", ["reset", "hold", "close"])
def test_when_its_world_goes_elsewhere_it_is_aborted(bench, end):
    run = started(bench, ramp("A"))
    waiting = started(bench, ramp("C", start_ns=NS))
    bench.run(10)
    getattr(bench.controller, end)(*([INITIAL] if end == "hold" else []))
    assert (run.status, waiting.status) == (Status.ABORTED, Status.ABORTED)
    assert run.message
    bench.run(2000)
    if end != "close":
        assert_allclose(bench.drive.q, INITIAL)


def test_gains_that_change_on_the_way_count_at_once(bench):
    bench.give(ramp("A"))
    bench.run(10)
    bench.controller.set_gains("A", kp=12.0)
    assert bench.drive.kp[A] == 12.0
    bench.run(1)
    assert bench.drive.kp[A] == 12.0


def test_another_mode_takes_a_joint(bench):
    run = started(bench, ramp("A"))
    bench.run(10)
    bench.controller.set_mode("A", ControlMode.EFFORT)
    bench.run(10)
    assert run.status is Status.PREEMPTED
    assert bench.drive.kp[A] == bench.drive.kd[A] == bench.drive.effort[A] == 0.0


def test_it_begins_with_the_first_step_that_is_not_before_its_start(bench):
    run = started(bench, ramp("A", to=1.1, seconds=0.1, start_ns=10 * STEP_NS + 1))
    bench.run(11)
    assert run.status is Status.WAITING
    found = asked(bench, A, 100)
    # From 0.011 s on, to the point at 0.11 s and a nanosecond.
    assert_allclose(found[:98], 0.1 + np.arange(1, 99) / 99.000001, rtol=1e-9)
    assert run.status is Status.SUCCEEDED


def test_no_more_wait_than_anybody_can_mean(bench):
    runs = [started(bench, ramp("A", start_ns=(k + 10) * NS)) for k in range(110)]
    assert [one.status for one in runs[:100]] == [Status.WAITING] * 100
    assert {one.status for one in runs[100:]} == {Status.REFUSED}
    assert runs[-1].message == "100 other trajectories run or wait for their start"
    bench.command("A", position=[0.5])
    assert {one.status for one in runs[:100]} == {Status.PREEMPTED}
    assert started(bench, ramp("A")).status is Status.WAITING
