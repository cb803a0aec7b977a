"""Subscribe to all topics of a humanoid and record the stamps of their messages.

At the end it reads the number of published messages of each topic, as one line of JSON, from
standard input, and prints statistics of the received messages likewise.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import rclpy
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, Imu, JointState, LaserScan
from tf2_msgs.msg import TFMessage

TYPES = {
    "/joint_states": JointState,
    "/imu/data_raw": Imu,
    "/left_foot_force/wrench": WrenchStamped,
    "/right_foot_force/wrench": WrenchStamped,
    "/scan": LaserScan,
    "/head_camera/image_raw": Image,
    "/head_camera/camera_info": CameraInfo,
    "/ground_truth/odom": Odometry,
    "/tf": TFMessage,
    "/clock": Clock,
}
# Rates of the topics that never drop samples, in [Hz]; images may be dropped if they are slow.
RATES = {
    "/joint_states": 500,
    "/imu/data_raw": 500,
    "/left_foot_force/wrench": 500,
    "/right_foot_force/wrench": 500,
    "/scan": 40,
    "/ground_truth/odom": 100,
}
NS_PER_S = 1_000_000_000
QUEUE = 20_000  # what waits while this process lags
BIG_QUEUE = 200
# Without a message for this long, in [s], none is expected: a writer of Fast DDS announces samples
# that a reader has missed once in three seconds.
SETTLING = 5.0
PERIOD = 0.02  # [s] between looks for messages
# Start of a serialised message: four bytes of the encapsulation header, then the stamp.
_STAMP = struct.Struct("<4xiI")


class LoadListener(Node):
    """Subscribes to topics and reads only the stamps of their messages.

    Attributes:
        stamps: Of each topic, in [ns]; meaningless for messages without a header.
        last: Time of the last new sample of a topic with a rate, in [s] of the steady clock.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__("load_listener", **node_options)
        self.stamps: dict[str, list[int]] = {}
        self.last = time.monotonic()
        for topic, kind in TYPES.items():
            depth = BIG_QUEUE if kind is Image else QUEUE
            profile = QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)
            self.create_subscription(kind, topic, self._recorder(topic), profile, raw=True)

    def take(self) -> None:
        """Record all messages that have arrived, which takes far less time than an executor."""
        for subscription in self.subscriptions:
            take_message, kind = subscription.handle.take_message, subscription.msg_type
            while (taken := take_message(kind, True)) is not None:
                subscription.callback(taken[0])

    def _recorder(self, topic: str) -> Callable[[Any], None]:
        stamps = self.stamps[topic] = []

        def record(data: bytes) -> None:
            sec, nanosec = _STAMP.unpack_from(data)
            stamp = sec * NS_PER_S + nanosec
            if topic in RATES:
                if stamps[-1:] == [stamp]:  # repeated while the time does not advance
                    return
                self.last = time.monotonic()
            stamps.append(stamp)

        return record


def missing(stamps: Sequence[int], rate: float) -> int:
    """Return how many samples are missing between the first and the last.

    Args:
        stamps: In [ns]; each may be late by less than half a period, or repeated.
        rate: At which they are taken, in [Hz].
    """
    counts = [round(stamp * rate / NS_PER_S) for stamp in stamps]
    return sum(max(0, b - a - 1) for a, b in pairwise(counts))


def main() -> int:
    """Listen until all messages were received, or no more arrive."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    listener = LoadListener()
    published: dict[str, int] = {}

    def wait_for_the_end() -> None:
        published.update(json.loads(sys.stdin.readline() or "{}"))
        listener.last = time.monotonic()

    reader = threading.Thread(target=wait_for_the_end, daemon=True)
    reader.start()

    def is_waiting() -> bool:
        lacking = any(len(listener.stamps[topic]) < count for topic, count in published.items())
        return lacking and time.monotonic() - listener.last < SETTLING

    while reader.is_alive() or is_waiting():
        listener.take()
        time.sleep(PERIOD)
    received = {
        topic: {
            "count": len(stamps),
            "gaps": missing(stamps, RATES[topic]) if topic in RATES else 0,
            "last": stamps[-1] if stamps else None,
        }
        for topic, stamps in listener.stamps.items()
    }
    print(json.dumps(received), flush=True)
    listener.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
