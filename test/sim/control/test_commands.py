"""Commands on their way to the bodies of a simulation, from several threads and sources."""

import threading

import numpy as np
import pytest
from paths import MODELS

from hrp_sim import JointCommand, Simulation, load_world
from hrp_sim.control import (
    CancelTrajectory,
    ControlMode,
    GainChange,
    ModeChange,
    TrajectoryRun,
)
from hrp_sim.control import TrajectoryStatus as Status
from hrp_sim.control.command_queue import MAX_COMMANDS
from hrp_sim.control.trajectory import JointTrajectory, Tolerance, Tolerances, TrajectoryPoint

NS = 10**9
WORLD = load_world(MODELS / "worlds" / "arm.yaml")


@pytest.fixture
def simulation():
    made = Simulation(WORLD, defer_images=True)
    yield made
    made.close()


def run(simulation, steps):
    for _ in range(steps):
        simulation.step()


def joints(simulation):
    return [x.joint.name for x in simulation.bodies["arm"].body.moving_links]


def there(name, q=0.5, seconds=1.0, start_ns=None):
    point = TrajectoryPoint(round(seconds * NS), [q], [0.0], [0.0])
    return JointTrajectory([name], [point], start_ns)


def test_within_a_step_sources_come_in_the_order_of_their_names(simulation):
    """Whoever came first."""
    first, *_ = joints(simulation)
    hashes = set()
    for order in (("b", "a", "c"), ("c", "b", "a"), ("a", "c", "b")):
        simulation.reset()
        for source in order:
            for part in (1.0, 0.5):  # of one source the last counts
                value = part * {"a": 0.3, "b": 0.9, "c": 0.6}[source]
                simulation.command("arm", JointCommand([first], position=[value]), source)
        run(simulation, 1500)
        hashes.add(simulation.state_hash())
        assert simulation.bodies["arm"].motion.q[0] == pytest.approx(0.3, abs=0.01)
    assert len(hashes) == 1


def test_commands_are_counted(simulation):
    first, *_ = joints(simulation)
    simulation.command("arm", JointCommand([first], position=[0.1]))
    simulation.command("arm", JointCommand(["nobody"], position=[0.1]))
    run(simulation, 1)
    counts = simulation.command_counts
    assert (counts.taken, counts.refused, counts.dropped) == (2, 1, 0)
    simulation.reset()
    assert simulation.command_counts.taken == 2


def test_who_says_much_while_nobody_steps_does_not_silence_who_says_little(simulation):
    first, second, *_ = joints(simulation)
    simulation.command("arm", JointCommand([second], position=[0.7]), "once")
    for _ in range(2 * MAX_COMMANDS):
        simulation.command("arm", JointCommand([first], position=[0.1]), "stream")
    assert simulation.command_counts.dropped == MAX_COMMANDS + 1
    run(simulation, 1500)
    assert simulation.bodies["arm"].drive.q[:2] == pytest.approx([0.1, 0.7])


def test_settings_that_wait_count_after_a_reset_and_motions_do_not(simulation):
    first, *_ = joints(simulation)
    trajectory = TrajectoryRun(there(first))
    simulation.command("arm", GainChange(first, kp=123.0))
    simulation.command("arm", ModeChange(first, ControlMode.VELOCITY))
    simulation.command("arm", JointCommand([first], position=[0.5]))
    simulation.command("arm", trajectory)
    simulation.reset()
    run(simulation, 1)
    controller = simulation.controller("arm")
    assert controller.gains(first)[0] == 123.0
    assert controller.mode(first) is ControlMode.VELOCITY
    assert simulation.command_counts.taken == 2
    assert trajectory.status is Status.ABORTED


def test_it_does_not_matter_when_a_trajectory_comes_that_starts_later(simulation):
    first, second, *_ = joints(simulation)
    hashes = set()
    for comes_at in (10, 137, 200):
        simulation.reset()
        simulation.command("arm", JointTrajectory([first], [TrajectoryPoint(NS, [0.5])]))
        run(simulation, comes_at)
        sent = JointTrajectory([first, second], [TrajectoryPoint(NS // 4, [0.1, 0.2])], NS // 5)
        simulation.command("arm", sent, "late")
        run(simulation, 600 - comes_at)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


def test_a_body_that_is_moved_on_its_way_holds_where_it_is_put(simulation):
    first, *_ = joints(simulation)
    points = [TrajectoryPoint(NS, [1.0], [3.0]), TrajectoryPoint(2 * NS, [2.0], [0.0])]
    simulation.command("arm", JointTrajectory([first], points))
    run(simulation, 900)
    placement = next(b.placement for b in WORLD.bodies if b.placement.name == "arm")
    simulation.move(placement)
    run(simulation, 1000)
    held = simulation.bodies["arm"].motion.q[0]
    assert held == pytest.approx(placement.initial_q[0], abs=1e-3)


def test_while_nobody_steps_the_newest_commands_wait_and_what_is_no_stream_stays(simulation):
    first, *_ = joints(simulation)
    trajectory = TrajectoryRun(there(first))
    simulation.command("arm", GainChange(first, kp=123.0))
    simulation.command("arm", trajectory)
    for k in range(2 * MAX_COMMANDS):
        simulation.command("arm", JointCommand([first], position=[k * 1e-4]))
    assert simulation.command_counts.dropped == MAX_COMMANDS + 2
    run(simulation, 1500)
    assert simulation.controller("arm").gains(first)[0] == 123.0
    assert trajectory.status is Status.PREEMPTED  # taken, and then taken over
    last = (2 * MAX_COMMANDS - 1) * 1e-4
    assert simulation.bodies["arm"].drive.q[0] == pytest.approx(last)


def test_what_waits_no_longer_is_told_to_who_looks_after_it(simulation):
    first, *_ = joints(simulation)
    runs = [TrajectoryRun(there(first)) for _ in range(MAX_COMMANDS + 1)]
    for one in runs:
        simulation.command("arm", one)
    assert (runs[0].status, runs[0].message) == (Status.ABORTED, "too many commands were waiting")
    assert runs[1].status is Status.WAITING
    simulation.reset()
    assert {one.status for one in runs} == {Status.ABORTED}
    run(simulation, 10)
    assert simulation.command_counts.taken == 0


def test_a_body_that_goes_takes_its_trajectories_with_it(simulation):
    first, *_ = joints(simulation)
    running, waiting = TrajectoryRun(there(first)), TrajectoryRun(there(first))
    simulation.command("arm", running)
    run(simulation, 2)
    simulation.command("arm", waiting)
    simulation.remove("arm")
    run(simulation, 1)
    for one in (running, waiting):
        assert (one.status, one.message) == (Status.ABORTED, "the robot was removed")
    with pytest.raises(KeyError, match="no commandable body 'arm'"):
        simulation.command("arm", JointCommand([first]))
    with pytest.raises(KeyError, match="no commandable body 'arm'"):
        simulation.controller("arm")


def test_commands_from_many_threads_all_come(simulation):
    first, *_ = joints(simulation)
    count, each = 8, 100

    def send(k):
        for _ in range(each):
            simulation.command("arm", JointCommand([first], position=[0.1 * k]), f"source {k}")

    threads = [threading.Thread(target=send, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        simulation.step()
    simulation.step()
    counts = simulation.command_counts
    assert counts.taken + counts.dropped == count * each
    assert counts.dropped == 0


def test_a_robot_follows_a_trajectory_within_tight_tolerances(simulation):
    """With physics: servos lag behind by no more than gravity and inertia bend them."""
    names = joints(simulation)
    simulated = simulation.bodies["arm"]
    q = simulated.motion.q.copy()
    zero = [0.0] * len(names)
    points = [
        TrajectoryPoint(NS, (q + 0.3).tolist(), zero, zero),
        TrajectoryPoint(2 * NS, (q - 0.3).tolist(), zero, zero),
    ]
    tolerances = Tolerances(
        path=dict.fromkeys(names, Tolerance(position=0.05)),
        goal=dict.fromkeys(names, Tolerance(position=0.02, velocity=0.05)),
        goal_time_ns=NS // 2,
    )
    one = TrajectoryRun(JointTrajectory(names, points), tolerances)
    simulation.command("arm", one, "goal")
    ended_ns = None
    while not one.is_over:
        simulation.step()
        ended_ns = simulation.state.time_ns
        if one.progress is not None:
            actual = one.progress.actual
            np.testing.assert_array_equal(actual[0], simulated.motion.q)
            assert one.progress.time_ns == ended_ns
    assert one.status is Status.SUCCEEDED, one.message
    assert 2 * NS <= ended_ns <= 2.1 * NS


def test_a_joint_at_its_stop_violates_the_goal(simulation):
    link = simulation.bodies["arm"].body.moving_links[1]
    beyond = link.joint.position.upper + 0.5
    assert np.isfinite(beyond)
    name = link.joint.name
    tolerances = Tolerances(goal={name: Tolerance(position=0.1)}, goal_time_ns=NS // 10)
    one = TrajectoryRun(there(name, beyond), tolerances)
    simulation.command("arm", one)
    run(simulation, 1110)
    assert one.status is Status.GOAL_VIOLATED
    assert f"the position error of joint '{name}' is " in one.message
    assert one.progress.error[0, 0] >= 0.5 - 1e-3


def test_cancel_reaches_a_trajectory_of_the_same_step_and_source(simulation):
    first, *_ = joints(simulation)
    one = TrajectoryRun(there(first))
    simulation.command("arm", one, "goal")
    simulation.command("arm", CancelTrajectory(one), "goal")
    run(simulation, 10)
    assert one.status is Status.CANCELED


@pytest.mark.parametrize("is_early", [False, True])
def test_a_cancel_ends_its_run_whatever_else_waits(simulation, is_early):
    """Others that come before it in the step, by their names, do not end it otherwise."""
    first, *_ = joints(simulation)
    under_way, waiting = TrajectoryRun(there(first, seconds=5.0)), TrajectoryRun(there(first))
    simulation.command("arm", under_way, "goal")
    run(simulation, 100)
    simulation.command("arm", JointCommand([first], position=[0.2]), "a command")
    simulation.command("arm", CancelTrajectory(under_way), "goal")
    simulation.command("arm", waiting, "goal")
    simulation.command("arm", CancelTrajectory(waiting), "goal")
    if is_early:
        under_way.cancel()
        waiting.cancel()
    run(simulation, 1)
    assert (under_way.status, under_way.message) == (Status.CANCELED, "it was canceled")
    assert (waiting.status, waiting.message) == (Status.CANCELED, "it was canceled")
    run(simulation, 1500)
    assert simulation.bodies["arm"].motion.q[0] == pytest.approx(0.2, abs=0.01)


def test_where_the_world_goes_does_not_depend_on_when_a_run_hears_of_its_cancel(simulation):
    """Some of its joints have been commanded meanwhile, and another trajectory waits for them."""
    names = joints(simulation)
    points = [TrajectoryPoint(NS, [0.6, 0.4, 0.2])]
    hashes = set()
    for is_early in (False, True):
        simulation.reset()
        later = JointTrajectory(names[1:3], [TrajectoryPoint(NS, [0.7, 0.3])], NS // 2)
        simulation.command("arm", later, "later")
        one = TrajectoryRun(JointTrajectory(names[:3], points))
        simulation.command("arm", one, "goal")
        run(simulation, 200)
        waiting = TrajectoryRun(JointTrajectory(names[2:4], [TrajectoryPoint(NS, [0.1, 0.1])]))
        for source, command in (
            ("goal", CancelTrajectory(one)),
            ("goal", waiting),
            ("goal", CancelTrajectory(waiting)),
            ("a", JointCommand(names[:1], velocity=[0.3])),
            ("z", JointTrajectory(names[2:3], [TrajectoryPoint(NS // 4, [0.5])])),
        ):
            simulation.command("arm", command, source)
        if is_early:
            one.cancel()
            waiting.cancel()
        run(simulation, 800)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


def test_a_cancel_is_not_given_up_where_too_much_waits(simulation):
    first, *_ = joints(simulation)
    one = TrajectoryRun(there(first, seconds=5.0))
    simulation.command("arm", one, "goal")
    run(simulation, 100)
    simulation.command("arm", CancelTrajectory(one), "goal")
    ended = there(first, start_ns=1, seconds=0.01)  # in the past, so that none is followed
    for _ in range(MAX_COMMANDS):
        simulation.command("arm", ended, "topic")
    simulation.step()
    held = simulation.bodies["arm"].drive.q[0]
    run(simulation, 100)
    assert simulation.bodies["arm"].drive.q[0] == held
    assert one.status is Status.CANCELED
