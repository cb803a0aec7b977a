"""A clock that is put back to zero, and what goes on all the same."""

from dataclasses import replace

import numpy as np
import pytest
from paths import MODELS

from hrp_sim import JointCommand, Simulation, load_world
from hrp_sim.control import CommandTimeout, Fallback, TrajectoryRun
from hrp_sim.control import TrajectoryStatus as Status
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint
from hrp_sim.sensors.settings import SensorSettings

NS, MS = 10**9, 10**6
WORLD = load_world(MODELS / "worlds" / "arm.yaml")


def made(**options):
    return Simulation(replace(WORLD, sensors=SensorSettings(**options)), defer_images=True)


def run(simulation, steps):
    """Step so often; return the readings by sensor, each with the time when it was told."""
    found = {}
    for _ in range(steps):
        for name, reading in simulation.step().items():
            found.setdefault(name, []).append((simulation.state.time_ns, reading))
    return found


def to(q, seconds, start_ns=None):
    return TrajectoryRun(
        JointTrajectory(["J1"], [TrajectoryPoint(round(seconds * NS), [q])], start_ns)
    )


def test_a_run_goes_on_and_tells_the_new_time():
    simulation = made()
    run(simulation, 100)
    one = to(0.4, 1.0)
    simulation.command("arm", one)
    run(simulation, 300)
    before = one.progress
    assert (before.time_ns, before.elapsed_ns) == (400 * MS, 300 * MS)
    simulation.retime(0)
    after = one.progress
    assert (after.time_ns, after.elapsed_ns) == (0, 300 * MS)
    np.testing.assert_array_equal(after.desired, before.desired)
    np.testing.assert_array_equal(after.error, before.error)
    run(simulation, 10)
    assert (one.progress.time_ns, one.progress.elapsed_ns) == (10 * MS, 310 * MS)
    assert one.status is Status.RUNNING
    run(simulation, 690)
    assert one.status is Status.SUCCEEDED
    assert one.progress.time_ns == 700 * MS
    assert simulation.bodies["arm"].motion.q[0] == pytest.approx(0.4, abs=2e-3)


def test_what_waits_for_its_start_waits_as_long_as_before():
    """Whether it was taken already or not."""
    simulation = made()
    run(simulation, 100)
    taken, waiting = to(0.1, 0.2, 300 * MS), to(0.3, 0.2, 600 * MS)
    simulation.command("arm", taken)
    run(simulation, 100)
    simulation.command("arm", waiting)
    simulation.retime(0)
    run(simulation, 100)
    assert (taken.status, waiting.status) == (Status.WAITING, Status.WAITING)
    run(simulation, 1)
    assert taken.status is Status.RUNNING
    run(simulation, 299)
    assert (taken.status, waiting.status) == (Status.SUCCEEDED, Status.WAITING)
    run(simulation, 1)
    assert waiting.status is Status.RUNNING


@pytest.mark.parametrize("is_restored", [False, True])
def test_joints_that_are_left_alone_fall_back_as_soon_as_they_would_have(is_restored):
    """So long after the last command, of which a snapshot knows, too."""
    simulation = made()
    simulation.controller("arm").timeout = CommandTimeout(after_s=0.05, fallback=Fallback.LIMP)
    run(simulation, 100)
    simulation.command("arm", JointCommand(["J1"], position=[0.1]))
    run(simulation, 30)
    simulation.retime(0)
    if is_restored:
        simulation.restore(simulation.save())
    run(simulation, 20)
    assert simulation.command_counts.timed_out == 0
    run(simulation, 1)
    assert simulation.command_counts.timed_out == 1
    run(simulation, 100)
    assert simulation.command_counts.timed_out == 1


def test_encoders_know_how_long_ago_they_counted_last():
    """Put back in the middle of a period, of a joint that turns steadily."""
    simulation = made(encoders=True, rate=50.0)
    simulation.command("arm", JointCommand(["J1"], velocity=[0.5]))
    *_, (_, before) = run(simulation, 1000)["joint_states"]
    assert before.velocity[0] == pytest.approx(0.5, abs=0.01)
    run(simulation, 7)
    simulation.retime(0)
    (told_ns, after), *_ = run(simulation, 40)["joint_states"]
    assert told_ns == after.time_ns == 20 * MS
    change = (after.position - before.position) / 0.027
    np.testing.assert_allclose(after.velocity, change, atol=1e-12)
    assert after.velocity[0] == pytest.approx(0.5, abs=0.01)
