"""Robots and sensors from messages, as any program publishes them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrp_model.view import topic_view
from hrp_model.view.topic_view import TopicView
from hrp_model.view.viewer import Viewer
from hrp_msgs.convert.tf import tf_message, transform
from hrp_msgs.messages import Imu, JointState, LaserScan, PointCloud2, String, WrenchStamped

TF, STRING = "tf2_msgs/msg/TFMessage", "std_msgs/msg/String"
BOX = """<robot name="box"><link name="base_link"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>"""


class Shown:
    """A topic view, and what it puts into the scene."""

    def __init__(self, viewer):
        self.problems = []
        self.view = TopicView(viewer, self.problems.append)
        self._scene = viewer.server.scene

    def take(self, topic, type_name, message):
        self.view.take(topic, type_name, message)
        self.view.refresh()

    def place(self, frame, x, topic="/tf"):
        message = tf_message([transform(0, "map", frame, [x, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])])
        self.take(topic, TF, message)

    def describe(self, urdf, topic="/robot_description"):
        self.take(topic, STRING, String(data=urdf))

    def x(self, space):
        return self.view.robots[space].bounds().center[0]

    def nodes(self, part):
        return [x for name, x in self._scene._handle_from_node_name.items() if part in name]


@pytest.fixture
def shown():
    with Viewer(0) as viewer:
        yield Shown(viewer)


def test_a_robot_moves_with_its_frames_in_any_order_of_arrival(shown):
    shown.place("base_link", 3.0)
    shown.describe(BOX)
    shown.view.refresh()
    assert shown.x("") == 3.0
    shown.place("base_link", 4.0)
    assert shown.x("") == 4.0
    assert shown.problems == []


def test_robots_of_several_namespaces_have_their_own_frames(shown):
    for x, side in ((1.0, "left"), (2.0, "right")):
        shown.describe(BOX, f"/{side}/robot_description")
        shown.place(f"{side}/base_link", x)
    assert (shown.x("left"), shown.x("right")) == (1.0, 2.0)


def test_a_new_description_replaces_the_robot(shown):
    shown.describe(BOX)
    first = shown.view.robots[""]
    shown.describe(BOX)
    assert shown.view.robots[""] is first
    shown.describe(BOX.replace('size="1 1 1"', 'size="2 2 2"'))
    assert_allclose(shown.view.robots[""].bounds().half, [1.0, 1.0, 1.0])


def test_an_invalid_robot_is_a_problem_and_the_others_stay(shown):
    shown.describe(BOX)
    shown.describe("<robot", "/broken/robot_description")
    (problem,) = shown.problems
    assert "'/broken/robot_description' cannot be shown" in problem
    assert list(shown.view.robots) == [""]


def test_points_are_in_the_frame_of_their_message(shown):
    shown.place("laser", 5.0)
    scan = LaserScan(angle_increment=0.1, range_max=9.0, ranges=[2.0])
    scan.header.frame_id = "laser"
    shown.take("/scan", "sensor_msgs/msg/LaserScan", scan)
    (points,) = shown.nodes("scan")
    assert_allclose(points.points, [[7.0, 0.0, 0.0]], atol=1e-6)


def test_only_the_newest_message_of_a_topic_is_drawn(shown):
    for x in (1.0, 2.0):
        scan = LaserScan(angle_increment=0.1, range_max=9.0, ranges=[x])
        shown.view.take("/scan", "sensor_msgs/msg/LaserScan", scan)
    shown.view.refresh()
    (points,) = shown.nodes("scan")
    assert_allclose(points.points, [[2.0, 0.0, 0.0]], atol=1e-6)


def test_forces_and_accelerations_are_arrows_that_fit_the_robot(shown):
    shown.describe(BOX)
    shown.place("base_link", 1.0)
    wrench, imu = WrenchStamped(), Imu()
    wrench.wrench.force.z = 2.0 * 9.81  # the weight: half as long as the robot
    imu.linear_acceleration.z = 9.81  # a quarter as long
    for message in (wrench, imu):
        message.header.frame_id = "base_link"
    shown.take("/wrench", "geometry_msgs/msg/WrenchStamped", wrench)
    shown.take("/imu", "sensor_msgs/msg/Imu", imu)
    size = shown.view.robots[""].size
    for topic, share in (("wrench", 0.5), ("imu", 0.25)):
        (arrow,) = shown.nodes(f"{topic}/0")
        heights = arrow.vertices[:, 2]
        assert_allclose([heights.min(), heights.max()], [0.0, share * size], atol=1e-6)
        middle = arrow.vertices[np.argmax(heights)]
        assert_allclose(middle[:2], [1.0, 0.0], atol=1e-6)


def test_what_cannot_be_shown_is_reported_once_and_other_types_are_ignored(shown):
    for _ in range(3):
        shown.take("/cloud", "sensor_msgs/msg/PointCloud2", PointCloud2(height=1, width=1))
        shown.take("/joint_states", "sensor_msgs/msg/JointState", JointState())
        shown.take("/chatter", STRING, String(data="<robot"))
    (problem,) = shown.problems
    assert problem.startswith("topic '/cloud': a point cloud needs the fields x, y, z")


def test_a_topic_that_comes_back_with_another_type_is_shown(shown):
    scan = LaserScan(angle_increment=0.1, range_max=9.0, ranges=[1.0] * 10)
    shown.take("/sensor", "sensor_msgs/msg/LaserScan", scan)
    imu = Imu()
    imu.linear_acceleration.z = 9.81
    shown.take("/sensor", "sensor_msgs/msg/Imu", imu)
    assert shown.nodes("/topics/_sensor/0")
    assert shown.problems == []


def test_what_is_shown_is_bounded(shown, monkeypatch):
    for name in ("MAX_FRAMES", "MAX_ROBOTS", "MAX_TOPICS"):
        monkeypatch.setattr(topic_view, name, 2)
    imu = Imu()
    imu.linear_acceleration.z = 9.81
    for name in "abcd":
        shown.place(name, 1.0)
        shown.describe(BOX, f"/{name}/robot_description")
        shown.take(f"/{name}/imu", "sensor_msgs/msg/Imu", imu)
    shown.place("a", 2.0)  # a known one still moves
    assert list(shown.view.robots) == ["a", "b"]
    assert len(shown.nodes("imu/0")) == 2
    assert sorted(shown.problems) == [
        "only the first 2 frames are shown",
        "only the first 2 robots are shown",
        "only the first 2 topics of sensors are shown",
    ]
