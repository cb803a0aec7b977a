"""States, steps, resets and worlds of a run that clients control."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest
from controlled_run import ARM_WORLD, BOX, refused, simulating
from paths import MODELS

from hrp_msgs.names import NameCollisionError
from hrp_sim.control import TrajectoryRun, TrajectoryStatus
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint
from hrp_sim.run.requests import world_control
from hrp_sim.run.requests.entities import SpawnRequest
from hrp_sim.run.requests.resources import Resource
from hrp_sim.run.requests.standard import (
    BoundsType,
    Code,
    Scope,
    State,
    TagsFilter,
)

CRATE = SpawnRequest(resource=Resource(text=BOX), position=(1.0, 1.0, 1.0))


@pytest.fixture
def run():
    with simulating() as harness:
        yield harness


POSES = """\
bodies: []
named_poses:
  - { name: dock, tags: [ spawn, small ], bounds: { lower: [ -1, -2, 0 ], upper: [ 1, 2, 3 ] } }
  - { name: door, tags: [ spawn ] }
  - { name: desk }
"""


def play_until(run, time_ns):
    """Let it play until a simulated time, then pause it."""
    reached = threading.Event()

    def look(_change=None):
        if run.simulation.state.time_ns >= time_ns:
            reached.set()

    run.on_step.act = lambda _time, _readings: look()
    run.control.set_state(State.PLAYING)
    assert reached.wait(300.0)
    run.control.set_state(State.PAUSED)


def test_it_plays_pauses_and_stops(run):
    control = run.control
    assert control.state is State.PAUSED
    play_until(run, 20_000_000)
    assert control.state is State.PAUSED
    control.set_state(State.STOPPED)
    assert control.state is State.STOPPED
    assert run.time_ns == 0
    control.set_state(State.PAUSED)  # at the start, without a step
    assert (control.state, run.time_ns) == (State.PAUSED, 0)
    control.set_state(State.PLAYING)
    assert control.state is State.PLAYING
    control.set_state(State.STOPPED)
    assert (control.state, run.time_ns) == (State.STOPPED, 0)


@pytest.mark.parametrize("leave", ["resume", "step"])
def test_it_is_stopped_no_more_whoever_lets_it_leave_its_start(run, leave):
    run.control.set_state(State.STOPPED)
    if leave == "step":
        run.step(1)
    else:
        stepped = threading.Event()
        run.on_step.act = lambda _time, _readings: stepped.set()
        run.runner.resume()
        assert stepped.wait(300.0)
        run.runner.call(run.runner.pause)
    run.control.reset(Scope.TIME)
    assert (run.control.state, run.time_ns) == (State.PAUSED, 0)


def test_the_state_there_is_already_is_told(run):
    with refused(Code.ALREADY_IN_TARGET_STATE, "already PAUSED"):
        run.control.set_state(State.PAUSED)


@pytest.mark.parametrize("state", [State.NO_WORLD, State.LOADING_WORLD, 77, 255])
def test_states_that_nobody_can_set_are_refused(run, state):
    with refused(Code.INCORRECT_TRANSITION):
        run.control.set_state(state)
    assert run.control.state is State.PAUSED


def test_quitting_ends_the_run_a_little_later(run, monkeypatch):
    monkeypatch.setattr(world_control, "QUIT_DELAY", 0.01)
    ended = threading.Event()
    stop = run.runner.stop
    monkeypatch.setattr(run.runner, "stop", lambda: (stop(), ended.set()))
    run.control.set_state(State.QUITTING)
    assert run.control.state is State.QUITTING
    assert ended.wait(300.0)


def test_steps_are_counted_and_end_in_a_pause(run):
    seen, ends = [], SimpleQueue()
    stepping = run.control.step(25, seen.append, ends.put)
    assert ends.get(timeout=300.0) is None
    assert stepping.done == 25
    assert seen == list(range(1, 26))
    assert run.time_ns == 25_000_000
    assert run.control.state is State.PAUSED


def test_no_step_is_done_at_once(run):
    ends = SimpleQueue()
    assert run.control.step(0, None, ends.put) is None
    assert ends.get_nowait() is None


def test_only_a_paused_simulation_can_be_stepped(run):
    run.control.set_state(State.PLAYING)
    with refused(Code.OPERATION_FAILED, "PLAYING"):
        run.control.step(1)
    run.control.set_state(State.STOPPED)
    with refused(Code.OPERATION_FAILED, "STOPPED; set it to PAUSED before stepping"):
        run.control.step(1)


@pytest.mark.parametrize("pause", [lambda c: c.set_state(State.PAUSED), lambda c: c.pause()])
def test_a_pause_ends_endless_steps(run, pause):
    begun, ends = threading.Event(), SimpleQueue()
    stepping = run.control.step(2**63, lambda _: begun.set(), ends.put)
    assert begun.wait(300.0)
    assert run.control.state is State.PLAYING
    with refused(Code.OPERATION_FAILED, "set it to PAUSED before stepping"):
        run.control.step(1)
    pause(run.control)
    assert run.control.state is State.PAUSED
    assert stepping.cancelled
    with refused(Code.OPERATION_FAILED, "they were cancelled"):
        raise ends.get(timeout=300.0)


def test_a_failure_of_the_physics_ends_steps_and_a_reset_helps():
    with simulating(on_failure=lambda error: None) as run:
        arm, ends = run.simulation.bodies["arm"], SimpleQueue()

        def spoil(done):
            if done == 3:
                arm.wrench.force[:] = float("nan")

        stepping = run.control.step(10, spoil, ends.put)
        with refused(Code.OPERATION_FAILED, "the physics has failed"):
            raise ends.get(timeout=300.0)
        assert stepping.done == 3
        with refused(Code.OPERATION_FAILED, "reset the world first"):
            run.control.step(1)
        run.control.reset(Scope.STATE | Scope.TIME)
        run.step(1)


def test_a_reset_of_everything_is_a_new_start(run):
    fresh = run.hash()
    run.step(40)
    forty = run.hash()
    run.control.spawn(CRATE)
    run.step(10)
    run.control.reset(Scope.DEFAULT)
    assert run.hash() == fresh
    assert run.control.state is State.STOPPED
    run.control.set_state(State.PAUSED)
    run.step(40)
    assert run.hash() == forty


def test_a_reset_of_everything_brings_back_what_was_deleted(run):
    run.step(40)
    forty = run.hash()
    for name in run.control.names():
        run.control.delete(name)
    assert run.control.names() == []
    run.control.reset(Scope.ALL)
    run.control.set_state(State.PAUSED)
    run.step(40)
    assert run.hash() == forty


def test_a_reset_of_the_state_lets_time_go_on(run):
    fresh_q = [s.motion.q.copy() for s in run.simulation.bodies.values()]
    run.control.spawn(CRATE)
    run.step(300)
    run.control.reset(Scope.STATE)
    assert run.time_ns == 300_000_000
    assert "crate" in run.control.names()
    assert run.control.entity_state("crate").X_WF.p.tolist() == [1.0, 1.0, 1.0]
    for before, now in zip(fresh_q, run.simulation.bodies.values(), strict=False):
        assert (before == now.motion.q).all()
    run.step(1)
    assert run.time_ns == 301_000_000


def test_a_reset_of_time_moves_nothing(run):
    run.control.spawn(CRATE)
    run.step(200)
    before = run.control.entity_state("crate")
    run.control.reset(Scope.TIME)
    after = run.control.entity_state("crate")
    assert run.time_ns == after.time_ns == 0
    assert (before.X_WF.p == after.X_WF.p).all()
    assert (before.v == after.v).all()
    assert run.control.state is State.PAUSED
    run.step(1)
    assert run.time_ns == 1_000_000


def test_a_trajectory_goes_on_over_a_reset_of_time(run):
    points = [TrajectoryPoint(200_000_000, [0.2]), TrajectoryPoint(400_000_000, [0.4])]
    run.step(100)
    one = TrajectoryRun(JointTrajectory(["J1"], points))
    run.simulation.command("arm", one)
    run.step(100)
    q = run.simulation.bodies["arm"].motion.q
    run.control.reset(Scope.TIME)
    for _ in range(3):
        before = float(q[0])
        run.step(100)
        assert q[0] - before == pytest.approx(0.1, abs=1e-3)
    assert one.status is TrajectoryStatus.SUCCEEDED
    assert one.progress.time_ns == 300_000_000
    run.step(100)
    assert q[0] == pytest.approx(0.4, abs=1e-3)


def test_sensors_keep_their_rate_after_each_reset(run):
    times = []
    run.on_step.act = lambda time_ns, readings: times.extend([time_ns] if readings else [])
    run.step(100)
    usual = list(times)
    assert usual
    for scope in (Scope.TIME, Scope.STATE | Scope.TIME, Scope.ALL):
        times.clear()
        run.control.reset(scope)
        run.runner.pause()
        run.step(100)
        assert times == usual, scope


def test_a_reset_of_what_was_spawned_leaves_the_rest(run):
    names = run.control.names()
    run.step(10)
    run.control.spawn(CRATE)
    run.control.reset(Scope.SPAWNED)
    assert run.control.names() == names
    assert run.time_ns == 10_000_000


@pytest.mark.parametrize("scope", [8, 16, 128, 254])
def test_a_scope_that_is_none_is_refused(run, scope):
    with refused(Code.FEATURE_UNSUPPORTED, f"invalid scope {scope}"):
        run.control.reset(scope)


def test_a_world_is_loaded_and_stands_at_its_start(run):
    run.step(10)
    run.control.set_state(State.PLAYING)
    before = run.simulation
    world = Resource(str(MODELS / "worlds" / "stack.yaml"))
    run.control.load_world(world)
    assert run.control.current_world is world
    assert world.name == "stack"
    assert run.simulation is not before
    assert run.control.state is State.STOPPED
    assert run.time_ns == 0
    assert run.changes
    run.control.set_state(State.PAUSED)
    run.step(5)
    run.control.reset()
    assert run.time_ns == 0


def test_a_world_comes_from_a_text_or_a_model_alone(run):
    text = f"bodies: [ {{ model: {MODELS / 'arm' / 'arm.body'}, name: one }} ]"
    run.control.load_world(Resource(text=text))
    assert run.control.current_world.name == "resource_string"
    assert run.control.names() == ["one"]
    run.control.load_world(Resource("package://hrp_ros/models/arm/arm.body"))
    assert run.control.names() == ["floor", "Arm"]


def test_a_project_is_a_world(run):
    project = MODELS / "projects" / "arm_waves.cnoid"
    run.control.load_world(Resource(str(project)))
    assert run.control.current_world.name == "arm_waves"
    assert run.control.names() == ["floor", "arm", "block"]
    text = "items: {{ class: RootItem, children: [ {{ class: BodyItem, data: {{ file: {} }} }} ] }}"
    arm = MODELS / "arm" / "arm.body"
    run.control.load_world(Resource(text=text.format(arm)))
    assert run.control.names() == ["Arm"]
    with refused(Code.MISSING_ASSETS, "no.body"):
        run.control.load_world(Resource(text=text.format("no.body")))
    with refused(Code.UNSUPPORTED_FORMAT, "the tree of its items"):
        run.control.load_world(Resource(text="items: 1"))


def test_the_text_goes_last(run):
    run.control.load_world(Resource(ARM_WORLD, "nonsense"))


BAD_WORLDS = [
    (Resource(), Code.NO_RESOURCE, "neither a uri nor"),
    (Resource("world.usd"), Code.UNSUPPORTED_FORMAT, ".yaml"),
    (Resource("no.yaml"), Code.NOT_FOUND, "no file"),
    (Resource("package://nobody/x.yaml"), Code.NOT_FOUND, "no package 'nobody'"),
    (Resource("http://x/y.yaml"), Code.UNSUPPORTED_FORMAT, "not supported"),
    (Resource("a\0.yaml"), Code.NOT_FOUND, "zero bytes"),
    (Resource(text="robots: []"), Code.UNSUPPORTED_FORMAT, "'bodies'"),
    (Resource(text="links: []"), Code.UNSUPPORTED_FORMAT, "no 'format' key"),
    (Resource(text="bodies: ["), Code.RESOURCE_PARSE_ERROR, "text:1:"),
    (Resource(text="bodies: [ { model: no.body } ]"), Code.MISSING_ASSETS, "no.body"),
    (Resource(text="x" * 50_000_000), Code.RESOURCE_PARSE_ERROR, "50.0 million"),
]


@pytest.mark.parametrize(("resource", "code", "words"), BAD_WORLDS)
def test_a_world_that_cannot_be_leaves_the_old_one_playing(run, resource, code, words):
    run.control.set_state(State.PLAYING)
    with refused(code, words):
        run.control.load_world(resource)
    assert run.control.state is State.PLAYING
    assert run.control.current_world.name == "arm"


def test_missing_models_are_left_out_if_they_may_be(run):
    arm = MODELS / "arm" / "arm.body"
    text = f"bodies: [ {{ model: no.body }}, {{ model: {arm}, name: one }} ]"
    run.control.load_world(Resource(text=text), lenient=True)
    assert run.control.names() == ["one"]


def test_parts_that_mean_nothing_are_refused_if_they_are_to_be(run):
    text = "bodies: []\nnonsense: 1\n"
    run.control.load_world(Resource(text=text))
    with refused(Code.UNSUPPORTED_ELEMENTS, "nonsense"):
        run.control.load_world(Resource(text=text), strict=True)


def test_two_bodies_of_one_topic_are_no_world(run):
    def check_names(simulation, names):
        assert list(names) == list(simulation.bodies) == ["Floor", "arm"]
        raise NameCollisionError("one topic")

    run.check_names = check_names
    before = run.simulation
    with refused(Code.RESOURCE_PARSE_ERROR, "one topic"):
        run.control.load_world(Resource(ARM_WORLD))
    assert run.simulation is before


def test_without_a_world_there_is_nothing_to_do(run):
    run.control.unload_world()
    assert run.control.state is State.NO_WORLD
    assert run.control.names() == []
    for act in (
        lambda: run.control.spawn(CRATE),
        lambda: run.control.delete("arm"),
        run.control.reset,
        run.control.restart,
        run.control.pause,
        run.control.resume,
    ):
        with refused(Code.INCORRECT_STATE, "the simulation is NO_WORLD; load a world first"):
            act()
    with refused(Code.OPERATION_FAILED, "NO_WORLD"):
        run.control.step(1)
    for target in (State.PLAYING, State.PAUSED, State.STOPPED):
        with refused(Code.INCORRECT_TRANSITION, "load a world first"):
            run.control.set_state(target)
    for ask in (run.control.unload_world, lambda: run.control.current_world):
        with refused(Code.NO_WORLD_LOADED):
            ask()
    assert run.runner.call(lambda: run.runner.paused)
    run.control.load_world(Resource(ARM_WORLD))
    assert run.control.state is State.STOPPED


def test_every_world_but_the_last_is_closed(run):
    closed = []
    for simulation in run.made:
        simulation.close = lambda s=simulation: closed.append(s)
    run.control.load_world(Resource(ARM_WORLD))
    assert closed == run.made[:-1]


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        (None, ["dock", "door", "desk"]),
        (TagsFilter(("spawn", "none")), ["dock", "door"]),
        (TagsFilter(("spawn", "small"), all=True), ["dock"]),
        (TagsFilter(("none",)), []),
    ],
)
def test_named_poses_are_those_of_the_loaded_world(run, tags, names):
    assert run.control.named_poses(tags) == []
    run.control.load_world(Resource(text=POSES))
    assert [pose.name for pose in run.control.named_poses(tags)] == names


def test_bounds_of_a_pose_are_a_box_with_its_upper_corner_first(run):
    control = run.control
    with refused(Code.NOT_FOUND, "there is no named pose 'dock'. The world has none."):
        control.pose_bounds("dock")
    control.load_world(Resource(text=POSES))
    bounds = control.pose_bounds("dock")
    assert bounds.type == BoundsType.BOX
    assert bounds.points.tolist() == [[1.0, 2.0, 3.0], [-1.0, -2.0, 0.0]]
    assert control.pose_bounds("desk").type == BoundsType.EMPTY
    assert len(control.pose_bounds("desk").points) == 0
    with refused(Code.NOT_FOUND, "Did you mean 'dock'?"):
        control.pose_bounds("dokc")


def test_without_a_world_there_are_no_named_poses(run):
    run.control.unload_world()
    with refused(Code.INCORRECT_STATE, "load a world first"):
        run.control.named_poses()
    with refused(Code.INCORRECT_STATE, "load a world first"):
        run.control.pose_bounds("dock")


def test_pause_and_resume_are_possible_in_any_state(run):
    control = run.control
    for _ in range(2):
        control.resume()
        assert control.state is State.PLAYING
    for _ in range(2):
        control.pause()
        assert control.state is State.PAUSED
    run.step(1)
    control.restart()
    assert (control.state, run.time_ns) == (State.PAUSED, 0)


def test_what_quits_cannot_be_asked_to_go_on(run):
    run.control.set_state(State.QUITTING)
    for target in (State.PLAYING, State.PAUSED, State.STOPPED):
        with refused(Code.INCORRECT_TRANSITION, "QUITTING; start it again"):
            run.control.set_state(target)
    with refused(Code.INCORRECT_STATE, "QUITTING; start it again"):
        run.control.resume()


@pytest.fixture
def hardware():
    """A run whose controllers sleep by the clock, five steps after its start."""
    with simulating(keeps_time=True) as run:
        run.start = run.hash()
        run.step(5)
        yield run


def test_a_restart_keeps_time_where_controllers_sleep_by_the_clock(hardware, caplog):
    before_ns = hardware.time_ns
    hardware.control.restart()
    assert hardware.time_ns == before_ns > 0
    hardware.control.reset(Scope.TIME)
    assert hardware.hash() == hardware.start  # nothing else was left as it was
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("scope", [Scope.TIME, Scope.TIME | Scope.STATE, Scope.ALL, Scope.DEFAULT])
def test_a_reset_of_time_warns_where_controllers_sleep_by_the_clock(hardware, scope, caplog):
    before = hardware.time_ns / 1e9
    warning = hardware.control.reset(scope)
    assert hardware.time_ns == 0
    assert warning.startswith(f"time was reset from {before:g} s to 0 s: ros2_control controllers")
    assert caplog.messages == [warning]
    assert hardware.control.reset(scope) == ""  # it is at zero already


def test_another_world_warns_where_controllers_sleep_by_the_clock(hardware, caplog):
    hardware.control.unload_world()
    assert [message[:15] for message in caplog.messages] == ["time was reset "]


def test_without_such_controllers_nobody_is_warned(run, caplog):
    run.step(5)
    assert run.control.reset(Scope.ALL) == ""
    assert run.time_ns == 0
    assert caplog.messages == []
