"""A process that holds the humanoid on bent knees: PD control of its joints, by efforts alone.

It answers each message of joint_states with one of joint_commands, stamped alike. Without it the
robot sinks to the ground within a second.
"""

from __future__ import annotations

import sys
from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

KNEE = 0.6  # how far the knees are bent, in [rad]
# Of the legs' links that a body of this posture stands on, in [m].
THIGH = SHANK = 0.27
POSTURE = {
    f"{side}LEG_{joint}": angle
    for side in "LR"
    for joint, angle in (("HIP_P", -KNEE / 2), ("KNEE", KNEE), ("ANKLE_P", -KNEE / 2))
}
# Stiffness in [N m/rad] and damping in [N m s/rad], by a part of the joint's name. As soft as the
# robot can stand on: so they bear 20 ms of delay, and hitches of 100 ms.
GAINS = {
    "ANKLE": (400.0, 12.0),
    "LEG": (300.0, 10.0),
    "CHEST": (300.0, 8.0),
    "ARM": (30.0, 1.2),
    "": (5.0, 0.2),
}


def efforts(names, position, velocity) -> list[float]:
    """Return one effort for each joint, in [N m]."""
    found = []
    for name, q, dq in zip(names, position, velocity, strict=True):
        kp, kd = next(gains for part, gains in GAINS.items() if part in name)
        found.append(kp * (POSTURE.get(name, 0.0) - q) - kd * dq)
    return found


class Balance:
    """The controller: what has been answered once is not answered again."""

    def __init__(self, node: rclpy.node.Node) -> None:
        profile = QoSProfile(depth=1)
        self._publisher = node.create_publisher(JointState, "joint_commands", profile)
        self._answered = None
        node.create_subscription(JointState, "joint_states", self._answer, profile)

    def _answer(self, reading: JointState) -> None:
        # A command published before its subscriber is found gets lost, and is not sent again.
        if reading.header.stamp == self._answered or not self._publisher.get_subscription_count():
            return
        self._answered = reading.header.stamp
        command = JointState(name=reading.name)
        command.header.stamp = reading.header.stamp
        command.effort = efforts(reading.name, reading.position, reading.velocity)
        self._publisher.publish(command)


def main() -> None:
    rclpy.init(args=sys.argv)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        node = rclpy.create_node("balance")
        Balance(node)
        rclpy.spin(node)


if __name__ == "__main__":
    main()
