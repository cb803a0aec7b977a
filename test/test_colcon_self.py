"""This package in a workspace: built, found and tested as colcon does it."""

import os
import sys
from pathlib import Path

import pytest
from colcon_tools import build_hrp_ros, colcon, missing, sourced

pytestmark = pytest.mark.slow  # it builds the whole package; test_colcon.py builds smaller ones

# Of plain Python and messages, and of the engine in C.
SOME_TESTS = ("test/msgs/test_names.py", "test/sim/physics/test_free_motion.py")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, quick_compiler):
    lack = missing()
    if lack:
        pytest.skip(f"no package can be built: {lack}")
    folder = tmp_path_factory.mktemp("workspace")
    build_hrp_ros(folder)
    return folder


def ask(workspace, code):
    """Return what Python prints in a shell that has sourced the workspace."""
    return sourced(workspace, sys.executable, "-c", code)


def test_the_interfaces_for_machines_without_ros_are_no_packages_of_the_workspace(workspace):
    assert colcon("list", workspace, "--names-only").split() == ["hrp_ros"]


def test_ament_finds_the_package_and_its_files(workspace):
    pytest.importorskip("ament_index_python", reason="ament_index_python is not installed")
    code = (
        "import ament_index_python.packages as p; print(p.get_package_share_directory('hrp_ros'))"
    )
    share = Path(ask(workspace, code))
    assert share == workspace / "install" / "hrp_ros" / "share" / "hrp_ros"
    for name in ("package.xml", "launch", "config", "models/worlds/rover.yaml"):
        assert (share / name).exists(), name
    index = share.parent / "ament_index" / "resource_index"
    assert (index / "packages" / "hrp_ros").is_file()


def test_the_installed_code_runs_with_its_extensions(workspace):
    install = workspace / "install" / "hrp_ros"
    found = ask(workspace, "import hrp_sim.engine.ode._core as core; print(core.__file__)")
    assert install in Path(found).parents


def test_executables_are_where_ros2_run_looks_and_find_models_by_their_package(workspace):
    programs = workspace / "install" / "hrp_ros" / "lib" / "hrp_ros"
    names = {path.name for path in programs.iterdir()}
    assert names == {"hrp-model", "hrp-sim", "model_node", "sim_node", "view_node"}
    assert all(os.access(programs / name, os.X_OK) for name in names)
    model = "package://hrp_ros/models/rover/rover.body"
    assert sourced(workspace, programs / "hrp-model", "check", model) == f"{model}: no problems"


def test_they_start_without_the_libraries_that_rosdep_does_not_bring(workspace):
    """Of what setup.py requires, apt lacks some: scripts must not insist on all of it."""
    absent = workspace / "absent"
    absent.mkdir()
    for name in ("trimesh", "moderngl", "re2", "pkg_resources"):
        (absent / f"{name}.py").write_text(f"raise ModuleNotFoundError('no {name}', name='{name}')")
    programs = workspace / "install" / "hrp_ros" / "lib" / "hrp_ros"
    script = f'PYTHONPATH={absent}:$PYTHONPATH exec "$@"'
    model = "package://hrp_ros/models/rover/rover.body"
    for command in (["hrp-model", "check", model], ["hrp-sim", "run", model, "--duration", "0.1"]):
        sourced(workspace, "sh", "-c", script, "sh", programs / command[0], *command[1:])


@pytest.mark.slow
def test_colcon_tests_it(workspace):
    said = colcon(
        "test", workspace, "--return-code-on-test-failure", "--event-handlers", "console_direct+",
        "--pytest-args", "-p", "no:cacheprovider", *SOME_TESTS,
    )  # fmt: skip
    assert " passed" in said
    assert "0 failures, 0 skipped" in colcon("test-result", workspace, "--all")
