"""What both programs print of names and paths that mean to do harm."""

import json
import os
import pty
import re
import subprocess
import sys
import threading

import pytest
from each_case import check_each, mostly_slow
from paths import ROOT

import hrp_model.cli.main
import hrp_sim.cli.main

NAMES = {
    "escape": "a\x1b]0;owned\x07b",
    "return": "a\rb",
    "C1": "a\x9b31mb",
    "bidi": "a\u202eb",
    "separator": "a\u2028b",
    "markup": "[/x]",
    "style": "[red]a[/red]",
    "emoji": ":robot:",
    "address": "12:34:56:78:9a:bc",
    "long": "n" * 5000,
}
# Whatever steers a terminal, but for ends of lines and tabs.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
BODY = """\
format: ChoreonoidBody
format_version: 2.0
name: {name}
links:
  - {{ name: BASE, joint_type: fixed, mass: 2, inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ], {name}: 1 }}
  - name: {name}
    parent: BASE
    joint_type: revolute
    joint_id: 0
    mass: 1
    inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ]
    elements: [ {{ type: ForceSensor, name: {name} }} ]
"""
COMMANDS = [
    ("hrp-sim", "run", "--duration", "0.002"),
    ("hrp-sim", "sensors"),
    ("hrp-sim", "rviz"),
    ("hrp-model", "check"),
    ("hrp-model", "tree"),
    ("hrp-model", "dump"),
    ("hrp-model", "urdf"),
]
MAIN = {"hrp-model": hrp_model.cli.main.main, "hrp-sim": hrp_sim.cli.main.main}


@pytest.fixture
def model(tmp_path):
    def write(name):
        path = tmp_path / "a.body"
        path.write_text(BODY.format(name=json.dumps(name)), encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_names_do_not_steer_and_are_no_markup(command, model, capsys):
    check_each(NAMES, lambda kind: check_output(command, kind, model, capsys))


def check_output(command, kind, model, capsys):
    program, *arguments = command
    status = MAIN[program]([*arguments, model(NAMES[kind])])
    out, err = capsys.readouterr()
    is_data = arguments in (["rviz"], ["dump"], ["urdf"])
    assert status in (0, 1)
    assert not UNSAFE.search(err if is_data else out + err)
    if kind in ("markup", "style", "emoji", "address"):
        assert NAMES[kind] in out + err


@pytest.mark.parametrize("program", MAIN)
def test_arguments_do_not_steer(program, capsys):
    for arguments in (
        ["tree", "x", "--\x1b[31m\r\u202e"],
        ["\x1b[31m\r\u202e\x9b"],
        ["check", "\x1b[31m\r\u202e.body"],
        ["run", "\x1b[31m\r\u202e.body"],
        ["rviz", "\x1b[31m\r\u202e.body", "-o", "/dev/null/\x1b\r"],
        ["run", "x", "--save", "/dev/null/\x1b\r"],
    ):
        assert MAIN[program](arguments) in (1, 2)
        assert not UNSAFE.search(capsys.readouterr().err)


def shell(line, *, terminal=False, **environment):
    """Run a line of the shell in which "model" and "sim" are the programs.

    Returns:
        The exit status, and what came out at standard output and standard error; with
        a terminal both are one.
    """
    line = line.replace("model ", f"{sys.executable} -m hrp_model.cli.main ")
    line = line.replace("sim ", f"{sys.executable} -m hrp_sim.cli.main ")
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    if not terminal:
        done = subprocess.run(
            ["sh", "-c", line], env=env, capture_output=True, check=False, timeout=300, cwd=ROOT
        )
        return done.returncode, done.stdout, done.stderr
    main, end = pty.openpty()
    shown = []
    reader = threading.Thread(target=lambda: shown.append(read_all(main)))
    reader.start()
    done = subprocess.run(
        ["sh", "-c", line], env=env, stdout=end, stderr=end, check=False, timeout=300, cwd=ROOT
    )
    os.close(end)
    reader.join()
    os.close(main)
    return done.returncode, shown[0], b""


def read_all(number):
    """Read until nobody has the other side of a terminal open."""
    found = b""
    while True:
        try:
            data = os.read(number, 65536)
        except OSError:
            return found
        if not data:
            return found
        found += data


@pytest.mark.parametrize("command", mostly_slow(["sim rviz", "model dump", "model urdf"], 1))
def test_data_is_exact_in_a_pipe_and_harmless_on_a_terminal(command, model, capsys):
    path = model("a\u202eb")
    program, subcommand = command.split()
    assert MAIN[f"hrp-{program}"]([subcommand, path]) == 0
    out = capsys.readouterr().out
    assert "\u202e" in out or "\\u202e" in out.lower()
    status, shown, _ = shell(f"{command} {path}", terminal=True, TERM="dumb")
    assert status == 0
    assert not UNSAFE.search(shown.decode().replace("\r\n", "\n"))


@pytest.mark.parametrize("command", mostly_slow(["model dump", "sim run --duration 0.002"], 1))
def test_a_terminal_with_few_characters_is_no_problem(command, model):
    options = {"terminal": True, "TERM": "dumb", "PYTHONIOENCODING": "ascii"}
    status, shown, _ = shell(f"{command} {model('赤')}", **options)
    assert status == 0, shown
    assert b"\\u8d64" in shown


# Streams that are closed, or full.


@pytest.mark.parametrize(
    "line",
    mostly_slow(
        [
            "model --help >/dev/full",
            "model tree models/arm/arm.body >&-",
            "sim --help >&-",
            "sim run --list-codes >/dev/full",
            "sim rviz models/worlds/arm.yaml >/dev/full",
            "sim run models/worlds/arm.yaml --duration 0.002 >&-",
        ],
        2,
    ),
)
def test_a_standard_output_that_takes_nothing_is_one_message(line):
    ended, _, err = shell(line)
    text = err.decode()
    assert ended == 2
    assert "error: cannot write to standard output: " in text.splitlines()[-1]
    assert "Traceback" not in text
    assert "Exception" not in text


@pytest.mark.parametrize("closed", mostly_slow(["2>&-", "2>/dev/full"], 1))
def test_a_standard_error_that_takes_nothing_loses_messages_only(closed):
    status, out, _ = shell(f"model check nowhere.body {closed}")
    assert (status, out) == (1, b"nowhere.body: 1 error\n")
    assert shell(f"sim nonsense {closed}")[:2] == (2, b"")


def test_all_streams_may_be_closed():
    assert shell("sim run models/worlds/arm.yaml --duration 0.002 <&- >&- 2>&-")[0] == 2
