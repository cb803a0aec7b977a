"""Messages without ROS: the same classes, the same bytes."""

import subprocess
import sys
from array import array

import numpy as np
import pytest
from message_samples import TYPES, as_ros, filled, ros_class
from paths import ROOT

from hrp_msgs import messages
from hrp_msgs.messages.definitions import message_class, serialize, type_name, typestore

needs_ros = pytest.mark.skipif(not messages.HAS_ROS, reason="ROS 2 is not importable")


def serialized(message):
    return bytes(typestore().serialize_cdr(message, type_name(type(message))))


def padding(message):
    """Return which bytes of a serialised message lie between its values; ROS does not set them."""
    buffers = [bytearray(bytes([fill]) * (len(serialized(message)) - 4)) for fill in (0, 255)]
    definition = typestore().get_msgdef(type_name(type(message)))
    for buffer in buffers:
        definition.serialize_cdr_le(memoryview(buffer), 0, message, typestore())
    return np.concatenate([np.zeros(4, bool), np.not_equal(*map(list, buffers))])


def assert_same_bytes(message, original):
    theirs = np.frombuffer(serialize(original), np.uint8).copy()
    theirs[padding(message)] = 0
    assert serialized(message) == theirs.tobytes()


def assert_same_fields(stand_in, original):
    kinds = original.get_fields_and_field_types()
    assert stand_in.get_fields_and_field_types() == kinds
    for name, kind in kinds.items():
        ours, theirs = getattr(stand_in, name), getattr(original, name)
        if "/" in kind and "sequence" not in kind:
            assert_same_fields(ours, theirs)
        elif kind == "octet":
            assert bytes([ours]) == theirs
        else:
            assert np.array_equal(ours, theirs), name
            if isinstance(theirs, np.ndarray | array):
                assert ours.dtype == np.asarray(theirs).dtype


@needs_ros
@pytest.mark.parametrize("name", TYPES)
def test_stand_ins_have_the_fields_and_defaults_of_ros(name):
    assert type_name(message_class(name)) == type_name(ros_class(name)) == name
    assert_same_fields(message_class(name)(), ros_class(name)())


@needs_ros
@pytest.mark.parametrize("name", TYPES)
def test_stand_ins_have_the_constants_of_ros(name):
    for constant, kind, _ in typestore().fielddefs[name][0]:
        theirs = getattr(ros_class(name), constant)
        assert getattr(message_class(name), constant) == (theirs[0] if kind == "byte" else theirs)


@needs_ros
@pytest.mark.parametrize("name", TYPES)
def test_stand_ins_have_the_bytes_of_ros(name):
    for seed in range(5):
        message = filled(name, seed)
        assert_same_bytes(message, as_ros(message))
    empty = message_class(name)()
    assert_same_bytes(empty, ros_class(name)())


@needs_ros
@pytest.mark.parametrize("name", TYPES)
def test_ros_reads_what_is_serialized(name):
    from rclpy.serialization import deserialize_message

    for original in (ros_class(name)(), as_ros(filled(name))):
        assert deserialize_message(serialize(original), ros_class(name)) == original


@needs_ros
def test_messages_are_those_of_ros():
    from sensor_msgs.msg import Imu

    assert messages.Imu is Imu


def test_unknown_messages_and_fields_are_errors():
    with pytest.raises(ImportError, match="NoSuchMessage"):
        from hrp_msgs.messages import NoSuchMessage  # noqa: F401
    with pytest.raises(TypeError, match="Imu has no field 'orientatoin'"):
        message_class("sensor_msgs/msg/Imu")(orientatoin=1)


def test_messages_do_not_share_their_defaults():
    imu = message_class("sensor_msgs/msg/Imu")
    one, other = imu(), imu()
    one.header.frame_id, one.orientation_covariance[0] = "head", 1.0
    assert (other.header.frame_id, other.orientation_covariance[0]) == ("", 0.0)
    assert one != other
    assert other == imu()


WITHOUT_ROS = """
import without_ros
from array import array
from types import SimpleNamespace

import numpy as np
from message_bytes import converted, read

import hrp_msgs.recording
from hrp_msgs import readings
from hrp_msgs.convert import basic, tf
from hrp_msgs.convert.contacts import ContactsConverter
from hrp_msgs.convert.converter import Frames, make_converter
from hrp_msgs.messages import HAS_ROS, JointTrajectory, JointTrajectoryPoint
from hrp_msgs.messages.definitions import type_name
from hrp_msgs.messages.definitions import serialize

assert not HAS_ROS
ones, image = np.ones(3), np.full((2, 3), 1.0, np.float32)
lens = SimpleNamespace(width=3, height=2, intrinsics=(1.0,) * 4, rectified=(1.0,) * 6,
    distortion_model="plumb_bob", distortion=(0.0,) * 5, slopes=(image, image))
at = 1_500_000_000, "robot"
camera = readings.ImageReading(*at, lens, np.ones((2, 3, 3), np.uint8), depth=image)
motion = readings.OdometryReading(*at, ones, (0.0, 0.0, 0.0, 1.0), ones, ones)
for name, reading in {
    "sensors:JointState": readings.JointReading(*at, ("a", "b", "c"), ones, ones, ones),
    "sensors:Imu": readings.ImuReading(*at, ones, ones),
    "sensors:Wrench": readings.WrenchReading(*at, ones, ones),
    "sensors:LaserScan": readings.ScanReading(*at, 0.0, 1.0, 0.1, 0.1, 9.0, ones),
    "sensors:LightBeam": readings.LightBeamReading(*at, True, 1.0),
    "tf:Odometry": motion,
    "tf:RootTransform": motion,
    "sensors:PointCloud": readings.RangeImageReading(
        *at, 0.1, 0.1, 9.0, np.ones((2, 3)), np.ones((2, 3, 3))),
    "sensors:DepthPoints": camera,
    "sensors:ColorPoints": camera,
    "image:Image": camera,
    "image:DepthImage": camera,
    "image:CompressedImage": camera,
    "image:CompressedDepth": camera,
    "image:CameraInfo": camera,
}.items():
    converter = make_converter(f"{name}Converter", Frames("d", "world", "root"))
    converted(converter, reading)
    print(name, type_name(converter.message_type))
made = {}
made["clock"] = basic.clock(1_500_000_000)
made["tf"] = tf.tf_message([tf.transform(1, "a", "b", ones, [0.0, 0.0, 0.0, 1.0])])
status = basic.diagnostic_status("warn", "node: part", "late", {"delay": 0.5})
made["diagnostics"] = basic.diagnostic_array(1_500_000_000, [status])
for name, message in made.items():
    read(serialize(message), type(message))
three = ones[np.newaxis]
contacts = ContactsConverter("world").convert(1, [("a", "b")], three, three, ones[:1], three)
read(contacts, ContactsConverter.message_type)
wanted = JointTrajectory(joint_names=["a"], points=[JointTrajectoryPoint(positions=[1.0])])
assert basic.joint_trajectory(wanted).points[0].positions[0] == 1.0
"""


def test_readings_are_converted_and_serialized_without_ros():
    command = [sys.executable, "-c", WITHOUT_ROS]
    path = {"PYTHONPATH": f"{ROOT}:{ROOT / 'test' / 'support'}"}
    result = subprocess.run(command, capture_output=True, text=True, env=path, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "sensors:Imu sensor_msgs/msg/Imu" in result.stdout
