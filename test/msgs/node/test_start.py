"""The beginning and the end of a program with ROS."""

import sys

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy
from rclpy.node import Node
from ros_peer import DOMAIN_ID
from std_msgs.msg import Empty

from hrp_msgs.node.start import WrongUseError, destroy, init_ros


@pytest.fixture
def context(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    made = rclpy.Context()
    yield made
    made.try_shutdown()


def test_arguments_that_ros_cannot_read_are_told(context):
    with pytest.raises(WrongUseError, match="ROS cannot start"):
        init_ros(["--ros-args", "-p", "no value"], context=context, domain_id=DOMAIN_ID)


def test_domains_that_would_end_the_process_are_refused(context, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "233")
    with pytest.raises(WrongUseError, match="ROS_DOMAIN_ID must be from 0 to 232, not 233"):
        init_ros([], context=context)


# Interrupts in weakref callbacks are lost.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_node_is_destroyed_wherever_ctrl_c_interrupted_the_creation_of_a_subscription(context):
    init_ros([], context=context, domain_id=DOMAIN_ID)

    def calls_until_interrupt(moment):
        """Return how many functions of Python were called, at most to this one."""
        node, calls = Node("interrupted", context=context), 0

        def interrupt(_frame, event, _argument):
            nonlocal calls
            calls += event == "call"
            if calls == moment:
                raise KeyboardInterrupt

        sys.setprofile(interrupt)
        try:
            node.create_subscription(Empty, "topic", lambda _: None, 1)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
            destroy(node)
        return calls

    calls_until_interrupt(sys.maxsize)  # imports the message
    for moment in range(1, calls_until_interrupt(sys.maxsize)):
        assert calls_until_interrupt(moment) == moment
