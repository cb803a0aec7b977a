"""Completion of command lines, by the protocol between bash and argcomplete."""

import os
import subprocess
import sys

import pytest
from each_case import mostly_slow
from paths import MODELS, PYTHONPATH

COMMANDS = {"hrp-model": "hrp_model", "hrp-sim": "hrp_sim"}


@pytest.fixture
def complete(tmp_path, monkeypatch):
    """Return what gives the candidates for the end of a command line, in a folder of models."""
    for name in ("arm.body", "arm2.WRL", "arms.txt", ".arm.body"):
        (tmp_path / name).touch()
    (tmp_path / "arm_parts").mkdir()
    (tmp_path / "arm_parts" / "hand.body").touch()
    monkeypatch.chdir(tmp_path)

    def complete(line):
        entry = (
            f"import sys; from hrp_ros.programs import *; sys.exit({COMMANDS[line.split()[0]]}())"
        )
        environment = {
            **os.environ,
            "PYTHONPATH": PYTHONPATH,
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "COMP_TYPE": "9",
        }
        # Candidates go to the file descriptor 8, messages for debugging to 9.
        script = 'exec 8>&1 9>&2 >/dev/null; exec "$0" -c "$1"'
        command = ["bash", "-c", script, sys.executable, entry]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return sorted(word.strip() for word in done.stdout.split("\n") if word)

    return complete


@pytest.mark.parametrize(
    ("line", "candidates"),
    mostly_slow(
        [
            ("hrp-sim check arm", ["arm", "arm.body", "arm2.WRL", "arm_parts/"]),
            ("hrp-model d", ["dump"]),
            ("hrp-sim r", ["replay", "run", "rviz"]),
            ("hrp-sim run rover --solver ", ["quick", "world"]),
            ("hrp-sim run --nam", []),
            ("hrp-sim sensors rover --nam", ["--naming"]),
            ("hrp-model urdf arm", ["arm.body", "arm2.WRL", "arm_parts/"]),
            ("hrp-model check arm.body arm_parts/", ["arm_parts/hand.body"]),
            ("hrp-model tree .a", [".arm.body"]),
            ("hrp-model tree nowhere/", []),
            ("hrp-model urdf arm.body -o arms", ["arms.txt"]),
        ],
        3,
    ),
)
def test_a_shell_completes_commands_options_choices_worlds_and_files(line, candidates, complete):
    assert complete(line) == candidates


def test_all_bundled_worlds_are_offered(complete):
    worlds = {path.stem for path in (MODELS / "worlds").glob("*.yaml")}
    assert worlds <= set(complete("hrp-sim run "))
