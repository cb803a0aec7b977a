"""Noise and rates of models: offsets, white noise, drift, rounding; options replace them."""

from dataclasses import replace

import numpy as np
import pytest
from sim.render.scenes import needs_opengl
from sim.sensors.cameras import LENS, camera, camera_before, wall
from sim.sensors.factory_tools import devices_only, scanner, sensors_of
from sim.sensors.handmade import GRAVITY, arm_body, simulated

from hrp_model import devices
from hrp_model.devices import AxisNoise
from hrp_model.geometry import Material
from hrp_sim.engine.state import WorldState
from hrp_sim.render import Pinhole
from hrp_sim.sensors.noise import ColorNoise, DistanceNoise, Noise, VectorErrors

MS = 1_000_000
SIGMAS = 4.0  # of statistics that are normal under the hypothesis


def errors(seed=1, **noise):
    return VectorErrors((AxisNoise(**noise),) * 3, Noise(seed, "r1", "imu"))


def samples(model, times_ns, true=0.0):
    return np.array([model.applied(t, np.full(3, true)) for t in times_ns])


def test_an_offset_is_constant_during_a_run_and_normal_from_run_to_run():
    runs = [samples(errors(seed, mean=0.5, mean_stdev=2.0), (0, MS, 9 * MS)) for seed in range(400)]
    assert all(np.ptp(run, axis=0).max() == 0.0 for run in runs)
    offsets = np.array([run[0] for run in runs]).ravel()
    n = offsets.size
    assert abs(offsets.mean() - 0.5) < SIGMAS * 2.0 / np.sqrt(n)
    assert abs(offsets.var() / 4.0 - 1.0) < SIGMAS * np.sqrt(2.0 / n)


def test_a_drift_with_a_correlation_time_stays_within_its_variance():
    # Of an Ornstein-Uhlenbeck process: walk^2 T / 2, and exp(-t / T) is the correlation over t.
    found = samples(errors(walk=2.0, correlation_time=0.1), range(0, 400_000 * MS, 100 * MS))[20:]
    variance = 2.0**2 * 0.1 / 2.0
    n = found.size * (1 - np.exp(-1)) / (1 + np.exp(-1))
    assert abs(found.var() / variance - 1.0) < SIGMAS * np.sqrt(2.0 / n)
    correlation = np.mean(found[1:] * found[:-1]) / variance
    assert abs(correlation - np.exp(-1.0)) < SIGMAS / np.sqrt(n)


def test_a_sample_is_rounded_to_its_precision():
    found = samples(errors(stdev=1.0, precision=0.25), range(0, 100 * MS, MS))
    np.testing.assert_array_equal(found * 4.0, np.round(found * 4.0))
    assert len(np.unique(found)) > 5


def test_numbers_that_cannot_be_are_refused():
    for noise in ({"stdev": -1.0}, {"mean": np.nan}, {"correlation_time": 0.0}, {"walk": 1e300}):
        with pytest.raises(ValueError, match="noise"):
            errors(**noise)


LOUD = (AxisNoise(mean=5.0), AxisNoise(stdev=0.5), AxisNoise())
FALLING = simulated(arm_body())
FALLING.motion.a[:] = GRAVITY


def still(time_ns):
    return WorldState(time_ns, {"r1": FALLING})


def read_imu(diagnostics, **options):
    device = devices.Imu(name="imu", link="ARM", angular_velocity_noise=LOUD, sample_rate=80.0)
    [sensor] = devices_only(sensors_of(diagnostics, device, options=options))
    found = np.array([sensor.read(still(k * MS)).angular_velocity for k in range(500)])
    return sensor, found


def test_the_noise_and_the_rate_of_a_model_are_those_of_its_sensor(diagnostics):
    sensor, found = read_imu(diagnostics)
    assert sensor.rate_hz == 80.0
    np.testing.assert_array_equal(found[:, [0, 2]], np.tile([5.0, 0.0], (500, 1)))
    assert found[:, 1].std() == pytest.approx(0.5, rel=0.15)
    assert sensor.read(still(0)).angular_velocity_stdev == (0.0, 0.5, 0.0)


def test_an_option_takes_the_place_of_the_noise_of_the_model(diagnostics):
    sensor, found = read_imu(diagnostics, angular_velocity_stdev=0.1, rate=20.0)
    assert sensor.rate_hz == 20.0
    np.testing.assert_allclose(found.std(axis=0), 0.1, rtol=0.15)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=0.03)
    silent, found = read_imu(diagnostics, angular_velocity_stdev=0.0)
    assert silent.noise is None
    np.testing.assert_array_equal(found, 0.0)


def test_a_force_sensor_has_the_noise_the_rate_and_the_side_of_its_model(diagnostics):
    device = devices.ForceSensor(
        name="wrist", link="ARM", force_noise=LOUD, sample_rate=60.0, on_link=True
    )
    [sensor] = devices_only(sensors_of(diagnostics, device))
    assert (sensor.rate_hz, sensor.on_link) == (60.0, True)
    assert sensor.noise.stdevs == (0.0, 0.5, 0.0, 0.0, 0.0, 0.0)
    assert sensor.read(still(0)).force[0] == 5.0
    for side in ("parent", "link"):
        [sensor] = devices_only(sensors_of(diagnostics, device, options={"wrench_on": side}))
        assert sensor.on_link == (side == "link")


def test_distances_have_the_mean_error_of_the_model_unless_an_option_replaces_it(diagnostics):
    device = scanner(error_mean=0.1, error_deviation=0.01)
    [sensor] = devices_only(sensors_of(diagnostics, device))
    found = sensor.distance_noise.errors(0, (4000,))
    assert found.mean() == pytest.approx(0.1, abs=SIGMAS * 0.01 / np.sqrt(4000))
    assert found.std() == pytest.approx(0.01, rel=0.05)
    [sensor] = devices_only(sensors_of(diagnostics, device, options={"error_deviation": 0.0}))
    assert sensor.distance_noise.errors(0, (5,)) is None
    [sensor] = devices_only(sensors_of(diagnostics, replace(device, error_mean_deviation=0.2)))
    first, second = (sensor.distance_noise.errors(t, (4000,)).mean() for t in (0, MS))
    assert first == pytest.approx(second, abs=2e-3)
    assert abs(first - 0.1) > 1e-3


def test_a_mean_error_needs_no_source_of_noise():
    np.testing.assert_array_equal(DistanceNoise(error_mean=-0.25).errors(0, (3,)), -0.25)


@needs_opengl
def test_colours_have_the_mean_and_the_deviation_of_the_model():
    grey = Material(diffuse=(0.0, 0.0, 0.0), emissive=(0.5, 0.5, 0.5))
    sensor, world = camera_before(wall(2.0, grey), lens=Pinhole(160, 120, 1.0, 0.04, 100.0))
    plain = sensor.read(world).color
    noise = ColorNoise(0.1, 0.05, Noise(1, "r1", "eye"))
    noisy = camera(sensor.renderer, sensor.lens, color_noise=noise).read(world).color
    error = (noisy.astype(float) - plain) / 255.0
    n = error[..., 0].size
    assert abs(error.mean() - 0.1) < SIGMAS * 0.05 / np.sqrt(n) + 1e-4
    assert abs(error[..., 0].std() / 0.05 - 1.0) < SIGMAS / np.sqrt(2 * n) + 0.002
    np.testing.assert_array_equal(error[..., 0], error[..., 2])  # as that of one pixel


def test_noise_of_colours_does_not_leave_their_range():
    image = np.full((20, 30, 3), 250, np.uint8)
    noisy = ColorNoise(0.0, 0.5, Noise(1, "r1", "eye")).applied(0, image)
    assert (noisy.min(), noisy.max()) == (0, 255)
    assert LENS.pixel_count == 64 * 48


def test_a_rate_of_a_model_above_that_of_the_physics_is_a_warning(diagnostics):
    for rate in (1000.0, 1001.0):
        device = devices.Imu(name="imu", link="ARM", sample_rate=rate)
        assert devices_only(sensors_of(diagnostics, device))
    assert "1001 Hz" in diagnostics.take("too-fast").message
    assert not devices_only(
        sensors_of(diagnostics, devices.ForceSensor(name="ft", link="ARM", sample_rate=-5.0))
    )
    assert "-5" in diagnostics.take("unusable-device").message
