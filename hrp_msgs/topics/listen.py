"""Count received messages: a node, and a process that subscribes to every topic.

    python -m hrp_msgs.topics.listen

prints one line of JSON a second: {topic: messages so far}.
Ends when standard input closes.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ..node.start import destroy
from .node_topics import installed_type, matching_qos

PERIOD = 1.0  # [s]
# Depth of the subscriptions, in case this process lags; less for big messages.
QUEUE, BIG_QUEUE = 5000, 100
_BIG = ("sensor_msgs/msg/Image", "sensor_msgs/msg/PointCloud2")
_OWN_TOPICS = ("/rosout", "/parameter_events")


class Listener(Node):
    """Subscribes to topics as soon as they appear, and counts their messages.

    Args:
        topics: Full names of the topics; None for all.
        context: See ``rclpy.node.Node``.

    Attributes:
        counts: Messages so far, by topic.
    """

    def __init__(
        self, topics: Collection[str] | None = None, context: Context | None = None
    ) -> None:
        super().__init__("hrp_listener", context=context)
        self._topics = topics
        self.counts: dict[str, int] = {}

    def subscribe_to_new(self) -> None:
        """Subscribe to topics that appeared since the last call."""
        for topic, types in self.get_topic_names_and_types():
            if topic in self.counts or topic.startswith(_OWN_TOPICS) or not types:
                continue
            if self._topics is not None and topic not in self._topics:
                continue
            publishers = self.get_publishers_info_by_topic(topic)
            if not publishers:
                continue
            message_type = installed_type(types[0])
            if message_type is None:
                continue
            self.counts[topic] = 0
            self.create_subscription(
                message_type,
                topic,
                self._counter(topic),
                matching_qos(publishers, BIG_QUEUE if types[0] in _BIG else QUEUE),
                raw=True,
            )

    def _counter(self, topic: str) -> Callable[[bytes], None]:
        def count(_: bytes) -> None:
            self.counts[topic] += 1

        return count


def _report(listener: Listener, stopping: threading.Event) -> None:
    """Print the counts once a period, until standard output or the process ends."""
    with suppress(BrokenPipeError):
        while not stopping.wait(PERIOD):
            print(json.dumps(dict(listener.counts)), flush=True)
    stopping.set()


def main() -> int:
    """Count messages until standard input closes."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    listener = Listener()
    executor = SingleThreadedExecutor()
    executor.add_node(listener)
    stopping = threading.Event()
    reporter = threading.Thread(target=_report, args=(listener, stopping), daemon=True)
    reporter.start()

    def wait_for_stdin() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=wait_for_stdin, daemon=True).start()
    try:
        looked = 0.0
        while not stopping.is_set():
            if time.monotonic() - looked > 0.2:
                listener.subscribe_to_new()
                looked = time.monotonic()
            executor.spin_once(timeout_sec=0.1)
    except (KeyboardInterrupt, ExternalShutdownException):
        stopping.set()
    finally:
        reporter.join()
        destroy(listener)
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
