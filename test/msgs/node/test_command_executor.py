"""Subscriptions with a thread of their own: heard by it alone, until they are removed."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import Peer
from std_msgs.msg import Int32

from hrp_msgs.node import qos
from hrp_msgs.node.executor import CommandExecutor


class Ear:
    """A node whose thread may be busy, a subscription that is heard beside, and who talks."""

    def __init__(self, profile) -> None:
        self.owner, self.peer = Peer("owner"), Peer("talker")
        self.executor = CommandExecutor(self.owner.node)
        self.threads: dict[int, str] = {}  # by number: where it was heard
        self.subscription = self.owner.node.create_subscription(
            Int32,
            "numbers",
            self._hear,
            profile,
            callback_group=self.executor.group,
            event_callbacks=qos.events(profile),
        )
        self.executor.add(self.subscription)
        self.publisher = self.peer.node.create_publisher(Int32, "numbers", 10)
        self.peer.wait_until("a listener", self.publisher.get_subscription_count)

    def _hear(self, msg) -> None:
        self.threads[msg.data] = threading.current_thread().name

    def say(self, number: int) -> None:
        """Say a number until it was heard."""

        def is_heard():
            self.publisher.publish(Int32(data=number))
            return number in self.threads

        self.peer.wait_until(f"number {number}", is_heard)

    def close(self) -> None:
        self.executor.close()
        self.owner.close()
        self.peer.close()


@pytest.fixture(params=[qos.COMMAND, qos.COMMAND_IN_STEP], ids=["best effort", "reliable"])
def ear(request):
    made = Ear(request.param)
    yield made
    made.close()


def test_it_is_heard_while_its_node_is_busy_and_by_no_other_thread(ear):
    ear.say(1)
    began, go_on = threading.Event(), threading.Event()

    def be_busy():
        began.set()
        go_on.wait()

    ear.owner.node.executor.create_task(be_busy)
    ear.peer.wait_until("a busy node", began.is_set)
    try:
        for number in range(2, 6):
            ear.say(number)
    finally:
        go_on.set()
    assert set(ear.threads.values()) == {"commands"}


def test_what_is_removed_may_be_destroyed_while_others_are_heard(ear):
    node = ear.owner.node
    for number in range(5):
        more = node.create_subscription(
            Int32, "others", lambda _: None, 1, callback_group=ear.executor.group
        )
        ear.executor.add(more)
        ear.say(number)
        ear.executor.remove(more)
        ear.owner.at_once(node.destroy_subscription, more)
    ear.peer.wait_until("no listener", lambda: not ear.peer.node.count_subscribers("/others"))
    ear.say(100)


def test_it_can_be_closed_when_its_context_has_ended(ear):
    ear.say(1)
    ear.owner.node.context.try_shutdown()
    ear.executor.remove(ear.subscription)
