"""Which sensors a model's devices become."""

from dataclasses import fields, is_dataclass, replace
from functools import partial

import numpy as np
import pytest
from sim.sensors.factory_tools import (
    SEAT,
    DarkRenderer,
    accelerometer,
    camera,
    devices_only,
    gyro,
    no_rays,
    scanner,
    sensors_of,
)
from sim.sensors.handmade import GRAVITY, arm_body, simulated, world_of

from hrp_model import Body, Joint, JointType, Link, Pose, devices
from hrp_model.devices import ImageType
from hrp_sim.sensors import (
    IDEAL,
    CameraSensor,
    ForceSensor,
    ImuSensor,
    JointSensor,
    OdometrySensor,
    RangeSensor,
    SensorSettings,
    instruments,
    make_sensors,
)
from hrp_sim.sensors.settings import applies_to


def test_every_robot_tells_its_joints_and_where_it_is(diagnostics):
    joints, odometry = sensors_of(diagnostics)
    assert isinstance(joints, JointSensor)
    assert joints.joints == ("SHOULDER",)
    assert isinstance(odometry, OdometrySensor)
    assert (joints.name, odometry.name) == ("joint_states", "odometry")


def test_a_floor_has_no_sensors(diagnostics):
    root = Link(name="FLOOR", parent=None, joint=Joint(type=JointType.FIXED, name="FLOOR"))
    world = world_of(simulated(Body(name="floor", links=(root,))))
    assert make_sensors(world, GRAVITY, no_rays, DarkRenderer(), diagnostics) == []


def test_gyro_and_accelerometer_in_one_place_are_one_imu_named_after_the_gyro(diagnostics):
    limits = {"max_acceleration": np.array([1.0, 2.0, 3.0])}
    moved = Pose(SEAT.R, SEAT.p + 1e-10)
    (imu,) = devices_only(sensors_of(diagnostics, accelerometer(X_LS=moved, **limits), gyro()))
    assert isinstance(imu, ImuSensor)
    assert (imu.name, imu.body, imu.link) == ("gyro", "r1", 1)
    np.testing.assert_array_equal(imu.max_acceleration, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(imu.max_angular_velocity, np.inf)
    np.testing.assert_array_equal(imu.g_W, GRAVITY)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"link": "BASE"},
        {"X_LS": Pose(SEAT.R, SEAT.p + 1e-8)},
        {"X_LS": Pose(SEAT.R @ SEAT.R, SEAT.p)},
        {"on": False},
    ],
    ids=lambda d: next(iter(d)),
)
def test_what_is_elsewhere_or_off_alone_is_not_merged(diagnostics, elsewhere):
    first, second = devices_only(sensors_of(diagnostics, gyro(), accelerometer(**elsewhere)))
    assert (first.name, second.name) == ("gyro", "gsensor")
    assert first.max_acceleration is None
    assert second.max_angular_velocity is None


def test_a_pair_that_is_off_as_a_whole_is_merged(diagnostics):
    off = gyro(on=False), accelerometer(on=False)
    assert [s.name for s in devices_only(sensors_of(diagnostics, *off))] == ["gyro"]


def test_each_accelerometer_is_merged_once(diagnostics):
    found = devices_only(sensors_of(diagnostics, gyro("g1"), gyro("g2"), accelerometer()))
    assert [(s.name, s.max_acceleration is None) for s in found] == [("g1", False), ("g2", True)]


def test_an_imu_device_measures_both(diagnostics):
    (imu,) = devices_only(sensors_of(diagnostics, devices.Imu(name="imu", link="BASE")))
    assert imu.max_acceleration is not None
    assert imu.max_angular_velocity is not None


def as_told(value):
    """Return what a sensor was told at its making, as far as it can be compared."""
    if is_dataclass(value):
        return {f.name: as_told(getattr(value, f.name)) for f in fields(value)}
    is_plain = isinstance(value, bool | float | str | tuple)
    return value if is_plain else type(value).__name__


OF_VEHICLES = {"odometry", "wheel_odometry"}
OF_DEVICES = [
    x
    for x in fields(SensorSettings)
    if not x.metadata["kinds"] or x.metadata["kinds"] - OF_VEHICLES
]


@pytest.mark.parametrize("option", OF_DEVICES, ids=lambda option: option.name)
def test_an_option_changes_all_sensors_of_its_kinds_and_no_others(diagnostics, option):
    """So no option is for nothing, and the kinds that it names are those that know it."""
    joint = Joint(type=JointType.REVOLUTE, name="SHOULDER", id=0, encoder_pulse=1000.0)
    body = arm_body(gyro(), devices.ForceSensor(name="wrist", link="ARM"), scanner(), camera())
    body = replace(body, links=(body.links[0], replace(body.links[1], joint=joint)))
    if isinstance(option.default, bool):
        other = not option.default
    elif isinstance(option.default, float):
        other = 0.25
    else:
        other = option.metadata.get("choices", ("", "#123456"))[1]

    def made(settings):
        world = world_of(simulated(body))
        options = {"settings_of": lambda _body, _sensor: settings}
        args = GRAVITY, no_rays, DarkRenderer(), diagnostics
        return {s.name: as_told(s) for s in make_sensors(world, *args, **options)}

    plain, changed = made(IDEAL), made(SensorSettings(**{option.name: other}))
    kinds = {name: instrument.kind for name, instrument in instruments(body).items()}
    assert set(kinds) == set(plain) == set(changed)
    concerned = {kinds[name] for name in kinds if plain[name] != changed[name]}
    assert concerned == {kind for kind in kinds.values() if applies_to(option, kind)}


def test_rates_come_from_the_model_where_it_gives_them(diagnostics):
    found = sensors_of(
        diagnostics,
        gyro(),
        devices.ForceSensor(name="wrist", link="ARM"),
        scanner(scan_rate=7.0),
        camera(frame_rate=12.5),
    )
    assert {type(s): s.rate_hz for s in found} == {
        JointSensor: 500.0,
        OdometrySensor: 100.0,
        ImuSensor: 500.0,
        ForceSensor: 500.0,
        RangeSensor: 7.0,
        CameraSensor: 12.5,
    }


def test_a_rate_that_is_asked_for_goes_before_an_impossible_one_of_the_model(diagnostics):
    found = scanner(scan_rate=0.0), camera(frame_rate=np.inf)
    made = devices_only(sensors_of(diagnostics, *found, options={"rate": 5.0}))
    assert [sensor.rate_hz for sensor in made] == [5.0, 5.0]


@pytest.mark.parametrize("name", ["wrist", "joint_states"])
def test_of_two_sensors_of_one_name_the_second_is_left_out_with_a_warning(diagnostics, name):
    wrist = devices.ForceSensor(name="wrist", link="ARM")
    found = sensors_of(diagnostics, scanner(), wrist, camera(name))
    assert [s.name for s in found] == ["joint_states", "odometry", "wrist", "laser"]
    assert f"'{name}' of body 'r1' is left out" in diagnostics.take("duplicate-sensor").message


def test_a_light_with_the_name_of_a_sensor_is_a_warning(diagnostics):
    sensors_of(diagnostics, gyro("lamp"), devices.PointLight(name="lamp", link="ARM"))
    assert "'lamp' of body 'r1' cannot be switched" in diagnostics.take("duplicate-sensor").message
    sensors_of(diagnostics, gyro(), devices.PointLight(name="lamp", link="ARM"))


@pytest.mark.parametrize("root", [JointType.FREE, JointType.FIXED])
def test_a_force_sensor_on_a_root_that_nothing_holds_is_a_warning(diagnostics, root):
    """It is the world that holds a body by its root, whatever its model says."""
    foot = devices.ForceSensor(name="foot", link="BASE")
    sensors_of(diagnostics, foot, root=root)
    assert "'foot' of body 'r1'" in diagnostics.take("idle-force-sensor").message
    sensors_of(diagnostics, foot, root=root, fixed=("r1",))


def test_a_force_sensor_has_the_options_it_is_given(diagnostics):
    options = {
        "wrench_on": "link",
        "wrench_cutoff": 30.0,
        "force_stdev": 0.2,
        "torque_stdev": 0.01,
        "rate": 100.0,
    }
    limits = {"max_force": np.array([1.0, 2.0, 3.0]), "max_torque": np.array([4.0, 5.0, 6.0])}
    body = arm_body(*(devices.ForceSensor(name=name, link="ARM", **limits) for name in "ab"))
    ideal, other = devices_only(
        make_sensors(
            world_of(simulated(body)),
            GRAVITY,
            no_rays,
            DarkRenderer(),
            diagnostics,
            settings_of=lambda _, name: IDEAL.with_values(options if name == "b" else {}),
        )
    )
    assert (other.on_link, other.cutoff_hz, other.rate_hz) == (True, 30.0, 100.0)
    assert other.noise.stdevs == (0.2, 0.2, 0.2, 0.01, 0.01, 0.01)
    assert (ideal.on_link, ideal.cutoff_hz, ideal.noise) == (False, 0.0, None)
    for sensor in (ideal, other):
        np.testing.assert_array_equal(sensor.max_force, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(sensor.max_torque, [4.0, 5.0, 6.0])


def test_devices_that_are_not_simulated_are_told_by_their_type(diagnostics):
    names = {"left": "Thruster", "right": "Thruster", "dose": "DoseMeter"}
    others = [
        devices.GenericDevice(name=n, link="ARM", type_name=kind) for n, kind in names.items()
    ]
    assert not devices_only(sensors_of(diagnostics, *others))
    told = [found.message for found in diagnostics.found]
    assert told == [
        "'left', 'right' of body 'r1': a Thruster is not simulated",
        "'dose' of body 'r1': a DoseMeter is not simulated",
    ]
    assert {found.code for found in diagnostics.found} == {"not-simulated"}
    diagnostics.found.clear()


@pytest.mark.parametrize(
    "fields",
    [
        {"yaw_step": 0.0},
        {"scan_rate": -1.0},
        {"pitch_range": 0.5, "pitch_step": 0.0},
        {"pitch_range": -0.5},
        {"error_deviation": -0.01},
        {"detection_rate": 1.1},
    ],
    ids=str,
)
def test_a_range_sensor_that_cannot_be_is_a_warning(diagnostics, fields):
    assert not devices_only(sensors_of(diagnostics, scanner(**fields)))
    assert "'laser' of body 'r1'" in diagnostics.take("unusable-device").message


@pytest.mark.parametrize(
    ("fields", "rays"), [({}, 1), ({"pitch_range": 0.5, "pitch_step": 0.1}, 6)], ids=str
)
def test_a_range_sensor_of_no_width_is_simulated(diagnostics, fields, rays):
    found = sensors_of(diagnostics, scanner(yaw_range=0.0, yaw_step=0.0, **fields))
    (sensor,) = devices_only(found)
    assert sensor.ray_count == rays


@pytest.mark.parametrize("of_kind", [scanner, partial(camera, image_type=ImageType.DEPTH)])
@pytest.mark.parametrize(
    ("options", "rate", "deviation"),
    [
        ({}, 0.75, 0.01),
        ({"detection_rate": 1.0}, 1.0, 0.01),
        ({"error_deviation": 0.0}, 0.75, 0.0),
        ({"detection_rate": 0.0, "error_deviation": 0.5}, 0.0, 0.5),
    ],
)
def test_options_of_what_measures_distances_go_before_its_device(
    diagnostics, options, rate, deviation, of_kind
):
    device = of_kind(detection_rate=0.75, error_deviation=0.01)
    (sensor,) = devices_only(sensors_of(diagnostics, device, options=options))
    noise = sensor.distance_noise
    assert (noise.detection_rate, noise.error_deviation) == (rate, deviation)


def test_how_a_range_sensor_scans_is_an_option(diagnostics):
    (usual,) = devices_only(sensors_of(diagnostics, scanner(max_distance=7.0)))
    assert (usual.sees_own_body, usual.no_return, usual.spread) == (False, np.inf, False)
    options = {"own_body": "seen", "no_return": "max", "spread_scan": True}
    (other,) = devices_only(sensors_of(diagnostics, scanner(max_distance=7.0), options=options))
    assert (other.sees_own_body, other.no_return, other.spread) == (True, 7.0, True)
