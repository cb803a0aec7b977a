"""Programs that need ROS, on a machine without it."""

import subprocess
import sys

import pytest
from each_case import mostly_slow

# An entry None in sys.modules is how Python remembers that there is no such module.
_START = """
import sys
sys.modules[{missing!r}] = None
from hrp_ros.programs import {program}
sys.exit({program}())
"""


@pytest.mark.parametrize(
    ("program", "missing"),
    mostly_slow([("model_node", "rclpy"), ("sim_node", "tf2_msgs"), ("view_node", "rclpy")], 1),
)
def test_one_sentence_tells_what_to_install(program, missing):
    start = _START.format(missing=missing, program=program)
    done = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ROS 2 cannot be imported")
    assert "setup.bash" in line
    assert "pip install 'hrp_ros[ros]'" in line


def test_a_defect_of_this_package_is_no_lack_of_ros():
    entry = "hrp_model.program.command"
    program = f"from {entry} import run_node; run_node('hrp_model.no_such_module', 'x')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "no_such_module" in done.stderr
    assert "ROS 2 cannot be imported" not in done.stderr


@pytest.mark.parametrize(
    ("program", "parameter", "word"),
    mostly_slow([("model_node", "frame_prefix", "--help"), ("sim_node", "force_stdev", "-h")], 1),
)
def test_help_lists_the_parameters(program, parameter, word):
    pytest.importorskip("rclpy", reason="ROS 2 is not importable")
    start = f"import sys; from hrp_ros.programs import {program}; sys.exit({program}())"
    done = subprocess.run(
        [sys.executable, "-c", start, word], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {program} ")
    assert f"\n  {parameter} " in done.stdout


@pytest.mark.slow
def test_who_has_read_enough_of_the_help_hears_no_complaint():
    pytest.importorskip("rclpy", reason="ROS 2 is not importable")
    program = (
        "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); "
        "sys.argv = ['sim_node', '--help']; "
        "from hrp_ros.programs import sim_node; sys.exit(sim_node())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
