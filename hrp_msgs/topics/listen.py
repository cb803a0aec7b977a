"""Listen to every topic there is, from a process of its own, and say how often each is heard.

    python -m hrp_msgs.topics.listen

prints one line of JSON a second: {topic: messages so far}.
Ends when standard input closes.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

PERIOD = 1.0  # [s]
# What waits while this process lags; of big messages less, for their memory.
QUEUE, BIG_QUEUE = 5000, 100
_BIG = ("sensor_msgs/msg/Image", "sensor_msgs/msg/PointCloud2")
_OWN_TOPICS = ("/rosout", "/parameter_events")


class Listener(Node):
    """Subscribes to every topic as soon as it appears, and counts."""

    def __init__(self) -> None:
        super().__init__("hrp_listener")
        self.counts: dict[str, int] = {}

    def look_around(self) -> None:
        """Subscribe to topics that appeared since the last look."""
        for topic, types in self.get_topic_names_and_types():
            if topic in self.counts or topic.startswith(_OWN_TOPICS) or not types:
                continue
            publishers = self.get_publishers_info_by_topic(topic)
            if not publishers:
                continue
            message_type = _message_type(types[0])
            if message_type is None:
                continue
            self.counts[topic] = 0
            self.create_subscription(
                message_type,
                topic,
                self._counter(topic),
                _matching_qos(publishers, BIG_QUEUE if types[0] in _BIG else QUEUE),
                raw=True,
            )

    def _counter(self, topic: str) -> Callable[[Any], None]:
        def count(_: Any) -> None:
            self.counts[topic] += 1

        return count


def _message_type(name: str) -> Any:
    """Return the class of "package/msg/Type", or None where its package is missing."""
    package, kind, type_name = name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), type_name)
    except (ImportError, AttributeError):
        return None


def _matching_qos(publishers: list[Any], depth: int) -> QoSProfile:
    """Return the strictest profile that every publisher of a topic satisfies."""
    reliable = all(p.qos_profile.reliability is ReliabilityPolicy.RELIABLE for p in publishers)
    latched = all(p.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _report(listener: Listener, stopping: threading.Event) -> None:
    """Print what was heard, once a period, until the reader is gone."""
    with suppress(BrokenPipeError):
        while not stopping.wait(PERIOD):
            print(json.dumps(dict(listener.counts)), flush=True)
    stopping.set()


def main() -> int:
    """Listen until standard input closes."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    listener = Listener()
    executor = SingleThreadedExecutor()
    executor.add_node(listener)
    stopping = threading.Event()
    reporter = threading.Thread(target=_report, args=(listener, stopping), daemon=True)
    reporter.start()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    try:
        looked = 0.0
        while not stopping.is_set():
            if time.monotonic() - looked > 0.2:
                listener.look_around()
                looked = time.monotonic()
            executor.spin_once(timeout_sec=0.1)
    except (KeyboardInterrupt, ExternalShutdownException):
        stopping.set()
    finally:
        reporter.join()
        listener.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
