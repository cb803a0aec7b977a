"""Sensors in the scene: their shapes agree with what the sensors measure."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("viser")

from view_models import two_cubes

from hrp_model.devices import Camera, Imu, RangeSensor
from hrp_model.rigid import Pose
from hrp_model.view.robot import RobotView
from hrp_model.view.sensor_views import DeviceViews, fan, vertical_field_of_view
from hrp_model.view.viewer import Viewer


def test_devices_at_one_place_share_a_label():
    away = Pose(p=np.array([0.0, 0.0, 0.5]))
    devices = (
        Imu(name="gyro", link="arm"),
        Imu(name="accelerometer", link="arm"),
        Imu(name="away", link="arm", X_LS=away),
        Imu(name="other", link="base"),
    )
    with Viewer(0) as viewer:
        robot = RobotView(viewer, "robot", replace(two_cubes(), devices=devices))
        DeviceViews(viewer, robot).show(True)
        nodes = viewer.server.scene._handle_from_node_name.items()
        texts = {node.text for name, node in nodes if "device" in name and name.endswith("label")}
    assert texts == {"gyro\naccelerometer", "away", "other"}


def test_the_angle_of_a_camera_is_across_its_shorter_side():
    wide = Camera(name="c", link="l", width=640, height=480, field_of_view=0.8)
    assert vertical_field_of_view(wide) == (0.8, 640 / 480)
    tall = Camera(name="c", link="l", width=480, height=640, field_of_view=0.8)
    vertical, aspect = vertical_field_of_view(tall)
    # The same focal length in pixels across and along.
    assert 240 / np.tan(0.4) == pytest.approx(320 / np.tan(vertical / 2))
    assert aspect == 480 / 640


def test_a_planar_scan_is_a_sector_about_the_axis_of_view():
    sensor = RangeSensor(
        name="s", link="l", yaw_range=np.pi / 2, min_distance=0.1, max_distance=0.5
    )
    vertices, triangles = fan(sensor, 10.0)
    x, y, z = vertices.T
    np.testing.assert_array_equal(y, 0.0)
    radius, yaw = np.hypot(x, z), np.arctan2(-x, -z)  # -Z turned about +Y
    assert (radius.min(), radius.max()) == pytest.approx((0.1, 0.5))
    assert (yaw.min(), yaw.max()) == pytest.approx((-np.pi / 4, np.pi / 4))
    corners = vertices[triangles]
    area = (
        np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        ).sum()
        / 2
    )
    assert area == pytest.approx(np.pi / 2 / 2 * (0.5**2 - 0.1**2), rel=1e-2)


def test_a_scan_of_layers_is_bounded_by_its_lowest_and_highest():
    sensor = RangeSensor(name="s", link="l", yaw_range=2 * np.pi, pitch_range=0.6)
    vertices, _ = fan(sensor, 0.4)
    pitch = np.arcsin(vertices[:, 1] / np.linalg.norm(vertices, axis=1))
    assert set(np.round(pitch, 9)) == {-0.3, 0.3}
    assert np.linalg.norm(vertices, axis=1).max() == pytest.approx(0.4)
