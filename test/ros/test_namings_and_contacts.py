"""Topics by the names of another simulator, and contacts, seen from another process."""

import importlib.util

import numpy as np
import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import WrenchStamped
from ros_peer import LATCHED, Peer, running, stamp_ns
from sensor_msgs.msg import Imu, JointState, LaserScan
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from hrp_model import load_body

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "humanoid_in_room.yaml"
SCALE = 0.004  # [m/N]
SETTLED_NS = 800_000_000
PARAMETERS = {
    "world": WORLD,
    "naming": "choreonoid",
    "contact_rate": 20.0,
    "contact_scale": SCALE,
    "describe": "true",
    "real_time_factor": 0.0,
}
STREAMS = {
    "/humanoid/joint_states": JointState,
    "/humanoid/gyro": Imu,
    "/humanoid/left_foot_force": WrenchStamped,
    "/humanoid/scanner/scan": LaserScan,
    "/contacts/markers": MarkerArray,
}
HAS_CONTACTS = importlib.util.find_spec("ros_gz_interfaces") is not None
if HAS_CONTACTS:
    from ros_gz_interfaces.msg import Contacts

    STREAMS["/contacts"] = Contacts


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    log = tmp_path_factory.mktemp("sim") / "log.txt"
    given = [x for name, value in PARAMETERS.items() for x in ("-p", f"{name}:={value}")]
    with running(["-m", "hrp_sim.ros.sim_node", "--ros-args", *given], log):
        peer = Peer()
        for topic, message_type in STREAMS.items():
            peer.follow(topic, message_type)
        peer.follow("/humanoid/robot_description", String, LATCHED)
        try:
            yield peer
        finally:
            peer.close()
            print(log.read_text(encoding="utf-8"))


def test_topics_have_choreonoid_s_names_and_frames_those_of_this_package(peer):
    for topic in (*STREAMS, "/humanoid/robot_description"):
        peer.wait_until(topic, lambda topic=topic: peer.messages[topic])
    assert peer.messages["/humanoid/left_foot_force"][0].header.frame_id == "left_foot_force"


def test_arrows_of_contacts_add_up_to_the_weight_of_who_stands(peer, diagnostics):
    def settled():
        return [m for m in peer.messages["/contacts/markers"] if stamp_ns(stamp(m)) > SETTLED_NS]

    peer.wait_until("contacts at rest", lambda: len(settled()) >= 4)
    arrows = [m for m in settled()[-1].markers if m.type == Marker.ARROW and m.action == Marker.ADD]
    ends = np.array([[[p.x, p.y, p.z] for p in arrow.points] for arrow in arrows])
    force = (ends[:, 1] - ends[:, 0]).sum(axis=0) / SCALE
    body = load_body(MODELS / "humanoid" / "humanoid.wrl", diagnostics)
    weight = 9.80665 * sum(link.mass for link in body.links)
    np.testing.assert_allclose(force, [0.0, 0.0, weight], atol=0.02 * weight)
    np.testing.assert_allclose(ends[:, 0, 2], 0.0, atol=1e-3)  # on the floor
    times = {stamp_ns(stamp(m)) for m in settled()}
    assert all(time % 50_000_000 == 0 for time in times)


@pytest.mark.skipif(not HAS_CONTACTS, reason="ros_gz_interfaces is not installed")
def test_contacts_of_who_stands_name_links_and_carry_the_weight(peer, diagnostics):
    message = peer.first_after("/contacts", SETTLED_NS)
    assert message.header.frame_id == "world"
    assert stamp_ns(message.header.stamp) % 50_000_000 == 0
    body = load_body(MODELS / "humanoid" / "humanoid.wrl", diagnostics)
    total = np.zeros(3)
    for contact in message.contacts:
        names = contact.collision1.name, contact.collision2.name
        robot = next(i for i, name in enumerate(names) if name.startswith("humanoid/"))
        assert names[robot].split("/")[1] in [link.name for link in body.links]
        assert names[1 - robot].startswith("Room/")
        sign = 1.0 if robot == 0 else -1.0  # the normal points into the first one
        for point, normal, depth, wrench in zip(
            contact.positions, contact.normals, contact.depths, contact.wrenches, strict=True
        ):
            assert abs(point.z) < 1e-3
            assert normal.z == pytest.approx(sign)
            assert 0.0 <= depth < 1e-3
            force = (wrench.body_1_wrench, wrench.body_2_wrench)[robot].force
            total += [force.x, force.y, force.z]
    weight = 9.80665 * sum(link.mass for link in body.links)
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=0.02 * weight)


def stamp(markers):
    return markers.markers[0].header.stamp
