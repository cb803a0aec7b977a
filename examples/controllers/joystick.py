"""ROS node that drives a vehicle by a joystick: sensor_msgs/Joy to commands of velocity.

    hrp-sim run rover --ros &
    ros2 run joy joy_node &
    python examples/controllers/joystick.py

The left stick drives and turns; its position is that of axes 1 and 0.
"""

import signal
import sys

import rclpy
from geometry_msgs.msg import Twist
from sensor_msgs.msg import Joy

MAX_SPEED, MAX_YAW_RATE = 0.5, 1.0  # [m/s], [rad/s]


def twist_of(joy):
    """Return the velocity of a vehicle for the state of a joystick."""
    twist = Twist()
    turn, forward = joy.axes[:2]
    twist.linear.x, twist.angular.z = MAX_SPEED * forward, MAX_YAW_RATE * turn
    return twist


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no KeyboardInterrupt in the middle of a callback
    rclpy.init(args=sys.argv)  # from here on Ctrl-C shuts ROS down
    try:
        node = rclpy.create_node("joystick")
        publisher = node.create_publisher(Twist, "cmd_vel", 1)
        node.create_subscription(Joy, "joy", lambda joy: publisher.publish(twist_of(joy)), 1)
        rclpy.spin(node)
    except Exception:
        if rclpy.ok():
            raise


if __name__ == "__main__":
    main()
