"""What ``hrp-sim run`` and ``check`` answer with: results, JSON, expectations, exit statuses."""

import json
import os
import re
import signal
import threading

import jsonschema
import pytest
from paths import MODELS, ROOT

import hrp_model.cli.check
import hrp_model.cli.main
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.program.command import StopSignals
from hrp_sim.cli.main import main
from hrp_sim.cli.worlds import check_world
from hrp_sim.engine.snapshot import Snapshot

ARM = MODELS / "arm" / "arm.body"
SCHEMA = json.loads((ROOT / "docs" / "run-schema.json").read_text(encoding="utf-8"))
IN_DEGREES = f"bodies:\n- model: {ARM}\n  joints: {{ J2: 90 }}\n"
NO_FLOOR = f"bodies:\n- model: {MODELS}/humanoid/humanoid.body\n"


def run(capsys, *arguments, program=main):
    return (program([str(argument) for argument in arguments]), *capsys.readouterr())


@pytest.fixture
def world(tmp_path):
    """Write a world file; return its path."""

    def write(text):
        path = tmp_path / "world.yaml"
        path.write_text(text)
        return path

    return write


def test_a_signal_ends_the_wait_for_the_reader_of_a_saved_state(tmp_path, monkeypatch):
    pipe, is_saving, is_over = tmp_path / "state.npz", threading.Event(), threading.Event()
    os.mkfifo(pipe)
    to_file = Snapshot.to_file

    def watched(snapshot, path):
        is_saving.set()
        to_file(snapshot, path)

    def interrupt():
        is_saving.wait()
        for _ in range(100):
            os.kill(os.getpid(), signal.SIGTERM)
            if is_over.wait(0.1):
                return
        pipe.read_bytes()  # so that a command that hangs fails

    monkeypatch.setattr(Snapshot, "to_file", watched)
    before = {number: signal.getsignal(number) for number in StopSignals.NUMBERS}
    thread = threading.Thread(target=interrupt)
    thread.start()
    status = main(["run", "arm", "--no-ros", "--duration", "0.001", "--save", str(pipe)])
    is_over.set()
    thread.join()
    for number, handler in before.items():  # a command that was stopped ignores them
        signal.signal(number, handler)
    assert status == 130


def test_without_a_world_the_humanoid_runs_and_ends_by_itself(capsys, monkeypatch):
    monkeypatch.setattr("hrp_sim.cli.run_options.DEFAULT_DURATION", 0.1)
    status, out, err = run(capsys, "run")
    assert (status, err) == (0, "")
    assert out.startswith("walking_humanoid")
    assert "simulated 0.100 s" in out
    assert re.search(r"'humanoid' did not fall: .*root at z = 0\.7\d+ m", out)
    assert re.search(
        r"largest effort: \S+ N m at joint '\w+' of 'humanoid', \d+% of its limit", out
    )
    assert re.search(r"scanner +nearest \S+ m", out)


def test_other_options_go_with_the_world_that_is_not_named(capsys):
    for arguments in (["--duration", "0.05"], ["--seed", "3", "--duration", "0.05"]):
        assert "simulated 0.050 s" in run(capsys, "run", *arguments)[1]
    rover = run(capsys, "run", "--duration", "0.05", "rover")[1]
    assert re.search(r"lidar .* every 0.1 s", rover)  # why it has no reading


def test_json_alone_is_printed_and_is_as_its_schema_says(capsys):
    wanted = "--duration", "0.1", "--expect", "rover.z > 0.1", "--expect", "lidar.nearest < 0"
    status, out, err = run(capsys, "run", "rover", "--json", *wanted)
    result = json.loads(out)
    jsonschema.validate(result, SCHEMA)
    assert status == 1
    assert err.startswith("error: expected lidar.nearest < 0, but it is")
    assert result["bodies"]["rover"]["free"]
    assert result["bodies"]["rover"]["fell"] is None
    assert result["contacts"]["largest_force"] > 1.0
    assert [e["holds"] for e in result["expectations"]] == [True, False]
    assert result["sensors"]["mast_camera"]["samples"] > 0
    plain = run(capsys, "run", "rover", "--duration", "0.1")[1]
    assert result["state"] in plain.replace("state ", "")


def test_a_strict_run_with_all_outputs_goes_on_from_its_saved_state(capsys, tmp_path):
    saved, trace = tmp_path / "end.npz", tmp_path / "run.jsonl"
    outputs = "--json", "--strict", "--save", saved, "--trace", trace, "--every", "0.05"
    start = "run", "rover", "--duration", "0.1"
    status, _, err = run(capsys, *start, *outputs, "--expect", "rover.z > 9")
    assert status == 1
    wrote, problem = err.splitlines()
    assert problem.startswith("error: expected rover.z > 9, but it is 0.17 m")
    status, out, err = run(capsys, *start, *outputs, "--restore", saved, "--expect", "rover.z < 9")
    assert (status, err) == (0, f"{wrote}\n")
    assert wrote == f"wrote {saved}, {trace}"
    result = json.loads(out)
    assert (result["time"], result["simulated"]) == (0.2, 0.1)
    assert [e["holds"] for e in result["expectations"]] == [True]
    times = [json.loads(line)["time"] for line in trace.read_text().splitlines()]
    assert times == [0.1, 0.15, 0.2]


def test_a_failure_of_the_physics_is_in_the_json_too(capsys, world):
    mad = world(
        "physics: { joint_limits: false }\n"
        f"bodies: [ {{ model: {ARM}, joint_velocities: {{ J1: 9e4, J2: 9e4 }} }} ]"
    )
    status, out, err = run(capsys, "run", mad, "--duration", "1", "--json")
    result = json.loads(out)
    jsonschema.validate(result, SCHEMA)
    assert status == 1
    assert "its motion has diverged" in result["error"]
    assert "hint: a warning reported at the start" in err


def test_warnings_are_shown_as_hrp_model_shows_them(capsys, world):
    path = world(IN_DEGREES)
    for command in (["run", path, "--duration", "0.01"], ["check", path], ["sensors", path]):
        err = run(capsys, *command)[2]
        assert f"{path}:3:17: warning: joint 'J2' at 90 rad" in err
        assert "    3 |   joints: { J2: 90 }\n      |                 ^^\n" in err
        assert "  hint: write the angle in radians" in err


def test_the_hint_for_a_body_that_falls_fits_one_without_collision_shapes(capsys, tmp_path):
    path = tmp_path / "ghost.body"
    path.write_text(
        "format: ChoreonoidBody\nformat_version: 2.0\nname: Ghost\nroot_link: ROOT\n"
        "links: [{name: ROOT, joint_type: free, elements:\n"
        "  [{type: RigidBody, mass: 1.0, inertia: [0.01, 0, 0, 0.01, 0, 0.01]}]}]\n"
    )
    err = run(capsys, "check", str(path))[2]
    assert "without collision shapes falls through everything" in err
    assert "hint: give it collision shapes, and a floor" in err


def test_errors_are_shown_so_too_and_once(capsys, world):
    path = world("bodies:\n- model: nowhere.body\n- name: x\n")
    for command in ("run", "sensors", "rviz", "check"):
        status, _, err = run(capsys, command, path)
        assert status == 1
        assert err.count("[missing-model]") == 2
        assert "hint: check the path; source the workspace of package://; set the variable" in err
        assert "    2 | - model: nowhere.body\n      |          ^^^^^^^^^^^^\n" in err


def test_strict_makes_warnings_errors_before_anything_is_simulated(capsys, world):
    for text, code in ((IN_DEGREES, "maybe-degrees"), (NO_FLOOR, "nothing-below")):
        path = world(text)
        status, out, err = run(capsys, "run", path, "--duration", "0.01")
        assert status == 0
        assert f"[{code}]" in err
        status, out, err = run(capsys, "run", path, "--strict", "--duration", "0.01")
        assert (status, out) == (1, "")
        assert re.search(rf"error: .*\[{code}\]", err)
    assert run(capsys, "run", "arm", "--strict", "--duration", "0.01")[0] == 0


def test_what_falls_for_want_of_a_floor_is_told_before_and_after(capsys, world):
    _, out, err = run(capsys, "run", world(NO_FLOOR), "--duration", "0.5")
    assert "nothing is below this free body" in err
    assert "fell (it is falling at 4.9 m/s)" in out


@pytest.mark.parametrize(
    ("expected", "status", "words"),
    [
        ("arm.z > -1", 0, ""),
        ("arm.joint.J2.position < 10 deg", 1, "expected arm.joint.J2.position < 10 deg, but it is"),
        ("wrist_force.force > 1e6", 1, "but it is 3.1 N"),
        ("arm.zz > 1", 2, "--expect:1:1: error: this world has no quantity 'arm.zz'. Did you mean"),
        ("arm.z", 2, "--expect:1:1: error: expected a comparison"),
    ],
)
def test_expectations_decide_on_the_exit_status(capsys, expected, status, words):
    found, out, err = run(capsys, "run", "arm", "--duration", "0.05", "--expect", expected)
    assert found == status
    assert words in err
    assert ("simulated" in out) == (status < 2)


def test_check_reports_worlds_without_a_run(capsys, world):
    status, out, err = run(capsys, "check", "arm", "rover")
    assert (status, out, err) == (0, "arm: no problems\nrover: no problems\n", "")
    path = world(IN_DEGREES)
    status, out, _ = run(capsys, "check", path)
    assert (status, out) == (0, f"{path}: 2 warnings\n")
    assert run(capsys, "check", "--strict", path)[0] == 1
    heavy = world(f"bodies:\n- model: {ARM}\n- {{ model: {ARM}, name: Arm }}\n")
    status, _, err = run(capsys, "check", heavy, "arm")
    assert status == 1
    assert "[duplicate-name]" in err


class _EntryPoint:
    name = "bodies"

    def load(self):
        return check_world


def test_hrp_model_checks_worlds_by_who_is_registered_for_them(capsys, monkeypatch, world):
    path = world(IN_DEGREES)
    command = "check", path, MODELS / "arm" / "arm.body"
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [_EntryPoint()])
    status, out, err = run(capsys, *command, program=hrp_model.cli.main.main)
    assert status == 0
    assert out.startswith(f"{path}: 2 warnings\n")
    assert "maybe-degrees" in err
    status, _, err = run(capsys, *command, "--sandbox", program=hrp_model.cli.main.main)
    assert status == 1
    assert f"check it with 'hrp-sim check {path}'" in err
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])
    status, _, err = run(capsys, *command, program=hrp_model.cli.main.main)
    assert status == 1
    assert f"check it with 'hrp-sim check {path}'" in err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MissingLibraryError("no engine"), "no engine [missing-library]"),
        (ModuleNotFoundError("no module"), "no module [internal-error]"),
    ],
)
def test_a_check_that_cannot_be_loaded_does_not_stop_the_others(
    error, message, capsys, monkeypatch, world
):
    class Broken(_EntryPoint):
        def load(self):
            raise error

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Broken()])
    command = "check", world(IN_DEGREES), MODELS / "arm" / "arm.body"
    status, out, err = run(capsys, *command, program=hrp_model.cli.main.main)
    assert status == 1
    assert message in err
    assert out.splitlines()[-1] == "2 models: 1 error"


def test_what_is_neither_model_nor_world_is_refused_as_before(capsys, world):
    for text in ("robots: []\n", "- 1\n", "{"):
        path = world(text)
        status, _, err = run(capsys, "check", path, program=hrp_model.cli.main.main)
        assert status == 1
        assert "hrp-sim" not in err


def test_a_thread_that_a_controller_leaves_is_named(capsys, tmp_path):
    controller = tmp_path / "c.py"
    controller.write_text(
        "import threading\nfrom hrp_sim import Controller\n"
        "class Leaving(Controller):\n"
        "    def start(self):\n"
        "        end = threading.Event()\n"
        "        self.worker = threading.Thread(target=end.wait, name='worker')\n"
        "        self.worker.end = end\n"
        "        self.worker.start()\n"
        "    def control(self):\n"
        "        return True\n"
    )
    given = f"arm={controller}:Leaving"
    status, _, err = run(capsys, "run", "arm", "--duration", "0.01", "--controller", given)
    (worker,) = [thread for thread in threading.enumerate() if thread.name == "worker"]
    worker.end.set()
    worker.join()
    assert status == 0
    assert "a controller has left the thread 'worker' running" in err
