"""What the topics of sensors have in common with those of any robot: REP 103, 117, 118, 145, 2003.

What single conversions do is tested in test/msgs, where frames lie in test_frames_of_sensors.
"""

from __future__ import annotations

from contextlib import ExitStack
from math import tan
from threading import Thread

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from moving_robot import PATIENCE, STEP, STEP_NS, MovingRobot, published
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy
from ros_peer import stamp_ns
from sim.render.scenes import needs_opengl

from hrp_sim.run.run import Run
from hrp_sim.sensors import SensorSettings

pytestmark = pytest.mark.ros

SENSORS = ("joint_states", "imu/data_raw", "wrist/wrench", "ground_truth/odom", "scan")
IMAGES = ("eye/image_raw", "eye/depth/image_rect_raw")
INFOS = ("eye/camera_info", "eye/depth/camera_info")
CLOUDS = ("lidar/points", "eye/depth/points")
FAR_AWAY = (100.0, 0.0, 0.0)


@pytest.fixture
def run(monkeypatch):
    """Return a function that steps a robot and returns the Recorder, and its node."""
    open_runs = ExitStack()

    def run(steps=2, settings=None, **node_options):
        simulation = MovingRobot(1).simulation(FAR_AWAY, settings or SensorSettings())
        context = published(simulation, monkeypatch, **node_options)
        recorder, node, step = open_runs.enter_context(context)
        for _ in range(steps):
            step()
        return recorder, node

    with open_runs:
        yield run


def only(recorder, topic):
    [message] = recorder.messages[topic]
    return message


def test_topics_are_relative_so_that_a_namespace_is_a_robot(run):
    _, node = run(0, namespace="left")
    names = {publisher.topic_name for publisher in node.publishers}
    own = {f"/left/{topic}" for topic in (*SENSORS, *INFOS, *IMAGES, *CLOUDS)}
    assert own | {"/clock", "/tf", "/tf_static"} <= names
    assert not {f"/{topic}" for topic in SENSORS} & names


def test_sensors_are_reliable_and_keep_up_to_two_seconds_images_five_messages(run):
    _, node = run(0)
    profiles = {p.topic_name.lstrip("/"): p.qos_profile for p in node.publishers}
    for topic in (*SENSORS, *INFOS, *IMAGES, *CLOUDS):
        found = profiles[topic]
        assert found.reliability is ReliabilityPolicy.RELIABLE, topic
        assert found.durability is DurabilityPolicy.VOLATILE, topic
        assert found.history is HistoryPolicy.KEEP_LAST, topic
        if topic in SENSORS:  # test/msgs/node/test_qos.py has the rule
            assert 100 < found.depth <= 2e9 / STEP_NS, topic
        else:
            assert found.depth == 5, topic
    assert profiles["tf_static"].durability is DurabilityPolicy.TRANSIENT_LOCAL
    assert (profiles["clock"].reliability, profiles["clock"].depth) == (
        ReliabilityPolicy.RELIABLE,
        1,
    )


def stamps(recorder, topic):
    return [stamp_ns(message.header.stamp) for message in recorder.messages[topic]]


def test_every_header_has_the_time_of_the_step_that_made_it(run):
    recorder, _ = run(5)
    every_step = [k * STEP_NS for k in range(1, 6)]
    for topic in SENSORS:
        assert stamps(recorder, topic) == (every_step[1::2] if topic == "scan" else every_step)
    assert stamps(recorder, "lidar/points") == every_step[1::2]


@pytest.mark.parametrize(("rate", "every"), [(None, 40), (5000.0, 2), (10000.0, 1)])
def test_the_clock_is_shown_at_its_rate_and_never_more_often_than_there_are_steps(run, rate, every):
    given = [] if rate is None else [Parameter("clock_rate", value=rate)]
    steps = 2 * every + 5
    recorder, _ = run(steps, parameters=given)
    shown = [stamp_ns(message.clock) for message in recorder.messages["clock"]]
    assert shown == [k * STEP_NS for k in range(every, steps + 1, every)]


def test_the_clock_is_shown_at_once_after_a_pause_steps_and_a_reset(monkeypatch):
    simulation = MovingRobot(1).simulation(FAR_AWAY, SensorSettings())
    # Nobody serves the node, so that its timer does not show the time of a standing world.
    with published(simulation, monkeypatch) as (recorder, node, _):
        runner = Run(simulation, real_time_factor=0.0)
        runner.add(node.world_topics)
        runner.pause()
        thread = Thread(target=runner.run)
        thread.start()
        try:
            runner.call(lambda: None)
            assert runner.step(3).wait(PATIENCE)
            runner.reset()
        finally:
            runner.stop()
            thread.join()
    shown = [stamp_ns(message.clock) for message in recorder.messages["clock"]]
    assert shown == [1, 3 * STEP_NS, 1]  # 0 would mean that there is no time


def test_covariances_are_variances_or_zero_if_unknown_or_minus_one_if_not_measured(run):
    recorder, _ = run(1)
    ideal = only(recorder, "imu/data_raw")
    assert ideal.orientation_covariance.tolist() == [-1.0] + [0.0] * 8
    assert not ideal.angular_velocity_covariance.any()
    assert not ideal.linear_acceleration_covariance.any()
    recorder, _ = run(1, SensorSettings(angular_velocity_stdev=0.5, orientation=True))
    noisy = only(recorder, "imu/data_raw")
    assert not noisy.orientation_covariance.any()
    assert noisy.angular_velocity_covariance.tolist() == (0.25 * np.eye(3)).ravel().tolist()
    assert not noisy.linear_acceleration_covariance.any()


def test_a_scan_says_exactly_where_its_rays_are_and_when(run):
    recorder, _ = run(2)
    scan = only(recorder, "scan")
    count = len(scan.ranges)
    assert count == 21  # multiples of 0.1 rad within 60 degrees on either side
    step = np.float32(scan.angle_increment)
    assert step == np.float32(0.1)
    assert np.float32(scan.angle_min) == np.float32(-10 * 0.1)
    assert np.float32(scan.angle_max) == np.float32(
        scan.angle_min + (count - 1) * scan.angle_increment
    )
    assert np.float32(scan.scan_time) == np.float32(2 * STEP)
    assert scan.time_increment == 0.0
    assert (np.float32(scan.range_min), scan.range_max) == (np.float32(0.1), 20.0)


def test_points_have_one_number_per_field_and_keep_their_rows(run):
    recorder, _ = run(2)
    cloud = only(recorder, "lidar/points")
    assert [field.name for field in cloud.fields] == ["x", "y", "z"]
    assert {field.count for field in cloud.fields} == {1}
    assert cloud.width == 7  # multiples of 0.3 rad within 60 degrees on either side
    assert cloud.height > 1
    assert len(cloud.data) == cloud.height * cloud.row_step


@needs_opengl
def test_what_comes_of_one_exposure_has_one_stamp_and_one_frame(run):
    recorder, _ = run(2)
    for topic in (*IMAGES, *INFOS, "eye/depth/points"):
        header = recorder.wait_for(topic).header
        assert (stamp_ns(header.stamp), header.frame_id) == (2 * STEP_NS, "eye_optical_frame")


@needs_opengl
def test_images_and_camera_info_are_those_of_a_lens_without_distortion(run):
    recorder, _ = run(2)
    color, depth = map(recorder.wait_for, IMAGES)
    assert (color.encoding, color.step, depth.encoding, depth.step) == ("rgb8", 480, "32FC1", 640)
    assert len(color.data) == 100 * 480
    # Nothing is there to be seen.
    assert np.isposinf(np.frombuffer(depth.data, np.float32)).all()
    focal = 50.0 / tan(0.5)  # the field of view is that across the shorter side
    for info in map(recorder.wait_for, INFOS):
        assert (info.width, info.height, info.distortion_model) == (160, 100, "plumb_bob")
        assert list(info.d) == [0.0] * 5
        assert np.reshape(info.r, (3, 3)).tolist() == np.eye(3).tolist()
        K = [[focal, 0.0, 79.5], [0.0, focal, 49.5], [0.0, 0.0, 1.0]]
        np.testing.assert_allclose(np.reshape(info.k, (3, 3)), K, rtol=1e-12)
        np.testing.assert_array_equal(np.reshape(info.p, (3, 4))[:, :3], np.reshape(info.k, (3, 3)))
        assert not np.reshape(info.p, (3, 4))[:, 3].any()


@needs_opengl
def test_points_of_a_camera_keep_the_picture_s_rows_with_holes_where_nothing_is(run):
    recorder, _ = run(2)
    cloud = recorder.wait_for("eye/depth/points")
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "rgb"]
    assert {field.count for field in cloud.fields} == {1}
    assert (cloud.height, cloud.width, cloud.is_dense) == (100, 160, False)
    points = np.frombuffer(cloud.data, np.float32).reshape(100, 160, -1)
    assert np.isnan(points[..., :3]).all()
