"""The beginning and the end of a program with ROS."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy

from hrp_msgs.node.start import WrongUseError, init_ros, shared_ros_arguments


@pytest.fixture
def context(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    made = rclpy.Context()
    yield made
    made.try_shutdown()


def test_arguments_that_ros_cannot_read_are_told(context):
    with pytest.raises(WrongUseError, match="ROS cannot start with these arguments"):
        init_ros(["--ros-args", "-p", "no value"], context=context, domain_id=77)


@pytest.mark.parametrize(
    ("given", "shared"),
    [
        ("run world.yaml", ""),
        ("--ros-args", ""),
        ("x --ros-args -r __ns:=/a -r __node:=b --remap __name:=c", ""),
        ("x --ros-args -r a:=b -r __ns:=/a -p k:=1 -- y", "--ros-args -r a:=b -p k:=1"),
        ("--ros-args -r sim_node:__ns:=/a", "--ros-args -r sim_node:__ns:=/a"),
        ("--ros-args -p k:=1 -- -r x --ros-args -r y:=z", "--ros-args -p k:=1 -r y:=z"),
        ("--ros-args -p __ns:=1", "--ros-args -p __ns:=1"),
    ],
)
def test_a_further_node_shares_everything_but_what_the_first_is_called(given, shared):
    assert shared_ros_arguments(given.split()) == shared.split()
