"""The descriptions of the bodies of a world, as late subscribers get them."""

import sys
from contextlib import closing
from xml.etree import ElementTree

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from ros_peer import ENVIRONMENT, LATCHED, Peer
from std_msgs.msg import String

from hrp_msgs.node.start import WrongUseError
from hrp_sim.ros.sim_node import RosSession

ARM = {"world": str(MODELS / "worlds" / "arm.yaml"), "describe": True}


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Keep the nodes of this file out of others' domains."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def late_text(topic):
    """Return the text that a new subscriber receives."""
    peer = Peer()
    try:
        peer.follow(topic, String, LATCHED)
        return peer.heard(topic)[-1].data
    finally:
        peer.close()


@pytest.mark.parametrize("rules", [["__ns:=/lab"], ["__ns:=/lab", "__node:=left"]])
def test_each_body_keeps_its_own_namespace_below(rules, monkeypatch):
    words = [word for rule in rules for word in ("-r", rule)]
    monkeypatch.setattr(sys, "argv", ["sim_node", "--ros-args", *words])
    with closing(RosSession(ARM)) as session:
        name = rules[-1].rpartition("=")[2] if len(rules) > 1 else "sim_node"
        assert session.node.get_fully_qualified_name() == f"/lab/{name}"
        topics = set(session.published())
        assert {"/lab/robot_description", "/lab/Floor/robot_description"} <= topics
        assert {"/clock", "/tf", "/tf_static", "/lab/joint_states"} <= topics


def test_parameters_about_the_description_hold_for_all_bodies():
    given = {"description_format": "urdf+srdf", "gazebo": "true", "base": "base_link"}
    words = [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
    with closing(RosSession(ARM, ["--ros-args", *words])) as session:
        urdf = ElementTree.fromstring(late_text("robot_description"))
        assert ElementTree.fromstring(late_text("Floor/robot_description")).findall("link")
        assert {"/robot_description_semantic"} <= set(session.published())
    assert urdf.findall("gazebo")
    assert "base_link" in {link.get("name") for link in urdf.iterfind("link")}


def test_the_description_names_the_hardware_topics_that_the_simulator_has():
    with closing(RosSession({**ARM, "hardware_topics": True}, [])) as session:
        block = ElementTree.fromstring(late_text("robot_description")).find("ros2_control")
        first = block.find("joint[@name='J2']/state_interface[@name='position']/param")
        q2 = session.simulation.bodies["arm"].motion.q[1]
        assert (first.get("name"), float(first.text)) == ("initial_value", pytest.approx(q2))
        hardware = block.find("hardware")
        assert "JointStateTopicSystem" in hardware.findtext("plugin")
        named = {p.get("name"): p.text for p in hardware.iterfind("param")}
        assert f"/{named['joint_states_topic']}" in session.published()
        taken = {s.topic_name for s in session.node.subscriptions}
        assert f"/{named['joint_commands_topic']}" in taken


def test_a_description_that_cannot_be_made_ends_the_start():
    with pytest.raises(WrongUseError, match="controllers"):
        RosSession(ARM, ["--ros-args", "-p", "ros2_control:=gz"])
