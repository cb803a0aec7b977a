"""Noise and wandering biases of IMUs: as many filters model them, and nothing else."""

import numpy as np
import pytest
from sim.sensors.handmade import ARM, GRAVITY, arm_body, random_pose, random_rotation, simulated

from hrp_model import Pose
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.state import WorldState
from hrp_sim.sensors import ImuSensor, SensorSettings
from hrp_sim.sensors.imu import imu_noise
from hrp_sim.sensors.noise import Noise

MS, S = 1_000_000, 1_000_000_000
UNLIMITED = np.full(3, np.inf)
WHITE = {
    "angular_velocity_stdev": 0.02,
    "linear_acceleration_stdev": 0.3,
    "orientation_stdev": 0.01,
}
WALK = {"angular_velocity_random_walk": 0.5, "linear_acceleration_random_walk": 2.0}
# Of statistics that are normal under the hypothesis: beyond lie 6 in 100 000.
SIGMAS = 4.0


def imu(name="imu", *, seed=1, X_LS=None, limit=np.inf, orientation=True, **options):
    settings = SensorSettings(**options)
    source = Noise(seed, "r1", name)
    return ImuSensor(
        name=name,
        body="r1",
        rate_hz=500.0,
        link=ARM,
        X_LS=X_LS or Pose(),
        g_W=GRAVITY,
        max_angular_velocity=np.full(3, limit),
        max_acceleration=np.full(3, limit),
        measures_orientation=orientation,
        noise=None if (noise := imu_noise(settings, source)).is_ideal else noise,
    )


class Still:
    """A world in which the arm falls freely, without turning: every true number is zero."""

    def __init__(self):
        robot = simulated(arm_body())
        robot.motion.a[ARM] = GRAVITY
        self.motion, self._bodies = robot.motion, {"r1": robot}

    def at(self, time_ns):
        return WorldState(time_ns, self._bodies)


STILL = Still()


def numbers(reading):
    """All that an IMU reads as one vector: 3 of the gyro, 3 of the accelerometer."""
    return np.concatenate([reading.angular_velocity, reading.linear_acceleration])


def series(sensor, times):
    return np.array([numbers(sensor.read(STILL.at(t))) for t in times])


def turn(R):
    """The vector by which a small rotation turns."""
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0


def matrix(quaternion):
    """The rotation of a unit quaternion (x, y, z, w)."""
    v, w = np.array(quaternion[:3]), quaternion[3]
    angle = 2.0 * np.arctan2(np.linalg.norm(v), w)
    return axis_angle_matrix(v / np.linalg.norm(v), angle) if angle else np.eye(3)


@pytest.fixture(scope="module")
def readings():
    """Ten seconds at 500 Hz of a sensor with white noise."""
    sensor = imu(**WHITE)
    return [sensor.read(STILL.at(2 * k * MS)) for k in range(5000)]


@pytest.fixture(scope="module")
def errors(readings):
    """Nine errors of each sample: of gyro, accelerometer and orientation."""
    turns = [turn(matrix(r.orientation)) for r in readings]
    return np.hstack([[numbers(r) for r in readings], turns])


def test_white_noise_has_the_deviation_that_was_asked_for_and_no_bias(errors):
    n, expected = len(errors), np.repeat(list(WHITE.values()), 3)
    assert np.all(np.abs(errors.mean(axis=0)) < SIGMAS * expected / np.sqrt(n))
    ratio = errors.var(axis=0) / expected**2
    assert np.all(np.abs(ratio - 1.0) < SIGMAS * np.sqrt(2.0 / n))


def test_the_reading_says_the_deviations_of_its_noise(readings):
    r = readings[0]
    stdevs = r.angular_velocity_stdev, r.linear_acceleration_stdev, r.orientation_stdev
    assert stdevs == tuple((stdev,) * 3 for stdev in WHITE.values())


def test_an_ideal_sensor_says_no_deviation_and_remembers_nothing():
    sensor = imu(orientation=False)
    r = sensor.read(STILL.at(0))
    assert r.orientation is None
    stdevs = r.angular_velocity_stdev, r.linear_acceleration_stdev, r.orientation_stdev
    assert stdevs == ((0.0,) * 3,) * 3
    assert sensor.memory == {}
    sensor.reset()
    np.testing.assert_array_equal(numbers(r), 0.0)


def test_the_noise_of_one_part_does_not_depend_on_that_of_another():
    gyro_only = {"angular_velocity_stdev": 0.02}
    r, alone = (imu(**options).read(STILL.at(MS)) for options in (WHITE, gyro_only))
    np.testing.assert_array_equal(r.angular_velocity, alone.angular_velocity)
    np.testing.assert_array_equal(alone.linear_acceleration, 0.0)
    assert alone.orientation == (0.0, 0.0, 0.0, 1.0)


def test_two_readings_of_one_moment_are_equal():
    sensor = imu(**WHITE, **WALK)
    sensor.read(STILL.at(0))
    first, second = (numbers(sensor.read(STILL.at(5 * MS))) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("step_ms", [10, 1000], ids=lambda ms: f"{ms} ms")
def test_a_bias_wanders_with_the_square_root_of_time_whatever_the_rate(step_ms):
    # The time is cut into the same pieces for all rates, and has a gap without a sample.
    often = [0, step_ms, 1000, 3000, 3000 + step_ms, 4000]
    times = sorted({*range(0, 200, step_ms), *often})
    sensors = [imu(f"imu{k}", orientation=False, **WALK) for k in range(250)]
    biases = np.array([series(sensor, [t * MS for t in times]) for sensor in sensors])
    assert np.isfinite(biases).all()
    np.testing.assert_array_equal(biases[:, 0], 0.0)
    rates = np.repeat(list(WALK.values()), 3)
    n = 3 * len(sensors)  # the axes are independent
    scaled = biases / rates
    for seconds in (1, 3, 4):
        found = scaled[:, times.index(1000 * seconds)].reshape(-1, 2, 3)
        variance = np.mean(found**2, axis=(0, 2))
        assert np.all(np.abs(variance / seconds - 1.0) < SIGMAS * np.sqrt(2.0 / n))


def test_the_ways_that_biases_go_one_after_the_other_are_independent():
    sensor = imu(orientation=False, **WALK)
    steps = np.diff(series(sensor, range(0, 6000 * MS, 2 * MS)), axis=0)
    steps /= np.repeat(list(WALK.values()), 3) * np.sqrt(2e-3)
    n = len(steps)
    assert np.abs(steps.var(axis=0) - 1.0).max() < SIGMAS * np.sqrt(2.0 / n)
    assert np.abs(np.mean(steps[:-1] * steps[1:], axis=0)).max() < SIGMAS / np.sqrt(n)
    assert np.abs(np.corrcoef(steps.T) - np.eye(6)).max() < SIGMAS / np.sqrt(n)


def test_a_sensor_that_forgets_begins_anew():
    sensor, times = imu(**WHITE, **WALK), range(0, 50 * MS, MS)
    first = series(sensor, times)
    sensor.reset()
    np.testing.assert_array_equal(series(sensor, times), first)


def test_a_bias_begins_at_zero_also_for_a_sensor_that_comes_late():
    sensor = imu(orientation=False, **WALK)
    np.testing.assert_array_equal(series(sensor, [3600 * S]), 0.0)
    assert np.abs(series(sensor, [3601 * S])).min() > 0.0


def test_what_saturates_is_the_noisy_value():
    # One standard deviation is the limit: 31.7 % of a normal distribution lie beyond.
    sensor = imu(limit=0.02, angular_velocity_stdev=0.02, linear_acceleration_random_walk=50.0)
    samples = series(sensor, range(0, 4000 * MS, 2 * MS))
    assert np.abs(samples).max() == 0.02
    share = np.mean(np.abs(samples[:, :3]) == 0.02)
    assert abs(share - 0.3173) < SIGMAS * np.sqrt(0.3173 * 0.6827 / samples[:, :3].size)
    assert np.mean(np.abs(samples[10:, 3:]) == 0.02) > 0.9  # the bias has left the range


def test_noise_is_added_to_the_truth_in_the_axes_of_the_sensor():
    rng = np.random.default_rng(4)
    for _ in range(5):
        X_LS, world = random_pose(rng), Still()
        world.motion.R[ARM] = random_rotation(rng)
        world.motion.w[ARM], world.motion.a[ARM] = rng.normal(size=(2, 3))
        noisy, ideal = (
            numbers(imu(X_LS=X_LS, **options).read(world.at(MS))) for options in (WHITE, {})
        )
        error = numbers(imu(**WHITE).read(STILL.at(MS)))
        np.testing.assert_allclose(noisy - ideal, error, atol=1e-14)


def test_the_orientation_is_that_of_the_sensor_in_the_world():
    rng = np.random.default_rng(5)
    for _ in range(20):
        X_LS, world = random_pose(rng), Still()
        world.motion.R[ARM] = R_WL = random_rotation(rng)
        x, y, z, w = imu(X_LS=X_LS).read(world.at(MS)).orientation
        assert np.hypot(np.hypot(x, y), np.hypot(z, w)) == pytest.approx(1.0, abs=1e-15)
        assert w >= 0.0
        np.testing.assert_allclose(matrix((x, y, z, w)), R_WL @ X_LS.R, atol=1e-12)


def test_the_orientation_errs_alike_about_every_axis_wherever_it_looks():
    rng = np.random.default_rng(6)
    world, sensor = Still(), imu(X_LS=random_pose(rng), orientation_stdev=0.02)
    world.motion.R[ARM] = R_WL = random_rotation(rng)
    R_SW = (R_WL @ sensor.X_LS.R).T
    found = [R_SW @ matrix(sensor.read(world.at(k * MS)).orientation) for k in range(3000)]
    in_sensor = np.array([turn(R) for R in found])
    in_world = in_sensor @ R_SW
    for errors in (in_sensor, in_world):
        covariance = errors.T @ errors / len(errors) / 0.02**2
        assert np.abs(covariance - np.eye(3)).max() < SIGMAS * np.sqrt(2.0 / len(errors))


@pytest.mark.parametrize("missing", ["max_angular_velocity", "max_acceleration"])
def test_a_lone_part_has_its_noise_and_may_tell_the_orientation(missing):
    whole = imu(**WHITE, **WALK)
    fields = {name: getattr(whole, name) for name in ("name", "body", "rate_hz", "link", "X_LS")}
    limits = {"max_angular_velocity": UNLIMITED, "max_acceleration": UNLIMITED, missing: None}
    noise = imu(**WHITE, **WALK).noise
    part = ImuSensor(**fields, **limits, g_W=GRAVITY, measures_orientation=True, noise=noise)
    for time_ns in range(0, 20 * MS, MS):
        r, expected = part.read(STILL.at(time_ns)), whole.read(STILL.at(time_ns))
        assert r.orientation == expected.orientation
        if missing == "max_acceleration":
            assert r.linear_acceleration is None
            np.testing.assert_array_equal(r.angular_velocity, expected.angular_velocity)
        else:
            assert r.angular_velocity is None
            np.testing.assert_array_equal(r.linear_acceleration, expected.linear_acceleration)
