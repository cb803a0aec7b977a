"""States, steps, resets and worlds of a simulator that others control."""

from __future__ import annotations

import threading

import pytest
from paths import MODELS
from simulator_tools import ARM_WORLD, BOX, refused, simulating

from hrp_msgs.names import NameCollisionError
from hrp_sim.control import TrajectoryRun, TrajectoryStatus
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint
from hrp_sim.simulator import simulator as simulator_module
from hrp_sim.simulator.entities import TagsFilter
from hrp_sim.simulator.resources import Resource
from hrp_sim.simulator.results import (
    BoundsType,
    Code,
    CurrentWorldCode,
    Scope,
    State,
    StateCode,
    WorldCode,
)
from hrp_sim.simulator.simulator import check_steps
from hrp_sim.simulator.spawning import SpawnRequest

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

    run.runner._on_step = lambda _time, _readings: look()
    run.simulator.set_state(State.PLAYING)
    assert reached.wait(30.0)
    run.simulator.set_state(State.PAUSED)


def test_it_plays_pauses_and_stops(run):
    simulator = run.simulator
    assert simulator.state is State.PAUSED
    play_until(run, 20_000_000)
    assert simulator.state is State.PAUSED
    simulator.set_state(State.STOPPED)
    assert simulator.state is State.STOPPED
    assert run.time_ns == 0
    simulator.set_state(State.PAUSED)  # at the start, without a step
    assert (simulator.state, run.time_ns) == (State.PAUSED, 0)
    simulator.set_state(State.PLAYING)
    assert simulator.state is State.PLAYING
    simulator.set_state(State.STOPPED)
    assert (simulator.state, run.time_ns) == (State.STOPPED, 0)


@pytest.mark.parametrize("leave", ["resume", "step"])
def test_it_is_stopped_no_more_whoever_lets_it_leave_its_start(run, leave):
    run.simulator.set_state(State.STOPPED)
    if leave == "step":
        run.step(1)
    else:
        stepped = threading.Event()
        run.runner._on_step = lambda _time, _readings: stepped.set()
        run.runner.resume()
        assert stepped.wait(30.0)
        run.runner.call(run.runner.pause)
    run.simulator.reset(Scope.TIME)
    assert (run.simulator.state, run.time_ns) == (State.PAUSED, 0)


def test_the_state_there_is_already_is_told(run):
    with refused(StateCode.ALREADY_IN_TARGET_STATE, "already PAUSED"):
        run.simulator.set_state(State.PAUSED)


@pytest.mark.parametrize("state", [State.NO_WORLD, State.LOADING_WORLD, 77, 255])
def test_states_that_nobody_can_set_are_refused(run, state):
    with refused(StateCode.INCORRECT_TRANSITION):
        run.simulator.set_state(state)
    assert run.simulator.state is State.PAUSED


def test_quitting_ends_the_run_a_little_later(run, monkeypatch):
    monkeypatch.setattr(simulator_module, "QUIT_DELAY", 0.01)
    ended = threading.Event()
    stop = run.runner.stop
    monkeypatch.setattr(run.runner, "stop", lambda: (stop(), ended.set()))
    run.simulator.set_state(State.QUITTING)
    assert run.simulator.state is State.QUITTING
    assert ended.wait(10.0)


def test_steps_are_counted_and_end_in_a_pause(run):
    seen = []
    stepping = run.simulator.step(25, seen.append)
    assert stepping.wait(30.0)
    check_steps(stepping)
    assert seen == list(range(1, 26))
    assert run.time_ns == 25_000_000
    assert run.simulator.state is State.PAUSED


def test_no_step_is_done_at_once(run):
    assert run.simulator.step(0) is None


def test_only_a_paused_simulation_can_be_stepped(run):
    run.simulator.set_state(State.PLAYING)
    with refused(Code.OPERATION_FAILED, "PLAYING"):
        run.simulator.step(1)
    run.simulator.set_state(State.STOPPED)
    with refused(Code.OPERATION_FAILED, "STOPPED; set it to PAUSED before stepping"):
        run.simulator.step(1)


def test_a_pause_ends_endless_steps(run):
    begun = threading.Event()
    stepping = run.simulator.step(2**63, lambda _: begun.set())
    assert begun.wait(30.0)
    assert run.simulator.state is State.PLAYING
    with refused(Code.OPERATION_FAILED, "set it to PAUSED before stepping"):
        run.simulator.step(1)
    run.simulator.set_state(State.PAUSED)
    assert run.simulator.state is State.PAUSED
    with refused(Code.OPERATION_FAILED, "they were cancelled"):
        check_steps(stepping)


def test_a_failure_of_the_physics_ends_steps_and_a_reset_helps():
    with simulating(on_failure=lambda error: None) as run:
        arm = run.simulation.bodies["arm"]

        def spoil(done):
            if done == 3:
                arm.wrench.force[:] = float("nan")

        stepping = run.simulator.step(10, spoil)
        assert stepping.wait(30.0)
        with refused(Code.OPERATION_FAILED, "the physics has failed"):
            check_steps(stepping)
        assert stepping.done == 3
        with refused(Code.OPERATION_FAILED, "reset the world first"):
            run.simulator.step(1)
        run.simulator.reset(Scope.STATE | Scope.TIME)
        run.step(1)


def test_a_reset_of_everything_is_a_new_start(run):
    fresh = run.hash()
    run.step(40)
    forty = run.hash()
    run.entities.spawn(CRATE)
    run.step(10)
    run.simulator.reset(Scope.DEFAULT)
    assert run.hash() == fresh
    assert run.simulator.state is State.STOPPED
    run.simulator.set_state(State.PAUSED)
    run.step(40)
    assert run.hash() == forty


def test_a_reset_of_everything_brings_back_what_was_deleted(run):
    run.step(40)
    forty = run.hash()
    for name in run.entities.names():
        run.entities.delete(name)
    assert run.entities.names() == []
    run.simulator.reset(Scope.ALL)
    run.simulator.set_state(State.PAUSED)
    run.step(40)
    assert run.hash() == forty


def test_a_reset_of_the_state_lets_time_go_on(run):
    fresh_q = [s.motion.q.copy() for s in run.simulation.bodies.values()]
    run.entities.spawn(CRATE)
    run.step(300)
    run.simulator.reset(Scope.STATE)
    assert run.time_ns == 300_000_000
    assert "crate" in run.entities.names()
    assert run.entities.state("crate").X_FL.p.tolist() == [1.0, 1.0, 1.0]
    for before, now in zip(fresh_q, run.simulation.bodies.values(), strict=False):
        assert (before == now.motion.q).all()
    run.step(1)
    assert run.time_ns == 301_000_000


def test_a_reset_of_time_moves_nothing(run):
    run.entities.spawn(CRATE)
    run.step(200)
    before = run.entities.state("crate")
    run.simulator.reset(Scope.TIME)
    after = run.entities.state("crate")
    assert run.time_ns == after.time_ns == 0
    assert (before.X_FL.p == after.X_FL.p).all()
    assert (before.v == after.v).all()
    assert run.simulator.state is State.PAUSED
    run.step(1)
    assert run.time_ns == 1_000_000


def test_a_trajectory_goes_on_over_a_reset_of_time(run):
    points = [TrajectoryPoint(200_000_000, [0.2]), TrajectoryPoint(400_000_000, [0.4])]
    run.step(100)
    one = TrajectoryRun(JointTrajectory(["J1"], points))
    run.simulation.command("arm", one)
    run.step(100)
    q = run.simulation.bodies["arm"].motion.q
    run.simulator.reset(Scope.TIME)
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
    run.runner._on_step = lambda time_ns, readings: times.extend([time_ns] if readings else [])
    run.step(100)
    usual = list(times)
    assert usual
    for scope in (Scope.TIME, Scope.STATE | Scope.TIME, Scope.ALL):
        times.clear()
        run.simulator.reset(scope)
        run.runner.pause()
        run.step(100)
        assert times == usual, scope


def test_a_reset_of_what_was_spawned_leaves_the_rest(run):
    names = run.entities.names()
    run.step(10)
    run.entities.spawn(CRATE)
    run.simulator.reset(Scope.SPAWNED)
    assert run.entities.names() == names
    assert run.time_ns == 10_000_000


@pytest.mark.parametrize("scope", [8, 16, 128, 254])
def test_a_scope_that_is_none_is_refused(run, scope):
    with refused(Code.FEATURE_UNSUPPORTED, f"invalid scope {scope}"):
        run.simulator.reset(scope)


def test_a_world_is_loaded_and_stands_at_its_start(run):
    run.step(10)
    run.simulator.set_state(State.PLAYING)
    before = run.simulation
    world = run.simulator.load_world(Resource(str(MODELS / "worlds" / "stack.yaml")))
    assert world.name == "stack"
    assert run.simulator.current_world is world
    assert run.simulation is not before
    assert run.simulator.state is State.STOPPED
    assert run.time_ns == 0
    assert run.changes
    run.simulator.set_state(State.PAUSED)
    run.step(5)
    run.simulator.reset()
    assert run.time_ns == 0


def test_a_world_comes_from_a_text_or_a_model_alone(run):
    text = f"bodies: [ {{ model: {MODELS / 'arm' / 'arm.body'}, name: one }} ]"
    assert run.simulator.load_world(Resource(text=text)).name == "resource_string"
    assert run.entities.names() == ["one"]
    run.simulator.load_world(Resource("package://hrp_ros/models/arm/arm.body"))
    assert run.entities.names() == ["floor", "Arm"]


def test_a_project_is_a_world(run):
    project = MODELS / "projects" / "arm_waves.cnoid"
    assert run.simulator.load_world(Resource(str(project))).name == "arm_waves"
    assert run.entities.names() == ["floor", "arm", "block"]
    text = "items: {{ class: RootItem, children: [ {{ class: BodyItem, data: {{ file: {} }} }} ] }}"
    arm = MODELS / "arm" / "arm.body"
    run.simulator.load_world(Resource(text=text.format(arm)))
    assert run.entities.names() == ["Arm"]
    with refused(WorldCode.MISSING_ASSETS, "no.body"):
        run.simulator.load_world(Resource(text=text.format("no.body")))
    with refused(WorldCode.UNSUPPORTED_FORMAT, "the tree of its items"):
        run.simulator.load_world(Resource(text="items: 1"))


def test_the_text_goes_last(run):
    run.simulator.load_world(Resource(ARM_WORLD, "nonsense"))


BAD_WORLDS = [
    (Resource(), WorldCode.NO_RESOURCE, "neither a uri nor"),
    (Resource("world.usd"), WorldCode.UNSUPPORTED_FORMAT, ".yaml"),
    (Resource("no.yaml"), Code.NOT_FOUND, "no file"),
    (Resource("package://nobody/x.yaml"), Code.NOT_FOUND, "no package 'nobody'"),
    (Resource("http://x/y.yaml"), WorldCode.UNSUPPORTED_FORMAT, "not supported"),
    (Resource("a\0.yaml"), Code.NOT_FOUND, "zero bytes"),
    (Resource(text="robots: []"), WorldCode.UNSUPPORTED_FORMAT, "'bodies'"),
    (Resource(text="links: []"), WorldCode.UNSUPPORTED_FORMAT, "no 'format' key"),
    (Resource(text="bodies: ["), WorldCode.RESOURCE_PARSE_ERROR, "text:1:"),
    (Resource(text="bodies: [ { model: no.body } ]"), WorldCode.MISSING_ASSETS, "no.body"),
    (Resource(text="x" * 50_000_000), WorldCode.RESOURCE_PARSE_ERROR, "50.0 million"),
]


@pytest.mark.parametrize(("resource", "code", "words"), BAD_WORLDS)
def test_a_world_that_cannot_be_leaves_the_old_one_playing(run, resource, code, words):
    run.simulator.set_state(State.PLAYING)
    with refused(code, words):
        run.simulator.load_world(resource)
    assert run.simulator.state is State.PLAYING
    assert run.simulator.current_world.name == "arm"


def test_missing_models_are_left_out_if_they_may_be(run):
    arm = MODELS / "arm" / "arm.body"
    text = f"bodies: [ {{ model: no.body }}, {{ model: {arm}, name: one }} ]"
    run.simulator.load_world(Resource(text=text), lenient=True)
    assert run.entities.names() == ["one"]


def test_parts_that_mean_nothing_are_refused_if_they_are_to_be(run):
    text = "bodies: []\nnonsense: 1\n"
    run.simulator.load_world(Resource(text=text))
    with refused(WorldCode.UNSUPPORTED_ELEMENTS, "nonsense"):
        run.simulator.load_world(Resource(text=text), strict=True)


def test_two_bodies_of_one_topic_are_no_world(run):
    def check_names(simulation, names):
        assert list(names) == list(simulation.bodies) == ["Floor", "arm"]
        raise NameCollisionError("one topic")

    run.check_names = check_names
    before = run.simulation
    with refused(WorldCode.RESOURCE_PARSE_ERROR, "one topic"):
        run.simulator.load_world(Resource(ARM_WORLD))
    assert run.simulation is before


def test_without_a_world_there_is_nothing_to_do(run):
    run.simulator.unload_world()
    assert run.simulator.state is State.NO_WORLD
    assert run.entities.names() == []
    for act in (
        lambda: run.entities.spawn(CRATE),
        lambda: run.entities.delete("arm"),
        run.simulator.reset,
        run.simulator.restart,
        run.simulator.pause,
        run.simulator.resume,
    ):
        with refused(Code.INCORRECT_STATE, "the simulation is NO_WORLD; load a world first"):
            act()
    with refused(Code.OPERATION_FAILED, "NO_WORLD"):
        run.simulator.step(1)
    for target in (State.PLAYING, State.PAUSED, State.STOPPED):
        with refused(StateCode.INCORRECT_TRANSITION, "load a world first"):
            run.simulator.set_state(target)
    for ask in (run.simulator.unload_world, lambda: run.simulator.current_world):
        with refused(CurrentWorldCode.NO_WORLD_LOADED):
            ask()
    assert run.runner.call(lambda: run.runner.paused)
    run.simulator.load_world(Resource(ARM_WORLD))
    assert run.simulator.state is State.STOPPED


def test_every_world_but_the_last_is_closed(run):
    closed = []
    for simulation in run.made:
        simulation.close = lambda s=simulation: closed.append(s)
    run.simulator.load_world(Resource(ARM_WORLD))
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
    assert run.simulator.named_poses(tags) == []
    run.simulator.load_world(Resource(text=POSES))
    assert [pose.name for pose in run.simulator.named_poses(tags)] == names


def test_bounds_of_a_pose_are_a_box_with_its_upper_corner_first(run):
    simulator = run.simulator
    with refused(Code.NOT_FOUND, "there is no named pose 'dock'. The world has none."):
        simulator.pose_bounds("dock")
    simulator.load_world(Resource(text=POSES))
    bounds = simulator.pose_bounds("dock")
    assert bounds.type == BoundsType.BOX
    assert bounds.points.tolist() == [[1.0, 2.0, 3.0], [-1.0, -2.0, 0.0]]
    assert simulator.pose_bounds("desk").type == BoundsType.EMPTY
    assert len(simulator.pose_bounds("desk").points) == 0
    with refused(Code.NOT_FOUND, "Did you mean 'dock'?"):
        simulator.pose_bounds("dokc")


def test_without_a_world_there_are_no_named_poses(run):
    run.simulator.unload_world()
    with refused(Code.INCORRECT_STATE, "load a world first"):
        run.simulator.named_poses()
    with refused(Code.INCORRECT_STATE, "load a world first"):
        run.simulator.pose_bounds("dock")
