"""The <gazebo> blocks: the sensors of the model in the words of SDF."""

from dataclasses import replace
from math import degrees, inf, pi, radians, tan

import numpy as np
import pytest
import yaml
from control_tools import robots, silent, written
from each_case import all_cases
from paths import MODELS
from urdf_tools import random_pose

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.devices import Camera, ForceSensor, ImageType, Imu, LensType, RangeSensor
from hrp_model.frames import body_frames
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_model.urdf import UrdfOptions
from hrp_model.urdf.package.package_files import bridges

# What each element of SDF 1.11 may hold, as far as it is used; with the type of what has none.
SDF = {
    "sensor": ["pose", "always_on", "update_rate", "topic", "gz_frame_id",
               "imu", "force_torque", "lidar", "camera"],
    "imu": ["orientation_reference_frame"],
    "orientation_reference_frame": ["localization"],
    "localization": {"CUSTOM", "NED", "ENU", "NWU", "GRAV_UP", "GRAV_DOWN"},
    "force_torque": ["frame", "measure_direction"],
    "frame": {"parent", "child", "sensor"},
    "measure_direction": {"parent_to_child", "child_to_parent"},
    "lidar": ["scan", "range", "noise"],
    "scan": ["horizontal", "vertical"],
    "horizontal": ["samples", "resolution", "min_angle", "max_angle"],
    "vertical": ["samples", "resolution", "min_angle", "max_angle"],
    "range": ["min", "max"],
    "noise": ["type", "stddev"],
    "type": {"gaussian"},
    "camera": ["camera_info_topic", "horizontal_fov", "image", "clip", "depth_camera"],
    "image": ["width", "height", "format"],
    "depth_camera": ["clip"],
    "clip": ["near", "far"],
    "format": {"L8", "R8G8B8"},
    "joint": ["parent", "child"],
    "always_on": {"true"},
    "static": {"true"},
    "preserveFixedJoint": {"true"},
    **dict.fromkeys(["samples", "width", "height"], int),
    **dict.fromkeys(
        ["update_rate", "resolution", "min_angle", "max_angle", "min", "max", "stddev",
         "horizontal_fov", "near", "far"],
        float,
    ),
    **dict.fromkeys(["topic", "gz_frame_id", "camera_info_topic", "parent", "child"], str),
}  # fmt: skip
KINDS = {"imu", "force_torque", "gpu_lidar", "camera", "depth_camera", "rgbd_camera"}


def check_sdf(element):
    """Check that an element is SDF, as its specification has it."""
    if element.tag == "pose":
        assert len([float(x) for x in element.text.split()]) == 6
        return
    allowed = SDF[element.tag]
    if isinstance(allowed, list):
        assert {child.tag for child in element} <= set(allowed)
        assert not (element.text or "").strip()
        for child in element:
            check_sdf(child)
    elif isinstance(allowed, set):
        assert element.text in allowed
    else:
        assert allowed(element.text) is not None
        assert allowed is str or np.isfinite(float(element.text))


def body_with(*devices, joint=JointType.REVOLUTE, mass=1.0):
    root = Link(name="BODY", parent=None, joint=Joint(type=JointType.FREE, name="BODY"), mass=1.0)
    made = Joint(type=joint, name="NECK", id=0)
    head = Link(name="HEAD", parent="BODY", joint=made, X_PL=Pose(p=[0, 0, 1]), mass=mass)
    return Body(name="robot", links=(root, head), devices=devices)


def blocks_of(body, **options):
    robot, frames, _ = written(body, gazebo=True, **options)
    for block in robot.findall("gazebo"):
        for element in block:
            check_sdf(element)
    return robot, frames


def sensors_of(*devices, **keys):
    robot, _ = blocks_of(body_with(*devices, **keys))
    return robot.findall("gazebo/sensor")


def sensor_of(device, **keys):
    (sensor,) = sensors_of(device, **keys)
    return sensor


def sdf_pose(sensor):
    """Return the pose that SDF means: turned about fixed x, then y, then z."""
    x, y, z, *angles = (float(value) for value in sensor.findtext("pose").split())
    T = np.eye(4)
    for axis, angle in zip(np.eye(3), angles, strict=True):
        T[:3, :3] = axis_angle_matrix(axis, angle) @ T[:3, :3]
    T[:3, 3] = x, y, z
    return T


# Where sensors stand


@all_cases("seed", range(5))
@all_cases("kind", [Camera, RangeSensor])
def test_what_gazebo_takes_for_ahead_and_up_is_the_models(kind, seed):
    """Gazebo looks along +X with +Z up; the model along -Z with +Y up."""
    X_LS = random_pose(np.random.default_rng(seed))
    found = sdf_pose(sensor_of(kind(name="eye", link="HEAD", X_LS=X_LS)))
    np.testing.assert_allclose(found[:3, 0], X_LS.R @ [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(found[:3, 1], X_LS.R @ [-1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found[:3, 2], X_LS.R @ [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(found[:3, 3], X_LS.p, atol=1e-15)


@pytest.mark.parametrize("kind", [Imu, ForceSensor])
def test_other_sensors_stand_as_in_the_model(kind):
    X_LS = random_pose(np.random.default_rng(7))
    found = sdf_pose(sensor_of(kind(name="s", link="HEAD", X_LS=X_LS)))
    np.testing.assert_allclose(found, X_LS.matrix(), atol=1e-12)


def test_sensors_hang_on_links_and_force_sensors_in_joints():
    head = {"link": "HEAD"}
    devices = (Imu(name="a", **head), ForceSensor(name="b", **head), Camera(name="c", link="BODY"))
    robot, _ = blocks_of(body_with(*devices), frame_prefix="r1/")
    where = {
        sensor.get("name"): block.get("reference")
        for block in robot.findall("gazebo")
        for sensor in block.findall("sensor")
    }
    assert where == {"a": "r1/HEAD", "b": "NECK", "c": "r1/BODY"}


def test_the_joint_to_the_world_has_a_name_of_its_own():
    body = body_with(Camera(name="world", link="HEAD"))
    joint = replace(body.root.joint, type=JointType.FIXED)
    body = replace(body, links=(replace(body.root, joint=joint), body.links[1]))
    robot, _ = blocks_of(body)
    (stand,) = robot.findall("gazebo/joint")
    names = [joint.get("name") for joint in robot.findall("joint")]
    assert stand.get("name") not in names
    assert len(set(names)) == len(names)


def test_messages_carry_the_frames_of_the_description():
    devices = (
        Imu(name="imu", link="HEAD"),
        Camera(name="eye", link="HEAD"),
        RangeSensor(name="laser", link="HEAD"),
        ForceSensor(name="wrist", link="HEAD"),
    )
    robot, _ = blocks_of(body_with(*devices), frame_prefix="r1/")
    links = {link.get("name") for link in robot.findall("link")}
    frames = {x.get("name"): x.findtext("gz_frame_id") for x in robot.iter("sensor")}
    assert frames == {
        "imu": "r1/imu",
        "eye": "r1/eye_optical_frame",
        "laser": "r1/laser_frame",
        "wrist": "r1/wrist",
    }
    assert set(frames.values()) <= links


# Cameras


@all_cases(("width", "height"), [(640, 480), (480, 640), (64, 64), (1920, 200)])
@all_cases("angle", [0.3, pi / 4, 2.5])
def test_the_focal_length_is_the_models(width, height, angle):
    lens = sensor_of(
        Camera(name="eye", link="HEAD", width=width, height=height, field_of_view=angle)
    ).find("camera")
    fx = min(width, height) / 2.0 / tan(angle / 2.0)
    assert width / 2.0 / tan(float(lens.findtext("horizontal_fov")) / 2.0) == pytest.approx(fx)
    assert (lens.findtext("image/width"), lens.findtext("image/height")) == (
        str(width),
        str(height),
    )


def test_an_image_that_is_higher_than_wide_has_the_models_angle_across_its_width():
    camera = Camera(name="eye", link="HEAD", width=100, height=200, field_of_view=0.5)
    assert float(sensor_of(camera).findtext("camera/horizontal_fov")) == pytest.approx(0.5)


@all_cases(
    ("image", "kind", "topic", "info"),
    [
        ("color", "camera", "eye/image_raw", "eye/camera_info"),
        ("mono", "camera", "eye/image_raw", "eye/camera_info"),
        ("depth", "depth_camera", "eye/depth/image_rect_raw", "eye/depth/camera_info"),
        ("point_cloud", "depth_camera", "eye/depth/image_rect_raw", "eye/depth/camera_info"),
        ("color_depth", "rgbd_camera", "eye", "eye/camera_info"),
        ("color_point_cloud", "rgbd_camera", "eye", "eye/camera_info"),
    ],
)
def test_a_camera_delivers_what_the_models_does(image, kind, topic, info):
    camera = Camera(
        name="eye",
        link="HEAD",
        image_type=ImageType(image),
        near_clip=0.1,
        far_clip=20.0,
        min_distance=0.3,
        max_distance=8.0,
        frame_rate=12.5,
    )
    sensor = sensor_of(camera)
    assert sensor.get("type") == kind
    assert sensor.findtext("topic") == topic
    assert sensor.findtext("camera/camera_info_topic") == info
    assert sensor.findtext("update_rate") == "12.5"
    clip = sensor.find("camera/clip")
    assert (clip.findtext("near"), clip.findtext("far")) == ("0.1", "20.0")
    depth = sensor.find("camera/depth_camera/clip")
    if kind == "camera":
        assert depth is None
        assert (sensor.findtext("camera/image/format") == "L8") == (image == "mono")
    else:
        assert (depth.findtext("near"), depth.findtext("far")) == ("0.3", "8.0")


@all_cases(
    "keys",
    [
        {"image_type": ImageType.NONE},
        {"lens_type": LensType.FISHEYE},
        {"field_of_view": pi},
        {"width": 0},
        {"far_clip": inf},
        {"frame_rate": 0.0},
        {"on": False},
    ],
)
def test_a_camera_that_gazebo_cannot_simulate_is_left_out(keys):
    assert sensors_of(Camera(name="eye", link="HEAD", **keys)) == []


# Scanners


@all_cases(
    ("span", "step", "lowest", "highest", "count"),
    [(240, 0.5, -120, 120, 481), (100, 3, -48, 48, 33), (0, 1, 0, 0, 1), (0, 0, 0, 0, 1),
     (360, 1, -180, 179, 360)],
)  # fmt: skip
def test_rays_are_multiples_of_the_step_on_both_sides(span, step, lowest, highest, count):
    sensor = sensor_of(
        RangeSensor(name="laser", link="HEAD", yaw_range=radians(span), yaw_step=radians(step))
    )
    scan = sensor.find("lidar/scan/horizontal")
    angles = (degrees(float(scan.findtext(f"{end}_angle"))) for end in ("min", "max"))
    assert tuple(angles) == pytest.approx((lowest, highest))
    assert int(scan.findtext("samples")) == count
    assert sensor.find("lidar/scan/vertical") is None


def test_a_scan_in_space_has_rays_above_each_other_and_its_noise():
    sensor = sensor_of(
        RangeSensor(
            name="laser",
            link="HEAD",
            pitch_range=radians(30),
            pitch_step=radians(2),
            min_distance=0.2,
            max_distance=30.0,
            scan_rate=20.0,
            error_deviation=0.01,
        )
    )
    assert sensor.get("type") == "gpu_lidar"
    assert sensor.findtext("topic") == "laser"  # points on laser/points
    assert sensor.findtext("update_rate") == "20.0"
    assert sensor.findtext("lidar/scan/vertical/samples") == "16"
    assert float(sensor.findtext("lidar/scan/vertical/min_angle")) == pytest.approx(radians(-15))
    assert float(sensor.findtext("lidar/scan/vertical/max_angle")) == pytest.approx(radians(15))
    limits = sensor.find("lidar/range")
    assert (limits.findtext("min"), limits.findtext("max")) == ("0.2", "30.0")
    assert sensor.findtext("lidar/noise/stddev") == "0.01"


@pytest.mark.parametrize(
    "keys",
    [{"max_distance": inf}, {"yaw_step": 0.0}, {"scan_rate": inf}, {"min_distance": 10.0}],
)
def test_a_scanner_that_gazebo_cannot_simulate_is_left_out(keys):
    assert sensors_of(RangeSensor(name="laser", link="HEAD", **keys)) == []


# Force sensors


def test_the_wrench_is_what_the_link_exerts_in_the_axes_of_the_sensor():
    sensor = sensor_of(
        ForceSensor(name="wrist", link="HEAD", X_LS=Pose(axis_angle_matrix([1, 0, 0], 1.0)))
    )
    assert sensor.findtext("topic") == "wrist/wrench"
    assert sensor.findtext("force_torque/frame") == "sensor"
    assert sensor.findtext("force_torque/measure_direction") == "child_to_parent"


def test_a_sensor_beside_the_joint_reports_in_the_frame_about_whose_origin_gazebo_measures():
    sensor = sensor_of(ForceSensor(name="wrist", link="HEAD", X_LS=Pose(p=[0.1, 0, 0])))
    assert sensor.findtext("force_torque/frame") == "child"
    assert sensor.findtext("gz_frame_id") == "HEAD"


@pytest.mark.parametrize("kind", [JointType.FIXED, JointType.TRACK])
def test_a_fixed_joint_that_is_measured_is_preserved(kind):
    robot, _ = blocks_of(body_with(ForceSensor(name="f", link="HEAD"), joint=kind))
    (block,) = (b for b in robot.findall("gazebo") if b.get("reference") == "NECK")
    assert [x.tag for x in block] == ["preserveFixedJoint", "sensor"]


def test_a_joint_that_moves_needs_no_preserving():
    robot, _ = blocks_of(body_with(ForceSensor(name="f", link="HEAD")))
    assert not list(robot.iter("preserveFixedJoint"))


def test_a_massless_link_is_not_held_apart_to_be_measured():
    """Gazebo would drop it and all below it."""
    assert sensors_of(ForceSensor(name="f", link="HEAD"), joint=JointType.FIXED, mass=0.0) == []


# The robot


def test_a_fixed_robot_is_joined_to_the_world():
    robot, frames = blocks_of(load_body(MODELS / "arm" / "arm.body", silent()))
    joints = robot.findall("gazebo/joint")
    assert [(j.get("type"), j.findtext("parent")) for j in joints] == [("fixed", "world")]
    assert joints[0].findtext("child") == next(iter(frames.links.values()))
    assert joints[0].get("name") not in frames.joints.values()


def test_what_cannot_move_is_static_and_what_is_free_is_neither():
    floor, _ = blocks_of(load_body(MODELS / "floor.body", silent()))
    assert floor.findtext("gazebo/static") == "true"
    rover, _ = blocks_of(load_body(MODELS / "rover" / "rover.body", silent()))
    assert not [b for b in rover.findall("gazebo") if b.get("reference") is None]


def test_without_the_option_there_is_no_block():
    robot, _, _ = written(body_with(Imu(name="imu", link="HEAD")))
    assert robot.find("gazebo") is None


def test_the_topics_of_our_humanoid_are_those_that_its_simulation_documents():
    body = load_body(MODELS / "humanoid" / "humanoid.body", silent())
    options = UrdfOptions(gazebo=True)
    bridged = {b.ros_topic for b in bridges(body, body_frames(body, silent(), options), options)}
    rviz = (MODELS.parent / "config" / "simulation.rviz").read_text(encoding="utf-8")
    displays = yaml.safe_load(rviz)["Visualization Manager"]["Displays"]
    shown = {d["Topic"]["Value"].lstrip("/") for d in displays if "Topic" in d}
    assert shown - {"ground_truth/odom"} < bridged  # the truth is no sensor of the robot


def test_several_scanners_have_topics_of_their_own():
    devices = (RangeSensor(name="left", link="HEAD"), RangeSensor(name="right", link="HEAD"))
    assert [s.findtext("topic") for s in sensors_of(*devices)] == ["left/scan", "right/scan"]


def test_the_blocks_of_every_robot_are_sdf():
    count = 0
    for _, _, robot, _ in robots():
        for element in (x for block in robot.findall("gazebo") for x in block):
            if element.tag != "plugin":
                check_sdf(element)
        names = [x.get("name") for x in robot.findall("gazebo/sensor")]
        assert len(set(names)) == len(names)
        assert {x.get("type") for x in robot.findall("gazebo/sensor")} <= KINDS
        known = {x.get("name") for kind in ("link", "joint") for x in robot.findall(kind)}
        assert {b.get("reference") for b in robot.findall("gazebo")} - {None} <= known
        count += len(names)
    assert count > 10


def test_an_angle_across_the_shorter_side_is_not_one_across_the_width():
    camera = Camera(name="eye", link="HEAD", width=640, height=480, field_of_view=radians(60))
    found = float(sensor_of(camera).findtext("camera/horizontal_fov"))
    assert degrees(found) == pytest.approx(75.1782, abs=1e-3)
