"""view_node: what others publish, in a real browser."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, closing

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")
pytest.importorskip("viser", reason="viser is not installed")

from browser_tools import client_of
from geometry_msgs.msg import TransformStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from ros_peer import ENVIRONMENT, LATCHED, PATIENCE, RELIABLE, Peer
from ros_session import ended
from sensor_msgs.msg import LaserScan
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from hrp_model.ros.view_node import ViewNode
from hrp_msgs.node.executor import ExecutorThread
from hrp_msgs.node.start import destroy, init_ros

pytestmark = pytest.mark.ros

RED = (255, 0, 0)
# A red box that slides along y above a base without shapes.
URDF = """<robot name="slider">
  <link name="base"/>
  <link name="box">
    <visual>
      <geometry><box size="0.3 0.3 0.3"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material>
    </visual>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="base"/><child link="box"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
</robot>"""


def transform(parent, child, y=0.0):
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, child
    message.transform.translation.y = y
    return message


class Robot:
    """Publishes description and transforms, as any robot does."""

    def __init__(self, peer, prefix=""):
        node = peer.node
        self.prefix = prefix
        self.description = node.create_publisher(String, f"{prefix}robot_description", LATCHED)
        self.tf = node.create_publisher(TFMessage, "/tf", RELIABLE)
        self.scan = node.create_publisher(LaserScan, f"{prefix}scan", RELIABLE)

    def describe(self, urdf=URDF):
        self.description.publish(String(data=urdf))

    def move(self, y, root=0.0):
        base, box = f"{self.prefix}base", f"{self.prefix}box"
        transforms = [transform("world", base, root), transform(base, box, y)]
        self.tf.publish(TFMessage(transforms=transforms))


@pytest.fixture(scope="module")
def peer():
    with closing(Peer()) as made:
        yield made


@pytest.fixture(scope="module")
def node(peer):
    """view_node in this process, at any free port."""
    context = Context()
    with ExitStack() as undo:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        init_ros(["--ros-args", "-p", f"port:={port}"], context=context)
        undo.callback(context.try_shutdown)
        made = ViewNode(context)
        undo.callback(destroy, made)
        undo.callback(made.viewer.close)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(made)
        undo.callback(ExecutorThread(executor, made.get_logger()).close)
        yield made


@pytest.fixture(scope="module")
def page(node, shared_pages):
    """Its page, which the tests share, as opening one takes seconds."""
    page = shared_pages.open(node.viewer.address)
    page.wait_for_text("No robot yet")
    return page


@pytest.fixture(scope="module")
def robot(peer, page):
    """A robot that the page hears, with a description that was once wrong."""
    robot = Robot(peer)
    robot.describe("<robot name='broken'><link/></robot>")
    page.wait_until(lambda: subscribers(peer, "/robot_description"), "subscribed")
    robot.describe()
    for topic in ("/tf", "/scan"):
        page.wait_until(lambda topic=topic: subscribers(peer, topic), f"subscribed to {topic}")
    return robot


def subscribers(peer, topic):
    return peer.node.count_subscribers(topic)


def test_a_robot_is_drawn_where_its_transforms_say(robot, node, page):
    camera = client_of(node.viewer, page).camera
    for y in (0.0, 0.3):

        def is_drawn(y=y):
            robot.move(y)
            return page.shows(RED, page.project([0.0, y, 0.0], camera))

        page.wait_until(is_drawn, f"a red box at y = {y}")
    assert not page.shows(RED, page.project([0.0, 0.0, 0.0], camera))


def test_a_scan_is_drawn_in_its_frame(robot, node, page):
    message = LaserScan(angle_min=0.0, angle_increment=np.pi / 2, range_max=10.0, ranges=[1.0, 2.0])
    message.header.frame_id = "base"
    drawn = []

    def points():
        robot.move(0.0)
        robot.scan.publish(message)
        handles = node.viewer.server.scene._handle_from_node_name
        drawn[:] = [
            h.points for k, h in handles.items() if "/topics/" in k and hasattr(h, "points")
        ]
        return drawn

    page.wait_until(points, "points")
    np.testing.assert_allclose(drawn[0], [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], atol=1e-6)


def test_robots_with_namespaces_have_frames_with_prefixes(peer, node, page):
    left, right = Robot(peer, "left/"), Robot(peer, "right/")
    left.describe()
    right.describe()
    page.wait_for_text("left/robot_description")
    page.wait_for_text("right/robot_description")
    camera = client_of(node.viewer, page).camera

    def are_drawn():
        left.move(0.0, root=1.2)
        right.move(0.0, root=-1.2)
        places = (page.project([0.0, y, 0.0], camera) for y in (1.2, -1.2))
        return all(page.shows(RED, place) for place in places)

    page.wait_until(are_drawn, "two red boxes")


def test_without_a_browser_nothing_is_received(peer, robot, page):
    page.close()
    topics = ("/robot_description", "/tf", "/scan")
    peer.wait_until(
        "no subscriptions", lambda: not any(subscribers(peer, topic) for topic in topics)
    )


def test_it_prints_its_address_and_ends_with_ctrl_c():
    process = subprocess.Popen(
        [sys.executable, "-m", "hrp_model.ros.view_node"],
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline().startswith("view: http://localhost:")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()


def test_a_port_in_use_is_a_usage_error(monkeypatch, capfd):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        arguments = ["--ros-args", "-p", f"port:={port}"]
        status, errors = ended(arguments, monkeypatch, capfd, "view_node")
    assert status == 2
    assert f"port {port}" in errors
    assert "in use" in errors
