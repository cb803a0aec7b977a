"""What Python users may write: paths, ``with``, commands by joint name, and mistakes."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import MODELS, ROOT

from hrp_model import Diagnostics, ModelError, load_body
from hrp_sim import (
    ControlMode,
    JointCommand,
    JointTrajectory,
    Simulation,
    TrajectoryPoint,
    load_world,
)
from hrp_sim.control import GainChange, ModeChange, TrajectoryRun
from hrp_sim.engine.state import ByName

ARM, ROVER = MODELS / "worlds" / "arm.yaml", MODELS / "worlds" / "rover.yaml"
STILL = {"J1": 0.0}


def nothing(_sensor):
    return False


@pytest.fixture(scope="module")
def shared():
    with Simulation(ARM) as simulation:
        simulation.wanted = nothing
        yield simulation


@pytest.fixture
def sim(shared):
    shared.reset()
    return shared


@pytest.mark.parametrize(
    "world", [str(ARM), ARM, ARM.as_uri(), load_world(ARM)], ids=["str", "Path", "URI", "config"]
)
def test_a_world_is_given_as_a_path_or_as_what_was_read_of_it(world, sim):
    with Simulation(world) as other:
        assert list(other.bodies) == ["Floor", "arm"]
        assert other.state_hash() == sim.state_hash()


def test_a_model_alone_stands_on_a_floor():
    with Simulation(MODELS / "arm" / "arm.body") as sim:
        assert list(sim.bodies) == ["floor", "Arm"]


def test_a_file_that_is_no_world_is_refused_as_by_load_world(tmp_path):
    found = Diagnostics.silent()
    with pytest.raises(ModelError, match=r"cannot read .*absent\.yaml"):
        Simulation(tmp_path / "absent.yaml", diagnostics=found)
    assert [d.code for d in found.found] == ["unreadable-file"]


@pytest.mark.parametrize("wrong", [None, 3, {"bodies": []}, load_body(MODELS / "floor.body")])
def test_what_is_no_world_is_refused_with_what_is(wrong):
    with pytest.raises(TypeError, match=r"a WorldConfig, or the path .* not \w+$"):
        Simulation(wrong)


def test_with_closes_the_world_also_after_an_error():
    with pytest.raises(KeyError), Simulation(ARM) as sim:
        sim.bodies["leg"]
    with pytest.raises(RuntimeError, match="closed"):
        sim.step()
    sim.close()  # again


def drive_after(sim, *commands, **by_name):
    """Return q, dq, effort, kp and kd of the arm's drive in the step after commands."""
    sim.command("arm", *commands, **by_name)
    sim.step()
    drive = sim.bodies["arm"].drive
    return np.array([drive.q, drive.dq, drive.effort, drive.kp, drive.kd])


@pytest.mark.parametrize(
    ("by_name", "command"),
    [
        (({"J1": 0.5},), JointCommand(["J1"], position=[0.5])),
        (({"J2": 1, "J1": np.float32(0.5)},), JointCommand(["J2", "J1"], position=[1.0, 0.5])),
        (({}, {"velocity": {"J3": 0.2}}), JointCommand(["J3"], velocity=[0.2])),
        (({"effort": {"J3": -2.0}},), JointCommand(["J3"], effort=[-2.0])),
        (
            ({"J1": 0.5}, {"velocity": {"J1": 0.1, "J2": 0.3}, "effort": {"J4": 1.0}}),
            JointCommand(
                ["J1", "J2", "J4"],
                position=[0.5, np.nan, np.nan],
                velocity=[0.1, 0.3, np.nan],
                effort=[np.nan, np.nan, 1.0],
            ),
        ),
    ],
)
def test_a_command_by_joint_name_is_a_joint_command(by_name, command, sim):
    *positions, last = by_name
    is_keywords = any(kind in last for kind in ("velocity", "effort"))
    given = drive_after(sim, *positions, **last) if is_keywords else drive_after(sim, *by_name)
    sim.reset()
    assert (given == drive_after(sim, command)).all()
    assert sim.command_counts.refused == 0


def test_tracks_and_wheels_are_commanded_by_name_too():
    with Simulation(ROVER) as sim:
        sim.wanted = nothing
        (rover,) = (x for x in sim.bodies.values() if not x.body.is_static and x.body.jointed_links)
        joints = [link.joint.name for link in rover.body.jointed_links]
        sim.command(rover.name, velocity=dict.fromkeys(joints, 0.1))
        sim.step()
        assert sim.command_counts.taken == 1
        assert sim.command_counts.refused == 0


NO_COMMANDS = [
    ((None,), "mapping from joint names .* not None"),
    ((0.5,), "not float 0.5"),
    (([0.1, 0.2],), r"not list \[0.1, 0.2\]"),
    ((JointCommand,), "not type"),
    (("J1",), "not str 'J1'"),
    (({"J1": "0.5"},), r"position of joint 'J1' must be a number \[rad or m\], not str '0.5'"),
    (({"J1": [0.5]},), "must be a number"),
    (({"J1": None},), "must be a number"),
    ((JointTrajectory(["J1"], [TrajectoryPoint(0, ["x"])]),), "consist of numbers"),
    (
        (TrajectoryRun(JointTrajectory(["J1"], [TrajectoryPoint("0", [1.0])])),),
        "consist of numbers",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), NO_COMMANDS)
def test_what_is_no_command_is_refused_at_once(arguments, message, sim):
    taken = sim.command_counts.taken
    with pytest.raises(TypeError, match=message):
        sim.command("arm", *arguments)
    sim.step()
    assert sim.command_counts.taken == taken


@pytest.mark.parametrize(
    "make",
    [
        lambda: JointCommand("J1", position=[0.5]),
        lambda: JointCommand([1], position=[0.5]),
        lambda: JointCommand(["J1"], position=0.5),
        lambda: JointCommand(["J1"], velocity=["0.5"]),
        lambda: JointCommand(["J1"], effort=[None]),
        lambda: JointCommand(["J1"], position=[[0.5]]),
        lambda: JointTrajectory("J1", []),
        lambda: JointTrajectory(["J1"], [[0.5]]),
        lambda: GainChange(1, kp=1.0),
        lambda: GainChange("J1", kp="1"),
        lambda: ModeChange("J1", "effort"),
        lambda: ModeChange(None, ControlMode.EFFORT),
    ],
)
def test_commands_of_the_wrong_types_cannot_even_be_made(make):
    with pytest.raises(TypeError, match="not "):
        make()


def test_values_by_name_go_with_positions_by_name_only(sim):
    with pytest.raises(TypeError, match="not with a JointCommand"):
        sim.command("arm", JointCommand(["J1"], position=[0.5]), velocity={"J1": 0.1})


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e300])
def test_values_by_name_must_be_sane(value, sim):
    with pytest.raises(ValueError, match=r"velocity of joint 'J1' is .*; it must be finite"):
        sim.command("arm", STILL, velocity={"J1": value})


def test_an_unknown_name_is_answered_with_those_there_are(sim):
    known = "J1, J2, J3, J4, J5, J6"
    vector = [0.0, 0.0, 0.0]
    for ask, answer in (
        (lambda: sim.command("arm", {"J9": 0.0}), f"'arm' has no joint 'J9'; it has {known}"),
        (lambda: sim.command("arm", effort={"J11": 0.0}), f"{known}. Did you mean 'J1'?"),
        (lambda: sim.command("amr", STILL), "there is arm. Did you mean 'arm'?"),
        (lambda: sim.command("Floor", STILL), "no commandable body 'Floor'"),
        (lambda: sim.bodies["amr"], "no body 'amr'; there is Floor, arm. Did you mean 'arm'?"),
        (lambda: sim.is_fixed("amr"), "there is Floor, arm"),
        (lambda: sim.namespace("amr"), "there is Floor, arm"),
        (lambda: sim.controller("amr"), "there is arm"),
        (lambda: sim.push("amr", "J1", vector, vector, 1.0), "there is Floor, arm"),
        (lambda: sim.push("arm", "J7", vector, vector, 1.0), "it has BASE, J1, J2"),
        (lambda: sim.bodies["arm"].body.link("TOOLS"), "TOOL. Did you mean 'TOOL'?"),
        (lambda: sim.sensors["wrist"], "there is joint_states, odometry, wrist_force"),
        (lambda: sim.lights["lamp"], "no light 'lamp'; there is none"),
        (lambda: sim.is_enabled("joint_state"), "Did you mean 'joint_states'?"),
    ):
        with pytest.raises(KeyError) as error:
            ask()
        assert answer in error.value.args[0]
    assert "arm" in sim.bodies
    assert sim.bodies.get("amr") is None


def test_of_very_many_names_only_some_are_listed():
    names = ByName("body", {f"body {i}": i for i in range(1000)})
    with pytest.raises(KeyError) as error:
        names["body 1000"]
    assert "body 49 and 950 more. Did you mean 'body 100'?" in error.value.args[0]


CHILD = """
import pickle, sys
from hrp_sim import Simulation
with Simulation(pickle.loads(sys.stdin.buffer.read())) as sim:
    sim.wanted = lambda sensor: False
    sim.command("arm", {"J1": 0.5})
    for _ in range(100):
        sim.step()
    print(sim.state_hash())
"""


def test_a_pickled_world_runs_the_same_in_another_process(sim):
    """As with a pool of processes, each of which makes a simulation of its own."""
    world = pickle.dumps(load_world(ARM))
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=world, capture_output=True, check=True, cwd=Path(ROOT)
    )
    sim.command("arm", {"J1": 0.5})
    for _ in range(100):
        sim.step()
    assert done.stdout.decode().strip() == sim.state_hash()
