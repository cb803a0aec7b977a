"""The beginning and the end of a program with ROS."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy

from hrp_msgs.start import WrongUseError, end_ros, init_ros


@pytest.fixture
def context(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    made = rclpy.Context()
    yield made
    made.try_shutdown()


def test_arguments_that_ros_cannot_read_are_told(context):
    with pytest.raises(WrongUseError, match="ROS cannot start with these arguments"):
        init_ros(["--ros-args", "-p", "no value"], context=context, domain_id=77)


def test_the_end_does_not_mind_that_a_signal_handler_was_faster(context, monkeypatch):
    init_ros([], context=context, domain_id=77)

    def both():
        context.shutdown()
        context.shutdown()

    monkeypatch.setattr(rclpy, "try_shutdown", both)
    end_ros()
    assert not context.ok()
