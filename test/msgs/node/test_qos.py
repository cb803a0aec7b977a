"""How many messages topics keep, and the settings of the middleware that go with it."""

import re

import pytest
from paths import ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from hrp_model import load_body
from hrp_msgs import qos
from hrp_sim.sensors import JointSensor
from hrp_sim.sensors.kinds import kind_of

MIB = 2**20


@pytest.mark.parametrize(
    ("rate", "size", "depth"),
    [
        (500.0, 1000, 1000),
        (40.0, 4000, 80),
        (0.5, 1000, 5),  # never less than of an image
        (1000.0, 100_000, 4 * MIB // 100_000),
        (1000.0, 10 * MIB, 5),
    ],
)
def test_two_seconds_are_kept_but_not_too_many_bytes(rate, size, depth):
    quality = qos.sensor(rate, size)
    assert quality == qos.Qos(depth, reliable=qos.IMAGE.reliable)


def test_a_message_of_joints_is_about_as_big_as_it_is_said_to_be():
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    body = load_body(ROOT / "models" / "humanoid" / "humanoid.wrl")
    joints = tuple(link.joint.name for link in body.moving_links)
    sensor = JointSensor(name="joints", body="humanoid", rate_hz=500.0, joints=joints)
    zeros = [0.0] * len(joints)
    message = JointState(name=list(joints), position=zeros, velocity=zeros, effort=zeros)
    size = len(serialize_message(message))
    (topic,) = kind_of(sensor).topics
    assert size <= topic.size(sensor) <= 2 * size


def test_both_versions_of_fast_dds_have_the_same_settings():
    def settings(name):
        text = (ROOT / "config" / name).read_text(encoding="utf-8")
        return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)

    old, new = settings("fastrtps.xml"), settings("fastdds.xml")
    for name in ("heartbeatPeriod", "nackSupressionDuration"):
        old = old.replace(name, re.sub("([A-Z])", r"_\1", name).lower())
    assert old == new
