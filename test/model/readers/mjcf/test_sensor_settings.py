"""Intrinsics of cameras, noise, limits and rates of sensors of MJCF, against MuJoCo."""

import numpy as np
import pytest

from hrp_model import Diagnostics, load_body_text
from hrp_model.devices import (
    NO_NOISE,
    AccelerationSensor,
    AxisNoise,
    ForceSensor,
    ImageType,
    Imu,
    RangeSensor,
    RateGyroSensor,
)

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

BODY = """
<mujoco><worldbody><body name="b"><joint axis="0 0 1"/><geom size="0.1" mass="1"/>
  <site name="s"/><site name="t"/>{inside}</body></worldbody><sensor>{sensors}</sensor></mujoco>
"""


def devices(inside="", sensors=""):
    diagnostics = Diagnostics.silent()
    text = BODY.format(inside=inside, sensors=sensors)
    body = load_body_text(text, diagnostics)
    assert [x.code for x in diagnostics.found] == []
    return body.devices, mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize(
    "lens",
    [
        'resolution="320 200" focalpixel="200 210" principalpixel="15 -7" sensorsize="0.01 0.006"',
        'resolution="200 320" focal="0.02 0.01" principal="0.001 0.002" sensorsize="0.01 0.02"',
        'resolution="320 200" fovy="50"',
        'resolution="200 320" fovy="50"',
    ],
)
def test_a_point_appears_where_it_is_in_the_frustum_of_mujoco(lens):
    [camera], model = devices(f'<camera name="c" {lens}/>')
    data, scene = mujoco.MjData(model), mujoco.MjvScene(model, 10)
    view = mujoco.MjvCamera()
    view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    mujoco.mj_forward(model, data)
    options, all_of_it = mujoco.MjvOption(), mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(model, data, options, None, view, all_of_it, scene)
    gl = scene.camera[0]
    width, height = model.cam_resolution[0].tolist()
    # At the distance ``near`` these are the edges of the image.
    near, top, bottom = gl.frustum_near, gl.frustum_top, gl.frustum_bottom
    half = gl.frustum_width or (top - bottom) * width / height / 2.0
    left = gl.frustum_center - half
    x, y = 0.3, -0.2  # right and up, per depth
    expected = (
        (x * near - left) / (2.0 * half) * width - 0.5,
        (top - y * near) / (top - bottom) * height - 0.5,
    )
    intrinsics = camera.intrinsics
    if intrinsics is None:
        focal = min(width, height) / 2.0 / np.tan(camera.field_of_view / 2.0)
        intrinsics = (focal, focal, (width - 1) / 2.0, (height - 1) / 2.0)
    fx, fy, cx, cy = intrinsics
    np.testing.assert_allclose((fx * x + cx, -fy * y + cy), expected, atol=1e-3)
    assert (fx, fy)[width > height] == pytest.approx(
        min(width, height) / 2.0 / np.tan(camera.field_of_view / 2.0), rel=1e-6
    )


def test_noise_cutoff_and_interval_are_those_of_the_sensors_of_a_site():
    found, _ = devices(
        sensors='<gyro site="s" noise="0.1" cutoff="5" interval="0.02"/>'
        '<accelerometer site="s" noise="0.2" cutoff="50" interval="0.01"/>'
        '<force name="f" site="s" noise="0.3" cutoff="9"/><torque site="s" noise="0.4" cutoff="7"/>'
        '<rangefinder name="r" site="s" noise="0.5" cutoff="3" interval="0.05"/>'
    )
    imu, force, ranger = found
    assert [type(x) for x in found] == [Imu, ForceSensor, RangeSensor]
    assert imu.angular_velocity_noise == (AxisNoise(stdev=0.1),) * 3
    assert imu.acceleration_noise == (AxisNoise(stdev=0.2),) * 3
    assert (imu.max_angular_velocity.tolist(), imu.max_acceleration.tolist()) == ([5] * 3, [50] * 3)
    assert imu.sample_rate == pytest.approx(100.0)
    assert force.force_noise == (AxisNoise(stdev=0.3),) * 3
    assert force.torque_noise == (AxisNoise(stdev=0.4),) * 3
    assert (force.max_force.tolist(), force.max_torque.tolist()) == ([9] * 3, [7] * 3)
    assert force.sample_rate == 0.0
    assert (ranger.max_distance, ranger.error_deviation) == (3.0, 0.5)
    assert ranger.scan_rate == pytest.approx(20.0)


def test_a_sensor_alone_has_its_own_settings():
    found, _ = devices(
        sensors='<gyro site="s" noise="0.1"/><accelerometer site="t" cutoff="50" interval="0.01"/>'
    )
    gyro, accelerometer = found
    assert [type(x) for x in found] == [RateGyroSensor, AccelerationSensor]
    assert gyro.angular_velocity_noise == (AxisNoise(stdev=0.1),) * 3
    assert (gyro.sample_rate, gyro.max_angular_velocity[0]) == (0.0, np.inf)
    assert accelerometer.acceleration_noise == NO_NOISE
    assert accelerometer.sample_rate == pytest.approx(100.0)
    assert accelerometer.max_acceleration.tolist() == [50.0] * 3


@pytest.mark.skipif(not hasattr(mujoco.MjModel, "cam_output"), reason="an older MuJoCo")
def test_the_outputs_of_a_camera_are_its_images():
    found, _ = devices('<camera name="one" output="rgb depth"/><camera name="two" output="depth"/>')
    assert [x.image_type for x in found] == [ImageType.COLOR_DEPTH, ImageType.DEPTH]
    diagnostics = Diagnostics.silent()
    text = BODY.format(inside='<camera name="c" output="rgb normal"/>', sensors="")
    [camera] = load_body_text(text, diagnostics).devices
    assert camera.image_type is ImageType.COLOR
    assert [x.code for x in diagnostics.found] == ["no-counterpart"]
