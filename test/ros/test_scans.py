"""Scans and clouds of range sensors, seen from another process over real DDS."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import node_and_peer, stamp_ns
from sensor_msgs.msg import LaserScan, PointCloud2

pytestmark = pytest.mark.ros

ROBOT = """\
format: ChoreonoidBody
format_version: 2.0
name: robot
links:
  - name: BASE
    joint_type: fixed
    mass: 1
    elements:
      - type: RangeSensor
        name: front
        id: 0
        rotation: [ [ 0, 0, 1, -90 ], [ 0, 1, 0, 0 ], [ 1, 0, 0, 90 ] ]
        yaw_range: 360
        yaw_step: 1
        max_distance: 20
        scan_rate: 20
      - type: RangeSensor
        name: dome
        id: 1
        rotation: [ [ 0, 0, 1, -90 ], [ 0, 1, 0, 0 ], [ 1, 0, 0, 90 ] ]
        yaw_range: 360
        yaw_step: 10
        min_pitch_angle: -40
        max_pitch_angle: 40
        pitch_samples: 5
        max_distance: 3.5
        scan_rate: 20
"""
ROOM = """\
format: ChoreonoidBody
format_version: 2.0
name: room
links:
  - name: ROOM
    joint_type: fixed
    elements:
      - { type: Shape, translation: [  4.1, 0, 0 ], geometry: { type: Box, size: [ 0.2, 20, 20 ] } }
      - { type: Shape, translation: [ -2.1, 0, 0 ], geometry: { type: Box, size: [ 0.2, 20, 20 ] } }
      - { type: Shape, translation: [ 0,  3.1, 0 ], geometry: { type: Box, size: [ 20, 0.2, 20 ] } }
      - { type: Shape, translation: [ 0, -1.1, 0 ], geometry: { type: Box, size: [ 20, 0.2, 20 ] } }
"""
WORLD = """\
bodies:
  - model: robot.body
    sensors: { dome: { spread_scan: true } }
  - model: room.body
"""
CORNERS = np.array([[-2.0, -1.0], [4.0, 3.0]])  # x and y of the walls
STEP_NS = 1_000_000


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    for name, text in (("robot.body", ROBOT), ("room.body", ROOM), ("world.yaml", WORLD)):
        (folder / name).write_text(text, encoding="utf-8")
    log = folder / "log.txt"
    with node_and_peer(
        ["-m", "hrp_sim.cli.main", "run", str(folder / "world.yaml"), "--ros"], log
    ) as (peer, _):
        peer.follow("robot/scan", LaserScan)
        peer.follow("robot/dome/points", PointCloud2)
        yield peer


def walls(angles):
    """Distances to the walls along level rays from the origin."""
    d = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    # Those that a ray goes along are never met.
    distances = np.full(d.shape, np.inf)
    np.divide(np.where(d > 0, CORNERS[1], CORNERS[0]), d, out=distances, where=d != 0)
    return distances.min(axis=-1)


def test_the_only_planar_scan_has_the_plain_topic(peer):
    scan = peer.wait_for("robot/scan", 3)[-1]
    assert scan.header.frame_id == "robot/front_frame"
    count = len(scan.ranges)
    assert count == 360
    assert scan.angle_max == pytest.approx(scan.angle_min + 359 * scan.angle_increment, abs=1e-6)
    assert (scan.time_increment, scan.scan_time) == (0.0, pytest.approx(0.05))
    angles = -np.pi + np.arange(360) * np.pi / 180
    np.testing.assert_allclose(scan.ranges, walls(angles), rtol=1e-6)


def test_layers_come_as_an_organised_cloud_that_ends_when_the_next_begins(peer):
    cloud = peer.wait_for("robot/dome/points", 3)[-1]
    assert cloud.header.frame_id == "robot/dome_frame"
    assert (cloud.height, cloud.width, cloud.is_dense) == (5, 36, False)
    points = np.frombuffer(cloud.data, "<f4").reshape(5, 36, 3)
    yaw, pitch = np.meshgrid(np.arange(-180, 180, 10), np.arange(-40, 41, 20))
    yaw, pitch = np.radians(yaw), np.radians(pitch)
    ranges = walls(yaw) / np.cos(pitch)
    ranges[ranges > 3.5] = np.nan
    rays = np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)
    np.testing.assert_allclose(points, np.stack(ranges * rays, axis=2), atol=1e-5)
    stamps = [stamp_ns(m.header.stamp) for m in peer.messages["robot/dome/points"]]
    assert all(stamp % 50_000_000 == 0 for stamp in stamps)
    assert stamps == sorted(set(stamps))
