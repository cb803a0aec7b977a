"""JointState messages read as commands."""

import pytest

pytest.importorskip("sensor_msgs.msg", reason="ROS 2 is not installed")

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from hrp_msgs.convert.joint_command import joint_command


def received(**fields):
    """Return a command as it comes out of the wire."""
    return joint_command(deserialize_message(serialize_message(JointState(**fields)), JointState))


def test_every_column_arrives_in_its_place():
    names, position, velocity, effort = received(
        name=["J1", "J2"], position=[1.0, 2.0], velocity=[3.0, 4.0], effort=[5.0, 6.0]
    )
    assert names == ["J1", "J2"]
    assert [list(column) for column in (position, velocity, effort)] == [[1, 2], [3, 4], [5, 6]]


def test_what_is_not_filled_in_is_empty():
    names, position, velocity, effort = received(name=["J1"], velocity=[3.0])
    assert (names, list(velocity)) == (["J1"], [3.0])
    assert (len(position), len(effort)) == (0, 0)


def test_lengths_that_do_not_match_and_nan_pass_unchanged():
    names, position, _, _ = received(name=["J1"], position=[float("nan"), 2.0])
    assert names == ["J1"]
    assert str(list(position)) == "[nan, 2.0]"
