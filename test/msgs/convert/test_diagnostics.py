"""The health of a node as diagnostic_msgs."""

import pytest

pytest.importorskip("diagnostic_msgs.msg", reason="ROS 2 is not installed")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.serialization import deserialize_message, serialize_message

from hrp_msgs.convert.basic import diagnostic_array, diagnostic_status


@pytest.mark.parametrize(
    ("level", "byte"),
    [
        ("ok", DiagnosticStatus.OK),
        ("warn", DiagnosticStatus.WARN),
        ("error", DiagnosticStatus.ERROR),
        ("stale", DiagnosticStatus.STALE),
    ],
)
def test_levels_are_those_of_the_message(level, byte):
    assert diagnostic_status(level, "n: p", "fine", {}).level == byte


def test_everything_arrives_in_its_place():
    values = {"count": 3, "rate": 49.99999999, "name": "arm", "tiny": 1.23456789e-7}
    status = diagnostic_status("warn", "node: part", "look here", values, "arm")
    sent = diagnostic_array(12_000_000_034, [status, diagnostic_status("ok", "b", "", {})])
    msg = deserialize_message(serialize_message(sent), DiagnosticArray)
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (12, 34)
    first, second = msg.status
    assert (first.name, first.message, first.hardware_id) == ("node: part", "look here", "arm")
    assert {v.key: v.value for v in first.values} == {
        "count": "3",
        "rate": "50",
        "name": "arm",
        "tiny": "1.23457e-07",
    }
    assert (second.name, list(second.values)) == ("b", [])
