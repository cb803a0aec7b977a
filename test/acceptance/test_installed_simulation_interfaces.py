"""The simulation services beside installed versions of simulation_interfaces.

``HRP_ROS_SIMULATION_INTERFACES`` lists the prefixes where they are installed, separated by colons:
each with a ``lib``, and a ``share/simulation_interfaces/package.xml``.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from paths import ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

pytestmark = pytest.mark.ros

VARIABLE = "HRP_ROS_SIMULATION_INTERFACES"
PREFIXES = [Path(p) for p in os.environ.get(VARIABLE, "").split(os.pathsep) if p]


def version(prefix):
    return ElementTree.parse(prefix / "share/simulation_interfaces/package.xml").findtext("version")


def beside(prefix):
    """Return the environment in which the package is found in this prefix first."""
    python = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    paths = {"PYTHONPATH": python, "LD_LIBRARY_PATH": "lib", "AMENT_PREFIX_PATH": "."}
    before = {name: os.environ.get(name, "").split(os.pathsep) for name in paths}
    return os.environ | {
        name: os.pathsep.join([str(prefix / path), *filter(None, before[name])])
        for name, path in paths.items()
    }


@pytest.mark.skipif(not PREFIXES, reason=f"{VARIABLE} names no prefixes")
@pytest.mark.parametrize("prefix", PREFIXES, ids=version)
def test_all_services_of_an_installed_version_work(prefix):
    environment = beside(prefix.resolve())
    program = "import simulation_interfaces as package; print(package.__file__)"
    python = [sys.executable, "-c", program]
    found = subprocess.run(python, env=environment, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(prefix.resolve())
    tests = "test_simulation_interfaces.py", "test_steps_action.py", "test_simulation_versions.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + [str(ROOT / "test" / "ros" / name) for name in tests],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
