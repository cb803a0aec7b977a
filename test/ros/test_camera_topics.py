"""A camera with colours and depths, seen from another process over real DDS."""

from __future__ import annotations

from io import BytesIO
from struct import unpack

import numpy as np
import pytest
from PIL import Image as pictures  # noqa: N813

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import PATIENCE, node_and_peer, stamp_ns
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2
from sim.render.scenes import needs_opengl
from std_srvs.srv import Trigger

pytestmark = [pytest.mark.ros, needs_opengl]

# Before the camera, which looks along x, hangs a red plate, to the left of the middle.
MODEL = """
format: ChoreonoidBody
format_version: 2.0
name: watchtower
links:
  - name: BASE
    joint_type: fixed
    elements:
      - { type: Camera, name: eye, format: COLOR_POINT_CLOUD, optical_frame: robotics,
          width: 160, height: 120, field_of_view: 60, frame_rate: 20, max_distance: 5 }
      - { type: Visual, translation: [ 2.05, 0.5, 0 ], elements: {
          type: Shape, geometry: { type: Box, size: [ 0.1, 0.6, 0.4 ] },
          appearance: { material: { diffuse: [ 0, 0, 0 ], emissive: [ 1, 0, 0 ] } } } }
"""
# OpenHRP's cameras may be without colours; this one stands beside the other.
GREY = """#VRML V2.0 utf8
PROTO Humanoid [ field MFNode humanoidBody [] field SFString name "" ] { }
PROTO Joint [ field MFNode children [] field SFString jointType "free" ] { }
PROTO Segment [ field MFNode children [] field SFFloat mass 0 ] { }
PROTO VisionSensor [ field SFString type "NONE" field SFInt32 width 0 field SFInt32 height 0
  field SFFloat fieldOfView 0 field SFFloat frameRate 0 field SFRotation rotation 0 0 1 0 ] { }
DEF post Humanoid { name "post" humanoidBody [
  DEF FOOT Joint { jointType "fixed" children [ DEF FOOT_LINK Segment { children [
    DEF grey VisionSensor { type "MONO" width 80 height 60 fieldOfView 1.0472 frameRate 20
      rotation 0.57735 -0.57735 -0.57735 2.0944 } ] } ] } ] }
"""
WORLD = "bodies: [ { model: watchtower.body }, { model: grey.wrl } ]\n"
# A body that cannot move is no robot of its own and has its name before its topics.
IMAGE, INFO = "watchtower/eye/image_raw", "watchtower/eye/camera_info"
DEPTH, DEPTH_INFO = "watchtower/eye/depth/image_rect_raw", "watchtower/eye/depth/camera_info"
POINTS = "watchtower/eye/depth/points"
TOPICS = {IMAGE: Image, INFO: CameraInfo, DEPTH: Image, DEPTH_INFO: CameraInfo, POINTS: PointCloud2}
COMPRESSED, COMPRESSED_DEPTH = f"{IMAGE}/compressed", f"{DEPTH}/compressedDepth"


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eye")
    world, log = folder / "world.yaml", folder / "log.txt"
    for name, text in (("watchtower.body", MODEL), ("grey.wrl", GREY), (world.name, WORLD)):
        (folder / name).write_text(text, encoding="utf-8")
    with node_and_peer(
        ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={world}"], log
    ) as (peer, _):
        yield peer


@pytest.fixture(scope="module")
def exposure(peer):
    """The messages of one exposure by their topics, once all of them are heard."""
    for topic, message_type in TOPICS.items():
        peer.follow(topic, message_type)
    for topic in TOPICS:
        peer.wait_for(topic, 3)
    after_ns = max(stamp_ns(peer.messages[topic][-1].header.stamp) for topic in TOPICS)
    return {topic: peer.first_after(topic, after_ns) for topic in TOPICS}


def test_all_topics_of_a_camera_tell_of_the_same_moment_in_the_same_frame(exposure):
    assert len({stamp_ns(message.header.stamp) for message in exposure.values()}) == 1
    assert {message.header.frame_id for message in exposure.values()} == {
        "watchtower/eye_optical_frame"
    }
    assert {(message.width, message.height) for message in exposure.values()} == {(160, 120)}


def test_what_is_seen_is_where_it_is(exposure):
    image, depth, points = exposure[IMAGE], exposure[DEPTH], exposure[POINTS]
    assert (image.encoding, depth.encoding) == ("rgb8", "32FC1")
    colors = np.frombuffer(image.data, np.uint8).reshape(120, 160, 3)
    depths = np.frombuffer(depth.data, np.float32).reshape(120, 160)
    cloud = np.frombuffer(points.data, np.float32).reshape(120, 160, 4)
    plate = (colors == (255, 0, 0)).all(axis=-1)
    rows, columns = np.nonzero(plate)
    assert columns.max() < 70  # left of the middle
    assert rows.mean() == pytest.approx(59.5)
    np.testing.assert_allclose(depths[plate], 2.0, rtol=0.06)  # its front, or its side
    assert depths[plate].min() == pytest.approx(2.0, rel=1e-6)
    assert np.isposinf(depths[~plate]).all()
    # x right, y down, z forward: the plate's front is 0.6 m wide about y = 0.5 m to the left.
    front = cloud[depths < 2.001]
    pixel = 2.0 / exposure[DEPTH_INFO].k[0]
    for axis, (low, high) in enumerate([(-0.8, -0.2), (-0.2, 0.2)]):
        assert front[:, axis].min() == pytest.approx(low, abs=pixel)
        assert front[:, axis].max() == pytest.approx(high, abs=pixel)
    assert np.isnan(cloud[~plate, :3]).all()
    assert (np.frombuffer(points.data, np.uint32).reshape(120, 160, 4)[plate, 3] == 0xFF0000).all()


def test_compressed_images_show_the_same(peer):
    for topic in (COMPRESSED, COMPRESSED_DEPTH):
        peer.follow(topic, CompressedImage)
    file = peer.wait_for(COMPRESSED)[-1].data
    colors = np.asarray(pictures.open(BytesIO(bytes(file)))).astype(int)
    plate = (np.abs(colors - (255, 0, 0)) < 40).all(axis=-1)
    assert plate[55:65, 45:60].all()
    assert not plate[:, 80:].any()
    data = bytes(peer.wait_for(COMPRESSED_DEPTH)[-1].data)
    _, a, b = unpack("<iff", data[:12])
    numbers = np.asarray(pictures.open(BytesIO(data[12:]))).astype(float)
    np.testing.assert_allclose(a / (numbers[55:65, 45:60] - b), 2.0, rtol=1e-4)
    assert not numbers[:, 80:].any()  # nothing is there


def test_a_camera_without_colours_tells_grey_values(peer):
    peer.follow("post/grey/image_raw", Image)
    image = peer.wait_for("post/grey/image_raw")[-1]
    assert (image.encoding, image.step, image.header.frame_id) == (
        "mono8",
        80,
        "post/grey_optical_frame",
    )
    grey = np.frombuffer(image.data, np.uint8).reshape(60, 80)
    plate = grey == round(0.299 * 255)
    assert plate[28:32, 24:30].all()
    assert not plate[:, 40:].any()


def test_images_come_in_order_also_when_time_begins_anew(peer, exposure):
    client = peer.node.create_client(Trigger, "sim_node/reset")
    assert client.wait_for_service(PATIENCE)
    start = len(peer.messages[POINTS])
    peer.wait_for(POINTS, 5)
    answer = client.call_async(Trigger.Request())
    peer.wait_until("an answer", answer.done)

    def stamps():
        return [stamp_ns(message.header.stamp) for message in peer.messages[POINTS][start:]]

    peer.wait_until("time to begin anew", lambda: (np.diff(stamps()) < 0).any())
    peer.wait_for(POINTS, 10)
    steps = np.diff(stamps())
    assert (steps < 0).sum() == 1
    assert (steps != 0).all()
    assert min(stamps()) <= 100_000_000
