"""tf2 with our transforms: chains of frames equal the kinematics of the model."""

import re
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from paths import MODELS
from urdf_tools import body_poses

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")
pytest.importorskip("tf2_ros", reason="tf2_ros is not importable")

import tf2_ros
from model_node_tools import Joints
from nav_msgs.msg import Odometry
from rclpy.time import Time
from ros_peer import Peer, matrix_of, stamp_ns
from ros_tools import needs
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_msgs import names

pytestmark = [pytest.mark.ros, needs("tf2_ros")]

ARM = MODELS / "arm" / "arm.body"
HUMANOID = MODELS / "humanoid" / "humanoid.wrl"
OPTICAL = np.diag([1.0, -1.0, -1.0, 1.0])  # of a camera that looks along -z, with y up
SITE = np.array([[0.0, -1, 0, 3], [1, 0, 0, -2], [0, 0, 1, 0.5], [0, 0, 0, 1]])  # X_SW
SECOND = 1_000_000_000  # [ns]


def silently_loaded(path):
    return load_body(path, Diagnostics.silent())


class Listener(Peer):
    """A node with tf2's buffer of all transforms."""

    def __init__(self):
        super().__init__()
        self.buffer = tf2_ros.Buffer(node=self.node)
        self._listener = tf2_ros.TransformListener(self.buffer, self.node)

    def pose(self, parent, child, stamp):
        """Return the pose of a frame in another one at a stamp, once it is known."""
        time = Time.from_msg(stamp)
        self.wait_until(
            f"{child} in {parent}", lambda: self.buffer.can_transform(parent, child, time)
        )
        return matrix_of(self.buffer.lookup_transform(parent, child, time).transform)


def simulation(ros, world):
    command = ("ros2", "run", "hrp_ros", "sim_node", "--ros-args", "-p", f"world:={world}")
    return ros.running(*command, "-p", "describe:=true", until="simulating")


def test_the_camera_of_a_falling_robot_is_where_root_and_joints_put_it(ros):
    body = silently_loaded(HUMANOID)
    camera = next(device for device in body.devices if device.name == "head_camera")
    rng = np.random.default_rng(3)
    targets = {link.joint.name: rng.uniform(-0.5, 0.5) for link in body.moving_links}
    place = ("--x", "3", "--y", "-2", "--z", "0.5", "--yaw", str(np.pi / 2.0))
    publisher = ("ros2", "run", "tf2_ros", "static_transform_publisher", *place)
    frames = ("--frame-id", "site", "--child-frame-id", "world")
    with (
        simulation(ros, "humanoid_in_room"),
        ros.running(*publisher, *frames, until="Spinning"),
        closing(Listener()) as peer,
    ):
        peer.follow(names.JOINT_STATES, JointState)
        peer.follow(names.ODOMETRY, Odometry)
        peer.follow(names.TF, TFMessage)
        commands = peer.node.create_publisher(JointState, names.JOINT_COMMANDS, 10)
        peer.wait_until("the simulation", commands.get_subscription_count)
        commands.publish(JointState(name=list(targets), position=list(targets.values())))
        odometries, states = (
            {stamp_ns(m.header.stamp): m for m in peer.wait_for(topic, 150)}
            for topic in (names.ODOMETRY, names.JOINT_STATES)
        )
        moved = {stamp_ns(m.transforms[0].header.stamp) for m in list(peer.messages[names.TF])}
        common = sorted(moved & odometries.keys() & states.keys())
        assert len(common) > 10
        for time_ns in common:
            root, state = odometries[time_ns].pose.pose, states[time_ns]
            X_WR = matrix_of(SimpleNamespace(translation=root.position, rotation=root.orientation))
            poses = body_poses(body, dict(zip(state.name, state.position, strict=True)))
            X_WC = X_WR @ poses[camera.link] @ camera.X_LS.matrix() @ OPTICAL
            for parent, X_FW in (("world", np.eye(4)), ("site", SITE)):
                found = peer.pose(parent, "head_camera_optical_frame", state.header.stamp)
                np.testing.assert_allclose(found, X_FW @ X_WC, rtol=0.0, atol=1e-12)
    assert np.linalg.norm(X_WR[:3, 3] - body.root.X_PL.p) > 0.1, "it kept its balance"


def test_tf2_echo_prints_the_pose_of_the_hand(ros):
    joints = [f"J{k}" for k in range(1, 7)]
    positions = dict(zip(joints, (0.4, 0.5, 0.9, -1.1, 0.6, 2.0), strict=True))
    model = ("ros2", "run", "hrp_ros", "model_node", "--ros-args", "-p", f"model:={ARM}")
    echo = ("ros2", "run", "tf2_ros", "tf2_echo", "base_link", "J6")
    with (
        closing(Peer()) as peer,
        ros.running(*model, until="links"),
        ros.running(*echo, until="Waiting for transform") as tool,
    ):
        states = Joints(peer)

        def matrices():
            for k in range(1, 5):
                states.send(k * SECOND, positions)
            return re.findall(r"Matrix:\n((?:.*\n){4})", tool.printed)

        peer.wait_until("a matrix", matrices)
        printed = np.array([row.split() for row in matrices()[0].splitlines()], dtype=float)
    expected = body_poses(silently_loaded(ARM), positions)["J6"]
    np.testing.assert_allclose(printed, expected, rtol=0.0, atol=0.5e-3 + 1e-9)
