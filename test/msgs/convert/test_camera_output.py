"""The topics of cameras: which there are, and which messages a picture becomes for whom."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from message_bytes import read
from sim.sensors.cameras import camera

from hrp_model.devices import ImageType
from hrp_msgs.convert.converter import Frames
from hrp_msgs.readings import ImageReading
from hrp_msgs.topics.node_topics import NodeTopics
from hrp_sim.render import Parts, Renderer
from hrp_sim.sensors.kinds import kind_of
from hrp_sim.topics.devices import SensorOutputs

TIME_NS = 12_000_000_345
LENS = SimpleNamespace(
    width=3, height=2, intrinsics=(2.5, 2.5, 1.0, 0.5), rectified=(2.5, 2.5, 1.0, 0.5, 0.0, 0.0),
    distortion_model="plumb_bob", distortion=(0.0,) * 5,
    slopes=(np.array([[-0.5, 0.0, 0.5]], np.float32), np.array([[-0.25], [0.25]], np.float32)),
)  # fmt: skip
IMAGES = ("eye/image_raw", "eye/camera_info")
DEPTHS = ("eye/depth/image_rect_raw", "eye/depth/camera_info", "eye/depth/points")
COMPRESSED = f"{IMAGES[0]}/compressed", f"{DEPTHS[0]}/compressedDepth"
COLOR = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
MONO = np.arange(6, dtype=np.uint8).reshape(2, 3)
DEPTH = np.array([[1, 2, 3], [np.inf, -np.inf, np.nan]], np.float32)


class Publisher:
    def __init__(self, message_type, topic):
        self.message_type = message_type
        self.topic_name = topic
        self.listeners = 0
        self.messages = []

    def get_subscription_count(self):
        return self.listeners

    def publish(self, message):
        self.messages.append(read(message, self.message_type))


class FakeNode:
    """Makes publishers and keeps them by topic."""

    def __init__(self):
        self.publishers = {}

    def create_publisher(self, message_type, topic, qos_profile, **_):
        return self.publishers.setdefault(topic, Publisher(message_type, topic))


def reading(color=None, mono=None, depth=None):
    return ImageReading(TIME_NS, "robot", LENS, color, mono, depth)


def made(image_type=ImageType.COLOR_DEPTH, heard=(), recording=None):
    """The outputs of a camera, and its publishers by topic; some of them are heard."""
    node, sensor = FakeNode(), camera(Renderer({}), image_type=image_type)
    outputs = SensorOutputs(sensor, is_always_read=False)
    offered = (spec for spec in kind_of(sensor).topics if spec.offered(sensor))
    topics = {spec: spec.name.format("eye") for spec in offered}
    outputs.open(NodeTopics(node, recording), topics, Frames("eye_optical_frame"))
    for topic in heard:
        node.publishers[topic].listeners = 1
    return outputs, node.publishers


def publish(outputs, picture):
    for output in outputs.outputs:
        output.publish(picture)


@pytest.mark.parametrize(
    ("image_type", "topics"),
    [
        (ImageType.COLOR, IMAGES),
        (ImageType.MONO, IMAGES),
        (ImageType.POINT_CLOUD, DEPTHS),
        (ImageType.COLOR_POINT_CLOUD, [*IMAGES, *DEPTHS]),
    ],
)
def test_a_camera_has_the_topics_of_what_it_delivers(image_type, topics):
    outputs, publishers = made(image_type)
    compressed = [topic for topic in COMPRESSED if topic.rpartition("/")[0] in topics]
    assert {*publishers} == {*topics, *compressed}
    assert [output.topic.name for output in outputs.topics.values()] == list(topics)


def test_nobody_wants_anything_of_a_camera_that_nobody_hears():
    output, publishers = made()
    assert not any(x.has_subscribers() for x in output.outputs)
    assert output.wanted_parts() == Parts(color=False, depth=False)
    publish(output, reading(COLOR, None, DEPTH))
    assert not any(publisher.messages for publisher in publishers.values())


@pytest.mark.parametrize(
    ("topic", "parts"),
    [
        (IMAGES[0], Parts(color=True, depth=False)),
        (IMAGES[1], Parts(color=False, depth=False)),
        (DEPTHS[0], Parts(color=False, depth=True)),
        (DEPTHS[1], Parts(color=False, depth=False)),
        (DEPTHS[2], Parts(color=True, depth=True)),
        (COMPRESSED[0], Parts(color=True, depth=False)),
        (COMPRESSED[1], Parts(color=False, depth=True)),
    ],
)
def test_a_camera_draws_what_the_one_topic_needs_and_publishes_on_it_alone(topic, parts):
    output, publishers = made(heard=[topic])
    assert any(x.has_subscribers() for x in output.outputs)
    assert output.wanted_parts() == parts
    color, depth = parts
    publish(output, reading(COLOR if color else None, None, DEPTH if depth else None))
    counts = {name: len(publisher.messages) for name, publisher in publishers.items()}
    assert counts == {name: int(name == topic) for name in publishers}


def test_compressed_images_are_not_recorded():
    recording = SimpleNamespace(is_open=True, channel=lambda *_: None)
    outputs, _ = made(recording=recording)
    assert all(output.has_subscribers() for output in outputs.topics.values())
    assert not any(output.has_subscribers() for output in outputs.compressed.values())
    assert len(outputs.compressed) == 2


def test_points_of_a_camera_without_colours_need_depths_alone():
    output, publishers = made(ImageType.DEPTH, heard=[DEPTHS[2]])
    assert output.wanted_parts() == Parts(color=False, depth=True)
    publish(output, reading(depth=DEPTH))
    (msg,) = publishers[DEPTHS[2]].messages
    assert [field.name for field in msg.fields] == ["x", "y", "z"]


def test_all_messages_of_a_picture_have_its_stamp_and_frame():
    output, publishers = made(heard=[*IMAGES, *DEPTHS])
    publish(output, reading(COLOR, None, DEPTH))
    messages = {name: publishers[name].messages[0] for name in (*IMAGES, *DEPTHS)}
    for msg in messages.values():
        assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (12, 345)
        assert msg.header.frame_id == "eye_optical_frame"
        assert (msg.height, msg.width) == (2, 3)
    assert messages[IMAGES[0]].encoding == "rgb8"
    assert messages[DEPTHS[0]].encoding == "32FC1"
    assert messages[IMAGES[1]].k.tolist() == messages[DEPTHS[1]].k.tolist()
    assert messages[IMAGES[1]].k[0] == 2.5
    points = messages[DEPTHS[2]]
    assert [field.name for field in points.fields] == ["x", "y", "z", "rgb"]
    cloud = np.frombuffer(points.data, np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(cloud[..., :3], reading(depth=DEPTH).points())
    # PCL's rgb is blue, green, red in memory.
    colors = np.frombuffer(points.data, np.uint8).reshape(2, 3, 16)[..., 12:15]
    np.testing.assert_array_equal(colors, COLOR[..., ::-1])


def test_a_mono_camera_publishes_grey_values_also_in_its_points():
    output, publishers = made(ImageType.MONO_DEPTH, heard=[IMAGES[0], DEPTHS[2]])
    publish(output, reading(None, MONO, DEPTH))
    (image,) = publishers[IMAGES[0]].messages
    assert (image.encoding, image.step) == ("mono8", 3)
    assert image.data.tobytes() == MONO.tobytes()
    (points,) = publishers[DEPTHS[2]].messages
    colors = np.frombuffer(points.data, np.uint8).reshape(2, 3, 16)[..., 12:15]
    np.testing.assert_array_equal(colors, np.repeat(MONO[..., None], 3, axis=-1))


def test_who_listens_while_a_picture_is_drawn_gets_the_next_one():
    output, publishers = made(heard=[*IMAGES, *DEPTHS])
    publish(output, reading(depth=DEPTH))  # drawn when nobody wanted colours
    assert not publishers[IMAGES[0]].messages
    assert not publishers[DEPTHS[2]].messages
    assert len(publishers[DEPTHS[0]].messages) == 1
    publish(output, reading(COLOR))  # drawn when nobody wanted depths
    assert len(publishers[IMAGES[0]].messages) == 1
    assert not publishers[DEPTHS[2]].messages
    assert len(publishers[DEPTHS[0]].messages) == 1
