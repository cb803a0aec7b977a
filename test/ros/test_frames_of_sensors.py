"""TF and a message together are the truth about the world, wherever a sensor is mounted.

Poses come from /tf and /tf_static alone. What must be true of them is computed from where
the links are and what the models say of their devices: that they look along -Z with +Y up.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import Transform
from moving_robot import MARKER_RADIUS, STEP, STEP_NS, MovingRobot, published
from ros_peer import matrix_of, stamp_ns
from sim.render.scenes import needs_opengl

from hrp_model import Pose
from hrp_sim.sensors import SensorSettings

pytestmark = pytest.mark.ros

GRAVITY = np.array([0.0, 0.0, -9.80665])
TIME_NS = 2 * STEP_NS
TIME = TIME_NS * 1e-9
SEEDS = range(6)


@pytest.fixture(params=SEEDS, scope="module")
def seen(request):
    """Three steps of a robot, and all that was published of them."""
    robot = MovingRobot(request.param)
    X_WS = robot.mounting("eye", TIME)
    ahead = np.random.default_rng(request.param).uniform((-0.5, -0.4, -2.0), (0.5, 0.4, -1.5))
    robot.marker = X_WS.p + X_WS.R @ ahead
    simulation = robot.simulation(robot.marker, SensorSettings(orientation=True))
    prefix = "r2/" if request.param % 2 else ""
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        published(simulation, monkeypatch, prefix) as (recorder, _, step),
    ):
        for _ in range(3):
            step()
        yield robot, recorder


def at(recorder, topic, time_ns=TIME_NS):
    """Return the message of a topic with this stamp."""
    recorder.wait_for(topic)
    return next(m for m in recorder.messages[topic] if stamp_ns(m.header.stamp) == time_ns)


def tf(recorder, frame, time_ns=TIME_NS):
    """Return the pose of a frame in the world from transforms of exactly this time."""
    latched = [t for message in recorder.messages["tf_static"] for t in message.transforms]
    moving = [t for message in recorder.messages["tf"] for t in message.transforms]
    then = [t for t in moving if stamp_ns(t.header.stamp) == time_ns]
    parents = {t.child_frame_id: t for t in [*latched, *then]}
    T = np.eye(4)
    while frame != "world":
        T = matrix_of(parents[frame].transform) @ T
        frame = parents[frame].header.frame_id
    return Pose(T[:3, :3], T[:3, 3])


def vector(msg):
    return np.array([msg.x, msg.y, msg.z])


def rotation(msg):
    return matrix_of(Transform(rotation=msg))[:3, :3]


def test_an_imu_tells_how_its_frame_turns_and_accelerates(seen):
    """Truth: differences of the frame's poses over time, as TF tells them."""
    _, recorder = seen
    imu = at(recorder, "imu/data_raw")
    before, now, after = (
        tf(recorder, imu.header.frame_id, time_ns)
        for time_ns in (TIME_NS - STEP_NS, TIME_NS, TIME_NS + STEP_NS)
    )
    acceleration = (after.p - 2.0 * now.p + before.p) / STEP**2
    force = now.R @ vector(imu.linear_acceleration)
    np.testing.assert_allclose(force, acceleration - GRAVITY, atol=1e-5)
    spin = (after.R - before.R) / (2.0 * STEP) @ now.R.T
    w = now.R @ vector(imu.angular_velocity)
    np.testing.assert_allclose(w, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-6)


def test_an_imu_tells_how_its_frame_stands_in_the_world(seen):
    _, recorder = seen
    imu = at(recorder, "imu/data_raw")
    X_WS = tf(recorder, imu.header.frame_id)
    np.testing.assert_allclose(rotation(imu.orientation), X_WS.R, atol=1e-12)


def test_odometry_is_the_pose_and_the_motion_of_its_frame(seen):
    """Truth: differences of the frame's poses over time, in its own axes (nav_msgs/Odometry)."""
    _, recorder = seen
    odometry = at(recorder, "ground_truth/odom")
    assert odometry.header.frame_id.endswith("world")
    before, now, after = (
        tf(recorder, odometry.child_frame_id, time_ns)
        for time_ns in (TIME_NS - STEP_NS, TIME_NS, TIME_NS + STEP_NS)
    )
    pose, twist = odometry.pose.pose, odometry.twist.twist
    np.testing.assert_allclose(vector(pose.position), now.p, atol=1e-12)
    np.testing.assert_allclose(rotation(pose.orientation), now.R, atol=1e-12)
    velocity = (after.p - before.p) / (2.0 * STEP)
    np.testing.assert_allclose(now.R @ vector(twist.linear), velocity, atol=1e-6)
    spin = (after.R - before.R) / (2.0 * STEP) @ now.R.T
    w = now.R @ vector(twist.angular)
    np.testing.assert_allclose(w, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-6)


def test_a_wrench_acts_about_the_origin_of_its_frame(seen):
    robot, recorder = seen
    msg = at(recorder, "wrist/wrench")
    X_WS = tf(recorder, msg.header.frame_id)
    force, torque = robot.wrench  # on HAND, about its origin
    p_HS = X_WS.p - robot.at(TIME).p[-1]
    np.testing.assert_allclose(X_WS.R @ vector(msg.wrench.force), -force, atol=1e-9)
    expected = -(torque - np.cross(p_HS, force))
    np.testing.assert_allclose(X_WS.R @ vector(msg.wrench.torque), expected, atol=1e-9)


def heights(robot, points):
    """Return how far points in W are outside of the room of a robot; 0 is on a wall."""
    normals, distances = robot.walls
    return (points @ normals.T - distances).max(axis=-1)


def test_rays_of_a_scan_end_on_the_walls(seen):
    robot, recorder = seen
    scan = at(recorder, "scan")
    X_WC = tf(recorder, scan.header.frame_id)
    ranges = np.array(scan.ranges)
    angles = scan.angle_min + scan.angle_increment * np.arange(len(ranges))
    ends = np.stack([ranges * np.cos(angles), ranges * np.sin(angles), 0.0 * ranges], axis=1)
    assert len(ranges) == 21
    np.testing.assert_allclose(heights(robot, X_WC.p + ends @ X_WC.R.T), 0.0, atol=3e-6)


def points_of(cloud):
    """Return the points of a PointCloud2, shape (height, width, 3)."""
    offsets = {field.name: field.offset for field in cloud.fields}
    assert (offsets["x"], offsets["y"], offsets["z"]) == (0, 4, 8)
    data = np.frombuffer(cloud.data, np.uint8).reshape(cloud.height, cloud.width, cloud.point_step)
    return np.ascontiguousarray(data[..., :12]).view(np.float32).astype(float)


def test_points_of_a_range_sensor_with_layers_lie_on_the_walls(seen):
    robot, recorder = seen
    cloud = at(recorder, "lidar/points")
    X_WC = tf(recorder, cloud.header.frame_id)
    points = X_WC.p + points_of(cloud) @ X_WC.R.T
    assert points.shape[0] > 1
    np.testing.assert_allclose(heights(robot, points), 0.0, atol=3e-6)


@pytest.mark.parametrize(("device", "topic"), [("laser", "scan"), ("lidar", "lidar/points")])
def test_a_scan_frame_looks_where_the_device_looks(seen, device, topic):
    robot, recorder = seen
    X_WC, X_WS = tf(recorder, at(recorder, topic).header.frame_id), robot.mounting(device, TIME)
    np.testing.assert_allclose(X_WC.p, X_WS.p, atol=1e-12)
    forward_left_up = np.stack([-X_WS.R[:, 2], -X_WS.R[:, 0], X_WS.R[:, 1]], axis=1)
    np.testing.assert_allclose(X_WC.R, forward_left_up, atol=1e-12)


@needs_opengl
def test_a_camera_sees_a_point_where_tf_and_camera_info_say(seen):
    robot, recorder = seen
    image, info = (at(recorder, f"eye/{topic}") for topic in ("image_raw", "camera_info"))
    assert image.header == info.header
    X_WC, X_WS = tf(recorder, image.header.frame_id), robot.mounting("eye", TIME)
    right_down_ahead = np.stack([X_WS.R[:, 0], -X_WS.R[:, 1], -X_WS.R[:, 2]], axis=1)
    np.testing.assert_allclose(X_WC.R, right_down_ahead, atol=1e-12)
    pixel = np.reshape(info.k, (3, 3)) @ X_WC.R.T @ (robot.marker - X_WC.p)
    np.testing.assert_allclose(centre_of_red(image), pixel[:2] / pixel[2], atol=0.5)


def centre_of_red(image):
    """Return the column and row about which the red of a picture lies."""
    pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3).astype(int)
    rows, columns = np.nonzero(pixels[..., 0] - pixels[..., 2] > 128)
    assert len(rows) > 15
    return columns.mean(), rows.mean()


@needs_opengl
def test_a_point_of_a_camera_s_cloud_is_where_it_is_in_the_world(seen):
    robot, recorder = seen
    cloud = at(recorder, "eye/depth/points")
    X_WC = tf(recorder, cloud.header.frame_id)
    column, row = np.round(centre_of_red(at(recorder, "eye/image_raw"))).astype(int)
    point = X_WC.p + X_WC.R @ points_of(cloud)[row, column]
    towards = robot.marker - X_WC.p
    surface = robot.marker - MARKER_RADIUS * towards / np.linalg.norm(towards)
    np.testing.assert_allclose(point, surface, atol=0.2 * MARKER_RADIUS)


@needs_opengl
def test_a_depth_image_and_its_camera_info_tell_where_a_point_is_in_the_world(seen):
    robot, recorder = seen
    depth, info = (at(recorder, f"eye/depth/{x}") for x in ("image_rect_raw", "camera_info"))
    assert depth.header == info.header
    X_WC = tf(recorder, depth.header.frame_id)
    column, row = np.round(centre_of_red(at(recorder, "eye/image_raw"))).astype(int)
    z = np.frombuffer(depth.data, np.float32).reshape(depth.height, depth.width)[row, column]
    ray = np.linalg.inv(np.reshape(info.k, (3, 3))) @ [column, row, 1.0]
    point = X_WC.p + X_WC.R @ (z * ray)
    assert np.linalg.norm(point - robot.marker) == pytest.approx(MARKER_RADIUS, rel=1e-3)
