"""The command hrp-sim, as its users meet it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from paths import MODELS, ROOT

from hrp_sim.cli.main import main

ARM = MODELS / "worlds" / "arm.yaml"
HUMANOID = MODELS / "worlds" / "humanoid_in_room.yaml"
MOVING_LINK = """\
format: ChoreonoidBody
format_version: 2.0
name: Bad
links:
  - { name: BASE, joint_type: fixed, mass: 1 }
  - { name: ARM, parent: %s, joint_type: %s, joint_id: 0, mass: %s, inertia: [%s] }
"""


def run(capsys, *arguments):
    """Return the exit status and what went to standard output and standard error."""
    return (main([str(argument) for argument in arguments]), *capsys.readouterr())


def state_hash(out: str) -> str:
    return re.search(r"sha256:(\w{64})", out)[1]


def test_a_run_sums_up_and_repeats_bit_by_bit(capsys):
    status, out, err = run(capsys, "run", ARM, "--duration", "0.5")
    assert (status, err) == (0, "")
    assert "simulated 0.500 s" in out
    assert "joint_states" in out
    again = run(capsys, "run", ARM, "--duration", "0.5")[1]
    longer = run(capsys, "run", ARM, "--duration", "0.501")[1]
    assert state_hash(out) == state_hash(again) != state_hash(longer)


def test_a_project_runs_with_its_options(capsys):
    project = ROOT / "test" / "data" / "projects" / "workshop.cnoid"
    command = ("run", project, "--variable", f"SHARE={MODELS}")
    status, first, err = run(capsys, *command, "--duration", "0.1")
    assert status == 0
    assert "the controller 'RoverJoystickController'" in err
    other = run(capsys, *command, "--duration", "0.1", "--simulator", "AIST")[1]
    assert state_hash(first) != state_hash(other)
    status, _, err = run(capsys, *command, "--simulator", "AIS")
    assert status == 1
    assert "Did you mean 'AIST'?" in err
    status, _, err = run(capsys, "check", project, "--variable", "SHARE=/nowhere/at/all")
    assert status == 2
    assert "there is no folder '/nowhere/at/all'" in err


def test_the_files_that_were_written_are_reported(capsys, tmp_path):
    outputs = tmp_path / "state.npz", tmp_path / "motion.jsonl"
    command = ("run", ARM, "--duration", "0.01", "--save", outputs[0], "--trace", outputs[1])
    status, _, err = run(capsys, *command)
    assert status == 0
    assert err == f"wrote {outputs[0]}, {outputs[1]}\n"
    assert run(capsys, "run", ARM, "--duration", "0.01", "--save", "/dev/null")[2] == ""


def test_a_saved_run_goes_on_as_if_it_had_not_stopped(capsys, tmp_path):
    state = tmp_path / "state.npz"
    again = ("run", HUMANOID, "--solver", "quick")
    whole = run(capsys, *again, "--duration", "0.2")[1]
    assert run(capsys, *again, "--duration", "0.05", "--save", state)[0] == 0
    command = [sys.executable, "-m", "hrp_sim.cli.main", *map(str, again)]
    command += ["--duration", "0.15", "--restore", str(state)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    rest = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    assert state_hash(rest) == state_hash(whole)
    assert "simulated 0.150 s" in rest
    assert re.search(r"joint_states\W+JointSensor\W+500\.0", rest)


def test_a_state_that_does_not_fit_is_refused_with_its_file(capsys, tmp_path):
    state = tmp_path / "state.npz"
    assert run(capsys, "run", ARM, "--duration", "0.01", "--save", state)[0] == 0
    for arguments, words in (
        ((HUMANOID,), "lacks bodies of the snapshot: 'Floor', 'arm'"),
        ((ARM, "--seed", "7"), "other settings: seed=0; the world has seed=7"),
    ):
        status, out, err = run(capsys, "run", *arguments, "--restore", state, "--duration", "1")
        assert (status, out) == (1, "")
        assert f"error: '{state}'" in err
        assert words in err


def test_the_time_step_can_be_chosen(capsys):
    _, half, _ = run(capsys, "run", ARM, "--duration", "0.1", "--time-step", "0.0005")
    _, whole, _ = run(capsys, "run", ARM, "--duration", "0.1", "--time-step", "0.001")
    assert "simulated 0.100 s" in half
    _, default, _ = run(capsys, "run", ARM, "--duration", "0.1")
    assert state_hash(half) != state_hash(whole) == state_hash(default)


def test_what_is_to_be_expected_is_told_at_the_start_and_joint_limits_can_be_left_out(
    capsys, tmp_path
):
    world = tmp_path / "beyond.yaml"
    model = MODELS / "arm" / "arm.body"
    world.write_text(f"bodies: [ {{ model: {model}, joints: {{ J2: 3.0 }} }} ]")
    status, _, err = run(capsys, "run", world, "--duration", "0.01")
    assert status == 0
    assert re.search(r"arm.body:\d+:\d+: warning: .*'J2' at 3 rad .*\[start-beyond-limit\]", err)
    assert run(capsys, "run", world, "--duration", "0.01", "--no-joint-limits")[2] == ""


def test_a_model_runs_alone_on_a_floor(capsys):
    model = MODELS / "humanoid" / "humanoid.body"
    status, out, err = run(capsys, "run", model, "--duration", "0.1")
    assert (status, err) == (0, "")
    assert "left_foot_force" in out


def test_a_file_whose_name_is_no_text_is_simulated_too(capsys, tmp_path):
    model = tmp_path / os.fsdecode(b"\xff.body")
    model.write_text(
        MOVING_LINK.replace("name: Bad\n", "") % ("BASE", "revolute", 1, "1,0,0,0,1,0,0,0,1")
    )
    assert run(capsys, "run", model, "--duration", "0.002")[0] == 0


def test_a_trace_holds_the_motion_from_the_start(capsys, tmp_path):
    trace = tmp_path / "trace.jsonl"
    arguments = ("--duration", "0.1", "--trace", trace, "--every", "0.02")
    assert run(capsys, "run", ARM, *arguments)[0] == 0
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    np.testing.assert_allclose([line["time"] for line in lines], np.arange(6) * 0.02)
    arm = lines[-1]["bodies"]["arm"]
    assert arm.keys() == {"root_p", "root_R", "root_v", "root_w", "q", "dq"}
    assert arm["q"]["J2"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("parent", "joint_type", "mass", "inertia", "place", "words"),
    [
        ("BASES", "revolute", "1", "1,0,0,1,0,1", "6:26", "the parent 'BASES' of link 'ARM'"),
        ("BASE", "revolute", "0", "1,0,0,1,0,1", "6:13", "its mass must be positive, not 0 kg"),
        ("BASE", "revolute", "-1", "1,0,0,1,0,1", "6:13", "mass"),
        ("BASE", "revolute", "nan", "1,0,0,1,0,1", "6:73", "a finite number"),
        ("BASE", "revolute", "1", "1,0,0,1,0,-1", "6:13", "inertia"),
    ],
)
def test_a_model_that_physics_cannot_take_is_located(
    capsys, tmp_path, parent, joint_type, mass, inertia, place, words
):
    model = tmp_path / "bad.body"
    model.write_text(MOVING_LINK % (parent, joint_type, mass, inertia), encoding="utf-8")
    status, out, err = run(capsys, "run", model, "--duration", "0.1")
    assert status == 1
    assert "simulated" not in out
    error = next(line for line in err.splitlines() if "error" in line)
    assert words in error
    assert f"bad.body:{place}" in error


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["run", "nowhere.yaml"], 1, "cannot read 'nowhere.yaml'"),
        (["run", "nowhere.wrl"], 1, "cannot read 'nowhere.wrl'"),
        (["run", f"{'n' * 5000}.wrl"], 1, "cannot read 'nnn"),
        (["run", ARM, "--duration", "0"], 2, "must be a number greater than 0, up to 1e9, not '0'"),
        (["run", ARM, "--duration", "nan"], 2, "must be a number greater than 0"),
        (["run", ARM, "--duration", "long"], 2, "must be a number greater than 0, up to 1e9, not"),
        (["run", ARM, "--rtf", "-1"], 2, "must be a number from 0 to 1e9, not '-1'"),
        (["run", ARM, "--time-step", "0.2"], 2, "of seconds from 1e-06 to 0.1, not '0.2'"),
        (["run", ARM, "--seed", "-1"], 2, "must be a whole number from 0 to 4294967295"),
        (["run", ARM, "--seed", "1.5"], 2, "must be a whole number"),
        (["bench", ARM, "--duration", "0"], 2, "must be a number greater than 0"),
        (["run", ARM, "--every", "1"], 2, "--every needs --trace"),
        (["run", ARM, "--solver", "fast"], 2, "invalid choice: 'fast'"),
        (["run", ARM, "--listen"], 2, "--listen needs --ros"),
        (["run", ARM, "--paused"], 2, "--paused needs --ros"),
        (["run", ARM, "--restore", "no.npz", "--duration", "1"], 2, "'no.npz': No such file"),
        (["run", ARM, "--restore", ARM, "--duration", "1"], 1, "arm.yaml' is not a snapshot"),
        (["run", ARM, "--save", f"{ARM}/x"], 2, "arm.yaml/x: Not a directory"),
        (["run", ARM, "--save", "/"], 2, "error: cannot write /: Is a directory"),
        (["run", ARM, "--trace", f"{ARM}/x"], 2, "arm.yaml/x: Not a directory"),
        (["run", ARM, "--trace", "t", "--every", "1e300"], 2, "greater than 0, up to 1e9"),
        (["run", ARM, "--duration", "1e300"], 2, "greater than 0, up to 1e9, not '1e300'"),
        (["run", ARM, "--listne"], 2, "Did you mean '--listen'?"),
    ],
)
def test_what_cannot_be_done_says_why(capsys, arguments, status, words):
    ended, _, err = run(capsys, *arguments)
    assert ended == status
    assert words in err


def test_ctrl_c_while_ros_is_imported_is_no_lack_of_ros(capsys, monkeypatch):
    class Interrupted:
        """Fails to import ROS's extension module as pybind11 does."""

        def find_spec(self, name, *_):
            if name == "hrp_sim.ros.sim_node":
                raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.delitem(sys.modules, "hrp_sim.ros.sim_node", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert run(capsys, "run", "arm", "--ros") == (130, "", "")


def test_physics_that_fails_ends_the_run_with_the_link_and_the_time(capsys, tmp_path):
    world = tmp_path / "mad.yaml"
    model = MODELS / "arm" / "arm.body"
    world.write_text(
        "physics: { joint_limits: false }\n"
        f"bodies: [ {{ model: {model}, joint_velocities: {{ J1: 9e4, J2: 9e4 }} }} ]"
    )
    status, out, err = run(capsys, "run", world, "--duration", "1")
    assert status == 1
    assert "simulated 0.001 s" in out
    assert re.search(r"error: body '\w+', link '\w+': its motion has diverged", err)
    assert "arm.body" in err
    assert "hint: a warning reported at the start may be the cause: fast-start" in err


def test_a_reader_that_leaves_early_hears_no_complaint():
    """As in ``hrp-sim sensors world.yaml | head -1``."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "hrp_sim.cli.main", "sensors", str(ARM)]
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT
    )
    os.close(writer)
    assert done.stderr == ""


def test_less_than_a_step_is_remarked(capsys):
    status, out, err = run(capsys, "run", ARM, "--duration", "0.0005")
    assert (status, "simulated 0.000 s" in out) == (0, True)
    assert "--duration is less than one step of 0.001 s" in err


def test_ctrl_c_before_the_first_step_ends_it_without_a_word(capsys, monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(
        "hrp_sim.cli.run_setup.load_world", lambda *_, **__: signal.raise_signal(signal.SIGINT)
    )
    try:
        assert run(capsys, "run", ARM) == (130, "", "")
    finally:
        signal.signal(signal.SIGINT, before)
