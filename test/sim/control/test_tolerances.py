"""How trajectories end: within their tolerances, outside of them, or refused."""

import re
from math import inf, nan

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sim.control.bench import BODY, NS, STEP, STEP_NS, A, Bench, C

from hrp_sim.control import TrajectoryRun
from hrp_sim.control import TrajectoryStatus as Status
from hrp_sim.control.trajectory import (
    BadTrajectoryError,
    JointTrajectory,
    Tolerance,
    Tolerances,
    TrajectoryPoint,
    check_trajectory,
)
from hrp_sim.engine.state import MAX_DRIVE_VALUE


def sent(bench, **tolerances):
    """A run of A from 0.1 to 1.1 and of C from 0.3 to 1.3, in a second."""
    zero = [0.0, 0.0]
    points = [
        TrajectoryPoint(NS // 2, [0.6, 0.8], [1.0, 1.0]),
        TrajectoryPoint(NS, [1.1, 1.3], zero),
    ]
    run = TrajectoryRun(JointTrajectory(["A", "C"], points), Tolerances(**tolerances))
    bench.give(run)
    return run


def test_progress_tells_where_joints_should_be_and_are():
    bench = Bench()
    run = sent(bench)
    assert run.progress is None
    bench.motion.q[:], bench.motion.dq[:] = [0.4, 0.0, 0.5], [0.1, 0.0, 0.2]
    bench.motion.effort[:] = [3.0, 0.0, 4.0]
    bench.run(500)
    now = run.progress
    assert (now.time_ns, now.elapsed_ns, now.index) == (NS // 2, NS // 2, 1)
    assert_allclose(now.desired, [[0.6, 0.8], [1.0, 1.0], now.desired[2], [0.0, 0.0]])
    assert_allclose(now.actual, [[0.4, 0.5], [0.1, 0.2], [3.0, 4.0]])
    assert_allclose(now.error, [[0.2, 0.3], [0.9, 0.8]])
    bench.run(1)
    assert run.progress.index == 1
    bench.run(499)
    assert (run.progress.index, run.is_over) == (1, True)
    last = run.progress
    bench.run(10)
    assert run.progress is last


def test_a_joint_that_strays_from_the_path_ends_it_and_all_hold_where_they_are():
    bench = Bench(follows=True)
    run = sent(bench, path={"C": Tolerance(position=0.05)})
    bench.run(300)
    bench.follows = False
    asked, stuck = bench.drive.q[C], bench.motion.q.copy()
    bench.run(1000)
    assert run.status is Status.PATH_VIOLATED
    assert run.message.startswith("the position error of joint 'C' is 0.05")
    assert run.message.endswith("rad or m, more than 0.05")
    assert run.progress.error[0, 1] > 0.05 > run.progress.error[0, 1] - 2.0 * STEP
    assert asked < stuck[C] + 0.05
    assert_allclose(bench.drive.q, stuck)
    assert not bench.drive.dq.any()


def test_a_wrong_speed_is_told_as_such():
    bench = Bench()
    run = sent(bench, path={"A": Tolerance(velocity=0.5)})
    bench.run(1000)
    assert run.status is Status.PATH_VIOLATED
    assert "the velocity error of joint 'A' is 0.5" in run.message
    assert "rad/s or m/s" in run.message


def test_without_tolerances_nothing_is_asked_of_the_joints():
    bench = Bench()
    run = sent(bench)
    bench.run(1000)
    assert run.status is Status.SUCCEEDED


def test_the_goal_has_to_be_kept_only_at_the_end():
    bench = Bench(follows=True)
    run = sent(bench, goal={"A": Tolerance(0.01, 0.01), "C": Tolerance(0.01, 0.01)})
    bench.run(999)
    assert run.status is Status.RUNNING
    bench.run(1)
    assert run.status is Status.SUCCEEDED


@pytest.mark.parametrize("late", [False, True])
def test_after_the_end_the_goal_may_take_its_time(late):
    bench = Bench()
    run = sent(bench, goal={"A": Tolerance(position=0.01)}, goal_time_ns=100 * STEP_NS)
    bench.run(1100)
    assert run.status is Status.RUNNING
    assert run.progress.index == 1
    bench.motion.q[A] = 1.0 if late else 1.095
    bench.run(1)
    if late:
        assert run.status is Status.GOAL_VIOLATED
        assert "the position error of joint 'A' is 0.1 rad or m" in run.message
        assert bench.drive.q[A] == 1.0  # it stays where it is
    else:
        assert run.status is Status.SUCCEEDED
        assert bench.drive.q[A] == pytest.approx(1.1)


def test_without_a_time_the_goal_may_take_for_ever_and_the_joints_stay_asked():
    bench = Bench()
    run = sent(bench, goal={"A": Tolerance(position=0.01)})
    bench.run(20_000)
    assert run.status is Status.RUNNING
    assert bench.drive.q[A] == pytest.approx(1.1)


POINT = TrajectoryPoint(NS, [1.0])


@pytest.mark.parametrize(
    ("trajectory", "words"),
    [
        (JointTrajectory([], [POINT]), "the trajectory names no joints"),
        (JointTrajectory(["AA"], [POINT]), "has no moving joint 'AA'. Did you mean 'A'?"),
        (JointTrajectory(["zzz"], []), "has no moving joint 'zzz'. It is one of A, B, T, C."),
        (JointTrajectory(["BASE"], [POINT]), "has no moving joint 'BASE'"),
        (JointTrajectory(["T"], [POINT]), "joint 'T' is a track"),
        (
            JointTrajectory(["A", "A"], [TrajectoryPoint(NS, [1.0, 1.0])]),
            "names joint 'A' twice",
        ),
        (JointTrajectory(["A", "B"], [POINT]), "point 0 of the trajectory has 1 positions, not 2"),
        (JointTrajectory(["A"], [TrajectoryPoint(NS, [])]), "has 0 positions, not 1"),
        (
            JointTrajectory(["A"], [POINT, TrajectoryPoint(2 * NS, [1.0], [1.0, 2.0])]),
            "point 1 of the trajectory has 2 velocities, not 1",
        ),
        (JointTrajectory(["A"], [TrajectoryPoint(NS, [1.0], (), [1, 2])]), "2 accelerations"),
        (JointTrajectory(["A"], [TrajectoryPoint(NS, [1.0], (), (), [1, 2])]), "2 effort"),
        (JointTrajectory(["A"], [TrajectoryPoint(NS, [nan])]), "positions of nan for 'A'"),
        (JointTrajectory(["A"], [TrajectoryPoint(NS, [1], [-inf])]), "velocities of -inf"),
        (JointTrajectory(["A"], [TrajectoryPoint(NS, [MAX_DRIVE_VALUE])]), "1000000000000"),
        (
            JointTrajectory(["A"], [TrajectoryPoint(-1, [1.0])]),
            "time_from_start of point 0, -0.000 s",
        ),
        (JointTrajectory(["A"], [TrajectoryPoint(10**19, [1.0])]), "of point 0, 10000000000.000 s"),
        (
            JointTrajectory(["A"], [POINT, TrajectoryPoint(NS, [2.0])]),
            "point 1 of the trajectory, at 1.000 s, is not after point 0, at 1.000 s",
        ),
        (JointTrajectory(["A"], [POINT], 10**19), "is out of range"),
        (JointTrajectory(["A"], [POINT] * 1_000_001), "1000001 points for 1 joints are too many"),
        (JointTrajectory(["A"], [POINT], 3 * NS), "ended in the past, at 4.000 s; it is 5.000 s"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_words_and_changes_nothing(
    caplog, trajectory, words
):
    with pytest.raises(BadTrajectoryError, match=re.escape(words)):
        check_trajectory(trajectory, BODY, 5 * NS)
    bench = Bench(follows=True)
    bench.time_ns = 5 * NS - STEP_NS
    bench.give(JointTrajectory(["C"], [TrajectoryPoint(NS, [1.3])]))
    bench.run(1)
    refused = TrajectoryRun(trajectory)
    bench.give(refused)
    bench.give(trajectory)
    bench.run(99)
    assert refused.status is Status.REFUSED
    assert words in refused.message
    assert_allclose(bench.drive.q, [0.1, 0.2, 0.4])
    assert bench.counts.refused == 2
    (message,) = [record.getMessage() for record in caplog.records]
    assert message == f"body 'r1': a trajectory is ignored: {refused.message}"


@pytest.mark.parametrize(
    ("tolerances", "words"),
    [
        (Tolerances(path={"B": Tolerance()}), "path tolerance is for joint 'B', which is not in"),
        (Tolerances(goal={"X": Tolerance()}), "goal tolerance is for joint 'X', which is not in"),
        (Tolerances(path={"A": Tolerance(position=-1.0)}), "joint 'A' must be at least 0"),
        (Tolerances(goal={"A": Tolerance(velocity=nan)}), "joint 'A' must be at least 0"),
        (Tolerances(goal_time_ns=-1), "goal time tolerance must be at least 0 s"),
    ],
)
def test_tolerances_that_make_no_sense_are_refused(tolerances, words):
    bench = Bench()
    run = TrajectoryRun(JointTrajectory(["A"], [POINT]), tolerances)
    bench.give(run)
    assert run.status is Status.REFUSED
    assert words in run.message


def test_a_trajectory_that_ends_just_now_is_taken():
    bench = Bench(follows=True)
    bench.time_ns = 5 * NS
    run = TrajectoryRun(JointTrajectory(["A"], [POINT], 4 * NS))
    bench.give(run)
    bench.run(2000)
    assert run.status is Status.SUCCEEDED
    assert bench.drive.q[A] == pytest.approx(1.0)


def test_numbers_of_any_size_leave_the_drive_usable():
    high = 0.99 * MAX_DRIVE_VALUE
    points = [
        TrajectoryPoint(1, [high], [high], [high], [high]),
        TrajectoryPoint(2 * STEP_NS, [-high], [high], [-high], [-high]),
        TrajectoryPoint(3 * STEP_NS, [high], [-high], [high], [high]),
    ]
    for joint in ("A", "C"):
        bench = Bench()
        bench.give(JointTrajectory([joint], points))
        for _ in range(6):
            bench.run()
            for array in (bench.drive.q, bench.drive.dq, bench.drive.effort):
                assert np.abs(array).max() < MAX_DRIVE_VALUE
