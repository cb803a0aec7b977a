"""Build packages with colcon in tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from paths import ROOT

PREFIX = Path(sys.prefix)
# What no workspace needs of this tree, or makes itself.
_UNWANTED = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "install", "log", "docs", "*.so", "*.egg-info"
)


def missing():
    """Return the missing requirements of a build as text."""
    for program in ("colcon", "cmake"):
        if shutil.which(program, path=search_path()) is None:
            return f"{program} is not installed"
    where = [PREFIX, *map(Path, filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(":")))]
    if not any((folder / "share" / "ament_cmake").is_dir() for folder in where):
        return "ament_cmake is not installed"
    return None


def search_path():
    return f"{PREFIX / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def environment():
    """Return an environment in which ROS finds the packages of this Python."""
    known = {"PATH": search_path()}
    for name in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        known[name] = os.pathsep.join(filter(None, (os.environ.get(name), str(PREFIX))))
    return {**os.environ, **known}


def colcon(verb, workspace, *arguments):
    """Run a verb of colcon in a workspace; return its output."""
    done = subprocess.run(
        ["colcon", verb, *arguments],
        cwd=workspace, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def build_hrp_ros(workspace):
    """Build this package in a workspace, from a copy."""
    shutil.copytree(ROOT, workspace / "src" / "hrp_ros", ignore=_UNWANTED)
    assert "1 package finished" in colcon("build", workspace)


def overlay(workspace):
    """Return the environment of a shell that has sourced a workspace."""
    script = f". {workspace}/install/local_setup.sh && env -0"
    shell = subprocess.run(
        ["sh", "-c", script], cwd="/", env=environment(), capture_output=True, text=True, check=True
    )
    return dict(entry.split("=", 1) for entry in shell.stdout.split("\0") if "=" in entry)


def sourced(workspace, *command):
    """Run a command in the environment of a workspace; return its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd="/", env=overlay(workspace), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()
