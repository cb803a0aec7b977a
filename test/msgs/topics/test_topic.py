"""Topics that end while other threads still use them."""

import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from ros_peer import DOMAIN_ID, PATIENCE
from std_msgs.msg import Bool, Header, String

from hrp_msgs import qos
from hrp_msgs.messages.definitions import serialize
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.recording import Recorder, Recording
from hrp_msgs.topics.node_topics import NodeTopic, NodeTopics, rcl_sender
from hrp_msgs.topics.recorded import TopicRecording


@pytest.fixture
def node(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    node = Node("publisher", context=context)
    yield node
    node.destroy_node()
    context.try_shutdown()


@pytest.fixture(params=["at once", "later"])
def sender(request):
    """What sends messages: None, or a thread of its own."""
    if request.param == "at once":
        yield None
        return
    with closing_sender() as sender:
        yield sender


@contextmanager
def closing_sender():
    sender = rcl_sender()
    yield sender
    sender.close(PATIENCE)


@pytest.mark.parametrize("end", ["context", "topic"])
def test_publishing_after_the_end_does_nothing(node, sender, end, capfd):
    topic = NodeTopic(node, String, "text", qos.IMAGE, sender=sender)
    for message in (String(), serialize(String())):
        topic.publish(message)
    if end == "context":
        if sender is not None:
            sender.flush(PATIENCE)
        node.context.shutdown()  # as a signal handler does, between any two calls
    else:
        topic.close()
    for message in (serialize(String()), String(), serialize(String())):
        topic.publish(message)
    assert not topic.has_subscribers()
    if sender is not None:
        sender.flush(PATIENCE)
        assert sender.error.startswith("publisher's context is invalid") == (end == "context")
    assert topic.count == 2
    assert "cannot be published" not in "".join(capfd.readouterr())


def test_defects_are_not_taken_for_an_end(node):
    topic = NodeTopic(node, String, "text", qos.IMAGE)
    for wrong in (Bool(), None):
        with pytest.raises(TypeError):
            topic.publish(wrong)
    node.destroy_publisher(topic._publisher)  # behind its back
    with pytest.raises(InvalidHandle):
        topic.publish(String())


def test_what_is_recorded_is_published_until_the_recording_ends(node, tmp_path):
    path = tmp_path / "topics.mcap"
    recorder = Recorder(path, on_error=pytest.fail)
    recording = TopicRecording(recorder)
    topic = NodeTopics(node, recording).create(String, "text", qos.IMAGE)
    recording.time_ns = 7
    topic.publish(String(data="one"))
    assert topic.has_subscribers()
    recording.is_open = False
    topic.publish(String(data="two"))
    assert not topic.has_subscribers()
    assert topic.count == 2
    recorder.close()
    found = [(m.topic, m.time_ns, m.message.data) for m in Recording(path).messages()]
    assert found == [("/text", 7, "one")]


def test_a_thread_can_publish_what_is_not_recorded(node, tmp_path):
    path = tmp_path / "topics.mcap"
    recorder = Recorder(path, on_error=pytest.fail)
    recording = TopicRecording(recorder)
    topic = NodeTopics(node, recording).create(String, "text", qos.IMAGE)
    with recording.suspended():
        topic.publish(String(data="one"))
        assert not topic.has_subscribers()
        other = threading.Thread(target=topic.publish, args=[String(data="two")])
        other.start()
        other.join()
    topic.publish(String(data="three"))
    assert topic.count == 3
    recorder.close()
    assert [m.message.data for m in Recording(path).messages()] == ["two", "three"]


@pytest.mark.parametrize("is_recorded", [False, True])
def test_bytes_are_published_and_recorded_as_messages_are(node, sender, tmp_path, is_recorded):
    path, received = tmp_path / "topics.mcap", []
    recorder = Recorder(path, on_error=pytest.fail)
    topics = NodeTopics(node, TopicRecording(recorder) if is_recorded else None, sender)
    topic = topics.create(String, "text", qos.IMAGE)
    node.create_subscription(String, "text", lambda message: received.append(message.data), 5)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    deadline = time.monotonic() + PATIENCE
    while not topic._publisher.get_subscription_count() and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    topic.publish(serialize(String(data="one")))
    topic.publish(String(data="two"))
    topic.publish(serialize(String(data="three")))
    while len(received) < 3 and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    recorder.close()
    assert received == ["one", "two", "three"]
    assert topic.count == 3
    found = [m.message.data for m in Recording(path).messages()]
    assert found == (received if is_recorded else [])


def test_a_topic_that_is_recorded_with_another_type_is_refused(node, tmp_path):
    recorder = Recorder(tmp_path / "topics.mcap", on_error=pytest.fail)
    topics = NodeTopics(node, TopicRecording(recorder))
    topics.create(String, "text", qos.IMAGE).close()
    before = len(list(node.publishers))
    with pytest.raises(WrongUseError, match=r"text cannot be recorded: .* not std_msgs/msg/Header"):
        topics.create(Header, "text", qos.IMAGE)
    assert len(list(node.publishers)) == before
    recorder.close()


def test_a_subscriber_in_place_of_another_is_a_new_one(node):
    topic, deadline = NodeTopic(node, String, "text", qos.IMAGE), time.monotonic() + PATIENCE
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)

    def other_than(before):
        while len(found := topic.subscribers()) != 1 or found == before:
            assert time.monotonic() < deadline
            executor.spin_once(timeout_sec=0.01)
        return found

    first = node.create_subscription(String, "text", print, 5)
    found = other_than(frozenset())
    node.create_subscription(String, "text", print, 5)
    node.destroy_subscription(first)
    other_than(found)
    topic.close()
    assert not topic.subscribers()
