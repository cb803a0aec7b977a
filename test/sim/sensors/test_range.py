"""Planar and layered laser scanners in a room whose walls all differ in distance."""

import numpy as np
import pytest
from sim.sensors.handmade import ARM, TIME_NS, arm_world

from hrp_model import Pose
from hrp_model.rigid import rpy_matrix
from hrp_sim.engine.state import WorldState
from hrp_sim.sensors import RangeSensor, RangeSensor3D
from hrp_sim.sensors.noise import DistanceNoise, Noise

# Inner corners of the room in W: no two walls are equally far from the origin.
ROOM = np.array([[-2.0, -1.0, -0.5], [4.0, 3.0, 2.5]])
# The frame of scans in the device frame, as REP 103 wants it.
R_SC = rpy_matrix(-np.pi / 2, np.pi / 2, 0.0)


def room_rays(origins, directions, max_distance, ignored, ignored_link=None):
    """Distances to the walls from inside; what an engine with a room would answer."""
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    assert origins.shape == directions.shape
    assert (ignored, ignored_link) in (("r1", None), ("r1", ARM))
    with np.errstate(divide="ignore", invalid="ignore"):
        walls = np.where(directions > 0, ROOM[1] - origins, ROOM[0] - origins) / directions
    distance = np.nanmin(np.where(directions == 0.0, np.inf, walls), axis=1)
    return np.where(distance > max_distance, np.inf, distance)


def scanner(X_LS=None, kind=RangeSensor, **changes):
    settings = {
        "rate_hz": 8.0,
        "X_LS": X_LS or Pose(),
        "yaw_range": np.pi,
        "yaw_step": np.pi / 180,
        "min_distance": 0.1,
        "max_distance": 30.0,
        "cast_rays": room_rays,
    }
    return kind(
        name="laser",
        body="r1",
        link=ARM,
        **(settings | changes),
    )


def angles(reading):
    return reading.angle_min + reading.angle_increment * np.arange(len(reading.ranges))


def at(reading, degrees):
    return reading.ranges[np.argmin(np.abs(angles(reading) - np.radians(degrees)))]


DEGREE = np.pi / 180.0
LEVEL = Pose(R=R_SC.T)  # the scan frame is then parallel to the link's


def test_ahead_left_and_right_are_told_apart():
    reading = scanner(LEVEL).read(arm_world())
    assert at(reading, 0) == pytest.approx(4.0)  # +x
    assert at(reading, 90) == pytest.approx(3.0)  # +y: left is a positive angle
    assert at(reading, -90) == pytest.approx(1.0)
    assert at(reading, 45) == pytest.approx(3.0 * np.sqrt(2))
    assert at(reading, -45) == pytest.approx(np.sqrt(2))


def test_the_device_looks_along_its_minus_z_and_scans_about_its_y():
    reading = scanner().read(arm_world(R=rpy_matrix(np.pi / 2, 0, -np.pi / 2)))
    # Y of the device now points up, -Z to +x of the world.
    assert at(reading, 0) == pytest.approx(4.0)
    assert at(reading, 90) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("yaw_range", "yaw_step", "per_side"),
    [
        (3.14159, 0.1, 15),
        (2 * np.pi / 3, np.pi / 180, 60),
        (np.radians(270), np.radians(0.25), 540),
        (np.radians(359), np.radians(1.0), 179),
        (0.3, 0.1, 1),
        (0.2, 0.1, 1),
        (0.19, 0.1, 0),
        (0.0, 0.1, 0),
    ],
)
def test_angles_are_multiples_of_the_step_on_both_sides(yaw_range, yaw_step, per_side):
    reading = scanner(yaw_range=yaw_range, yaw_step=yaw_step).read(arm_world())
    assert len(reading.ranges) == 2 * per_side + 1
    assert reading.angle_min == -per_side * yaw_step
    assert reading.angle_increment == yaw_step


def test_a_scan_may_begin_ahead_and_go_around():
    """As those of Gazebo's robots: 360 rays from 0 to 6.28, which is not quite a circle."""
    step = 6.28 / 359
    reading = scanner(LEVEL, yaw_range=6.28, yaw_step=step, yaw_min=0.0).read(arm_world())
    assert (len(reading.ranges), reading.angle_min, reading.angle_increment) == (360, 0.0, step)
    assert angles(reading)[-1] == pytest.approx(6.28)
    assert reading.ranges[0] == pytest.approx(4.0)  # ahead
    assert at(reading, 90) == pytest.approx(3.0, rel=1e-3)
    assert at(reading, 270) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("yaw_step", [0.0, 0.25])
@pytest.mark.parametrize("spread", [False, True])
def test_a_scan_of_no_width_is_one_ray_ahead(yaw_step, spread):
    sensor = scanner(LEVEL, yaw_range=0.0, yaw_step=yaw_step, spread=spread)
    assert sensor.ray_count == 1
    reading = scanner(LEVEL, yaw_range=0.0, yaw_step=yaw_step).read(arm_world())
    assert reading.ranges == pytest.approx([4.0])
    assert reading.angle_min == 0.0
    assert reading.angle_increment == (yaw_step or np.pi / 180.0)  # receivers divide by it


def test_too_near_is_minus_infinity_and_too_far_infinity():
    reading = scanner(LEVEL, min_distance=2.0, max_distance=3.5).read(arm_world())
    assert at(reading, 0) == np.inf
    assert at(reading, 90) == pytest.approx(3.0)
    assert at(reading, -90) == -np.inf


def test_what_nothing_came_back_from_may_be_the_most_that_is_measured():
    limits = {"min_distance": 2.0, "max_distance": 3.5, "no_return": 3.5}
    reading = scanner(LEVEL, **limits).read(arm_world())
    assert at(reading, 0) == 3.5
    assert at(reading, 90) == pytest.approx(3.0)
    assert at(reading, -90) == -np.inf


def test_a_ray_that_the_physics_lost_is_nan():
    reading = scanner(cast_rays=lambda o, d, m, i: np.full(len(o), np.nan)).read(arm_world())
    assert np.isnan(reading.ranges).all()


@pytest.mark.parametrize(("seen", "ignored"), [(False, ("r1",)), (True, ("r1", ARM))])
def test_rays_pass_through_the_own_body_or_only_the_link_that_carries_the_sensor(seen, ignored):
    asked = []

    def listen(origins, _directions, _reach, *rest):
        asked.append(rest)
        return np.ones(len(origins))

    scanner(cast_rays=listen, sees_own_body=seen).read(arm_world())
    assert asked == [ignored]


def noisy(error_deviation=0.0, detection_rate=1.0, **changes):
    source = Noise(3, "r1", "laser")
    distance_noise = DistanceNoise(
        error_deviation=error_deviation, detection_rate=detection_rate, noise=source
    )
    return scanner(LEVEL, distance_noise=distance_noise, yaw_range=2 * np.pi, **changes)


def scans(sensor, count):
    bodies = arm_world().bodies
    return np.array([sensor.read(WorldState(k * 1_000_000, bodies)).ranges for k in range(count)])


def test_errors_have_the_deviation_they_are_said_to_have_and_no_bias():
    errors = scans(noisy(error_deviation=0.05), 100) - scans(scanner(LEVEL, yaw_range=2 * np.pi), 1)
    count = errors.size  # 36000
    assert abs(errors.mean()) < 4 * 0.05 / np.sqrt(count)
    assert errors.std() == pytest.approx(0.05, rel=4 / np.sqrt(2 * count))
    # Neither neighbours nor scans that follow each other have anything in common.
    for a, b in ((errors[:, 1:], errors[:, :-1]), (errors[1:], errors[:-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 4 / np.sqrt(count)


def test_errors_come_before_the_limits():
    nearest, farthest = 1.0, 3.0  # walls to the right and to the left
    sensor = noisy(error_deviation=0.01, min_distance=nearest, max_distance=farthest)
    measured = scans(sensor, 400)
    a = np.degrees(-np.pi + np.arange(360) * np.pi / 180)
    right, left = (measured[:, np.argmin(np.abs(a - angle))] for angle in (-90, 90))
    # Half of the scans take the wall for nearer than it is, and half for farther.
    assert 140 < np.isneginf(right).sum() < 260
    assert 140 < np.isposinf(left).sum() < 260
    finite = measured[np.isfinite(measured)]
    assert nearest <= finite.min()
    assert finite.max() <= farthest
    assert not np.isnan(measured).any()


def test_as_many_rays_are_missed_as_the_detection_rate_says():
    measured = scans(noisy(detection_rate=0.8), 100)
    missed, count = np.isposinf(measured), measured.size
    deviation = np.sqrt(0.8 * 0.2 / count)
    assert missed.mean() == pytest.approx(0.2, abs=4 * deviation)
    exact = np.broadcast_to(scans(noisy(), 1), measured.shape)
    np.testing.assert_array_equal(measured[~missed], exact[~missed])
    assert len(np.unique(missed, axis=0)) == 100  # other ones each time
    assert np.isposinf(scans(noisy(detection_rate=0.0), 1)).all()
    assert (scans(noisy(detection_rate=0.0, no_return=30.0), 1) == 30.0).all()


def test_the_reading_says_when_where_and_how():
    reading = scanner(min_distance=0.2).read(arm_world())
    assert (reading.time_ns, reading.body, reading.time_increment) == (TIME_NS, "r1", 0.0)
    assert (reading.range_min, reading.range_max, reading.scan_time) == (0.2, 30.0, 0.125)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"detection_rate": 1.1}, "from 0 to 1"),
        ({"detection_rate": np.nan}, "from 0 to 1"),
        ({"error_deviation": -0.1}, "standard deviation"),
        ({"error_deviation": np.inf}, "standard deviation"),
        ({"error_deviation": 0.1, "noise": None}, "need a source of noise"),
        ({"detection_rate": 0.9, "noise": None}, "need a source of noise"),
    ],
    ids=str,
)
def test_invalid_distance_noise_is_rejected_by_name(settings, words):
    with pytest.raises(ValueError, match=words):
        DistanceNoise(**{"noise": Noise(3, "r1", "laser")} | settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"yaw_step": 0.0},
        {"yaw_step": -0.1},
        {"yaw_step": np.nan},
        {"yaw_range": -1.0},
        {"yaw_range": np.inf},
        {"yaw_step": 1e-9},
        {"min_distance": -1.0},
        {"min_distance": 40.0},
        {"max_distance": np.inf},
        {"X_LS": Pose(R=2.0 * np.eye(3))},
        {"spread": True, "rate_hz": 0.0},
    ],
    ids=str,
)
def test_invalid_scans_are_rejected_by_name(settings):
    words = r"impossible|too fine|at most|is invalid|rigid|positive|at least"
    with pytest.raises(ValueError, match=words):
        scanner(**settings)


def lidar(X_LS=LEVEL, **changes):
    layers = {"pitch_range": 160 * DEGREE, "pitch_step": 20 * DEGREE}
    scan = {"yaw_range": 360 * DEGREE, "yaw_step": 5 * DEGREE}
    return scanner(X_LS, RangeSensor3D, **scan | layers | changes)


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


def test_the_level_layer_is_the_planar_scan():
    flat = scanner(LEVEL, yaw_range=360 * DEGREE, yaw_step=5 * DEGREE).read(arm_world())
    np.testing.assert_array_equal(lidar().read(arm_world()).ranges[4], flat.ranges)


def test_layers_of_no_width_are_one_column():
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
