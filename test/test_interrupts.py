"""Ctrl-C at any moment of the four programs: no traceback, and status 130."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from each_case import mostly_slow
from paths import MODELS, ROOT

# Presses Ctrl-C when the n-th module is imported after the entry point's own, and says so.
AT_IMPORT = """
import os, signal, sys
count = 0
def watch(event, _):
    global count
    if event == "import":
        count += 1
        if count == {number}:
            os.write(1, b"pressed")
            signal.raise_signal(signal.SIGINT)
from hrp_ros import programs
sys.addaudithook(watch)
"""
# Presses it when the interpreter ends.
AT_EXIT = """
import atexit, os, signal, sys
from hrp_ros import programs
atexit.register(signal.raise_signal, signal.SIGINT)
"""
RUN = "sys.argv = {arguments!r}\nsys.exit(programs.{program}())\n"
WORLD = MODELS / "worlds" / "arm.yaml"
COMMANDS = {
    "hrp_model": ["check", str(MODELS / "arm" / "arm.body")],
    "hrp_sim": ["run", str(WORLD), "--duration", "0.01"],
}
if find_spec("rclpy"):
    COMMANDS.update(model_node=["--help"], sim_node=["--help"], view_node=["--help"])


def ended(code, program, *arguments):
    text = code + RUN.format(program=program, arguments=[program, *arguments])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", text]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize(
    ("program", "number"),
    mostly_slow([(p, n) for n in (1, 30, 150, 300, 450, 600, 800) for p in COMMANDS], 5),
)
def test_ctrl_c_while_modules_are_imported(program, number):
    done = ended(AT_IMPORT.format(number=number), program, *COMMANDS[program])
    was_pressed = done.stdout.startswith("pressed")
    assert was_pressed or number >= 300  # it imports fewer modules
    assert done.returncode == (130 if was_pressed else 0), done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("program", mostly_slow(COMMANDS, 2))
def test_ctrl_c_at_the_end_changes_nothing(program):
    done = ended(AT_EXIT, program, *COMMANDS[program])
    assert (done.returncode, done.stderr) == (0, "")


# What an interrupt becomes on its way out of a command.
COMMAND = """
import signal, sys
from hrp_model.program.command import run_program
class Destroyed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def lost():
    Destroyed()
    return 0
def wrapped():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise RuntimeError("in an import") from error
def raised():
    signal.raise_signal(signal.SIGINT)
before = signal.getsignal(signal.SIGINT)
status = [run_program("it", command) for command in (lost, wrapped, raised)]
assert signal.getsignal(signal.SIGINT) is before
print(status)
"""


def test_an_interrupt_that_is_lost_or_wrapped_is_one_all_the_same():
    done = subprocess.run(
        [sys.executable, "-c", COMMAND], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[130, 130, 130]\n", "")


def test_what_ignores_ctrl_c_goes_on_ignoring_it():
    """As background jobs of a script do."""
    code = AT_IMPORT.format(number=30)
    code = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{code}"
    done = ended(code, "hrp_model", *COMMANDS["hrp_model"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pressed")
