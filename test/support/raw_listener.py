"""Receive the bytes of topics in a process of its own, and print their hashes.

The first line of standard input is a list [name, type, is latched] for each topic, as JSON. Then it
prints a line when all publishers are connected. Each further line of input is answered by a line
with the hashes of the messages so far, by topic: each message has four, those without its last 0 to
3 bytes. DDS fills messages up to a multiple of four bytes, with whatever is in the memory.
"""

import hashlib
import json
import sys
import threading
from collections import defaultdict
from importlib import import_module

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

DEPTH = 50_000  # of images, too: nothing is allocated before a message comes


def hashes(data):
    return [hashlib.sha256(data[: len(data) - k]).hexdigest() for k in range(4)]


def main():
    topics = json.loads(sys.stdin.readline())
    rclpy.init()
    node = rclpy.create_node("raw_listener")
    heard = defaultdict(list)
    lock = threading.Lock()

    def keep(topic):
        def receive(data):
            with lock:
                heard[topic].append(hashes(data))

        return receive

    subscriptions = []
    for topic, kind, latched in topics:
        package, _, name = kind.split("/")
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        profile = QoSProfile(
            depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE, durability=durability
        )
        message_type = getattr(import_module(f"{package}.msg"), name)
        subscriptions.append(
            node.create_subscription(message_type, topic, keep(topic), profile, raw=True)
        )
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not all(subscription.get_publisher_count() for subscription in subscriptions):
        executor.spin_once(timeout_sec=0.1)
    threading.Thread(target=executor.spin, daemon=True).start()
    print("connected", flush=True)
    for _ in sys.stdin:
        with lock:
            print(json.dumps(heard), flush=True)


if __name__ == "__main__":
    main()
