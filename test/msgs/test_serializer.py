"""Serialised messages against those that the middleware reads from them, and writes itself."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, Imu, JointState, LaserScan
from std_msgs.msg import Bool, Float64MultiArray
from tf2_msgs.msg import TFMessage

from hrp_msgs import serializer
from hrp_msgs.serializer import Serializer

NAMES = ["", "a", "ab", "abc", "abcd", "größe"]
TYPES = [Clock, Imu, WrenchStamped, LaserScan, JointState, Odometry, CameraInfo, TransformStamped]


def fill(message, rng):
    """Fill a message with numbers and texts of any lengths."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if hasattr(value, "get_fields_and_field_types"):
            fill(value, rng)
        elif kind == "string":
            setattr(message, name, str(rng.choice(NAMES)))
        elif kind == "sequence<string>":
            setattr(message, name, [str(text) for text in rng.choice(NAMES, rng.integers(5))])
        elif isinstance(value, array):
            values = rng.normal(size=rng.integers(5)).astype(np.float32)
            setattr(message, name, array(value.typecode, values.tolist()))
        elif isinstance(value, np.ndarray):
            value[:] = rng.normal(size=value.shape)
        elif isinstance(value, bool):
            setattr(message, name, bool(rng.integers(2)))
        elif isinstance(value, int):
            setattr(message, name, int(rng.integers(100)))
        else:
            setattr(message, name, float(np.float32(rng.normal())))


@pytest.mark.parametrize("kind", TYPES)
def test_what_the_middleware_reads_is_what_was_written(kind):
    rng = np.random.default_rng(1)
    fast = Serializer(kind)
    for _ in range(50):
        message = kind()
        fill(message, rng)
        data = fast.serialize(message)
        assert isinstance(data, bytes)
        assert deserialize_message(data, kind) == message


def test_numbers_that_are_none_go_over_the_wire_too():
    message = LaserScan(ranges=array("f", [np.inf, -np.inf, np.nan, 1.5]))
    read = deserialize_message(Serializer(LaserScan).serialize(message), LaserScan)
    np.testing.assert_array_equal(read.ranges, message.ranges)


def test_a_message_that_is_filled_anew_is_serialised_anew():
    fast = Serializer(JointState)
    message = JointState(name=["a", "b"], position=[1.0, 2.0])
    first = fast.serialize(message)
    message.position[0] = 3.0
    message.name[1] = "c"
    second = deserialize_message(fast.serialize(message), JointState)
    assert (second.name, second.position.tolist()) == (["a", "c"], [3.0, 2.0])
    assert deserialize_message(first, JointState).position.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("message", [Image(), TFMessage(), Bool(), Float64MultiArray()])
def test_what_has_no_layout_or_gains_nothing_is_left_to_rclpy(message):
    assert Serializer(type(message)).serialize(message) is message


def test_a_middleware_that_writes_otherwise_gets_messages(monkeypatch):
    wrong = Clock()
    wrong.clock.sec = 7
    monkeypatch.setattr(serializer, "deserialize_message", lambda data, kind: wrong)
    message = Clock()
    assert Serializer(Clock).serialize(message) is message

    def refuse(data, kind):
        raise RuntimeError("cannot be read")

    monkeypatch.setattr(serializer, "deserialize_message", refuse)
    assert Serializer(Clock).serialize(message) is message


def test_many_lengths_do_not_take_memory_for_ever():
    fast = Serializer(JointState)
    for count in range(300):
        message = JointState(name=[f"joint{count}"], position=[0.0] * count)
        assert deserialize_message(fast.serialize(message), JointState) == message
    assert len(fast._layouts) <= 64
