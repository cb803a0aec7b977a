"""What joints do when commands stop coming."""

from math import inf, nan

import pytest
from sim.control.bench import BODY, FAST, NS, STEP, STEP_NS, TRACK, A, B, Bench, C

from hrp_sim.control import CommandTimeout, ControlSettings, Fallback
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint


def bench_of(fallback=Fallback.HOLD, after_s=0.1, **options):
    timeout = CommandTimeout(after_s=after_s, fallback=fallback)
    return Bench(ControlSettings(timeout=timeout), follows=False, **options)


def test_who_was_never_commanded_is_never_late():
    bench = bench_of()
    bench.run(1000)
    assert bench.counts.timed_out == 0


def test_hold_stops_joints_where_they_are_and_tracks_stand(caplog):
    bench = bench_of()
    bench.command("A", "B", "T", velocity=[1.0, nan, 0.5], effort=[nan, 4.0, nan])
    bench.motion.q[:] = [0.6, 0.7, 0.8]
    bench.run(100)
    assert (bench.drive.dq[A], bench.drive.effort[B]) == (1.0, 4.0)
    assert bench.drive.track_speed[TRACK] == 0.5
    bench.run(1)
    assert bench.drive.q.tolist() == [0.6, 0.7, 0.3]  # C was never commanded
    assert not bench.drive.dq.any()
    assert not bench.drive.effort.any()
    assert not bench.drive.track_speed.any()
    assert (bench.drive.kp > 0.0).all()
    assert bench.counts.timed_out == 1
    bench.run(1000)
    assert bench.counts.timed_out == 1
    (record,) = caplog.records
    expected = "body 'r1': no command for 0.1 s to A, B, T; fallback: hold"
    assert record.getMessage() == expected


@pytest.mark.parametrize(("fallback", "count"), [("hold", 0), ("last", 0), ("limp", 1)])
def test_silence_after_a_command_to_stand_is_no_time_out_unless_joints_become_limp(fallback, count):
    bench = bench_of(Fallback(fallback))
    bench.command("A", "T", velocity=[0.0, 0.0])
    bench.run(1000)
    assert bench.counts.timed_out == count
    bench.command("A", "T", velocity=[1.0, 0.5])
    bench.run(1000)
    assert bench.counts.timed_out == count + 1


def test_a_position_that_is_still_approached_is_held_where_the_approach_is():
    bench = bench_of()
    bench.command("B", position=[5.0])
    bench.motion.q[B] = 0.15  # it sags
    bench.run(300)
    # The time-out falls into the step after the first 100 of approach.
    assert bench.drive.q[B] == pytest.approx(0.2 + 101 * STEP * FAST)


def test_limp_lets_go_of_what_was_commanded_and_of_nothing_else():
    bench = bench_of(Fallback.LIMP)
    bench.command("A", position=[1.0], effort=[3.0])
    bench.run(101)
    assert bench.drive.kp[A] == bench.drive.kd[A] == bench.drive.effort[A] == 0.0
    assert bench.drive.kp[C] > 0.0
    bench.motion.q[A] = -0.4
    bench.command("A", position=[1.0])  # it goes on from where it fell to
    assert bench.drive.q[A] == -0.4


def test_last_changes_nothing_but_counts():
    bench = bench_of(Fallback.LAST)
    bench.command("A", "T", velocity=[1.0, 0.5])
    bench.run(1000)
    assert (bench.drive.dq[A], bench.drive.track_speed[TRACK]) == (1.0, 0.5)
    assert bench.counts.timed_out == 1


def test_each_joint_has_a_time_of_its_own():
    bench = bench_of()
    bench.command("A", velocity=[1.0])
    bench.run(60)
    bench.command("C", velocity=[1.0])
    bench.run(41)
    assert bench.drive.dq.tolist() == [0.0, 0.0, 1.0]
    bench.run(60)
    assert bench.drive.dq.tolist() == [0.0, 0.0, 0.0]
    assert bench.counts.timed_out == 2


def test_commands_that_come_in_time_never_fall_back():
    bench = bench_of()
    for _ in range(10):
        bench.command("A", velocity=[1.0])
        bench.run(100)
    assert (bench.drive.dq[A], bench.counts.timed_out) == (1.0, 0)
    bench.command("A", velocity=[nan])  # says nothing
    bench.run(1)
    assert bench.counts.timed_out == 1


def test_a_trajectory_counts_as_commands_until_its_end():
    bench = bench_of(Fallback.LIMP)
    bench.give(JointTrajectory(["A"], [TrajectoryPoint(NS, [1.0])]))
    bench.run(1099)
    assert (bench.drive.kp[A] > 0.0, bench.counts.timed_out) == (True, 0)
    bench.run(2)
    assert (bench.drive.kp[A], bench.counts.timed_out) == (0.0, 1)


def test_reset_forgets_what_was_commanded():
    bench = bench_of(Fallback.LIMP)
    bench.command("A", position=[1.0])
    bench.controller.reset()
    bench.run(1000)
    assert bench.counts.timed_out == 0
    assert bench.drive.kp[A] > 0.0


def test_it_may_be_set_and_left_out_at_any_time():
    bench = Bench()
    assert bench.controller.timeout is None
    bench.command("A", velocity=[1.0])
    bench.run(1000)
    bench.controller.timeout = CommandTimeout(after_s=0.5)
    bench.run(1)
    assert (bench.drive.dq[A], bench.counts.timed_out) == (0.0, 1)
    bench.command("A", velocity=[1.0])
    bench.controller.timeout = None
    bench.run(1000)
    assert (bench.drive.dq[A], bench.counts.timed_out) == (1.0, 1)


def test_one_shorter_than_a_step_lets_each_command_count_for_one_step():
    bench = bench_of(after_s=1e-12)
    bench.command("A", velocity=[1.0])
    bench.run(1)
    assert bench.drive.dq[A] == 1.0
    bench.run(1)
    assert bench.drive.dq[A] == 0.0
    assert bench.time_ns == 2 * STEP_NS


@pytest.mark.parametrize("after_s", [0.0, -1.0, nan, inf, 1e10])
def test_times_that_make_no_sense_are_refused(after_s):
    with pytest.raises(ValueError, match="a command time-out must be greater than 0 s"):
        CommandTimeout(after_s=after_s)


def test_a_body_of_tracks_alone_has_one_too():
    body = type(BODY)(name="rover", links=(BODY.links[0], BODY.links[3]))
    bench = bench_of(body=body, q=[])
    bench.command("T", velocity=[0.4])
    bench.run(101)
    assert not bench.drive.track_speed.any()
