"""Devices: typed where their meaning is known, kept whole where it is not."""

from dataclasses import dataclass
from math import inf, pi, radians

import numpy as np
import pytest
from body_tools import read_device, read_text
from each_case import all_cases

from hrp_model import devices
from hrp_model.devices import ImageType, LensType
from hrp_model.readers.choreonoid.devices import NUMBER_FIELD_READERS, number_field_reader


@all_cases(
    ("type_name", "kind"),
    [
        ("AccelerationSensor", devices.AccelerationSensor),
        ("RateGyroSensor", devices.RateGyroSensor),
        ("IMU", devices.Imu),
        ("Imu", devices.Imu),
        ("ForceSensor", devices.ForceSensor),
        ("RangeSensor", devices.RangeSensor),
        ("SpotLight", devices.SpotLight),
        ("PointLight", devices.PointLight),
        ("DirectionalLight", devices.DirectionalLight),
    ],
)
def test_what_all_devices_have(type_name, kind, diagnostics):
    keys = f"type: {type_name}, name: d, id: 3, on: off, translation: [1, 2, 3]"
    device = read_device(f"{keys}, rotation: [0, 0, 1, 90]", diagnostics)
    assert type(device) is kind
    assert (device.name, device.id, device.link, device.on) == ("d", 3, "A", False)
    np.testing.assert_array_equal(device.X_LS.p, (1, 2, 3))
    np.testing.assert_allclose(device.X_LS.R[:, 0], (0, 1, 0), atol=1e-15)


def test_a_device_without_name_or_id(diagnostics):
    device = read_device("type: ForceSensor", diagnostics)
    assert (device.name, device.id) == ("ForceSensor0", None)
    assert device.max_force.tolist() == [inf, inf, inf]


def test_one_limit_may_serve_all_axes(diagnostics):
    device = read_device("type: AccelerationSensor, max_acceleration: 7", diagnostics)
    assert device.max_acceleration.tolist() == [7, 7, 7]


def test_limits_of_gyros_are_radians_whatever_the_angle_unit(diagnostics):
    device = read_device("type: RateGyroSensor, max_angular_velocity: [1, 2, 3]", diagnostics)
    assert device.max_angular_velocity.tolist() == [1, 2, 3]


def test_a_camera_and_its_defaults(diagnostics):
    device = read_device("type: Camera, format: COLOR", diagnostics)
    assert (device.image_type, device.lens_type) == (ImageType.COLOR, LensType.NORMAL)
    assert (device.width, device.height, device.frame_rate) == (640, 480, 30.0)
    assert (device.field_of_view, device.near_clip, device.far_clip) == (0.785398, 0.04, 200.0)


@pytest.mark.parametrize(
    "keys",
    [
        "field_of_view: 60, near_clip_distance: 1, far_clip_distance: 2, frame_rate: 5",
        "fieldOfView: 60, nearClipDistance: 1, farClipDistance: 2, frameRate: 5",
    ],
)
def test_a_camera_that_measures(keys, diagnostics):
    written = f"type: CameraDevice, format: POINT_CLOUD, lensType: FISHEYE, {keys}"
    device = read_device(written, diagnostics)
    assert (device.image_type, device.lens_type) == (ImageType.POINT_CLOUD, LensType.FISHEYE)
    assert device.field_of_view == pytest.approx(radians(60))
    assert (device.near_clip, device.far_clip, device.frame_rate) == (1, 2, 5)
    assert (device.min_distance, device.max_distance) == (0.1, 10.0)
    assert (device.detection_rate, device.error_deviation) == (1.0, 0.0)


@pytest.mark.parametrize(
    "keys",
    ["detection_rate: 0.9, error_deviation: 0.01", "detectionRate: 0.9, errorDeviation: 0.01"],
)
def test_a_camera_that_measures_is_not_ideal(keys, diagnostics):
    device = read_device(f"type: Camera, format: DEPTH, {keys}", diagnostics)
    assert (device.detection_rate, device.error_deviation) == (0.9, 0.01)


def test_a_camera_without_format_takes_colours(diagnostics):
    assert read_device("type: Camera", diagnostics).image_type is ImageType.COLOR
    diagnostics.take("no-format")


def test_a_step_wins_over_a_number_of_rays(diagnostics):
    keys = "yaw_range: 90, yaw_step: 1, yaw_samples: 3"
    device = read_device(f"type: RangeSensor, {keys}", diagnostics)
    assert device.yaw_step == pytest.approx(radians(1))


@pytest.mark.parametrize(
    ("keys", "rate"), [("frameRate: 5", 5.0), ("frame_rate: 5, scan_rate: 7", 7.0)]
)
def test_scans_are_frames(keys, rate, diagnostics):
    assert read_device(f"type: RangeSensor, {keys}", diagnostics).scan_rate == rate


@pytest.mark.parametrize(
    ("frame", "forward", "up"),
    [
        ("gl", (0, 0, -1), (0, 1, 0)),
        ("cv", (0, 0, 1), (0, -1, 0)),
        ("robotics", (1, 0, 0), (0, 0, 1)),
    ],
)
def test_whatever_the_optical_frame_ours_looks_along_minus_z(frame, forward, up, diagnostics):
    device = read_device(f"type: Camera, format: COLOR, optical_frame: {frame}", diagnostics)
    np.testing.assert_allclose(device.X_LS.R @ (0, 0, -1), forward, atol=1e-15)
    np.testing.assert_allclose(device.X_LS.R @ (0, 1, 0), up, atol=1e-15)


@pytest.mark.parametrize(
    "keys",
    [
        "yaw_range: 90, yaw_step: 0.5, scan_rate: 20",
        "yawRange: 90, yawStep: 0.5, scanRate: 20",
        "scanAngle: 90, scanStep: 0.5, scanRate: 20",
        "min_yaw_angle: -45, max_yaw_angle: 45, yaw_samples: 181, scan_rate: 20",
    ],
)
def test_scans_in_every_spelling(keys, diagnostics):
    device = read_device(f"type: RangeSensor, {keys}, min_distance: 1, maxDistance: 9", diagnostics)
    assert device.yaw_range == pytest.approx(pi / 2)
    assert device.yaw_step == pytest.approx(radians(0.5))
    assert (device.scan_rate, device.min_distance, device.max_distance) == (20, 1, 9)
    np.testing.assert_array_equal(device.X_LS.R, np.eye(3))


def test_a_lopsided_scan_turns_the_sensor(diagnostics):
    device = read_device("type: RangeSensor, min_yaw_angle: 0, max_yaw_angle: 90", diagnostics)
    assert device.yaw_range == pytest.approx(pi / 2)
    # The middle of the scan lies at 45 degrees about +Y from forward, which is -Z.
    half = 0.5**0.5
    np.testing.assert_allclose(device.X_LS.R @ (0, 0, -1), (-half, 0, -half), atol=1e-15)


def test_a_spot_light(diagnostics):
    device = read_device(
        "type: SpotLight, direction: [2, 0, 0], beamWidth: 60, cut_off_angle: 30, color: [1, 0, 0]",
        diagnostics,
    )
    assert device.direction.tolist() == [1, 0, 0]
    assert (device.beam_width, device.cut_off_angle) == pytest.approx((pi / 3, pi / 6))
    assert device.color == (1, 0, 0)


def test_a_point_light(diagnostics):
    device = read_device(
        "type: PointLight, intensity: 0.5, ambient: 0.25, attenuation: [1, 0.5, 2]", diagnostics
    )
    assert (device.intensity, device.ambient_intensity) == (0.5, 0.25)
    assert device.attenuation == (1.0, 0.5, 2.0)


def test_a_directional_light(diagnostics):
    device = read_device(
        "type: DirectionalLight, direction: [0, 3, 0], color: [0, 1, 0], on: false", diagnostics
    )
    assert device.direction.tolist() == [0, 1, 0]
    assert (device.color, device.on) == ((0, 1, 0), False)
    assert device.name.startswith("DirectionalLight")


def test_devices_of_other_programs_are_kept_whole(diagnostics):
    device = read_device("type: Thruster, name: t, force_range: [0, 7], mode: on", diagnostics)
    assert isinstance(device, devices.GenericDevice)
    assert device.type_name == "Thruster"
    assert device.info == {"name": "t", "force_range": [0, 7], "mode": "on"}


def test_shapes_on_a_device_belong_to_its_link(diagnostics):
    text = (
        "links: [{name: A, elements: {Camera: {format: COLOR, translation: [0, 0, 1],"
        " elements: [{type: Shape, geometry: {type: Box}}]}}}]"
    )
    body = read_text(text, diagnostics)
    assert body.root.visual[0].T_FG[2, 3] == 1.0
    assert body.devices[0].X_LS.p[2] == 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Barometer(devices.Device):
    sample_rate: float = 50.0
    bias: float = 0.0


def test_a_device_of_numbers_alone_is_read_by_the_names_of_its_fields(diagnostics, monkeypatch):
    monkeypatch.setitem(NUMBER_FIELD_READERS, "Barometer", number_field_reader(Barometer))
    for keys in ("sample_rate: 20, bias: 3", "sampleRate: 20, bias: 3"):
        device = read_device(f"type: Barometer, name: b, id: 1, {keys}", diagnostics)
        assert (type(device), device.name, device.id) == (Barometer, "b", 1)
        assert (device.sample_rate, device.bias) == (20.0, 3.0)
    assert read_device("type: Barometer", diagnostics).sample_rate == 50.0
