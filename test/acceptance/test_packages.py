"""Packages of robots that ``hrp-model`` writes, built by colcon and started by ``ros2 launch``."""

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")
from ros_peer import LATCHED
from ros_tools import needs, receive
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from hrp_model import load_body

pytestmark = pytest.mark.ros


@pytest.fixture(scope="module")
def humanoid(ros):
    """Build a package of the humanoid; return its name."""
    package = "humanoid_description"
    model = "package://hrp_ros/models/humanoid/humanoid.wrl"
    options = ("--package", f"src/{package}", "--ros2-control", "mock")
    ros.ask("ros2", "run", "hrp_ros", "hrp-model", "urdf", model, *options)
    ros.build(f"src/{package}")
    return package


@needs("robot_state_publisher", "joint_state_publisher")
def test_a_generated_package_shows_its_robot(humanoid, ros):
    body = load_body(MODELS / "humanoid" / "humanoid.wrl")
    moving = {link.joint.name for link in body.links if link.joint.moves}
    display = ("ros2", "launch", humanoid, "display.launch.py", "gui:=false", "rviz:=false")
    with ros.running(*display, until="Robot initialized"):
        assert '<robot name="Humanoid"' in receive("/robot_description", String, LATCHED).data
        assert set(receive("/joint_states", JointState).name) == moving
        assert len(receive("/tf", TFMessage).transforms) == len(moving)
