"""model_node publishes the initial posture until it receives the first joint states."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from urdf_tools import body_poses, random_body

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")

from model_node_tools import Joints
from model_nodes import publish
from rclpy.parameter import Parameter
from ros_peer import Peer, matrix_of, stamp_ns
from rosgraph_msgs.msg import Clock

from hrp_model.ros.model_node import ModelNode
from hrp_msgs import names

pytestmark = pytest.mark.ros
NOW_NS = 1_700_000_000_000_000_000  # 2023: earlier than any clock that is set


@pytest.fixture
def peer(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with closing(Peer()) as made:
        yield made


@pytest.fixture
def body():
    made = random_body(3)
    links = [
        replace(x, joint=replace(x.joint, initial=0.1 * i)) if x.joint.moves else x
        for i, x in enumerate(made.links)
    ]
    return replace(made, links=tuple(links))


def started(peer, body, **parameters):
    """Return the node, and what stands for its joints."""
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    node = ModelNode(context=peer.node.context, parameter_overrides=overrides)
    publish(node, body)
    node.listen()
    joints = Joints(peer)
    peer.serve(node)
    return node, joints


def check_posture(peer, body, prefix=""):
    """Check a message of /tf: the initial posture."""
    (message,) = peer.wait_for(names.TF)[-1:]
    initial = {x.joint.name: x.joint.initial for x in body.moving_links}
    poses = body_poses(body, initial)
    found = {t.child_frame_id: t for t in message.transforms}
    assert found.keys() == {prefix + x.name for x in body.moving_links}
    for link in body.moving_links:
        transform = found[prefix + link.name]
        assert transform.header.frame_id == prefix + link.parent
        wanted = np.linalg.inv(poses[link.parent]) @ poses[link.name]
        np.testing.assert_allclose(matrix_of(transform.transform), wanted, atol=1e-9)
    return stamp_ns(message.transforms[0].header.stamp)


def test_it_stands_until_the_first_joint_states(peer, body):
    node, joints = started(peer, body, frame_prefix="r/")
    first = check_posture(peer, body, "r/")
    assert first > NOW_NS
    assert check_posture(peer, body, "r/") > first  # a new stamp, as listeners expect
    moved = body.moving_links[0]
    found = joints.transforms(first + 10**9, {moved.joint.name: 0.7})
    assert found.keys() == {"r/" + moved.name}
    peer.wait_until("the end of the initial posture", node._initial.is_canceled)


def test_states_of_another_clock_are_reported(peer, body, monkeypatch):
    node, joints = started(peer, body)
    warnings = []
    monkeypatch.setattr(
        type(node.get_logger()), "warning", lambda _, text, **options: warnings.append(text)
    )
    joints.transforms(10**9, {body.moving_links[0].joint.name: 0.7})
    assert [text for text in warnings if "use_sim_time" in text] == warnings[:1] != []


def test_states_of_other_robots_do_not_end_it(peer, body):
    node, joints = started(peer, body)
    peer.wait_until(
        "a message", lambda: joints.send(NOW_NS, {"X": 1.0}) or node.publisher.follower.received
    )
    check_posture(peer, body)


def test_it_does_not_hide_the_stamps_of_a_simulation(peer, body):
    """A node without use_sim_time has a later time, and listeners drop what is earlier."""
    peer.node.create_publisher(Clock, names.CLOCK, 1)
    node, joints = started(peer, body)
    peer.wait_until("/clock", lambda: node.count_publishers(names.CLOCK))
    now_ns = node.get_clock().now().nanoseconds
    node._publish_initial_posture()
    joints.transforms(10**9, {body.moving_links[0].joint.name: 0.7})
    told = [stamp_ns(m.transforms[0].header.stamp) for m in list(peer.messages[names.TF])]
    assert 10**9 in told
    assert not [time_ns for time_ns in told if time_ns >= now_ns]
