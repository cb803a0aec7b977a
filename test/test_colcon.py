"""Description packages, built and installed with colcon."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from package_tools import contents, meshes
from paths import MODELS
from urdf_tools import with_visuals

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_model.geometry import Cone, Shape
from hrp_model.urdf.options import Hardware, UrdfOptions
from hrp_model.urdf.package import write_package

PREFIX = Path(sys.prefix)
# Not installed: what builds the package, and what its writer knows of it.
NOT_INSTALLED = {"CMakeLists.txt", "README.md", ".hrp_model.json"}


def missing():
    """Return what is needed to build and not there, in words."""
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
    """Return an environment in which the packages of this Python are ROS's too."""
    known = {"PATH": search_path()}
    for name in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        known[name] = os.pathsep.join(filter(None, (os.environ.get(name), str(PREFIX))))
    return {**os.environ, **known}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return a workspace in which the packages of a robot with and one without meshes are built."""
    lack = missing()
    if lack:
        pytest.skip(f"no package can be built: {lack}")
    folder = tmp_path_factory.mktemp("workspace")
    quiet = Diagnostics(listener=lambda _: None)
    cone = Shape(Cone(0.1, 0.2))
    body = with_visuals(cone, collision=[cone])
    write_package(body, folder / "src" / "plain", diagnostics=quiet)
    body = load_body(MODELS / "rover" / "rover.body", quiet)
    options = UrdfOptions(ros2_control=Hardware.MOCK)
    write_package(body, folder / "src" / "any_folder", options=options, diagnostics=quiet)
    build(folder)
    return folder


def build(folder):
    done = subprocess.run(
        ["colcon", "build", "--event-handlers", "console_direct+"],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 packages finished" in done.stdout
    assert "CMake Warning" not in done.stdout + done.stderr


def installed(workspace, package):
    return workspace / "install" / package / "share" / package


@pytest.mark.parametrize(
    ("source", "package"),
    [("plain", "thing_description"), ("any_folder", "rover_description")],
)
def test_all_that_is_used_is_installed(workspace, source, package):
    written = contents(workspace / "src" / source)
    found = contents(installed(workspace, package))
    for path in written.keys() - NOT_INSTALLED:
        assert found[path] == written[path], path


def test_the_index_of_packages_knows_it(workspace):
    install = workspace / "install" / "rover_description"
    index = install / "share" / "ament_index" / "resource_index"
    assert (index / "packages" / "rover_description").is_file()
    needs = (index / "package_run_dependencies" / "rover_description").read_text().split(";")
    assert {"robot_state_publisher", "rviz2", "controller_manager"} <= set(needs)


def test_its_meshes_are_found_as_ros_finds_them(workspace):
    """With ament's own look-up, in a Python that has sourced the workspace."""
    pytest.importorskip("ament_index_python", reason="ament_index_python is not installed")
    urdf = installed(workspace, "thing_description") / "urdf" / "thing.urdf"
    uris = meshes(urdf)
    assert len(uris) == 2
    ask = "from ament_index_python.packages import get_package_share_directory as share\n"
    ask += "print(share('thing_description'))"
    script = f'. {workspace}/install/local_setup.sh && {sys.executable} -c "$ASK"'
    done = subprocess.run(
        ["sh", "-c", script],
        env={**environment(), "ASK": ask}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    share = Path(done.stdout.strip() or done.stderr)
    for uri in uris:
        assert (share / uri.removeprefix("package://thing_description/")).is_file(), uri


def test_a_launch_that_left_its_cache_behind_installs_none_of_it(workspace):
    cache = workspace / "src" / "plain" / "launch" / "__pycache__"
    cache.mkdir()
    (cache / "display.launch.cpython-311.pyc").touch()
    shutil.rmtree(workspace / "install")
    build(workspace)
    assert not list(installed(workspace, "thing_description").rglob("__pycache__"))
