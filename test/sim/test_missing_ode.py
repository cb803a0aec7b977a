"""A machine without the Open Dynamics Engine, or with a copy whose extension was not built."""

import subprocess
import sys

import pytest
from paths import MODELS

# Fail to load the extension as Python does it without its shared library, or without the file.
NO_LIBRARY = """
import importlib.machinery
def create(self, spec, create=importlib.machinery.ExtensionFileLoader.create_module):
    if spec.name == "hrp_sim.engine.ode._core":
        raise ImportError("libode.so.8: cannot open shared object file", name=spec.name)
    return create(self, spec)
importlib.machinery.ExtensionFileLoader.create_module = create
"""
NOT_BUILT = "import sys; sys.modules['hrp_sim.engine.ode._core'] = None"
HRP_SIM = "import sys; from hrp_sim.cli.main import main; sys.exit(main(sys.argv[1:]))"
SIM_NODE = "import sys; from hrp_ros.programs import sim_node; sys.exit(sim_node())"
ARM = MODELS / "worlds" / "arm.yaml"


def run(*lines, arguments=()):
    command = [sys.executable, "-c", "\n".join(lines), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("absence", "arguments"),
    [(NO_LIBRARY, ["run", ARM, "--duration", "1"]), (NOT_BUILT, ["sensors", ARM])],
)
def test_the_command_says_in_one_sentence_what_to_install(absence, arguments):
    done = run(absence, HRP_SIM, arguments=arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("hrp-sim: error: the physics engine ")
    assert "apt install libode-dev" in line
    assert done.stdout == ""


def test_the_node_says_in_one_sentence_what_to_install():
    pytest.importorskip("rclpy", reason="ROS 2 is not importable")
    done = run(NO_LIBRARY, SIM_NODE, arguments=["--ros-args", "-p", f"world:={ARM}"])
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "libode.so.8" in line
    assert "apt install libode-dev" in line


def test_what_needs_no_physics_works_without():
    done = run(NO_LIBRARY, HRP_SIM, arguments=["--version"])
    assert (done.returncode, done.stderr) == (0, "")
    done = run(NO_LIBRARY, f"from hrp_sim import load_world; load_world({str(ARM)!r})")
    assert (done.returncode, done.stderr) == (0, "")


def test_python_gets_an_import_error_with_the_same_sentence():
    program = f"""
from hrp_sim import Simulation, load_world
try:
    Simulation(load_world({str(ARM)!r}))
except ImportError as error:
    print(error)
"""
    done = run(NO_LIBRARY, program)
    assert "the physics engine cannot be loaded (libode.so.8" in done.stdout
    assert done.stderr == ""
