"""The interface packages we build are the official ones, and building them is safe."""

import json
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from paths import ROOT

from hrp_msgs.interfaces import build

INTERFACES = Path(build.__file__).parent
KINDS = ("msg", "srv", "action")
# What rosidl makes of the official definitions; in control_msgs, Kilted differs from Jazzy.
OFFICIAL = json.loads((ROOT / "test" / "data" / "type_hashes.json").read_text(encoding="utf-8"))
PACKAGES = (
    *("control_msgs", "moveit_msgs", "object_recognition_msgs", "octomap_msgs"),
    *("ros_gz_interfaces", "simulation_interfaces", "tf2_msgs"),
)
JAZZY = {name: OFFICIAL[name] for name in PACKAGES}
KILTED = {**JAZZY, "control_msgs": JAZZY["control_msgs"] | OFFICIAL["control_msgs of kilted"]}
SUCCESS = subprocess.CompletedProcess([], 0, "", "")
TF_MESSAGE = OFFICIAL["tf2_msgs"]["tf2_msgs/msg/TFMessage"]


def definitions(package, variant):
    """Return the files that define a package's types, in a variant of it."""
    files = [path for path in (INTERFACES / package).glob("*/*.*") if path.parent.name in KINDS]
    special = {path.name: path for path in (INTERFACES / package / variant).rglob("*.action")}
    return [special.get(path.name, path) for path in files]


@pytest.mark.parametrize("package", JAZZY)
@pytest.mark.parametrize(("variant", "official"), [("jazzy", JAZZY), ("kilted", KILTED)])
def test_the_definitions_hash_to_the_official_types(package, variant, official):
    """As an implementation of the hash that is not rosidl's has it."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    from msgs.type_hashes import type_hashes

    needed = {name: definitions(name, variant) for name in build.ON_REQUEST.get(package, ())}
    assert type_hashes(package, definitions(package, variant), needed) == official[package]


@pytest.mark.parametrize("package", JAZZY)
def test_what_was_built_here_has_the_official_types(package):
    share = Path(sys.prefix) / "share" / package
    if build.is_missing(package) or not share.is_dir():
        pytest.skip(f"{package} was not built here")
    if build.is_outdated(package, Path(sys.prefix)):
        pytest.skip(f"{package} was built from earlier definitions: build it again")
    kilted = metadata.version("ros-rclpy").startswith("9.")
    built = {}
    for path in share.glob("*/*.json"):
        for entry in json.loads(path.read_text(encoding="utf-8"))["type_hashes"]:
            built[entry["type_name"]] = entry["hash_string"]
    official = (KILTED if kilted else JAZZY)[package]
    assert {name: built[name] for name in official} == official


def test_tf_goes_out_under_the_official_hash(monkeypatch):
    rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    messages = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    from ros_peer import DOMAIN_ID

    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    node = rclpy.create_node("hashes", context=context, enable_rosout=False)
    try:
        node.create_publisher(messages.TFMessage, "type_of_tf", 1)
        (publisher,) = node.get_publishers_info_by_topic("/type_of_tf")
        if not hasattr(publisher, "topic_type_hash"):
            pytest.skip("this ROS 2 is older than type hashes")
        assert str(publisher.topic_type_hash) == TF_MESSAGE
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_the_error_codes_are_the_official_ones():
    messages = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    codes = ("NO", "LOOKUP", "CONNECTIVITY", "EXTRAPOLATION", "INVALID_ARGUMENT", "TIMEOUT")
    names = [f"{code}_ERROR" for code in (*codes, "TRANSFORM")]
    assert [getattr(messages.TF2Error, name) for name in names] == list(range(7))


def test_the_numbers_of_the_simulation_standard_are_the_official_ones():
    messages = pytest.importorskip("simulation_interfaces.msg", reason="it is not installed")
    from simulation_interfaces.srv import ResetSimulation, SetSimulationState

    results = ("FEATURE_UNSUPPORTED", "OK", "NOT_FOUND", "INCORRECT_STATE", "OPERATION_FAILED")
    numbers = [getattr(messages.Result, f"RESULT_{name}") for name in results]
    assert numbers == list(range(5))
    states = ("STOPPED", "PLAYING", "PAUSED", "QUITTING", "NO_WORLD", "LOADING_WORLD")
    numbers = [getattr(messages.SimulationState, f"STATE_{name}") for name in states]
    assert numbers == list(range(6))
    scopes = ("DEFAULT", "TIME", "STATE", "SPAWNED", "ALL")
    numbers = [getattr(ResetSimulation.Request, f"SCOPE_{name}") for name in scopes]
    assert numbers == [0, 1, 2, 4, 255]
    codes = ("ALREADY_IN_TARGET_STATE", "STATE_TRANSITION_ERROR", "INCORRECT_TRANSITION")
    numbers = [getattr(SetSimulationState.Response, name) for name in codes]
    assert numbers == [101, 102, 103]


def test_the_error_codes_of_trajectories_are_the_official_ones():
    action = pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
    codes = (
        "SUCCESSFUL", "INVALID_GOAL", "INVALID_JOINTS", "OLD_HEADER_TIMESTAMP",
        "PATH_TOLERANCE_VIOLATED", "GOAL_TOLERANCE_VIOLATED",
    )  # fmt: skip
    numbers = [getattr(action.FollowJointTrajectory.Result, name) for name in codes]
    assert numbers == [0, -1, -2, -3, -4, -5]


def test_a_workspace_with_ros_does_not_see_them():
    assert (INTERFACES / "COLCON_IGNORE").is_file()
    packages = [path.parent for path in INTERFACES.glob("*/package.xml")]
    assert packages
    for package in packages:
        name = ElementTree.parse(package / "package.xml").findtext("name")
        assert name == package.name


def test_a_missing_package_is_told_from_one_that_is_there():
    assert build.is_missing("no_such_package_msgs")
    assert build.is_missing("json")  # there, but without messages


def test_what_is_there_is_not_built_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(build, "is_missing", lambda package: False)
    monkeypatch.setattr(build, "build", lambda *_: pytest.fail("nothing is missing"))
    monkeypatch.setattr(build, "adapt_cmake_targets", lambda _: pytest.fail("nothing is missing"))
    assert build.main([]) == 0


def test_only_packages_that_are_named_are_built(monkeypatch):
    built = []
    monkeypatch.setattr(build, "is_missing", lambda package: True)
    monkeypatch.setattr(build, "build", lambda package, _: built.append(package))
    monkeypatch.setattr(build, "adapt_cmake_targets", lambda _: None)
    assert build.main(["tf2_msgs"]) == 0
    assert built == ["tf2_msgs"]
    with pytest.raises(SystemExit, match="2"):
        build.main(["tf3_msgs"])
    with pytest.raises(SystemExit, match="0"):
        build.main(["--help"])
    assert built == ["tf2_msgs"]
    assert build.main(["moveit_msgs"]) == 0
    assert {*built[1:3]} == {"object_recognition_msgs", "octomap_msgs"}  # which it needs
    assert built[3:] == ["moveit_msgs"]
    assert build.main([]) == 0
    assert not {*built[4:]} & {*build.ON_REQUEST}


def test_what_was_built_from_another_definition_is_built_again(tmp_path, monkeypatch):
    """But not what somebody else installed."""
    (tmp_path / "some_msgs" / "msg").mkdir(parents=True)
    (tmp_path / "some_msgs" / "package.xml").touch()
    share = tmp_path / "share" / "some_msgs"
    share.mkdir(parents=True)
    commands = []
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr(build, "is_missing", lambda package: False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(
        build.subprocess, "run", lambda command, **_: commands.append(command) or SUCCESS
    )
    assert build.main([]) == 0
    assert not commands
    build.build("some_msgs", tmp_path)
    commands.clear()
    assert build.main([]) == 0
    assert not commands
    (tmp_path / "some_msgs" / "msg" / "More.msg").write_text("bool more\n")
    assert build.main([]) == 0
    assert [command[0] for command in commands] == ["cmake", "cmake"]
    assert not build.is_outdated("some_msgs", tmp_path)


def test_what_was_not_built_to_its_end_is_built_again(tmp_path, monkeypatch):
    """As when somebody ended it while it was being installed: some of it can be imported."""

    def end(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "some_msgs" / "msg").mkdir(parents=True)
    (tmp_path / "some_msgs" / "package.xml").touch()
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr(build.subprocess, "run", end)
    with pytest.raises(KeyboardInterrupt):
        build.build("some_msgs", tmp_path)
    assert build.is_outdated("some_msgs", tmp_path)


def test_without_a_compiler_it_says_what_is_needed(tmp_path, monkeypatch, capsys):
    (tmp_path / "absent_msgs").mkdir()
    (tmp_path / "absent_msgs" / "package.xml").touch()
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert build.main([]) == 1
    said = capsys.readouterr()
    assert said.out == "building the interface package absent_msgs\n"
    assert said.err.startswith("error: absent_msgs cannot be built: ")
    assert "check that cmake, g++, the Python headers and the generators are installed" in said.err


def test_targets_of_wheels_point_at_this_python(tmp_path):
    cmake = tmp_path / "share" / "geometry_msgs" / "cmake"
    cmake.mkdir(parents=True)
    wheel = "/opt/python/cp311-cp311"
    numpy = f"{wheel}/lib/python3.11/site-packages/numpy/_core/include"
    (cmake / "export.cmake").write_text(f'set(A "{wheel}/include/python3.11;{numpy};/usr/x")\n')
    (cmake / "other.cmake").write_text("set(B /usr/include/python3.11)\n")
    build.adapt_cmake_targets(tmp_path)
    assert (cmake / "export.cmake").read_text() == (
        f'set(A "{sysconfig.get_path("include")};{np.get_include()};/usr/x")\n'
    )
    assert (cmake / "other.cmake").read_text() == "set(B /usr/include/python3.11)\n"
    adapted = (cmake / "export.cmake").read_text()
    build.adapt_cmake_targets(tmp_path)
    assert (cmake / "export.cmake").read_text() == adapted
