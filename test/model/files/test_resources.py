"""References of models to files, as people write them."""

import os
import re

import pytest
from paths import ROOT

from hrp_model.files import resources
from hrp_model.files.resources import ResourceError, package_folder, resolve, share_folder


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A model folder and two installed packages; returns its root."""
    for file in (
        "robot/meshes/arm.stl",
        "robot/a b.stl",
        "install/share/arms/meshes/elbow.stl",
        "src/legs/package.xml",
        "src/legs/knee.stl",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(["/nowhere", f"{tmp_path}/install"]))
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path}/src")
    monkeypatch.setenv("MESHES", "meshes")
    monkeypatch.setenv("SECRET", "hush:" + 300 * "x")
    return tmp_path


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("meshes/arm.stl", "robot/meshes/arm.stl"),
        (" ./meshes/../meshes/arm.stl\n", "robot/meshes/arm.stl"),
        ("meshes\\arm.stl", "robot/meshes/arm.stl"),
        ("${MESHES}/arm.stl", "robot/meshes/arm.stl"),
        ("a b.stl", "robot/a b.stl"),
        ("${SHARE}/arms/meshes/elbow.stl", "install/share/arms/meshes/elbow.stl"),
        ("${PROGRAM_TOP}/src/legs/knee.stl", "src/legs/knee.stl"),
        ("${PROJECT_DIR}/meshes/arm.stl", "robot/meshes/arm.stl"),
        ("{root}/robot/meshes/arm.stl", "robot/meshes/arm.stl"),
        ("file://{root}/robot/a%20b.stl", "robot/a b.stl"),
        ("file:{root}/robot/a%20b.stl", "robot/a b.stl"),
        ("FILE:meshes/arm.stl", "robot/meshes/arm.stl"),
        ("package://arms/meshes/elbow.stl", "install/share/arms/meshes/elbow.stl"),
        ("model://arms/meshes/elbow.stl", "install/share/arms/meshes/elbow.stl"),
        ("package://legs/knee.stl", "src/legs/knee.stl"),
    ],
)
def test_a_reference_finds_its_file(workspace, uri, file):
    uri = uri.replace("{root}", str(workspace))
    folder = "install/robots" if "{SHARE}" in uri else "robot"
    assert resolve(uri, workspace / folder) == (workspace / file).resolve()


def test_a_variable_of_the_environment_wins_over_folders_above(workspace, monkeypatch):
    monkeypatch.setenv("SHARE", str(workspace / "src"))
    uri = "${SHARE}/legs/knee.stl"
    assert resolve(uri, workspace / "install") == (workspace / "src/legs/knee.stl").resolve()


def test_folders_above_are_outside_of_a_closed_fence(workspace):
    robot = (workspace / "robot").resolve()
    access = resources.FileAccess((robot,), sandboxed=True)
    uri = "${PROGRAM_TOP}/meshes/arm.stl"
    assert resolve(uri, robot / "meshes", access) == robot / "meshes/arm.stl"
    (workspace / "loose.stl").touch()
    assert resolve("${PROGRAM_TOP}/loose.stl", robot).name == "loose.stl"
    with pytest.raises(ResourceError, match=r"outside the folder of the model|no such file"):
        resolve("${PROGRAM_TOP}/loose.stl", robot, access)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("meshes/leg.stl", "no such file: .*/robot/meshes/leg.stl"),
        ("meshes", "no such file"),
        ("", "no such file"),
        ("C:\\meshes\\arm.stl", "no such file"),
        ("${SHARE}/arms/meshes/leg.stl", "no such file: .*/share/arms/meshes/leg.stl"),
        ("${NO_SUCH_VARIABLE}/arm.stl", "environment variable NO_SUCH_VARIABLE is not set"),
        ("http://example.com/arm.stl", "'http:' references are not supported"),
        ("${MESHES}/leg.stl", r"^no such file \(MESHES is taken from the environment\)$"),
        ("package://${MESHES}/leg.stl", r"^no such file \(MESHES is"),
        ("${SECRET}", r"^no such file \(SECRET is taken from the environment\)$"),
        ("~/leg.stl", "^no such file: ~/leg.stl$"),
        ("package://wings/arm.stl", "no package 'wings' in AMENT_PREFIX_PATH"),
        ("package://../arms/meshes/elbow.stl", "'..' is not a valid package name"),
        ("package:///arms/meshes/elbow.stl", "'' is not a valid package name"),
        ("package://arms/meshes/leg.stl", "no such file: .*/install/share/arms/meshes/leg.stl"),
        ("~nobody-of-this-name/arm.stl", "cannot use '~nobody"),
        ("x" * 300, "cannot use 'xxx.*too long|no such file: .*xxx"),  # before 3.14, and since
        ("a\0b", "no such file"),
        ("~a\0b", "cannot use"),
        ("file:~a%00b", "cannot use"),
        ("a\ud800b", "no such file"),
    ],
)
def test_a_reference_without_a_file_says_what_is_missing(workspace, uri, message):
    with pytest.raises(ResourceError, match=message):
        resolve(uri, workspace / "robot")


def test_a_name_that_no_file_can_have_is_none_in_a_sandbox_either(workspace):
    access = resources.FileAccess((workspace.resolve(),), sandboxed=True)
    for uri, message in (("~a\0b", "home folders"), ("a\ud800b", "cannot use")):
        with pytest.raises(ResourceError, match=message):
            resolve(uri, workspace / "robot", access)


def test_a_loop_of_links_is_no_file(workspace):
    (workspace / "a").symlink_to(workspace / "b")
    (workspace / "b").symlink_to(workspace / "a")
    with pytest.raises(ResourceError, match="no such file"):
        resolve("a", workspace)


def test_a_source_tree_is_its_own_share_folder(monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    assert share_folder() == ROOT
    assert package_folder("hrp_ros") == ROOT
    assert resolve("package://hrp_ros/models/floor.body", ROOT).is_file()


@pytest.mark.parametrize(
    "modules",
    [
        "lib/python3.11/site-packages",  # pip, also with --user and --prefix; colcon
        "local/lib/python3.11/dist-packages",  # the pip of Ubuntu, outside of environments
        ".",  # pip install --target
    ],
)
def test_an_installed_package_finds_its_share_folder(tmp_path, monkeypatch, modules):
    monkeypatch.setattr(
        resources, "__file__", str(tmp_path / modules / "hrp_model" / "files" / "x.py")
    )
    with pytest.raises(ResourceError, match=re.escape("data files of hrp_ros are not installed")):
        share_folder()
    prefix = tmp_path / "local" if modules.startswith("local") else tmp_path
    share = prefix / "share" / "hrp_ros"
    (share / "models").mkdir(parents=True)
    assert share_folder() == share


def test_a_package_of_links_finds_its_share_folder(tmp_path, monkeypatch):
    """As uv can install it: every file is a link into its cache."""
    cached = tmp_path / "cache" / "resources.py"
    module = tmp_path / "lib" / "hrp_model" / "files" / "resources.py"
    for folder in (cached.parent, module.parent, tmp_path / "share" / "hrp_ros" / "models"):
        folder.mkdir(parents=True)
    cached.touch()
    module.symlink_to(cached)
    monkeypatch.setattr(resources, "__file__", str(module))
    assert share_folder() == tmp_path / "share" / "hrp_ros"
