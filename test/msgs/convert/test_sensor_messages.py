"""Every field of every sensor message, with values that all differ."""

from array import array

import numpy as np
import pytest
from message_bytes import converted

pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")

from hrp_msgs.convert.basic import clock
from hrp_msgs.convert.converter import Frames
from hrp_msgs.convert.sensors import (
    ImuConverter,
    JointStateConverter,
    LaserScanConverter,
    WrenchConverter,
)
from hrp_msgs.convert.tf import OdometryConverter, RootTransformConverter
from hrp_msgs.readings import (
    ImuReading,
    JointReading,
    OdometryReading,
    ScanReading,
    WrenchReading,
)

TIME_NS = 12_000_000_345


def assert_header(header, frame_id):
    assert (header.stamp.sec, header.stamp.nanosec) == (12, 345)
    assert header.frame_id == frame_id


def xyz(v):
    return [v.x, v.y, v.z]


def joint_state(time_ns, names, position, velocity, effort, converter=None):
    reading = JointReading(time_ns, "body", names, position, velocity, effort)
    return converted(converter or JointStateConverter(Frames("body")), reading)


def imu(time_ns, frame, angular_velocity, acceleration, orientation=None, converter=None, **stdevs):
    reading = ImuReading(time_ns, "body", angular_velocity, acceleration, orientation, **stdevs)
    return converted(converter or ImuConverter(Frames(frame)), reading)


def wrench(time_ns, frame, force, torque, converter=None):
    reading = WrenchReading(time_ns, "body", force, torque)
    return converted(converter or WrenchConverter(Frames(frame)), reading)


def odometry(time_ns, frame, *numbers, converter=None):
    converter = converter or OdometryConverter(Frames("", frame, "WAIST"))
    return converted(converter, OdometryReading(time_ns, "body", *numbers))


def laser_scan(time_ns, frame, ranges, converter=None, **settings):
    reading = ScanReading(time_ns, "body", ranges=ranges, **settings)
    return converted(converter or LaserScanConverter(Frames(frame)), reading)


def test_joint_state():
    q, dq, u = np.array([0.1, 0.2]), np.array([0.3, 0.4]), np.array([0.5, np.nan])
    msg = joint_state(TIME_NS, ("a", "b"), q, dq, u)
    q[:] = 9.0
    assert_header(msg.header, "")
    assert msg.name == ["a", "b"]
    assert msg.position.tolist() == [0.1, 0.2]
    assert msg.velocity.tolist() == [0.3, 0.4]
    np.testing.assert_array_equal(msg.effort, [0.5, np.nan])


def test_joint_state_of_no_joint():
    msg = joint_state(TIME_NS, (), *np.zeros((3, 0)))
    assert (msg.name, len(msg.position), len(msg.velocity), len(msg.effort)) == ([], 0, 0, 0)


def test_joint_state_takes_every_second_number_of_a_vector():
    strided = np.arange(6.0)[::2]
    assert joint_state(0, "abc", strided, strided, strided).position.tolist() == [0.0, 2.0, 4.0]


def test_the_next_joint_state_may_have_other_joints():
    converter, joints = JointStateConverter(Frames("body")), ("a", "b")
    joint_state(1, joints, *np.ones((3, 2)), converter)
    q = np.arange(6.0).reshape(3, 2)
    assert joint_state(TIME_NS, joints, *q, converter) == joint_state(TIME_NS, joints, *q)
    others = ("c",), *np.zeros((3, 1))
    assert joint_state(TIME_NS, *others, converter) == joint_state(TIME_NS, *others)


def test_joints_at_their_stops_are_published_at_their_limits():
    """As MoveIt requires, which takes no state beyond a limit, however little."""
    limits = np.array([[-1.0, -1.0, -1.0, -np.inf], [1.0, 1.0, 1.0, np.inf]])
    converter = JointStateConverter(Frames("body", position_limits=limits))
    position = np.array([-1.0 - 5e-12, 1.0 + 5e-7, 1.0 + 2e-6, 7.0])
    told = joint_state(1, "abcd", position, *np.zeros((2, 4)), converter).position.tolist()
    assert told == [-1.0, 1.0, 1.0 + 2e-6, 7.0]
    assert position[0] < -1.0  # the reading itself is as it was


def test_imu_measures_all_but_the_orientation():
    msg = imu(TIME_NS, "chest_imu", np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    assert_header(msg.header, "chest_imu")
    assert xyz(msg.angular_velocity) == [1.0, 2.0, 3.0]
    assert xyz(msg.linear_acceleration) == [4.0, 5.0, 6.0]
    # REP 145: -1 is not measured, zeros are unknown.
    assert msg.orientation_covariance.tolist() == [-1.0, *[0.0] * 8]
    assert msg.angular_velocity_covariance.tolist() == [0.0] * 9
    assert msg.linear_acceleration_covariance.tolist() == [0.0] * 9
    q = msg.orientation
    assert [q.x, q.y, q.z, q.w] == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("measured", [0, 1, 2])
def test_imu_that_measures_one_quantity_has_no_other(measured):
    values = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), (0.1, 0.2, 0.3, 0.927)
    msg = imu(TIME_NS, "imu", *(v if i == measured else None for i, v in enumerate(values)))
    names = "angular_velocity", "linear_acceleration", "orientation"
    for i, name in enumerate(names):
        found, covariance = getattr(msg, name), getattr(msg, f"{name}_covariance").tolist()
        numbers = [*xyz(found), *([found.w] if name == "orientation" else [])]
        if i == measured:
            assert (numbers, covariance) == (list(values[i]), [0.0] * 9)
        else:
            assert numbers[:3] == [0.0] * 3
            assert covariance == [-1.0, *[0.0] * 8]


STDEVS = {
    "angular_velocity_stdev": (0.5, 0.0, 1.0),
    "linear_acceleration_stdev": (2.0, 2.0, 2.0),
    "orientation_stdev": (0.25, 0.25, 0.25),
}


def test_deviations_become_variances_of_independent_axes():
    msg = imu(TIME_NS, "imu", *np.ones((2, 3)), (0.0, 0.0, 0.0, 1.0), **STDEVS)
    assert msg.angular_velocity_covariance.tolist() == np.diag([0.25, 0.0, 1.0]).ravel().tolist()
    assert msg.linear_acceleration_covariance.tolist() == (4.0 * np.eye(3)).ravel().tolist()
    assert msg.orientation_covariance.tolist() == (0.0625 * np.eye(3)).ravel().tolist()


def test_what_is_not_measured_is_not_measured_whatever_its_deviation():
    msg = imu(TIME_NS, "imu", None, None, None, **STDEVS)
    for part in ("angular_velocity", "linear_acceleration", "orientation"):
        assert getattr(msg, f"{part}_covariance").tolist() == [-1.0, *[0.0] * 8]


def test_an_imu_that_is_filled_again_keeps_nothing_of_what_is_not_measured_now():
    converter, whole = ImuConverter(Frames("imu")), (*np.ones((2, 3)), (0.6, 0.0, 0.0, 0.8))
    imu(5, "imu", *whole, converter, **STDEVS)
    again = imu(TIME_NS, "imu", None, None, converter=converter)
    assert again == imu(TIME_NS, "imu", None, None)
    again = imu(TIME_NS, "imu", *whole, converter, **STDEVS)
    assert again == imu(TIME_NS, "imu", *whole, **STDEVS)


def test_wrench():
    msg = wrench(TIME_NS, "ankle", np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    assert_header(msg.header, "ankle")
    assert xyz(msg.wrench.force) == [1.0, 2.0, 3.0]
    assert xyz(msg.wrench.torque) == [4.0, 5.0, 6.0]


THREE = [np.array([1.0, 2.0, 3.0]) + k for k in (0, 10, 20)]


POSES = (THREE[0], (0.0, 0.0, 0.0, 1.0), *THREE[:2]), (THREE[1], (1.0, 0.0, 0.0, 0.0), *THREE[1:])


@pytest.mark.parametrize(
    ("make", "converter", "earlier", "later"),
    [
        (imu, ImuConverter, THREE[:2], THREE[1:]),
        (imu, ImuConverter, (None, THREE[0]), (None, THREE[1])),
        (wrench, WrenchConverter, THREE[:2], THREE[1:]),
        (odometry, OdometryConverter, *POSES),
    ],
)
def test_a_message_that_is_filled_again_is_like_a_new_one(make, converter, earlier, later):
    again = converter(Frames("S", "S", "WAIST"))
    make(5, "S", *earlier, converter=again)
    assert make(TIME_NS, "S", *later, converter=again) == make(TIME_NS, "S", *later)


def test_bytes_of_a_reading_do_not_change_with_the_next_one():
    converter = WrenchConverter(Frames("ankle"))
    readings = [WrenchReading(k, "body", THREE[k], THREE[k]) for k in (1, 2)]
    first = converter.convert(readings[0])
    before = bytes(bytearray(first))
    assert converter.convert(readings[1]) != before
    assert first == before


def test_laser_scan():
    ranges = np.array([0.5, np.inf, -np.inf, np.nan, 2.25])
    msg = laser_scan(
        TIME_NS,
        "laser_frame",
        ranges,
        angle_min=-0.5,
        angle_increment=0.25,
        time_increment=0.03125,
        scan_time=0.125,
        range_min=0.0625,
        range_max=30.0,
    )
    assert_header(msg.header, "laser_frame")
    assert (msg.angle_min, msg.angle_max, msg.angle_increment) == (-0.5, 0.5, 0.25)
    assert (msg.time_increment, msg.scan_time) == (0.03125, 0.125)
    assert (msg.range_min, msg.range_max) == (0.0625, 30.0)
    assert isinstance(msg.ranges, array)
    np.testing.assert_array_equal(msg.ranges, ranges)
    assert len(msg.intensities) == 0


def test_a_scan_of_one_ray_begins_and_ends_with_it():
    settings = {"angle_min": 0.0, "angle_increment": 0.25, "time_increment": 0.125}
    settings |= {"scan_time": 0.125, "range_min": 0.1, "range_max": 30.0}
    msg = laser_scan(TIME_NS, "laser_frame", np.array([2.25]), **settings)
    assert (msg.angle_min, msg.angle_max) == (0.0, 0.0)
    assert msg.ranges.tolist() == [2.25]


def test_the_next_scan_may_have_more_rays_and_other_limits():
    settings = {"angle_min": -0.5, "angle_increment": 0.25, "time_increment": 0.0}
    settings |= {"scan_time": 0.125, "range_min": 0.1, "range_max": 30.0}
    converter = LaserScanConverter(Frames("laser_frame"))
    laser_scan(1, "", np.array([0.5, np.inf]), converter, **settings)
    later = np.array([-np.inf, 2.25])
    msg = laser_scan(TIME_NS, "", later, converter, **settings)
    assert msg.ranges.tolist() == [-np.inf, 2.25]
    assert msg == laser_scan(TIME_NS, "laser_frame", later, **settings)
    msg = laser_scan(TIME_NS, "", np.array([1.0, 2.0, 3.0]), converter, **settings)
    assert msg.ranges.tolist() == [1.0, 2.0, 3.0]
    assert msg.angle_max == 0.0
    for name in settings:
        settings[name] += 0.5
        msg = laser_scan(TIME_NS, "", later, converter, **settings)
        assert msg == laser_scan(TIME_NS, "laser_frame", later, **settings)
        assert getattr(msg, name) == np.float32(settings[name])


def test_clock():
    msg = clock(TIME_NS)
    assert (msg.clock.sec, msg.clock.nanosec) == (12, 345)


def test_odometry():
    msg = odometry(
        TIME_NS,
        "world",
        np.array([1.0, 2.0, 3.0]),
        (0.1, 0.2, 0.3, 0.927),
        np.array([4.0, 5.0, 6.0]),
        np.array([7.0, 8.0, 9.0]),
    )
    assert_header(msg.header, "world")
    assert msg.child_frame_id == "WAIST"
    assert xyz(msg.pose.pose.position) == [1.0, 2.0, 3.0]
    q = msg.pose.pose.orientation
    assert [q.x, q.y, q.z, q.w] == [0.1, 0.2, 0.3, 0.927]
    assert xyz(msg.twist.twist.linear) == [4.0, 5.0, 6.0]
    assert xyz(msg.twist.twist.angular) == [7.0, 8.0, 9.0]
    for part in (msg.pose, msg.twist):  # 1 mm, 1 mrad, independent: filters need variances
        np.testing.assert_array_equal(np.reshape(part.covariance, (6, 6)), 1e-6 * np.eye(6))


def test_the_transform_of_a_root_is_its_pose():
    reading = OdometryReading(TIME_NS, "body", THREE[0], (0.1, 0.2, 0.3, 0.927), *THREE[1:])
    converter = RootTransformConverter(Frames("", "world", "WAIST"))
    (transform,) = converted(converter, reading).transforms
    assert_header(transform.header, "world")
    assert transform.child_frame_id == "WAIST"
    assert xyz(transform.transform.translation) == [1.0, 2.0, 3.0]
    q = transform.transform.rotation
    assert [q.x, q.y, q.z, q.w] == [0.1, 0.2, 0.3, 0.927]
