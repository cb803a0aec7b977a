"""Sensors of <gazebo> blocks, against what SDF says they are."""

from math import atan, inf, pi, tan

import numpy as np
import pytest
from each_case import all_cases
from urdf_reader_tools import arm, codes, equal, joint, read, robot

from hrp_model import JointType
from hrp_model.devices import (
    Camera,
    ForceSensor,
    GenericDevice,
    ImageType,
    Imu,
    RangeSensor,
    pitch_angles,
    yaw_angles,
)
from hrp_model.rigid import axis_angle_matrix, matrix_quaternion, rpy_matrix


def sensed(sensor, on="arm"):
    """Return the devices of a robot with this sensor, and what was found, but for masses."""
    block = f'<gazebo reference="{on}">{sensor}</gazebo></robot>'
    body, found = read(arm().replace("</robot>", block))
    return body.devices, [c for c in codes(found) if c != "massless-link"]


def lidar(horizontal, vertical="", more=""):
    rays = f"<scan><horizontal>{horizontal}</horizontal>{vertical}</scan>"
    reach = "<range><min>0.2</min><max>inf</max></range>"
    return (
        '<sensor name="s" type="gpu_lidar"><pose>0 0 1 0 0 0</pose><update_rate>5</update_rate>'
        f"<lidar>{rays}{reach}{more}</lidar></sensor>"
    )


def angles(low, high, samples, more=""):
    return (
        f"<samples>{samples}</samples><min_angle>{low}</min_angle>"
        f"<max_angle>{high}</max_angle>{more}"
    )


def rays(sensor):
    """Return the directions of a scan in the frame of the link, shape (n, 3)."""
    found = []
    for pitch in pitch_angles(sensor.pitch_range, sensor.pitch_step, sensor.pitch_min):
        for yaw in yaw_angles(sensor.yaw_range, sensor.yaw_step, sensor.yaw_min):
            # Ahead is -Z; pitch about +X before yaw about +Y.
            ahead = np.array([0.0, np.sin(pitch), -np.cos(pitch)])
            c, s = np.cos(yaw), np.sin(yaw)
            turned = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ ahead
            found.append(sensor.X_LS.R @ turned)
    return np.array(found)


def directions(yaws, pitches=(0.0,)):
    """Return where Gazebo looks: along +X, yaw about +Z, pitch up."""
    return np.array(
        [[np.cos(p) * np.cos(y), np.cos(p) * np.sin(y), np.sin(p)] for p in pitches for y in yaws]
    )


@all_cases(
    ("low", "high", "samples"),
    [
        *((-1.0, 1.0, 5), (-0.5, 1.0, 7), (0.25, 1.25, 11), (-1.5, 1.5, 4)),
        *((-pi, pi - pi / 4, 8), (-pi, pi, 8), (0.0, 6.28, 360), (0.0, 2.0 * pi, 361)),
        *((0.5, 0.5, 1), (0.5, 0.8, 1), (-1.0, 1.0, 2)),
    ],
)
def test_a_scan_looks_where_gazebo_does(low, high, samples):
    """At (high - low) / (samples - 1), beginning at low in the frame of the sensor."""
    [sensor], found = sensed(lidar(angles(low, high, samples)))
    assert found == []
    np.testing.assert_allclose(
        rays(sensor), directions(np.linspace(low, high, samples)), atol=1e-12
    )
    assert (sensor.min_distance, sensor.max_distance, sensor.scan_rate) == (0.2, inf, 5.0)


def test_layers_of_a_scan_lie_where_gazebos_do():
    vertical = f"<vertical>{angles(-0.25, 0.25, 3)}</vertical>"
    [sensor], found = sensed(lidar(angles(-1.0, 1.0, 5), vertical))
    assert found == []
    expected = directions(np.linspace(-1.0, 1.0, 5), (-0.25, 0.0, 0.25))
    np.testing.assert_allclose(rays(sensor), expected, atol=1e-12)


@pytest.mark.parametrize(("low", "high", "layers"), [(-0.5, 0.25, 4), (0.1, 0.3, 2), (0.3, 0.3, 1)])
def test_layers_need_not_be_symmetric(low, high, layers):
    vertical = f"<vertical>{angles(low, high, layers)}</vertical>"
    [sensor], found = sensed(lidar(angles(-1.0, 1.0, 5), vertical))
    assert found == []
    assert not sensor.is_planar
    expected = directions(np.linspace(-1.0, 1.0, 5), np.linspace(low, high, layers))
    np.testing.assert_allclose(rays(sensor), expected, atol=1e-12)


@pytest.mark.parametrize(("samples", "resolution", "rays"), [(9, 0.5, 4), (5, 3, 15), (4, 0.1, 1)])
def test_a_resolution_changes_the_number_of_rays_to_a_whole_one(samples, resolution, rays):
    more = f"<resolution>{resolution}</resolution>"
    [sensor], _ = sensed(lidar(angles(-1.0, 1.0, samples, more)))
    assert len(yaw_angles(sensor.yaw_range, sensor.yaw_step, sensor.yaw_min)) == rays


def test_a_camera_looks_along_x_and_sees_its_whole_width():
    lens = (
        "<horizontal_fov>1.2</horizontal_fov><image><width>400</width><height>300</height></image>"
        "<clip><near>0.05</near><far>20</far></clip>"
    )
    text = f'<sensor name="c" type="camera"><pose>1 2 3 0.1 0.2 0.3</pose><camera>{lens}</camera>'
    [camera], found = sensed(f"{text}</sensor>")
    assert found == []
    assert isinstance(camera, Camera)
    equal(camera.X_LS.p, [1, 2, 3])
    R = rpy_matrix(0.1, 0.2, 0.3)
    equal(camera.X_LS.R @ [0, 0, -1], R @ [1, 0, 0])
    equal(camera.X_LS.R @ [0, 1, 0], R @ [0, 0, 1])
    # Pixels are square: both angles have one focal length.
    assert tan(camera.field_of_view / 2) / 300 == pytest.approx(tan(0.6) / 400, rel=1e-14)
    assert camera.field_of_view == pytest.approx(2 * atan(0.75 * tan(0.6)), rel=1e-14)
    assert (camera.near_clip, camera.far_clip) == (0.05, 20.0)


@pytest.mark.parametrize(
    ("kind", "pixels", "image"),
    [
        ("camera", "R8G8B8", ImageType.COLOR),
        ("camera", "L8", ImageType.MONO),
        ("depth_camera", "R_FLOAT32", ImageType.DEPTH),
        ("rgbd_camera", "", ImageType.COLOR_DEPTH),
    ],
)
def test_cameras_of_all_kinds(kind, pixels, image):
    lens = f"<camera><image><format>{pixels}</format></image></camera>"
    [camera], _ = sensed(f'<sensor name="c" type="{kind}">{lens}</sensor>')
    assert camera.image_type is image


def test_a_force_sensor_sits_in_the_joint_that_is_named():
    sensor = '<sensor name="ft" type="force_torque"><pose>0 0 0.1 0 0 0</pose></sensor>'
    for on in ("elbow", "arm"):
        [force], found = sensed(sensor, on)
        assert found == []
        assert isinstance(force, ForceSensor)
        assert force.link == "arm"
        equal(force.X_LS.p, [0, 0, 0.1])


def test_other_sensors_are_passed_on_and_bad_ones_told():
    [device], found = sensed('<sensor name="t" type="contact"><rate>3</rate></sensor>')
    assert isinstance(device, GenericDevice)
    assert (device.type_name, device.info, found) == ("contact", {"rate": "3"}, [])
    assert sensed('<sensor name="t" type="imu"/>', "arn")[1] == ["unknown-link"]
    [device], found = sensed('<sensor type="imu"><pose>1 2</pose></sensor>')
    assert (device.name, sorted(found)) == ("arm_imu", ["not-used", "unnamed-device"])
    [device], found = sensed(
        '<sensor name="i" type="imu"><pose relative_to="x">0 0 0 0 0 0</pose></sensor>'
    )
    assert found == ["not-used"]


def test_a_link_that_marks_a_sensor_is_its_frame_unless_it_is_more():
    mark = '<link name="imu_frame">{}</link>' + joint("m", "arm", "imu_frame")
    sensor = '<sensor name="imu" type="imu"><gz_frame_id>imu_frame</gz_frame_id></sensor>'
    block = f'<gazebo reference="arm">{sensor}</gazebo></robot>'
    plain = arm().replace("</robot>", mark.format("") + block)
    body, _ = read(plain)
    assert [link.name for link in body.links] == ["base", "arm"]
    assert [(d.name, type(d)) for d in body.devices] == [("imu_frame", Imu)]
    shape = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    body, _ = read(arm().replace("</robot>", mark.format(shape) + block))
    assert [link.name for link in body.links] == ["base", "arm", "imu_frame"]
    assert [d.name for d in body.devices] == ["imu"]


def test_gazebo_may_hold_the_root():
    link = '<link name="base"/>'
    assert not read(robot(link))[0].is_root_fixed
    static = "<gazebo><static>true</static></gazebo>"
    assert read(robot(link, static))[0].is_root_fixed
    held = '<gazebo><joint name="j" type="fixed"><parent>world</parent><child>base</child></joint>'
    assert read(robot(link, held + "</gazebo>"))[0].is_root_fixed


def test_range_sensors_of_classic_gazebo_are_known():
    text = lidar(angles(-1, 1, 3)).replace("gpu_lidar", "ray").replace("lidar>", "ray>")
    [sensor], found = sensed(text)
    assert isinstance(sensor, RangeSensor)
    assert (sensor.yaw_range, found) == (2.0, [])


TURNED = np.array([20.0, -40.0, 70.0])  # degrees about fixed X, Y, Z, in this order
R_TURNED = np.linalg.multi_dot(
    [axis_angle_matrix(np.eye(3)[i], np.radians(TURNED[i])) for i in (2, 1, 0)]
)


@all_cases(
    ("how", "turn"),
    [
        ("", np.radians(TURNED)),
        ('degrees="true"', TURNED),
        ('degrees="false" relative_to="arm"', np.radians(TURNED)),
        ('rotation_format="euler_rpy" degrees="1"', TURNED),
        ('rotation_format="quat_xyzw"', matrix_quaternion(R_TURNED)),
    ],
)
def test_a_pose_is_read_in_the_words_it_is_written_in(how, turn):
    numbers = " ".join(map(repr, [1.0, 2.0, 3.0, *map(float, turn)]))
    [imu], found = sensed(f'<sensor name="i" type="imu"><pose {how}>{numbers}</pose></sensor>')
    assert found == []
    equal(imu.X_LS.p, [1, 2, 3])
    equal(imu.X_LS.R, R_TURNED)


@pytest.mark.parametrize(
    "pose",
    [
        '<pose frame="base">0 0 1 0 0 0</pose>',
        '<pose relative_to="base">0 0 1 0 0 0</pose>',
        '<pose rotation_format="quat_xyzw">0 0 1 0 0 0</pose>',
        "<pose>0 0 nan 0 0 0</pose>",
    ],
)
def test_a_pose_that_says_something_else_is_told_and_left_out(pose):
    [imu], found = sensed(f'<sensor name="i" type="imu">{pose}</sensor>')
    assert found == ["not-used"]
    equal(imu.X_LS.matrix(), np.eye(4))


def test_a_single_level_layer_is_planar():
    [sensor], found = sensed(lidar(angles(-1, 1, 5), f"<vertical>{angles(0, 0, 1)}</vertical>"))
    assert found == []
    assert sensor.is_planar


def test_angles_of_a_scan_in_the_wrong_order_are_told():
    [sensor], found = sensed(lidar(angles(1, -1, 5)))
    assert found == ["not-used"]
    np.testing.assert_allclose(rays(sensor), directions([1.0]), atol=1e-12)


def test_an_impossible_angle_of_a_camera_is_told_as_it_is_written():
    text = '<sensor name="c" type="camera"><camera><horizontal_fov>4</horizontal_fov></camera>'
    [camera], found = sensed(f"{text}</sensor>")
    assert (camera.field_of_view, found) == (4.0, ["field-of-view"])


def test_a_link_that_marks_several_sensors_stays_a_link():
    mark = '<link name="spot"/>' + joint("m", "arm", "spot")
    one = '<sensor name="one" type="imu"><gz_frame_id>spot</gz_frame_id></sensor>'
    block = f'<gazebo reference="arm">{one}{{}}</gazebo>{{}}</robot>'
    other = '<sensor name="two" type="force_torque"><gz_frame_id>spot</gz_frame_id></sensor>'
    on_it = f'<gazebo reference="spot">{other}</gazebo>'
    for inside, beside in ((other, ""), ("", on_it)):
        body, found = read(arm().replace("</robot>", mark + block.format(inside, beside)))
        assert [link.name for link in body.links] == ["base", "arm", "spot"]
        assert [device.name for device in body.devices] == ["one", "two"]
        assert set(codes(found)) == {"massless-link", "gazebo-name"}


def test_a_force_sensor_on_what_is_a_link_and_a_joint_sits_in_the_joint():
    named_alike = arm().replace("elbow", "base")
    block = '<gazebo reference="base"><sensor name="{0}" type="{0}"/></gazebo></robot>'
    for kind, link in (("force_torque", "arm"), ("imu", "base")):
        body, _ = read(named_alike.replace("</robot>", block.format(kind)))
        assert [device.link for device in body.devices] == [link]


@pytest.mark.parametrize(("kind", "is_held"), [("fixed", True), ("continuous", False)])
def test_gazebo_may_hold_the_root_by_a_link_that_is_fixed_to_it(kind, is_held):
    held = '<gazebo><joint type="fixed"><parent>world</parent><child>arm</child></joint></gazebo>'
    assert read(arm("", kind).replace("</robot>", held + "</robot>"))[0].is_root_fixed is is_held


def test_what_gazebo_holds_stays_where_it_is():
    at = '<origin xyz="1 2 3" rpy="0 0 1"/>'
    floats = '<link name="world"/><link name="b"/>' + joint("j", "world", "b", "floating", at)
    root = read(robot(floats, "<gazebo><static>true</static></gazebo>"))[0].root
    assert root.joint.type is JointType.FIXED
    equal(root.X_PL.p, [1, 2, 3])
    equal(root.X_PL.R, rpy_matrix(0, 0, 1))
