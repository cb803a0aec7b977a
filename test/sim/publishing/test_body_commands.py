"""Commands to a body as they arrive from outside: what is taken, and what is refused."""

from math import inf, nan

import pytest
from controlled_run import simulating
from paths import MODELS

from hrp_sim import Simulation, load_world
from hrp_sim.control import TrajectoryStatus
from hrp_sim.topics.commands import BodyCommands, CommandOptions
from hrp_sim.topics.hardware import HardwareCommands

WORLDS = MODELS / "worlds"
FRAMES = {"robot/J6": "J6"}
NS_PER_S = 1_000_000_000


@pytest.fixture
def arm():
    """The arm, at time 0.1 s, and what takes its commands."""
    simulation = Simulation(load_world(WORLDS / "arm.yaml"))
    run(simulation, 100)
    return simulation, BodyCommands(simulation, "arm", FRAMES)


@pytest.fixture(scope="module")
def rover():
    simulation = Simulation(load_world(WORLDS / "rover.yaml"))
    return simulation, BodyCommands(simulation, "rover", {})


def run(simulation, steps):
    for _ in range(steps):
        simulation.step()


def joint(simulation, name):
    links = simulation.bodies["arm"].body.moving_links
    i = [link.joint.name for link in links].index(name)
    return simulation.bodies["arm"].motion.q[i]


def to(seconds, *positions):
    return (round(seconds * NS_PER_S), positions, (), (), ())


def test_targets_of_joints_move_them(arm):
    simulation, commands = arm
    commands.joints("topic", 0, ["J1"], [0.2], [], [])
    run(simulation, 800)
    assert joint(simulation, "J1") == pytest.approx(0.2, abs=2e-3)


def test_shorter_lists_are_read_by_the_interfaces_of_the_hardware(arm):
    """J2 follows nothing and has no values; J3 has two interfaces, of which one is used."""
    simulation, commands = arm
    commands.hardware = HardwareCommands(
        {"J1": ["velocity"], "J3": ["position", "velocity"], "J4": ["effort"]}
    )
    start = joint(simulation, "J2")
    commands.joints("topic", 0, ["J1", "J2", "J3", "J4"], [0.2], [0.5, nan], [0.0])
    run(simulation, 800)
    assert joint(simulation, "J1") == pytest.approx(0.4, abs=0.02)
    assert joint(simulation, "J2") == pytest.approx(start, abs=0.02)
    assert joint(simulation, "J3") == pytest.approx(0.2, abs=0.02)
    assert simulation.command_counts.refused == 0
    commands.joints("topic", 0, ["J1", "J2", "J3", "J4"], [0.2, 0.2], [], [])
    simulation.step()
    assert simulation.command_counts.refused == 1


def test_a_stamped_command_may_be_as_old_as_the_options_say(arm):
    simulation, commands = arm
    now_ns = simulation.state.time_ns
    commands.joints("topic", 1, ["J1"], [0.2], [], [])  # any age
    commands.options = CommandOptions(max_age=0.05)
    commands.joints("topic", now_ns - 50_000_000, ["J1"], [0.2], [], [])
    commands.joints("topic", 0, ["J1"], [0.2], [], [])  # no stamp
    with pytest.raises(ValueError, match=r"stamped 0\.049 s came 0\.051 s later"):
        commands.joints("topic", now_ns - 51_000_000, ["J1"], [0.2], [], [])
    assert simulation.command_counts.stale == 1


def test_a_stamp_of_another_clock_is_told_where_the_age_counts(arm):
    simulation, commands = arm
    another_clock = 1_700_000_000 * NS_PER_S
    commands.joints("topic", another_clock, ["J1"], [0.2], [], [])
    commands.options = CommandOptions(max_age=0.05)
    commands.joints("topic", NS_PER_S, ["J1"], [0.2], [], [])  # a little ahead, as after a reset
    with pytest.raises(ValueError, match=r"1700000000\.000 s.*use_sim_time"):
        commands.joints("topic", another_clock, ["J1"], [0.2], [], [])
    assert simulation.command_counts.stale == 1


def test_a_trajectory_arrives_in_time(arm):
    simulation, commands = arm
    commands.trajectory("topic", (0, ["J1"], [to(0.2, 0.1), to(0.4, 0.3)]))
    run(simulation, 500)
    assert joint(simulation, "J1") == pytest.approx(0.3, abs=2e-3)


@pytest.mark.parametrize(
    ("trajectory", "words"),
    [
        ((0, ["J9"], [to(1, 0.1)]), "no moving joint 'J9'"),
        ((0, ["J1"], [to(1, 0.1, 0.2)]), "2 positions, not 1"),
        ((0, ["J1"], [to(1, nan)]), "positions of nan for 'J1'"),
        ((1, ["J1"], [to(0.05, 0.1)]), "ended in the past, at 0.050 s"),
        ((1_700_000_000 * NS_PER_S, ["J1"], [to(1, 0.1)]), "use_sim_time"),
    ],
)
def test_a_trajectory_that_cannot_be_followed_is_refused_at_once(arm, trajectory, words):
    simulation, commands = arm
    with pytest.raises(ValueError, match=words):
        commands.trajectory("topic", trajectory)
    assert simulation.command_counts.refused == 1


def test_a_run_tells_how_it_ended(arm):
    simulation, commands = arm
    tight = {"J1": (1e-6, None)}
    kept = commands.follow("action", ((0, ["J1"], [to(0.2, 0.1)]), {}, {"J1": (0.01, inf)}, 0))
    run(simulation, 400)
    assert kept.status is TrajectoryStatus.SUCCEEDED
    missed = commands.follow("action", ((0, ["J1"], [to(0.2, 0.5)]), tight, {}, 0))
    run(simulation, 200)
    assert missed.status is TrajectoryStatus.PATH_VIOLATED
    canceled = commands.follow("action", ((0, ["J1"], [to(0.2, 0.1)]), {}, {}, 0))
    run(simulation, 100)
    commands.cancel("action", canceled)
    run(simulation, 1)
    assert canceled.status is TrajectoryStatus.CANCELED


@pytest.mark.parametrize(
    ("goal", "goal_time_ns", "status"),
    [
        ({}, 0, TrajectoryStatus.GOAL_VIOLATED),
        ({"J1": (None, inf)}, 0, TrajectoryStatus.GOAL_VIOLATED),
        ({"J1": (2.0, None)}, 0, TrajectoryStatus.SUCCEEDED),
        ({"J1": (inf, None)}, 0, TrajectoryStatus.SUCCEEDED),
        ({}, NS_PER_S, TrajectoryStatus.RUNNING),
        ({}, -1, TrajectoryStatus.RUNNING),
    ],
)
def test_a_blocked_joint_misses_its_goal_by_default(arm, goal, goal_time_ns, status):
    simulation, commands = arm
    commands.set_joint("J1", kp=0.0, kd=0.0)  # nothing moves it
    one = commands.follow("action", ((0, ["J1"], [to(0.1, 1.142)]), {}, goal, goal_time_ns))
    run(simulation, 650)
    assert one.status is status
    if status is TrajectoryStatus.GOAL_VIOLATED:
        assert one.message.startswith("the position error of joint 'J1' is 1.")


def test_the_constraints_of_joints_count_where_a_goal_states_no_tolerance(arm):
    simulation, commands = arm
    commands.set_joint("J1", kp=0.0, kd=0.0)
    goal = (0, ["J1"], [to(0.1, 1.142)]), {}, {}, 0
    commands.set_constraints("J1", goal=2.0)
    reached = commands.follow("action", goal)
    run(simulation, 150)
    assert reached.status is TrajectoryStatus.SUCCEEDED
    commands.set_constraints("J1", trajectory=0.5)
    left = commands.follow("action", goal)
    run(simulation, 100)
    assert left.status is TrajectoryStatus.PATH_VIOLATED
    free = commands.follow("action", (goal[0], {"J1": (inf, inf)}, {}, 0))
    run(simulation, 150)
    assert free.status is TrajectoryStatus.SUCCEEDED


def test_set_positions_are_there_in_a_pause(arm):
    with simulating() as world:
        commands = BodyCommands(world.simulation, "arm", FRAMES)
        commands.change = world.runner.change
        commands.set_positions("topic", 0, ["J1", "J2"], [0.3, -0.4], [], [])
        assert joint(world.simulation, "J1") == pytest.approx(0.3, abs=1e-12)
        assert joint(world.simulation, "J2") == pytest.approx(-0.4, abs=1e-12)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((["J9"], [0.1], [], []), "no moving joint 'J9'; it has J1"),
        ((["J1"], [3.0], [], []), "joint 'J1' is 3 rad; its limits are -2.96706 and 2.96706"),
        ((["J1"], [nan], [], []), "nan rad or m; it must be finite"),
        ((["J1"], [0.1], [inf], []), "the velocity of joint 'J1' is inf"),
        ((["J1"], [], [], []), "1 joints need 1 positions, as many velocities or none, and no"),
        ((["J1"], [0.1], [], [1.0]), "efforts, not 1, 0 and 1"),
        ((["J1", "J2", "J1"], [0.1, 0.2, 0.3], [], []), "joint 'J1' has two positions"),
    ],
)
def test_positions_that_cannot_be_set_are_refused_and_nothing_moves(arm, numbers, words):
    simulation, commands = arm
    before = simulation.state_hash()
    with pytest.raises(ValueError, match=words):
        commands.set_positions("topic", 0, *numbers)
    assert simulation.state_hash() == before
    assert simulation.command_counts.refused == 1


def test_without_a_run_positions_cannot_be_set(arm):
    with simulating() as world:
        commands = BodyCommands(world.simulation, "arm", FRAMES)
        commands.change = world.runner.change
    with pytest.raises(ValueError, match="not running"):
        commands.set_positions("topic", 0, ["J1"], [0.3], [], [])


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_run_that_is_canceled_in_a_pause_is_over_at_once(is_taken):
    """Whether it has begun, or waits for the world to go on; and the rest waits for that."""
    with simulating() as world:
        runner, simulation = world.runner, world.simulation
        commands = BodyCommands(simulation, "arm", FRAMES, run_soon=runner.call_soon)
        one = commands.follow("action", ((0, ["J1"], [to(5.0, 1.0)]), {}, {}, 0))
        if is_taken:
            world.step(100)
        before = world.hash()
        commands.cancel("action", one)
        assert runner.call(lambda: one.status) is TrajectoryStatus.CANCELED
        assert one.message == "it was canceled"
        assert world.hash() == before
        assert simulation.command_counts.taken == is_taken
        world.step(1)
        held = simulation.bodies["arm"].drive.q[0]
        assert (held > 0.0) == is_taken
        world.step(100)
        assert simulation.bodies["arm"].drive.q[0] == held


def test_an_array_of_a_wrong_length_is_refused(arm):
    simulation, commands = arm
    with pytest.raises(ValueError, match=r"2 values of effort for \d joints: J1"):
        commands.array("topic", "effort", [1.0, 2.0])
    assert simulation.command_counts.refused == 1


def test_a_vehicle_drives_and_an_arm_does_not(arm, rover):
    simulation, commands = rover
    assert commands.is_vehicle
    assert not arm[1].is_vehicle
    start = simulation.bodies["rover"].motion.p[0].copy()
    commands.drive("cmd_vel", 0, 0.2, 0.0)
    run(simulation, 500)
    moved = simulation.bodies["rover"].motion.p[0] - start
    assert moved[0] == pytest.approx(0.1, rel=0.05)
    with pytest.raises(ValueError, match="nan m/s"):
        commands.drive("cmd_vel", 0, nan, 0.0)
    with pytest.raises(ValueError, match="no tracks or wheels"):
        arm[1].drive("cmd_vel", 0, 0.1, 0.0)


def test_a_wrench_pushes_the_link_of_its_frame_for_a_while(arm):
    simulation, commands = arm
    rest = joint(simulation, "J1")
    commands.options = CommandOptions(wrench_duration=0.05)
    commands.wrench("topic", 0, "robot/J6", (0.0, 200.0, 0.0), (0.0, 0.0, 0.0))
    run(simulation, 50)
    pushed = abs(joint(simulation, "J1") - rest)
    run(simulation, 1000)
    assert pushed > 1e-3
    assert joint(simulation, "J1") == pytest.approx(rest, abs=0.1 * pushed)


@pytest.mark.parametrize(
    ("frame", "force", "words"),
    [
        ("J6", (1.0, 0.0, 0.0), "frame 'J6'.* It is one of robot/J6"),
        ("robot/J6", (nan, 0.0, 0.0), r"must be finite and below 1e\+12, not .nan"),
        ("robot/J6", (1e300, 0.0, 0.0), r"must be finite and below 1e\+12, not .1e"),
    ],
)
def test_a_wrench_that_pushes_nothing_is_refused(arm, frame, force, words):
    with pytest.raises(ValueError, match=words):
        arm[1].wrench("topic", 0, frame, force, (0.0, 0.0, 0.0))


def test_gains_and_modes_change_while_it_runs(arm):
    simulation, commands = arm
    before = joint(simulation, "J2")
    commands.set_joint("J2", kp=0.0, kd=0.0)
    run(simulation, 300)
    assert abs(joint(simulation, "J2") - before) > 0.05  # it has fallen
    assert simulation.controller("arm").gains("J2") == (0.0, 0.0)
    commands.set_joint("J2", mode="velocity")
    simulation.step()
    assert simulation.controller("arm").mode("J2").value == "velocity"


def test_a_timeout_lets_go_and_is_taken_back(arm):
    simulation, commands = arm
    commands.set_timeout(0.01, "limp")
    commands.joints("topic", 0, ["J2"], [0.5], [], [])
    start = joint(simulation, "J2")
    run(simulation, 300)
    assert abs(joint(simulation, "J2") - start) > 0.05
    assert simulation.command_counts.timed_out == 1
    commands.set_timeout(0.0, "")
    simulation.step()
    assert simulation.controller("arm").timeout is None


def test_the_rate_limit_of_positions_is_that_of_the_world_unless_another_is_chosen(arm):
    simulation, commands = arm
    controller = simulation.controller("arm")
    for chosen, expected in (("none", "none"), ("", "model"), ("none", "none"), ("model", "model")):
        commands.set_rate_limit(chosen)
        simulation.step()
        assert controller.rate_limit.value == expected
    with pytest.raises(ValueError, match="fast"):
        commands.set_rate_limit("fast")


def test_commands_wait_where_they_are_delivered():
    simulation = Simulation(load_world(WORLDS / "arm.yaml"))
    waiting = []
    commands = BodyCommands(simulation, "arm", FRAMES, lambda *sent: waiting.append(sent))
    commands.joints("a", 7, ["J1"], [0.2], [], [])
    commands.array("b", "position", [0.2] * 6)
    commands.wrench("c", 8, "robot/J6", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    commands.trajectory("d", (9, ["J1"], [to(0.2, 0.1)]))  # stamped with its start
    sent = [(source, stamp_ns) for source, stamp_ns, _ in waiting]
    assert sent == [("a", 7), ("b", 0), ("c", 8), ("d", 0)]
    simulation.step()
    assert simulation.command_counts.taken == 0
    for *_, act in waiting:
        act()
    simulation.step()
    assert simulation.command_counts.taken == 3


def test_commands_to_a_body_that_was_removed_are_dropped(arm):
    simulation, commands = arm
    simulation.remove("arm")
    one = commands.follow("action", ((0, ["J1"], [to(0.2, 0.1)]), {}, {}, 0))
    assert (one.status, one.message) == (TrajectoryStatus.ABORTED, "the robot was removed")
    commands.joints("topic", 0, ["J1"], [0.2], [], [])
    commands.wrench("topic", 0, "robot/J6", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    commands.set_timeout(1.0, "")
    commands.set_rate_limit("none")
    run(simulation, 2)
    assert simulation.command_counts.taken == 0
    assert simulation.command_counts.dropped == 4
