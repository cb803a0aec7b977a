"""Trajectories that a controller follows, on joints that do what they are asked."""

import pytest
from numpy.testing import assert_allclose
from sim.control.bench import NS, Bench

from hrp_sim.control import (
    TrajectoryRun,
    TrajectoryStatus,
)
from hrp_sim.trajectory import JointTrajectory, Tolerances, TrajectoryPoint


def ramp(*names, to=1.0, seconds=1.0, start_ns=None):
    """Straight to one place, at rest at the end."""
    point = TrajectoryPoint(round(seconds * NS), [to] * len(names))
    return JointTrajectory(names, [point], start_ns)


def smooth(*names, to=1.0, seconds=1.0, start_ns=None):
    zero = [0.0] * len(names)
    point = TrajectoryPoint(round(seconds * NS), [to] * len(names), zero, zero)
    return JointTrajectory(names, [point], start_ns)


@pytest.fixture
def bench():
    return Bench(follows=True)


def started(bench, trajectory, tolerances=None):
    run = TrajectoryRun(trajectory, tolerances or Tolerances())
    bench.give(run)
    return run


def test_joints_go_straight_to_a_position_and_stay(bench):
    run = started(bench, ramp("A", "C"))
    bench.run(250)
    assert_allclose(bench.drive.q, [0.1 + 0.9 * 0.25, 0.2, 0.3 + 0.7 * 0.25], rtol=1e-12)
    assert_allclose(bench.drive.dq, [0.9, 0.0, 0.7])
    assert run.status is TrajectoryStatus.RUNNING
    bench.run(750)
    assert run.status is TrajectoryStatus.SUCCEEDED
    bench.run(100)
    assert_allclose(bench.drive.q, [1.0, 0.2, 1.0])
    assert not bench.drive.dq.any()
