"""Topics that end while other threads still use them."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from std_msgs.msg import Bool, String

from hrp_msgs import qos
from hrp_msgs.topics.node_topics import NodeTopic


@pytest.fixture
def node(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=77)
    node = Node("publisher", context=context)
    yield node
    node.destroy_node()
    context.try_shutdown()


@pytest.mark.parametrize("end", ["context", "topic"])
def test_publishing_after_the_end_does_nothing(node, end):
    topic = NodeTopic(node, String, "text", qos.IMAGE)
    topic.publish(String())
    if end == "context":
        node.context.shutdown()  # as a signal handler does, between any two calls
    else:
        topic.close()
    topic.publish(String())
    assert not topic.has_subscribers()
    assert topic.count == 1


def test_defects_are_not_taken_for_an_end(node):
    topic = NodeTopic(node, String, "text", qos.IMAGE)
    with pytest.raises(TypeError):
        topic.publish(Bool())
    node.destroy_publisher(topic._publisher)  # behind its back
    with pytest.raises(InvalidHandle):
        topic.publish(String())
