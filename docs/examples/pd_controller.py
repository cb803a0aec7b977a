"""Swings the arm of models/worlds/arm.yaml by torques, in lock-step with the simulation.

sim_node --ros-args -p world:=models/worlds/arm.yaml -p lock_step:=joint_commands
python docs/examples/pd_controller.py
"""

import math
import signal

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState

STIFFNESS = {"J1": 2000.0, "J2": 3000.0, "J3": 1500.0, "J4": 150.0, "J5": 150.0, "J6": 150.0}
DAMPING = {joint: 0.13 * kp for joint, kp in STIFFNESS.items()}  # [N m s/rad], of [N m/rad]


class PdController(Node):
    """Answers each reading with one command that has its stamp: that is all of lock-step."""

    def __init__(self) -> None:
        super().__init__("pd_controller")
        self._posture: dict[str, float] = {}
        self._commands = self.create_publisher(JointState, "joint_commands", 10)
        self.create_subscription(JointState, "joint_states", self._answer, 10)

    def _answer(self, reading: JointState) -> None:
        self._posture = self._posture or dict(zip(reading.name, reading.position, strict=True))
        time = reading.header.stamp.sec + reading.header.stamp.nanosec * 1e-9
        target = {**self._posture, "J1": 0.5 * math.sin(2.0 * time)}
        command = JointState(header=reading.header, name=reading.name)
        for joint, q, dq in zip(reading.name, reading.position, reading.velocity, strict=True):
            command.effort.append(STIFFNESS[joint] * (target[joint] - q) - DAMPING[joint] * dq)
        self._commands.publish(command)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no KeyboardInterrupt in the middle of a callback
    rclpy.init()  # from here on Ctrl-C shuts ROS down
    try:
        rclpy.spin(PdController())
    except Exception:
        if rclpy.ok():
            raise
