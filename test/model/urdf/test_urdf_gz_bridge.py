"""The configuration of ros_gz_bridge: every topic of Gazebo under the name it has in ROS."""

import yaml
from control_tools import silent, written
from paths import MODELS

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.devices import Camera, ForceSensor, ImageType, Imu, RangeSensor
from hrp_model.frames import body_frames
from hrp_model.urdf import UrdfOptions
from hrp_model.urdf.package.package_files import bridge_yaml


def topics(*devices):
    """Return ROS topic: (Gazebo topic, ROS type, Gazebo type)."""
    root = Link(name="R", parent=None, joint=Joint(type=JointType.FREE, name="R"), mass=1.0)
    arm = Link(name="A", parent="R", joint=Joint(type=JointType.REVOLUTE, name="J"), mass=1.0)
    return bridged(Body(name="b", links=(root, arm), devices=devices))


def bridged(body, **options):
    made = UrdfOptions(**{"gazebo": True, **options})
    rows = yaml.safe_load(bridge_yaml(body, body_frames(body, silent(), made), made))
    assert all(row["direction"] == "GZ_TO_ROS" for row in rows)
    return {
        row["ros_topic_name"]: (row["gz_topic_name"], row["ros_type_name"], row["gz_type_name"])
        for row in rows
    }


def test_the_clock_is_always_there():
    assert topics() == {"/clock": ("/clock", "rosgraph_msgs/msg/Clock", "gz.msgs.Clock")}


def test_sensors_keep_their_topics():
    found = topics(
        Imu(name="imu", link="R"),
        ForceSensor(name="wrist", link="A"),
        RangeSensor(name="laser", link="A"),
        Camera(name="eye", link="A"),
    )
    del found["/clock"]
    assert found == {
        "imu/data_raw": ("imu/data_raw", "sensor_msgs/msg/Imu", "gz.msgs.IMU"),
        "wrist/wrench": ("wrist/wrench", "geometry_msgs/msg/WrenchStamped", "gz.msgs.Wrench"),
        "scan": ("scan", "sensor_msgs/msg/LaserScan", "gz.msgs.LaserScan"),
        "eye/image_raw": ("eye/image_raw", "sensor_msgs/msg/Image", "gz.msgs.Image"),
        "eye/camera_info": ("eye/camera_info", "sensor_msgs/msg/CameraInfo", "gz.msgs.CameraInfo"),
    }


def test_depths_and_clouds_get_the_names_of_ros():
    def found(**keys):
        return {k: v[0] for k, v in topics(*keys.values()).items() if k != "/clock"}

    depth = Camera(name="eye", link="A", image_type=ImageType.DEPTH)
    assert found(depth=depth) == {
        "eye/depth/camera_info": "eye/depth/camera_info",
        "eye/depth/image_rect_raw": "eye/depth/image_rect_raw",
        "eye/depth/points": "eye/depth/image_rect_raw/points",
    }
    both = Camera(name="eye", link="A", image_type=ImageType.COLOR_DEPTH)
    assert found(both=both) == {
        "eye/camera_info": "eye/camera_info",
        "eye/image_raw": "eye/image",
        "eye/depth/image_rect_raw": "eye/depth_image",
        "eye/depth/points": "eye/points",
    }
    space = RangeSensor(name="laser", link="A", pitch_range=0.5, pitch_step=0.1)
    assert found(space=space) == {"laser/points": "laser/points"}


def test_what_gazebo_does_not_simulate_is_not_bridged():
    assert list(topics(Camera(name="eye", link="A", width=0))) == ["/clock"]


def test_without_blocks_there_is_the_clock():
    body = load_body(MODELS / "humanoid" / "humanoid.body", silent())
    assert list(bridged(body, gazebo=False)) == ["/clock"]


def test_every_topic_of_the_blocks_is_bridged_once():
    body = load_body(MODELS / "humanoid" / "humanoid.body", silent())
    robot, _, _ = written(body, gazebo=True)
    said = {x.text for x in robot.iter("camera_info_topic")}
    for sensor in robot.findall("gazebo/sensor"):
        is_rgbd = sensor.get("type") == "rgbd_camera"
        parts = ("/image", "/depth_image", "/points") if is_rgbd else ("",)
        said |= {sensor.findtext("topic") + part for part in parts}
    heard = bridged(body)
    assert {gz for gz, _, _ in heard.values()} == said | {"/clock"}
