"""Commands in snapshots: what was on its way goes on to the last bit, and rubbish is refused.

It also goes on where the clock is put back.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import MODELS

from hrp_sim import JointCommand, PhysicsError, Simulation, Snapshot, load_world
from hrp_sim.control import (
    CancelTrajectory,
    CommandTimeout,
    ControlMode,
    Fallback,
    GainChange,
    ModeChange,
    TrajectoryRun,
)
from hrp_sim.control import TrajectoryStatus as Status
from hrp_sim.control.trajectory import JointTrajectory, Tolerance, Tolerances, TrajectoryPoint

NS = 10**9
STEP_NS = 10**6
WORLD = load_world(MODELS / "worlds" / "arm.yaml")


def with_timeout(fallback):
    """The world, where joints of the arm that are left alone fall back after 50 steps."""
    timeout = CommandTimeout(after_s=0.05, fallback=fallback)
    entries = [
        replace(entry, control=replace(entry.control, timeout=timeout)) for entry in WORLD.bodies
    ]
    return replace(WORLD, bodies=tuple(entries))


SIMULATIONS = {fallback: Simulation(with_timeout(fallback)) for fallback in Fallback}
SIMULATION = SIMULATIONS[Fallback.HOLD]
NAMES = [x.joint.name for x in SIMULATION.bodies["arm"].body.moving_links]

values = st.floats(-1.5, 1.5)
some_joints = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
steps = st.integers(0, 60)


@st.composite
def trajectories(draw):
    names = draw(some_joints)
    times = sorted(draw(st.sets(st.integers(0, 60 * STEP_NS), min_size=1, max_size=4)))
    column = st.lists(values, min_size=len(names), max_size=len(names))
    maybe = st.one_of(st.just(()), column)
    points = [
        TrajectoryPoint(time, draw(column), draw(maybe), draw(maybe), draw(maybe)) for time in times
    ]
    start = draw(st.one_of(st.none(), st.integers(1, 80 * STEP_NS)))
    tolerance = st.builds(Tolerance, st.floats(0.01, 1.0), st.floats(0.1, 9.0))
    tolerances = Tolerances(
        path=draw(st.dictionaries(st.sampled_from(names), tolerance)),
        goal=draw(st.dictionaries(st.sampled_from(names), tolerance)),
        goal_time_ns=draw(st.one_of(st.none(), st.integers(0, 10 * STEP_NS))),
    )
    return JointTrajectory(names, points, start), tolerances


@st.composite
def joint_commands(draw):
    names = draw(some_joints)
    column = st.lists(values, min_size=len(names), max_size=len(names))
    kind = draw(st.sampled_from(["position", "velocity", "effort"]))
    return JointCommand(names, **{kind: draw(column)})


changes = st.one_of(
    st.builds(GainChange, st.sampled_from(NAMES), st.floats(0, 500), st.floats(0, 50)),
    st.builds(ModeChange, st.sampled_from(NAMES), st.sampled_from(ControlMode)),
)
orders = st.lists(
    st.tuples(steps, st.one_of(trajectories(), trajectories(), joint_commands(), changes)),
    min_size=1,
    max_size=6,
)


def command_of(order):
    return TrajectoryRun(*order) if isinstance(order, tuple) else order


def play(simulation, schedule, first, last):
    """Step from one step to another, with what is ordered in between; return what was asked."""
    drive = simulation.bodies["arm"].drive
    asked = []
    for step in range(first, last):
        for when, order in schedule:
            if when == step:
                simulation.command("arm", command_of(order))
        simulation.step()
        asked.append(np.concatenate([drive.q, drive.dq, drive.kp, drive.kd, drive.effort]))
    return np.array(asked), simulation.state_hash()


@settings(max_examples=25)
@given(orders, steps, st.sampled_from(Fallback))
def test_a_run_goes_on_from_a_snapshot_to_the_last_bit(schedule, saved_at, fallback):
    """Restored over something else, in the same simulation and in another one."""
    simulation = SIMULATIONS[fallback]
    forget(simulation)
    play(simulation, schedule, 0, saved_at)
    snapshot = simulation.save()
    after, end = play(simulation, schedule, saved_at, 160)
    simulation.command("arm", JointCommand(NAMES, velocity=[1.0] * len(NAMES)))
    simulation.step()
    simulation.restore(snapshot)
    again, same_end = play(simulation, schedule, saved_at, 160)
    np.testing.assert_array_equal(after, again)
    assert end == same_end


def from_now(order, time_ns):
    """Return an order with its start, if it has one, counted from a time; None if it is over."""
    if not isinstance(order, tuple) or order[0].start_ns is None:
        return order
    trajectory, tolerances = order
    start_ns = trajectory.start_ns - time_ns  # of which 0 means now
    made = JointTrajectory(trajectory.names, trajectory.points, start_ns)
    return (made, tolerances) if start_ns > 0 else None


@settings(max_examples=25)
@given(orders, steps, st.sampled_from(Fallback))
def test_the_clock_can_be_put_back_and_nothing_else_changes(schedule, at, fallback):
    """To the last bit; nor does it in a snapshot that is taken then."""
    simulation = SIMULATIONS[fallback]
    before = [(k, order) for k, order in schedule if k < at]
    both = [(k, order, from_now(order, at * STEP_NS)) for k, order in schedule if k >= at]
    after = [(k, order) for k, order, again in both if again is not None]
    after_anew = [(k, again) for k, _, again in both if again is not None]
    forget(simulation)
    play(simulation, before, 0, at)
    usual, _ = play(simulation, after, at, 160)
    forget(simulation)
    play(simulation, before, 0, at)
    simulation.retime(0)
    assert simulation.state.time_ns == 0
    snapshot = simulation.save()
    anew, end = play(simulation, after_anew, at, 160)
    np.testing.assert_array_equal(anew, usual)
    simulation.restore(snapshot)
    once_more, same_end = play(simulation, after_anew, at, 160)
    np.testing.assert_array_equal(once_more, usual)
    assert end == same_end


def forget(simulation):
    """Reset, and take back gains and modes that an example has changed."""
    simulation.restore(STARTS[id(simulation)])
    simulation.reset()


STARTS = {id(simulation): simulation.save() for simulation in SIMULATIONS.values()}


def test_gains_and_modes_come_back_with_a_snapshot():
    forget(SIMULATION)
    controller = SIMULATION.controller("arm")
    controller.set_gains(NAMES[0], kp=77.0, kd=7.0)
    controller.set_mode(NAMES[1], ControlMode.VELOCITY)
    snapshot = SIMULATION.save()
    controller.set_gains(NAMES[0], kp=1.0)
    controller.set_mode(NAMES[0], ControlMode.EFFORT)
    SIMULATION.restore(snapshot)
    assert controller.gains(NAMES[0]) == (77.0, 7.0)
    assert controller.mode(NAMES[0]) is ControlMode.POSITION
    assert controller.mode(NAMES[1]) is ControlMode.VELOCITY


def running():
    """A simulation in which a trajectory runs, one waits, and of a third a joint is left."""
    forget(SIMULATION)
    zero = [0.0, 0.0]
    first = JointTrajectory(NAMES[:2], [TrajectoryPoint(NS, [0.5, 0.5], zero, zero)])
    second = JointTrajectory(NAMES[:1], [TrajectoryPoint(NS, [0.3])])
    third = JointTrajectory(NAMES[1:2], [TrajectoryPoint(NS, [0.3])], NS // 2)
    runs = [TrajectoryRun(x) for x in (first, second, third)]
    for one in runs:
        SIMULATION.command("arm", one)
        SIMULATION.step()
    return runs


def test_who_looks_after_a_trajectory_is_told_when_the_world_goes_back():
    first, second, third = running()
    snapshot = SIMULATION.save()
    assert first.status is Status.PREEMPTED
    SIMULATION.restore(snapshot)
    assert (second.status, third.status) == (Status.ABORTED, Status.ABORTED)
    assert second.message == "the world was restored from a saved state"
    SIMULATION.command("arm", CancelTrajectory(second))  # it is no longer the one that runs
    moved = SIMULATION.bodies["arm"].drive.q[0]
    SIMULATION.step()
    assert SIMULATION.bodies["arm"].drive.q[0] > moved
    waiting = TrajectoryRun(third.trajectory)
    SIMULATION.command("arm", waiting)
    SIMULATION.restore(snapshot)
    assert waiting.status is Status.ABORTED


def test_a_snapshot_of_trajectories_comes_back_from_a_file(tmp_path):
    running()
    snapshot = SIMULATION.save()
    _, end = play(SIMULATION, [], 0, 700)
    snapshot.to_file(tmp_path / "s.npz")
    SIMULATION.restore(Snapshot.from_file(tmp_path / "s.npz"))
    _, again = play(SIMULATION, [], 0, 700)
    assert end == again


def arrays_of_runs():
    running()
    return dict(SIMULATION.save().arrays)


ONE = "drives/arm/trajectories/0/"


def changed(array, value, where=0):
    array = array.copy()
    array.flat[where] = value
    return array


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("joints", lambda a: changed(a, 99)),
        ("joints", lambda a: changed(a, -1)),
        ("joints", lambda a: changed(a, a.flat[1])),
        ("joints", lambda a: a[:1]),
        ("times_ns", lambda a: a[::-1].copy()),
        ("times_ns", lambda a: changed(a, -(2**63))),
        ("times_ns", lambda a: changed(a, 2**63 - 1, -1)),
        ("times_ns", lambda a: a[:0]),
        ("active", lambda a: 0 * a),
        ("active", lambda a: a.astype(np.float64)),
        ("points", lambda a: changed(a, np.nan)),
        ("points", lambda a: changed(a, 1e20)),
        ("points", lambda a: a[:1]),
        ("behind", lambda a: changed(a, np.inf)),
        ("desired", lambda a: a[:2]),
        ("tolerances", lambda a: changed(a, np.nan)),
        ("start_ns", lambda a: changed(a, 2**62)),
        ("first", lambda a: changed(a, 2**62)),
        ("goal_time_ns", lambda a: changed(a, 2**62)),
        ("given", None),
        ("begun", None),
    ],
)
def test_trajectories_of_a_snapshot_that_make_no_sense_are_refused(key, change):
    arrays = arrays_of_runs()
    if change is None:
        del arrays[ONE + key]
    else:
        arrays[ONE + key] = change(arrays[ONE + key])
    before = SIMULATION.state_hash()
    with pytest.raises(PhysicsError, match="snapshot"):
        SIMULATION.restore(Snapshot(arrays))
    assert SIMULATION.state_hash() == before


@pytest.mark.parametrize(
    "name", ["drives/leg/target", "drives/arm/more", ONE + "more", "drives/arm/trajectories/7/x"]
)
def test_what_means_nothing_here_is_refused(name):
    arrays = arrays_of_runs()
    arrays[name] = np.zeros(1)
    with pytest.raises(PhysicsError, match="snapshot"):
        SIMULATION.restore(Snapshot(arrays))


@settings(max_examples=25)
@given(st.data())
def test_a_snapshot_with_any_numbers_is_refused_or_runs(data):
    """Whatever stands in the arrays of what drives the joints; never an error of another kind."""
    arrays = arrays_of_runs()
    names = sorted(name for name in arrays if name.startswith("drives/arm/"))
    for name in data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=3)):
        array = arrays[name].copy()
        where = data.draw(st.integers(0, max(0, array.size - 1)))
        if array.dtype.kind == "f":
            value = data.draw(st.floats())
        else:
            value = data.draw(st.integers(-(2**63), 2**63 - 1))
        if array.size:
            array.flat[where] = value
        arrays[name] = array
    try:
        SIMULATION.restore(Snapshot(arrays))
        for _ in range(5):
            SIMULATION.step()
    except PhysicsError:
        pass
    SIMULATION.reset()
    drive = SIMULATION.bodies["arm"].drive
    assert np.isfinite(np.concatenate([drive.q, drive.kp, drive.kd])).all()
