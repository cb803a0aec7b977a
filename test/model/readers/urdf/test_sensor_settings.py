"""Each setting of a sensor of SDF is in its device, or a diagnostic names it; see the SDF spec."""

import re
from dataclasses import fields
from math import inf, pi, tan

import numpy as np
import pytest
from each_case import all_cases
from paths import ROOT
from urdf_reader_tools import arm, read

from hrp_model.devices import (
    NO_NOISE,
    AxisNoise,
    Distortion,
    Intrinsics,
    LensType,
    WrenchFrame,
)

CAMERA = {
    "horizontal_fov": "0.5",
    "image/width": "100",
    "image/height": "70",
    "image/format": "L8",
    "clip/near": "0.2",
    "clip/far": "7",
    "noise/mean": "0.01",
    "noise/stddev": "0.02",
    "distortion/k1": "0.1",
    "distortion/k2": "0.1",
    "distortion/k3": "0.1",
    "distortion/p1": "0.1",
    "distortion/p2": "0.1",
    "lens/intrinsics/fx": "300",
    "lens/intrinsics/fy": "310",
    "lens/intrinsics/cx": "90",
    "lens/intrinsics/cy": "80",
    "lens/intrinsics/s": "3",
    "lens/projection/p_fx": "200",
    "lens/projection/p_fy": "200",
    "lens/projection/p_cx": "20",
    "lens/projection/p_cy": "20",
    "lens/projection/tx": "5",
    "lens/projection/ty": "5",
    "lens/type": "equidistant",
    "optical_frame_id": "eye",
    "camera_info_topic": "info",
    "triggered": "true",
    "trigger_topic": "now",
    "segmentation_type": "panoptic",
    "box_type": "3d",
    "pose": "1 0 0 0 0 0",
    "noise/bias_mean": "0.1",
    "noise/bias_stddev": "0.1",
}
WIDE = {
    "horizontal_fov": "2",
    "lens/type": "equidistant",
    "lens/scale_to_hfov": "false",
    "lens/cutoff_angle": "1",
    "lens/intrinsics/fx": "300",
    "distortion/k1": "0.1",
}
NOISE = {
    **dict.fromkeys(("mean", "stddev", "bias_mean", "bias_stddev"), "0.1"),
    **dict.fromkeys(("dynamic_bias_stddev", "dynamic_bias_correlation_time", "precision"), "1"),
    "type": "poisson",
}
LIDAR = {
    "scan/horizontal/samples": "11",
    "scan/horizontal/resolution": "2",
    "scan/horizontal/min_angle": "-0.5",
    "scan/horizontal/max_angle": "0.5",
    "scan/vertical/samples": "3",
    "range/min": "0.5",
    "range/max": "9",
    **{f"noise/{tag}": value for tag, value in NOISE.items()},
}
SCAN = {"scan/horizontal/min_angle": "-1", "scan/horizontal/max_angle": "1"}
SCAN |= {"scan/vertical/min_angle": "-0.1", "scan/vertical/max_angle": "0.1"}
AXIS = {f"noise/{tag}": value for tag, value in NOISE.items()}
IMU = {f"angular_velocity/x/{tag}": value for tag, value in AXIS.items()}
IMU |= {f"linear_acceleration/z/{tag}": value for tag, value in AXIS.items()}
IMU |= {f"noise/{part}/stddev": "0.1" for part in ("rate", "accel")}
IMU |= {
    "orientation_reference_frame/localization": "NED",
    "orientation_reference_frame/custom_rpy": "1 2 3",
    "orientation_reference_frame/grav_dir_x": "0 1 0",
}
WRENCH = {f"force/y/{tag}": value for tag, value in AXIS.items()}
WRENCH |= {f"torque/x/{tag}": value for tag, value in AXIS.items()}
WRENCH |= {"frame": "parent", "measure_direction": "parent_to_child"}
SENSOR = {
    "update_rate": "7",
    "topic": "there",
    "gz_frame_id": "where",
    "ignition_frame_id": "where",
    "pose": "0.1 0.2 0.3 0 0 1",
    "unheard_of": "1",
}
# Type of the sensor, element inside, its settings, and those that it needs to have any effect.
KINDS = [
    ("camera", "camera", CAMERA, {}),
    ("depth_camera", "camera", {"depth_camera/clip/far": "3", "depth_camera/clip/near": "1"}, {}),
    ("depth_camera", "camera", {"noise/mean": "0.01", "noise/stddev": "0.02"}, {}),
    ("wideanglecamera", "camera", WIDE, {}),
    ("gpu_lidar", "lidar", LIDAR, SCAN),
    ("imu", "imu", IMU, {}),
    ("force_torque", "force_torque", WRENCH, {}),
    *((kind, "", SENSOR, {}) for kind in ("camera", "gpu_lidar", "imu", "force_torque")),
]
CASES = [
    (kind, element, path, {**more, path: value})
    for kind, element, settings, more in KINDS
    for path, value in settings.items()
]


def written(settings):
    """Return elements with texts, by their paths."""
    inside, text = {}, ""
    for path, value in settings.items():
        first, _, rest = path.partition("/")
        inside.setdefault(first, {})[rest] = value
    for tag, below in inside.items():
        text += f"<{tag}>{below.pop('', '')}{written(below) if below else ''}</{tag}>"
    return text


def sensed(kind, element, settings):
    """Return the device of a sensor on a joint, and the diagnostics about it."""
    text = written(settings)
    text = f"<{element}>{text}</{element}>" if element else text
    sensor = f'<sensor name="s" type="{kind}">{text}</sensor>'
    block = f'<gazebo reference="elbow">{sensor}</gazebo></robot>'
    body, found = read(arm().replace("</robot>", block))
    return body.devices[0], [x for x in found if x.code != "massless-link"]


def told(device):
    """Return what a device is, apart from its text."""
    kept = (field.name for field in fields(device) if field.name not in ("info", "at"))
    return {name: repr(getattr(device, name)) for name in kept}


@all_cases(("kind", "element", "path", "settings"), CASES)
def test_a_setting_is_in_the_device_or_in_a_diagnostic(kind, element, path, settings):
    more = {key: value for key, value in settings.items() if key != path}
    plain, before = sensed(kind, element, more)
    device, found = sensed(kind, element, settings)
    if told(device) == told(plain):
        assert len(found) > len(before)
        assert all(x.at is not None for x in found)


def test_the_noise_of_each_axis_is_read():
    stated = dict.fromkeys(("mean", "stddev", "bias_mean", "bias_stddev"), "0.25")
    stated |= {"dynamic_bias_stddev": "2", "dynamic_bias_correlation_time": "400"}
    settings = {f"angular_velocity/y/noise/{tag}": value for tag, value in stated.items()}
    device, found = sensed("imu", "imu", settings)
    noise = AxisNoise(mean=0.5, mean_stdev=0.25, stdev=0.25, walk=2.0, correlation_time=400.0)
    assert found == []
    assert device.angular_velocity_noise == (AxisNoise(), noise, AxisNoise())
    assert device.acceleration_noise == NO_NOISE


def test_noise_that_is_switched_off_or_impossible_is_not_read():
    assert sensed("camera", "camera", {"noise/type": "none", "noise/stddev": "1"})[1] == []
    device, found = sensed("imu", "imu", {"angular_velocity/x/noise/stddev": "-1"})
    assert [x.code for x in found] == ["not-used"]
    assert device.angular_velocity_noise == NO_NOISE


def test_quantized_noise_has_a_precision():
    settings = {"force/x/noise/type": "gaussian_quantized", "force/x/noise/precision": "0.5"}
    device, found = sensed("force_torque", "force_torque", settings)
    assert found == []
    assert device.force_noise[0] == AxisNoise(precision=0.5)


def test_intrinsics_and_distortion_are_those_of_camera_info():
    settings = {f"distortion/{tag}": f"0.{i}" for i, tag in enumerate(("k1", "k2", "k3", "p1"), 1)}
    settings |= {"lens/intrinsics/fx": "554.25", "lens/intrinsics/fy": "500"}
    settings |= {"lens/intrinsics/cx": "300.5", "lens/intrinsics/cy": "240.5"}
    settings |= {"image/width": "640", "image/height": "480", "lens/projection/tx": "-40"}
    device, found = sensed("camera", "camera", settings)
    assert found == []
    assert device.intrinsics == Intrinsics(554.25, 500.0, 300.5, 240.5)
    assert device.distortion == Distortion(k1=0.1, k2=0.2, p1=0.4, p2=0.0, k3=0.3)
    assert device.rectified == (device.intrinsics, -40.0, 0.0)
    assert tan(device.field_of_view / 2.0) == pytest.approx(240.0 / 500.0)


@all_cases(
    ("kind", "radius"),
    [
        ("gnomonical", tan),
        ("stereographic", lambda angle: 2.0 * tan(angle / 2.0)),
        ("equidistant", float),
        ("equisolid_angle", lambda angle: 2.0 * np.sin(angle / 2.0)),
        ("orthographic", np.sin),
        ("custom", lambda angle: 3.0 * 0.2 * np.sin(angle / 1.5)),
    ],
)
def test_a_wide_angle_camera_has_the_lens_function_of_its_type(kind, radius):
    settings = {"lens/type": kind, "horizontal_fov": "2.4", "lens/cutoff_angle": "1.5"}
    settings |= {"image/width": "400", "image/height": "300"}
    if kind == "custom":
        custom = {"c1": "3", "c2": "1.5", "f": "0.2", "fun": "sin"}
        settings |= {f"lens/custom_function/{tag}": value for tag, value in custom.items()}
        settings["lens/scale_to_hfov"] = "false"
    device, found = sensed("wideanglecamera", "camera", settings)
    assert found == []
    assert (device.lens_type, device.cut_off_angle) == (LensType.FISHEYE, 1.5)
    scale = 200.0 if kind == "custom" else 200.0 / radius(1.2)  # half of the width
    for angle in (0.3, 0.9, 1.3):
        found = device.intrinsics.fx * device.lens_function.radius(angle)
        assert found == pytest.approx(scale * radius(angle))


def test_a_wide_angle_camera_is_stereographic_by_default():
    device, found = sensed("wideanglecamera", "camera", {"horizontal_fov": str(pi)})
    assert found == []
    assert device.intrinsics.fx * device.lens_function.radius(pi / 2) == pytest.approx(160.0)
    assert device.intrinsics.fx * device.lens_function.radius(0.7) == pytest.approx(
        160.0 * tan(0.35)
    )


@pytest.mark.parametrize(
    ("frame", "expected"),
    [("", WrenchFrame.CHILD), ("child", WrenchFrame.CHILD), ("parent", WrenchFrame.PARENT)],
)
def test_a_wrench_has_the_frame_and_the_direction_that_are_stated(frame, expected):
    settings = {"measure_direction": "parent_to_child"} | ({"frame": frame} if frame else {})
    sensor = f"<pose>0 0 0.1 0 0 0.5</pose><force_torque>{written(settings)}</force_torque>"
    block = f'<gazebo reference="elbow"><sensor name="s" type="force_torque">{sensor}</sensor>'
    body, _ = read(arm().replace("</robot>", block + "</gazebo></robot>"))
    [device] = body.devices
    assert (device.frame, device.on_link) == (expected, True)


def test_in_the_frame_of_a_sensor_the_torque_is_about_the_origin_of_the_joint():
    sensor = "<pose>0 0 0.1 0 0 0.5</pose><force_torque><frame>sensor</frame></force_torque>"
    block = f'<gazebo reference="elbow"><sensor name="s" type="force_torque">{sensor}</sensor>'
    body, _ = read(arm().replace("</robot>", block + "</gazebo></robot>"))
    [device] = body.devices
    assert (device.frame, device.on_link) == (WrenchFrame.SENSOR, False)
    np.testing.assert_array_equal(device.X_LS.p, 0.0)
    np.testing.assert_allclose(device.X_LS.R[0], [np.cos(0.5), -np.sin(0.5), 0.0])


def test_a_scanner_has_the_mean_and_the_bias_of_its_noise():
    stated = {"mean": "0.1", "stddev": "0.01", "bias_mean": "0.2", "bias_stddev": "0.3"}
    device, found = sensed("gpu_lidar", "lidar", {f"noise/{k}": v for k, v in stated.items()})
    assert found == []
    numbers = device.error_mean, device.error_deviation, device.error_mean_deviation
    assert numbers == pytest.approx((0.3, 0.01, 0.3))
    assert device.max_distance == inf


def test_the_page_of_formats_names_each_element():
    page = (ROOT / "docs" / "formats" / "urdf.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    paths = CAMERA | WIDE | LIDAR | IMU | WRENCH | SENSOR
    tags = {part for path in paths for part in path.split("/")}
    # Warnings, and values that are not elements of their own.
    others = {"unheard_of", "trigger_topic", "segmentation_type", "box_type", "image"}
    assert tags - named - others == set()
