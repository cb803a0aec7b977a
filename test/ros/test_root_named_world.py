"""A root that has the name of the frame that nothing moves gets no transform from it to itself."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

import rclpy
from model_nodes import publish
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from ros_peer import DOMAIN_ID, ENVIRONMENT, LATCHED, Peer, stamp_ns
from ros_session import session
from tf2_msgs.msg import TFMessage
from urdf_tools import wheel

from hrp_model.ros.model_node import ModelNode

pytestmark = pytest.mark.ros

BODY = """\
format: ChoreonoidBody
format_version: 2.0
name: Robot
links:
  - {{ name: world, joint_type: {0}, mass: 1, inertia: [1,0,0,0,1,0,0,0,1] }}
  - name: ARM
    parent: world
    joint_type: revolute
    joint_id: 0
    joint_axis: Z
    mass: 1
    inertia: [1,0,0,0,1,0,0,0,1]
"""
WORDS = "has the name of the frame 'world'"


@pytest.fixture
def heard(tmp_path):
    """Simulate the body until a pair of frames was told; return all pairs."""

    def simulate(joint_type, wanted, **parameters):
        model = tmp_path / "robot.body"
        model.write_text(BODY.format(joint_type), encoding="utf-8")
        peer = Peer()
        peer.follow("/tf", TFMessage)
        peer.follow("/tf_static", TFMessage, LATCHED)
        peer.follow("ground_truth/odom", Odometry)

        def pairs():
            messages = [*peer.messages["/tf"], *peer.messages["/tf_static"]]
            return {(t.header.frame_id, t.child_frame_id) for m in messages for t in m.transforms}

        try:
            given = {"world": str(model), "describe": True, **parameters}
            with session(given):
                odometry = peer.first_after("ground_truth/odom", 100_000_000)
                assert stamp_ns(odometry.header.stamp) >= 100_000_000
                peer.wait_until("fixed frames", lambda: peer.messages["/tf_static"])
                peer.wait_until("frames", lambda: wanted in pairs())
            return pairs()
        finally:
            peer.close()

    return simulate


@pytest.mark.parametrize(("joint_type", "is_wrong"), [("free", True), ("fixed", False)])
def test_a_root_of_the_world_s_name_has_no_transform_and_that_is_told_once(
    joint_type, is_wrong, heard, capfd
):
    assert ("world", "world") not in heard(joint_type, ("world", "ARM"))
    told = "".join(capfd.readouterr())
    assert told.count(WORDS) == 1
    assert ("its transform cannot be published" in told) == is_wrong


def test_another_name_of_the_world_brings_it_back(heard, capfd):
    assert ("world", "world") not in heard("free", ("map", "world"), world_frame="map")
    assert WORDS not in "".join(capfd.readouterr())


def test_a_described_root_of_the_world_s_name_has_none_either(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    peer = Peer()
    peer.follow("/tf_static", TFMessage, LATCHED)
    try:
        body = wheel()
        overrides = [Parameter("world_frame", value=body.root.name)]
        node = ModelNode(context=context, parameter_overrides=overrides)
        try:
            publish(node, body)
            peer.wait_until("fixed frames", lambda: peer.messages["/tf_static"])
            [message] = peer.messages["/tf_static"]
            assert all(t.header.frame_id != t.child_frame_id for t in message.transforms)
            assert "no transform from world_frame" in "".join(capfd.readouterr())
        finally:
            node.destroy_node()
    finally:
        peer.close()
        rclpy.shutdown(context=context)
