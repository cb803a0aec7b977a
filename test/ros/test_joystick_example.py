"""The joystick of examples/controllers drives a vehicle."""

from __future__ import annotations

import pytest
from paths import ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import Twist
from ros_peer import Peer, running
from sensor_msgs.msg import Joy

pytestmark = pytest.mark.ros


def test_a_joystick_drives_a_vehicle(tmp_path):
    script = ROOT / "examples" / "controllers" / "joystick.py"
    with running([str(script)], tmp_path / "log.txt"):
        peer = Peer()
        try:
            peer.follow("cmd_vel", Twist)
            publisher = peer.node.create_publisher(Joy, "joy", 1)
            joy = Joy(axes=[0.5, 1.0, 0.0])
            peer.wait_until(
                "a velocity", lambda: publisher.publish(joy) or peer.messages["cmd_vel"]
            )
            twist = peer.messages["cmd_vel"][-1]
            assert (twist.linear.x, twist.angular.z) == (0.5, 0.5)
        finally:
            peer.close()
