"""Description packages, built and installed with colcon."""

import shutil
import sys
from pathlib import Path

import pytest
from colcon_tools import colcon, missing, sourced
from package_tools import contents, meshes
from paths import MODELS
from urdf_tools import with_visuals

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_model.geometry import Cone, Shape
from hrp_model.urdf import Hardware, UrdfOptions, write_package

pytestmark = pytest.mark.slow  # what is written is tested in test/model/urdf

# Not installed: what builds the package, and what its writer knows of it.
NOT_INSTALLED = {"CMakeLists.txt", "README.md", ".hrp_model.json"}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return a workspace in which the packages of a robot with and one without meshes are built."""
    lack = missing()
    if lack:
        pytest.skip(f"no package can be built: {lack}")
    folder = tmp_path_factory.mktemp("workspace")
    quiet = Diagnostics.silent()
    cone = Shape(Cone(0.1, 0.2))
    body = with_visuals(cone, collision=[cone])
    write_package(body, folder / "src" / "plain", diagnostics=quiet)
    body = load_body(MODELS / "rover" / "rover.body", quiet)
    options = UrdfOptions(ros2_control=Hardware.MOCK)
    write_package(body, folder / "src" / "any_folder", options=options, diagnostics=quiet)
    build(folder)
    return folder


def build(folder):
    said = colcon("build", folder, "--event-handlers", "console_direct+")
    assert "2 packages finished" in said
    assert "CMake Warning" not in said


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
    share = Path(sourced(workspace, sys.executable, "-c", ask))
    for uri in uris:
        assert (share / uri.removeprefix("package://thing_description/")).is_file(), uri


def test_a_launch_that_left_its_cache_behind_installs_none_of_it(workspace):
    cache = workspace / "src" / "plain" / "launch" / "__pycache__"
    cache.mkdir()
    (cache / "display.launch.cpython-311.pyc").touch()
    shutil.rmtree(workspace / "install")
    build(workspace)
    assert not list(installed(workspace, "thing_description").rglob("__pycache__"))
