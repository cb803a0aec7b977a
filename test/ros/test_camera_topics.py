"""A camera with colours and depths, seen from another process over real DDS."""

from __future__ import annotations

from io import BytesIO
from struct import unpack

import numpy as np
import pytest
from PIL import Image as pictures  # noqa: N813

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import node_and_peer, stamp_ns
from sensor_msgs.msg import CompressedImage, Image, PointCloud2
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
# A body that cannot move is no robot of its own and has its name before its topics.
IMAGE, DEPTH = "watchtower/eye/image_raw", "watchtower/eye/depth/image_rect_raw"
POINTS = "watchtower/eye/depth/points"
TOPICS = {IMAGE: Image, DEPTH: Image, POINTS: PointCloud2}
COMPRESSED, COMPRESSED_DEPTH = f"{IMAGE}/compressed", f"{DEPTH}/compressedDepth"


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eye")
    model = folder / "watchtower.body"
    model.write_text(MODEL, encoding="utf-8")
    arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={model}"]
    with node_and_peer(arguments, folder / "log.txt") as (peer, _):
        yield peer


@pytest.fixture(scope="module")
def exposure(peer):
    """The messages of one exposure by their topics, once all of them are heard."""
    for topic, message_type in TOPICS.items():
        peer.follow(topic, message_type)

    def heard(topic):  # a slow listener may miss messages of any of them
        return {stamp_ns(m.header.stamp): m for m in list(peer.messages[topic])}

    def common():
        return set.intersection(*(set(heard(topic)) for topic in TOPICS))

    peer.wait_until("all topics of one time", common)
    time_ns = min(common())
    return {topic: heard(topic)[time_ns] for topic in TOPICS}


def test_what_is_seen_at_one_moment_is_where_it_is(exposure):
    colors = np.frombuffer(exposure[IMAGE].data, np.uint8).reshape(120, 160, 3)
    depths = np.frombuffer(exposure[DEPTH].data, np.float32).reshape(120, 160)
    cloud = np.frombuffer(exposure[POINTS].data, np.float32).reshape(120, 160, 4)
    plate = (colors == (255, 0, 0)).all(axis=-1)
    assert np.nonzero(plate)[1].max() < 70  # left of the middle
    assert depths[plate].min() == pytest.approx(2.0, rel=1e-6)
    assert np.isposinf(depths[~plate]).all()
    np.testing.assert_allclose(cloud[plate, 2], depths[plate], rtol=1e-6)
    assert np.isnan(cloud[~plate, :3]).all()


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


def test_images_come_in_order_also_when_time_begins_anew(peer, exposure):
    start = len(peer.messages[POINTS])
    peer.wait_for(POINTS, 5)
    assert peer.call("sim_node/reset", Trigger).success

    def stamps():
        return [stamp_ns(message.header.stamp) for message in peer.messages[POINTS][start:]]

    peer.wait_until("time to begin anew", lambda: (np.diff(stamps()) < 0).any())
    peer.wait_for(POINTS, 10)
    steps = np.diff(stamps())
    assert (steps < 0).sum() == 1
    assert (steps != 0).all()
    assert min(stamps()) <= 100_000_000
