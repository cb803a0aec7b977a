"""The set-up of scripts/bootstrap.sh: what it asks apt, uv and pip for, and how it fails.

The commands that it starts are stand-ins, which write down their arguments.
"""

import os
import shutil
import subprocess
import sys

import pytest
from paths import ROOT

SCRIPT = ROOT / "scripts" / "bootstrap.sh"
ONLY_FOR_TESTS = {"python3-pyode", "liburdfdom-tools", "strace", "chromium", "fonts-dejavu-core"}
# What no run imports but one that records, studies, certifies or learns.
OTHERS = ("pytest", "hypothesis", "scipy", "mujoco", "pinocchio", "matplotlib", "imageio_ffmpeg")
OTHERS += ("mcap", "rosbags", "xarray", "pyarrow", "distributed", "gymnasium", "playwright")


class SetUp:
    """The functions of the script in a checkout that has nothing else."""

    def __init__(self, folder):
        self.folder = folder
        interfaces = folder / "hrp_msgs" / "interfaces"
        interfaces.mkdir(parents=True)
        for distribution in ("jazzy", "kilted"):
            name = f"requirements-{distribution}.txt"
            shutil.copy(ROOT / "hrp_msgs" / "interfaces" / name, interfaces)
        (folder / "scripts").mkdir()
        shutil.copy(SCRIPT, folder / "scripts")
        self.commands = folder / "commands"
        self.commands.mkdir()
        self.command("id", "echo 0")

    def command(self, name, script="", folder=None):
        path = (folder or self.commands) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        line = f'echo {name} "$*" >>{self.folder}/log'
        path.write_text(f"#!/bin/sh\n{line}\n{script}\n")
        path.chmod(0o755)

    def run(self, script, **environment):
        environment = {
            "PATH": f"{self.commands}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "HRP_ROS_IS_SET_UP": "1",
            **environment,
        }
        text = f"source scripts/bootstrap.sh; LOGS=$(mktemp -d); trap clean_up EXIT\n{script}"
        return subprocess.run(
            ["bash", "-c", text], cwd=self.folder, env=environment, capture_output=True, text=True
        )

    def log(self):
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def set_up(tmp_path):
    return SetUp(tmp_path)


@pytest.mark.parametrize(
    ("extra", "unneeded"), [("view", ONLY_FOR_TESTS), ("all", ONLY_FOR_TESTS), ("test", set())]
)
def test_apt_installs_what_the_purpose_needs(set_up, extra, unneeded):
    set_up.command("dpkg-query", "exit 1")
    set_up.command("apt-get")
    done = set_up.run('install_apt_packages "${APT_PACKAGES[@]}"', HRP_ROS_EXTRA=extra)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in set_up.log() if line.startswith("apt-get install"))
    packages = set(line.split()) - {"apt-get", "install"}
    assert {"libode-dev", "libqhull-dev", "libegl1"} < packages
    assert packages & ONLY_FOR_TESTS == ONLY_FOR_TESTS - unneeded


def test_apt_is_left_alone_where_its_packages_are_there(set_up):
    set_up.command("dpkg-query", "echo installed")
    for name in ("apt-get", "sudo"):
        set_up.command(name, "exit 1")
    done = set_up.run('install_apt_packages "${APT_PACKAGES[@]}"')
    assert done.returncode == 0, done.stderr
    assert {line.split()[0] for line in set_up.log()} == {"dpkg-query"}


@pytest.mark.parametrize(
    ("script", "settings", "used"),
    [
        ("", "", ["uv"]),
        ("exit 1", "", ["uv", "python"]),  # such as without a network that uv can use
        ("", "global.index-url='https://mirror.example'", ["python"]),
    ],
)
def test_pip_installs_where_uv_cannot(set_up, script, settings, used):
    programs = set_up.folder / ".venv" / "bin"
    set_up.command("uv", script, programs)
    set_up.command("python", f'[ "$3" != config ] || echo "{settings}"', programs)
    done = set_up.run("pip_install numpy", PATH=os.environ["PATH"])
    assert done.returncode == 0, done.stderr
    installing = [line.split()[0] for line in set_up.log() if line.endswith(" numpy")]
    assert installing == used


def test_libraries_are_installed_again_only_for_a_purpose_that_needs_more(set_up):
    (set_up.folder / ".venv").mkdir()
    (set_up.folder / "setup.py").touch()
    done = set_up.run(
        """make_venv() { :; }; requirements() { :; }; pip_install() { echo "$EXTRA" >>log; }
        set_up_for() { for EXTRA in "$@"; do install_libraries; done; echo next >>log; }
        set_up_for view view; set_up_for test view all
        echo '# changed' >setup.py; set_up_for view"""
    )
    assert done.returncode == 0, done.stderr
    assert set_up.log() == ["view", "next", "test", "next", "view", "next"]


@pytest.mark.parametrize("place", ["beside", ""])
def test_a_step_that_fails_ends_the_set_up_with_its_output_and_a_remedy(set_up, place):
    done = set_up.run(
        f"""{place} step "building" "use another compiler" sh -c 'echo no cc; exit 3'
        [ -z "$BESIDE" ] || finish
        echo ready"""
    )
    assert done.returncode == 1
    assert "ready" not in done.stdout
    assert "  | no cc\n" in done.stderr
    assert done.stderr.endswith("remedy: use another compiler\n")


def test_what_runs_beside_ends_with_a_step_that_fails(set_up):
    done = set_up.run(
        """beside sh -c 'echo $$ >pid; sleep 300'
        while [ ! -s pid ]; do sleep 0.01; done
        step "unpacking" "free space" false"""
    )
    assert done.returncode == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int((set_up.folder / "pid").read_text()), 0)


@pytest.mark.parametrize("name", ["HRP_ROS_EXTRA", "HRP_ROS_DISTRO"])
def test_an_unknown_choice_is_refused(set_up, name):
    done = set_up.run("echo ready", **{name: "rolling"})
    assert done.returncode == 1
    assert f"{name} is 'rolling'" in done.stderr
    assert "ready" not in done.stdout


@pytest.mark.slow
def test_the_demonstration_imports_no_library_of_other_purposes():
    code = f"""
import sys
sys.modules.update(dict.fromkeys({OTHERS!r}))
from hrp_ros.programs import hrp_sim
sys.argv[1:] = "run humanoid_in_room --duration 0.02 --view --port 0".split()
hrp_sim()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
