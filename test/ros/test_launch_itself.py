"""Launch files, run by ``launch`` itself where it is importable."""

import importlib
import os
import signal
import sys

import launch_double
import pytest
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("launch_ros", reason="launch_ros is not importable")
from ros_peer import LATCHED, PATIENCE, Peer, running
from std_msgs.msg import String

pytestmark = pytest.mark.ros

LAUNCH = """
import sys
import launch
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

path, *arguments = sys.argv[1:]
service = launch.LaunchService()
pairs = [argument.split(":=", 1) for argument in arguments]
source = PythonLaunchDescriptionSource(path)
service.include_launch_description(IncludeLaunchDescription(source, launch_arguments=pairs))
sys.exit(service.run())
"""
NODE = """#!{python}
import sys
from {package}.entry import {node}
sys.exit({node}())
"""


def is_installed(package):
    from ament_index_python.packages import get_packages_with_prefixes

    return package in get_packages_with_prefixes()


def interrupt(process):
    """Do what Ctrl-C in a terminal does: launch counts on it that its children are told, too."""
    os.killpg(process.pid, signal.SIGINT)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Have this package in an ament index of its own, with its nodes, and little else."""
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    nodes = tmp_path / "lib" / "hrp_ros"
    for folder in (index, nodes):
        folder.mkdir(parents=True)
    (index / "hrp_ros").touch()
    (tmp_path / "share" / "hrp_ros").symlink_to(ROOT)
    for node, package in (("sim_node", "hrp_sim"), ("model_node", "hrp_model")):
        path = nodes / node
        text = NODE.format(python=sys.executable, package=package, node=node)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    former = os.environ.get("AMENT_PREFIX_PATH", sys.prefix)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}{os.pathsep}{former}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("display.launch.py", f"model:={MODELS / 'arm' / 'arm.body'}"),
        ("simulation.launch.py", f"world:={MODELS / 'worlds' / 'arm.yaml'}"),
    ],
)
def test_the_robot_is_described_where_it_should_be(name, thing, installed):
    log = installed / "log.txt"
    more = ["namespace:=lab", "rviz:=false", "publish_frequency:=5" if "display" in name else ""]
    arguments = [thing, *filter(None, more)]
    with running(["-c", LAUNCH, str(ROOT / "launch" / name), *arguments], log) as process:
        peer = Peer()
        try:
            peer.follow("/lab/robot_description", String, LATCHED)
            peer.wait_for("/lab/robot_description")
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise
        finally:
            peer.close()
        interrupt(process)
        assert process.wait(PATIENCE) == 0, log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("display.launch.py", f"model:={MODELS / 'arm' / 'arm.body'}"),
        ("simulation.launch.py", f"world:={MODELS / 'worlds' / 'arm.yaml'}"),
    ],
)
def test_without_rviz_the_rest_runs_to_its_end(name, thing, installed):
    if is_installed("rviz2"):
        pytest.skip("rviz2 is installed")
    log = installed / "log.txt"
    with running(["-c", LAUNCH, str(ROOT / "launch" / name), thing, "gui:=false"], log) as process:
        peer = Peer()
        try:
            peer.follow("/robot_description", String, LATCHED)
            peer.wait_for("/robot_description")
        finally:
            peer.close()
        interrupt(process)
        assert process.wait(PATIENCE) == 0, log.read_text(encoding="utf-8")
    said = log.read_text(encoding="utf-8")
    assert said.count("the package rviz2 is not installed") == 1
    assert "ERROR" not in said


def test_what_is_missing_ends_the_launch_with_an_error_before_anything_starts(installed):
    if is_installed("controller_manager"):
        pytest.skip("ros2_control is installed")
    log = installed / "log.txt"
    path = str(ROOT / "launch" / "ros2_control.launch.py")
    with running(["-c", LAUNCH, path], log) as process:
        assert process.wait(PATIENCE) == 1
    said = log.read_text(encoding="utf-8")
    assert "controller_manager, joint_state_topic_hardware_interface" in said
    assert "process started" not in said
    assert "Traceback" not in said


def test_the_defaults_that_are_shown_are_those_of_ros2_control(installed):
    from launch import LaunchContext
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    from launch.utilities import perform_substitutions

    path = str(ROOT / "launch" / "ros2_control.launch.py")
    context = LaunchContext()
    description = PythonLaunchDescriptionSource(path).get_launch_description(context)
    shown = {
        argument.name: perform_substitutions(context, argument.default_value)
        for argument in description.get_launch_arguments()
    }
    assert (shown["hardware_topics"], shown["clock_rate"]) == ("true", "500.0")
    assert shown["rviz"] == shown["joint_limits"] == "true"


@pytest.mark.parametrize("module", launch_double.CLASSES)
def test_the_double_has_classes_that_there_are(module):
    real = importlib.import_module(module)
    assert [
        k.__name__ for k in launch_double.CLASSES[module] if not hasattr(real, k.__name__)
    ] == []
