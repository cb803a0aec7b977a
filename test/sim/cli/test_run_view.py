"""``hrp-sim run --view``: its address first, its port, its options; no display, no browser."""

import json
import signal
import socket
import subprocess
import sys
import threading

import pytest
from paths import MODELS

pytest.importorskip("viser")

from hrp_sim.cli.main import main

PATIENCE = 300.0  # [s] after which a test that would hang fails instead


@pytest.fixture
def taken_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_the_address_is_printed_first_and_the_run_ends_after_its_duration(capsys):
    assert main(["run", "arm", "--view", "--duration", "0.05"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("view: http://localhost:")
    assert "simulated 0.050 s" in out


def test_with_json_the_address_is_a_message(capsys):
    assert main(["run", "arm", "--view", "--json", "--duration", "0.01"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)
    assert err.startswith("view: http://localhost:")


def test_the_run_is_in_real_time_by_default(capsys):
    assert main(["run", "arm", "--view", "--duration", "0.3"]) == 0
    *_, line = (x for x in capsys.readouterr().out.splitlines() if x.startswith("simulated"))
    elapsed = float(line.split(" in ")[1].split(" s")[0])
    assert elapsed >= 0.29


def test_a_given_port_that_is_in_use_is_an_error(capsys, taken_port):
    command = ["run", "arm", "--view", "--port", str(taken_port), "--duration", "0.01"]
    assert main(command) == 2
    assert f"--port {taken_port}: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "8081"], "--port needs --view"),
        (["--watch"], "--watch needs --view"),
        (["--view", "--ros", "--watch"], "--watch cannot be combined with --ros"),
        (["--view", "--port", "0"], "must be a port from 1 to 65535, not '0'"),
        (["--paused"], "--paused needs --ros or --view"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(capsys, options, message):
    assert main(["run", "arm", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_world_is_loaded_again_when_its_file_changes(tmp_path):
    world = tmp_path / "world.yaml"
    model = MODELS / "arm" / "arm.body"
    world.write_text(f"bodies: [ {{ name: arm, model: {model}, colour: red }} ]")
    command = ["run", str(world), "--view", "--watch", "--duration", "1000"]
    call = "import sys; from hrp_sim.cli.main import main; sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", call, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        assert process.stdout.readline().startswith("view: ")
        until(process.stderr, "'colour' is unknown")  # it is loaded after the address is printed
        world.write_text(f"bodies: [ {{ name: robot, model: {model} }} ]")
        until(process.stderr, "the world was loaded again")
        world.write_text("bodies: [ { name: robot, model: missing.body } ]")
        until(process.stderr, "the run goes on with the last world without errors")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        timer.cancel()
    assert process.returncode == 0, err
    assert "simulated" in out


def until(stream, text):
    """Read lines until one contains a text."""
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            return
    pytest.fail("".join(lines))


def test_without_viser_the_error_names_the_command_that_installs_it():
    hide = "import sys; sys.modules['viser'] = None; from hrp_sim.cli.main import main; "
    run = "sys.exit(main(['run', 'arm', '--view', '--duration', '0.01']))"
    done = subprocess.run([sys.executable, "-c", hide + run], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'hrp_ros[view]'" in done.stderr
    assert "Traceback" not in done.stderr
