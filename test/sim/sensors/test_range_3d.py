"""Range sensors with layers, in a room whose walls all differ in distance."""

import numpy as np
import pytest
from sim.sensors.handmade import ARM, TIME_NS, arm_world, random_rotation

from hrp_model import Pose
from hrp_model.rigid import rpy_matrix
from hrp_sim.sensors import RangeSensor, RangeSensor3D
from hrp_sim.sensors.noise import DistanceNoise, Noise

ROOM = np.array([[-2.0, -1.0, -0.5], [4.0, 3.0, 2.5]])
R_SC = rpy_matrix(-np.pi / 2, np.pi / 2, 0.0)
LEVEL = Pose(R=R_SC.T)
DEGREE = np.pi / 180.0


def room_rays(origins, directions, max_distance, *_ignored):
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        walls = np.where(directions > 0, ROOM[1] - origins, ROOM[0] - origins) / directions
    distance = np.nanmin(np.where(directions == 0.0, np.inf, walls), axis=1)
    return np.where(distance > max_distance, np.inf, distance)


def settings(X_LS, changes):
    common = {"name": "laser", "body": "r1", "rate_hz": 8.0, "link": ARM, "X_LS": X_LS}
    scan = {"yaw_range": 360 * DEGREE, "yaw_step": 5 * DEGREE, "cast_rays": room_rays}
    return common | scan | {"min_distance": 0.1, "max_distance": 30.0} | changes


def lidar(X_LS=LEVEL, **changes):
    layers = {"pitch_range": 160 * DEGREE, "pitch_step": 20 * DEGREE}
    return RangeSensor3D(**settings(X_LS, layers | changes))


def test_rows_go_up_and_columns_to_the_left():
    reading = lidar().read(arm_world())
    assert reading.ranges.shape == (9, 72)
    level = reading.ranges[4]
    # 36 columns lie to the right of straight ahead.
    assert level[36] == pytest.approx(4.0)
    assert level[36 + 18] == pytest.approx(3.0)
    assert level[36 - 18] == pytest.approx(1.0)
    assert level[0] == pytest.approx(2.0)
    assert reading.ranges[0, 36] == pytest.approx(0.5 / np.sin(80 * DEGREE))
    assert reading.ranges[-1, 36] == pytest.approx(2.5 / np.sin(80 * DEGREE))


def test_points_lie_where_the_rays_end():
    points = lidar().read(arm_world()).points
    assert points.shape == (9, 72, 3)
    np.testing.assert_allclose(points[4, 36], [4.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(points[4, 54], [0.0, 3.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(points[0, :, 2], -0.5, atol=1e-12)  # on the floor
    np.testing.assert_allclose(points[-1, :, 2], 2.5, atol=1e-12)  # on the ceiling
    to_walls = np.minimum(points - ROOM[0], ROOM[1] - points).min(axis=2)
    np.testing.assert_allclose(to_walls, 0.0, atol=1e-12)


def test_a_ray_is_turned_by_its_pitch_and_then_by_its_yaw():
    # Elevation and azimuth, as Choreonoid has them: y left, z up.
    reading = lidar(yaw_range=90 * DEGREE, pitch_range=60 * DEGREE).read(arm_world())
    yaw, pitch = np.meshgrid(np.arange(-45, 46, 5) * DEGREE, np.arange(-30, 31, 20) * DEGREE)
    expected = [np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)]
    np.testing.assert_allclose(reading.directions, np.stack(expected, axis=2), atol=1e-12)


def test_from_any_mounting_every_point_lies_on_a_wall():
    rng = np.random.default_rng(4)
    for _ in range(10):
        X_WL = Pose(random_rotation(rng), rng.uniform(-0.4, 0.4, 3))
        X_LS = Pose(random_rotation(rng), rng.uniform(-0.05, 0.05, 3))
        reading = lidar(X_LS).read(arm_world(R=X_WL.R, p=X_WL.p))
        X_WC = X_WL @ X_LS @ Pose(R=R_SC)
        points = reading.points @ X_WC.R.T + X_WC.p
        to_walls = np.minimum(points - ROOM[0], ROOM[1] - points).min(axis=2)
        np.testing.assert_allclose(to_walls, 0.0, atol=1e-12)


def test_the_level_layer_is_the_planar_scan():
    flat = RangeSensor(**settings(LEVEL, {})).read(arm_world())
    np.testing.assert_array_equal(lidar().read(arm_world()).ranges[4], flat.ranges)


def test_a_scan_of_no_width_is_one_column():
    reading = lidar(yaw_range=0.0, yaw_step=0.0).read(arm_world())
    whole = lidar().read(arm_world())
    np.testing.assert_allclose(reading.ranges, whole.ranges[:, 36:37], atol=1e-12)
    assert reading.points.shape == (9, 1, 3)


def test_what_was_not_seen_is_a_hole():
    limits = {"min_distance": 2.0, "max_distance": 3.5}
    reading = lidar(**limits, pitch_range=0.0).read(arm_world())
    (ranges,), (points,) = reading.ranges, reading.points
    assert ranges[36] == np.inf
    assert ranges[36 - 18] == -np.inf
    holes = ~np.isfinite(ranges)
    assert 0 < holes.sum() < 72
    assert np.isnan(points[holes]).all()
    np.testing.assert_allclose(np.linalg.norm(points[~holes], axis=1), ranges[~holes])


def test_errors_and_missed_rays_are_those_of_any_range_sensor():
    noise = DistanceNoise(error_deviation=0.05, detection_rate=0.8, noise=Noise(3, "r1", "laser"))
    exact = lidar().read(arm_world()).ranges
    measured = lidar(distance_noise=noise).read(arm_world()).ranges
    missed, count = np.isposinf(measured), measured.size
    assert missed.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / count))
    errors = (measured - exact)[~missed]
    assert errors.std() == pytest.approx(0.05, rel=4 / np.sqrt(2 * errors.size))
    assert abs(errors.mean()) < 4 * 0.05 / np.sqrt(errors.size)


def test_the_reading_says_when_where_and_how():
    reading = lidar(min_distance=0.2).read(arm_world())
    assert (reading.time_ns, reading.body, reading.time_increment) == (TIME_NS, "r1", 0.0)
    assert (reading.range_min, reading.range_max, reading.scan_time) == (0.2, 30.0, 0.125)


@pytest.mark.parametrize(
    "changes",
    [
        {"pitch_step": 0.0},
        {"pitch_step": np.nan},
        {"pitch_range": -0.1},
        {"pitch_range": np.inf},
        {"yaw_step": 1e-4 * DEGREE, "pitch_step": 0.1 * DEGREE},
    ],
    ids=str,
)
def test_impossible_layers_are_refused_in_words(changes):
    with pytest.raises(ValueError, match=r"impossible|too fine|at most"):
        lidar(**changes)
