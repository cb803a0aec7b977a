"""robot_state_publisher with our descriptions publishes the transforms of model_node."""

import re
from contextlib import closing
from itertools import count

import numpy as np
import pytest
import yaml
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")

from model_node_tools import Joints
from ros_peer import LATCHED, Peer, matrix_of, stamp_ns
from ros_tools import needs
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_msgs import names, qos
from hrp_msgs.node.qos import profile

pytestmark = [pytest.mark.ros, needs("robot_state_publisher")]

BODIES = {
    "arm": "arm/arm.body",
    "humanoid": "humanoid/humanoid.wrl",
    "lifter": "lifter/lifter.body",
    "rover": "rover/rover.body",
}
THEIR_TF, THEIR_TF_STATIC = "/theirs/tf", "/theirs/tf_static"
REMAPPED = {
    names.TF: THEIR_TF,
    names.TF_STATIC: THEIR_TF_STATIC,
    names.ROBOT_DESCRIPTION: "/theirs/robot_description",
}
POSTURES = 10
SPACING = 1_000_000_000_000  # between postures, in [ns]
_PERIOD = 100_000_000  # above that of robot_state_publisher, in [ns]


def by_child(message):
    """Return parent frame and pose of each child frame."""
    return {
        t.child_frame_id: (t.header.frame_id, matrix_of(t.transform)) for t in message.transforms
    }


def assert_equal_transforms(ours, theirs):
    assert ours.keys() == theirs.keys()
    for child, (parent, pose) in ours.items():
        assert theirs[child][0] == parent
        np.testing.assert_allclose(theirs[child][1], pose, rtol=0.0, atol=1e-12, err_msg=child)


class Publishers:
    """model_node and robot_state_publisher with the description of model_node.

    Attributes:
        peer: A node that receives the transforms of both.
        node: robot_state_publisher.
    """

    def __init__(self, peer, node):
        self.peer, self.node = peer, node
        self._joints = Joints(peer)
        peer.follow(names.TF_STATIC, TFMessage, profile(qos.TF_STATIC))
        peer.follow(THEIR_TF, TFMessage)
        peer.follow(THEIR_TF_STATIC, TFMessage, LATCHED)

    def moving(self, time_ns, positions):
        """Send positions; return the transforms of both."""
        ours, theirs = [], []
        times = count(time_ns, _PERIOD)  # a time of which transforms were published is not repeated

        def answered():
            self._joints.send(next(times), positions)
            for topic, found in ((names.TF, ours), (THEIR_TF, theirs)):
                found[:] = [
                    message
                    for message in list(self.peer.messages[topic])
                    if message.transforms
                    and stamp_ns(message.transforms[0].header.stamp) >= time_ns
                ]
            return ours and theirs

        self.peer.wait_until(f"transforms at {time_ns} ns", answered)
        return by_child(ours[0]), by_child(theirs[0])

    def static(self):
        """Return the fixed transforms of both."""
        topics = names.TF_STATIC, THEIR_TF_STATIC
        self.peer.wait_until("static transforms", lambda: all(map(self.peer.messages.get, topics)))
        return (by_child(self.peer.messages[topic][-1]) for topic in topics)


@pytest.fixture(scope="module", params=BODIES.values(), ids=BODIES)
def body(request):
    return load_body(MODELS / request.param, Diagnostics.silent())


@pytest.fixture(scope="module")
def publishers(body, ros):
    parameters = ros.folder / "robot_state_publisher.yaml"
    remapped = [word for pair in REMAPPED.items() for word in ("-r", ":=".join(pair))]
    ours = ("ros2", "run", "hrp_ros", "model_node", "--ros-args", "-p", f"model:={body.path}")
    theirs = (
        "ros2", "run", "robot_state_publisher", "robot_state_publisher",
        "--ros-args", "--params-file", parameters, *remapped,
    )  # fmt: skip
    with closing(Peer()) as peer, ros.running(*ours, until="links"):
        peer.follow(names.ROBOT_DESCRIPTION, String, profile(qos.LATCHED))
        description = peer.heard(names.ROBOT_DESCRIPTION)[0].data
        values = {"ros__parameters": {"robot_description": description}}
        parameters.write_text(yaml.safe_dump({"robot_state_publisher": values}), encoding="utf-8")
        with ros.running(*theirs, until="Robot initialized") as node:
            yield Publishers(peer, node)


def test_transforms_of_links_are_those_of_model_node(publishers, body):
    rng = np.random.default_rng(5)
    for k in range(1, POSTURES + 1):
        positions = {link.joint.name: rng.uniform(-2.0, 2.0) for link in body.moving_links}
        ours, theirs = publishers.moving(k * SPACING, positions)
        assert ours.keys() == {link.name for link in body.moving_links}
        assert_equal_transforms(ours, theirs)


def test_static_transforms_are_those_of_model_node(publishers):
    ours, theirs = publishers.static()
    assert ours
    assert_equal_transforms(ours, theirs)


def test_robot_state_publisher_has_nothing_to_warn_of(publishers):
    assert not re.findall("WARN|ERROR|FATAL", publishers.node.printed), publishers.node.printed
