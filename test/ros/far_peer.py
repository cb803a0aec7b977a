"""A controller in a process of its own, of any ROS 2: turns a joint, and prints what it heard.

python far_peer.py JOINT POSITION
"""

import json
import sys
from importlib.metadata import version

import rclpy
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState


def main(joint, position):
    rclpy.init()
    node = rclpy.create_node("far_peer")
    heard = []
    node.create_subscription(JointState, "joint_states", heard.append, 10)
    commands = node.create_publisher(JointState, "joint_commands", 1)
    client = node.create_client(GetParameters, "/sim_node/get_parameters")

    def there(state):
        return abs(state.position[state.name.index(joint)] - position) < 0.01

    while not heard or not there(heard[-1]):
        commands.publish(JointState(name=[joint], position=[position]))
        rclpy.spin_once(node, timeout_sec=0.1)
    client.wait_for_service()
    answer = client.call_async(GetParameters.Request(names=["use_sim_time"]))
    rclpy.spin_until_future_complete(node, answer)
    state = next(state for state in heard if there(state))
    stamp = state.header.stamp
    told = {
        "rclpy": version("ros-rclpy"),
        "use_sim_time": answer.result().values[0].bool_value,
        "ns": stamp.sec * 1_000_000_000 + stamp.nanosec,
        "name": list(state.name),
        "position": state.position.tolist(),
    }
    print(json.dumps(told))
    rclpy.try_shutdown()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
