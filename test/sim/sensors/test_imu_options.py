"""How the options of a world become IMUs."""

from dataclasses import replace

import numpy as np
import pytest
from sim.sensors.handmade import GRAVITY, arm_body, random_pose, simulated, world_of

from hrp_model import Pose, devices
from hrp_sim.engine.state import WorldState
from hrp_sim.render import Renderer
from hrp_sim.sensors import IDEAL, ImuSensor, SensorSettings, make_sensors

SEAT = random_pose(np.random.default_rng(5))
GYRO = devices.RateGyroSensor(name="gyro", link="ARM", X_LS=SEAT)
ACCELEROMETER = devices.AccelerationSensor(name="gsensor", link="ARM", X_LS=SEAT)
ELSEWHERE = devices.Imu(name="head", link="BASE")


def imus(diagnostics, *found, seed=0, bodies=("r1",), **options):
    """The IMUs of bodies with these devices, by their own and their bodies' names."""
    world = world_of(*(simulated(arm_body(*found), name) for name in bodies))
    settings = {name: SensorSettings(**given) for name, given in options.items()}
    made = make_sensors(
        world,
        GRAVITY,
        None,  # casts no rays
        Renderer({}),
        diagnostics,
        settings_of=lambda _body, sensor: settings.get(sensor, IDEAL),
        seed=seed,
    )
    return {(s.body, s.name): s for s in made if isinstance(s, ImuSensor)}, world


def read(sensor, world, time_ns=0):
    return sensor.read(WorldState(time_ns, world.bodies))


@pytest.mark.parametrize(
    "option",
    [
        "angular_velocity_stdev",
        "linear_acceleration_stdev",
        "orientation_stdev",
        "angular_velocity_random_walk",
        "linear_acceleration_random_walk",
    ],
)
def test_each_option_spoils_what_it_says_and_nothing_else(diagnostics, option):
    given = {"orientation": True, option: 0.1}
    found, world = imus(diagnostics, GYRO, ACCELEROMETER, gyro=given)
    noisy = found["r1", "gyro"]
    ideal = imus(diagnostics, GYRO, ACCELEROMETER, gyro={"orientation": True})[0]["r1", "gyro"]
    read(noisy, world, 0)
    spoilt, true = (read(s, world, 1_000_000) for s in (noisy, ideal))
    for part in ("angular_velocity", "linear_acceleration", "orientation"):
        differs = not np.array_equal(getattr(spoilt, part), getattr(true, part))
        assert differs == option.startswith(part)
    assert bool(noisy.memory) == option.endswith("random_walk")


def test_sensors_and_bodies_and_seeds_have_noise_of_their_own(diagnostics):
    options = {"gyro": {"angular_velocity_stdev": 0.1}, "head": {"angular_velocity_stdev": 0.1}}
    values = []
    for seed in (0, 1):
        found, world = imus(diagnostics, GYRO, ELSEWHERE, seed=seed, bodies=("r1", "r2"), **options)
        values += [read(sensor, world).angular_velocity for sensor in found.values()]
    assert len(values) == 8
    assert len(np.unique(values)) == 3 * 8


@pytest.mark.parametrize(
    "bad",
    [
        {"X_LS": Pose(p=[1e300, 0.0, 0.0])},
        {"X_LS": Pose(p=[0.0, np.nan, 0.0])},
        {"X_LS": Pose(np.diag([1.0, 1.0, -1.0]))},
        {"max_angular_velocity": [1.0, -1.0, 1.0]},
        {"max_angular_velocity": [1.0, 1.0, np.nan]},
    ],
    ids=str,
)
def test_a_gyro_that_cannot_be_is_left_out_and_the_others_stay(diagnostics, bad):
    found, _ = imus(diagnostics, replace(GYRO, **bad), ELSEWHERE)
    assert list(found) == [("r1", "head")]
    assert "'gyro' of body 'r1' is left out" in diagnostics.take("unusable-device").message
