"""What an IMU reads, and what its message says of the errors."""

import numpy as np
import pytest
from message_bytes import converted
from sim.sensors.handmade import ARM, GRAVITY, arm_world

from hrp_model import Pose
from hrp_sim.engine.state import WorldState
from hrp_sim.sensors import ImuSensor, SensorSettings
from hrp_sim.sensors.imu import imu_noise
from hrp_sim.sensors.noise import Noise

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from hrp_msgs.convert.converter import Frames
from hrp_msgs.convert.sensors import ImuConverter

UNLIMITED = np.full(3, np.inf)


def sensor(measures_orientation, **options):
    settings = SensorSettings(**options)
    return ImuSensor(
        name="imu",
        body="r1",
        rate_hz=500.0,
        link=ARM,
        X_LS=Pose(),
        g_W=GRAVITY,
        max_angular_velocity=UNLIMITED,
        max_acceleration=UNLIMITED,
        measures_orientation=measures_orientation,
        noise=imu_noise(settings, Noise(1, "r1", "imu")) if options else None,
    )


def messages(imu, count):
    bodies = arm_world(a=[1.0, 2.0, 3.0], w=[4.0, 5.0, 6.0]).bodies
    for k in range(count):
        yield converted(ImuConverter(Frames("imu")), imu.read(WorldState(1_000_000 * k, bodies)))


def xyz(v):
    return [v.x, v.y, v.z]


def test_the_covariances_of_messages_are_those_of_their_numbers():
    stdevs = {"angular_velocity_stdev": 0.02, "linear_acceleration_stdev": 0.5}
    found = list(messages(sensor(True, orientation_stdev=0.01, **stdevs), 400))
    numbers = {
        "angular_velocity": np.array([xyz(m.angular_velocity) for m in found]),
        "linear_acceleration": np.array([xyz(m.linear_acceleration) for m in found]),
        # The vector by which a quaternion near 1 turns is twice its imaginary part.
        "orientation": np.array([[2 * v for v in xyz(m.orientation)] for m in found]),
    }
    for part, values in numbers.items():
        said = getattr(found[0], f"{part}_covariance").reshape(3, 3)
        assert said[0, 0] > 0.0
        deviation = np.cov(values.T) / said[0, 0] - said / said[0, 0]
        assert np.abs(deviation).max() < 4.0 * np.sqrt(2.0 / len(found))


def test_an_ideal_imu_knows_no_covariance_and_measures_no_orientation():
    (msg,) = messages(sensor(False), 1)
    assert msg.orientation_covariance.tolist() == [-1.0, *[0.0] * 8]
    assert not msg.angular_velocity_covariance.any()
    assert not msg.linear_acceleration_covariance.any()
    assert xyz(msg.angular_velocity) == [4.0, 5.0, 6.0]
    assert xyz(msg.linear_acceleration) == [1.0, 2.0, 3.0 + 9.80665]


def test_a_true_orientation_has_an_unknown_covariance():
    (msg,) = messages(sensor(True), 1)
    assert msg.orientation_covariance.tolist() == [0.0] * 9
    assert msg.orientation.w == 1.0
