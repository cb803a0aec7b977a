"""The nodes that describe the bodies of a world: where they are, and what they tell."""

import os
import sys
from contextlib import closing
from xml.etree import ElementTree

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from ros_peer import ENVIRONMENT

from hrp_msgs.node.start import WrongUseError
from hrp_sim.ros.sim_node import RosSession

WORLD = MODELS / "worlds" / "arm.yaml"


@pytest.mark.parametrize("rules", [["__ns:=/lab"], ["__ns:=/lab", "__node:=left"]])
def test_each_body_keeps_its_own_namespace_below(rules, monkeypatch):
    monkeypatch.setattr(os, "environ", {**os.environ, **ENVIRONMENT})
    words = [word for rule in rules for word in ("-r", rule)]
    monkeypatch.setattr(sys, "argv", ["sim_node", "--ros-args", *words])
    with closing(RosSession({"world": str(WORLD), "describe": True})) as session:
        name = rules[-1].rpartition("=")[2] if len(rules) > 1 else "sim_node"
        assert session.node.get_fully_qualified_name() == f"/lab/{name}"
        models = {model.get_fully_qualified_name() for model in session.node.interface.models}
        assert models == {"/lab/model_node", "/lab/Floor/model_node"}
        topics = set(session.published())
        assert {"/lab/robot_description", "/lab/Floor/robot_description"} <= topics
        assert {"/clock", "/tf", "/tf_static", "/lab/joint_states"} <= topics


def test_parameters_about_the_description_hold_for_all_bodies(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    given = {"description_format": "urdf+srdf", "gazebo": "true", "base": "base_link"}
    words = [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
    with closing(
        RosSession({"world": str(WORLD), "describe": True}, ["--ros-args", *words])
    ) as session:
        (arm,) = (m for m in session.node.interface.models if m.get_namespace() == "/")
        urdf = ElementTree.fromstring(arm.get_parameter("robot_description").value)
        assert urdf.findall("gazebo")
        assert "/robot_description_semantic" in session.published()
        assert "base_link" in {link.get("name") for link in urdf.iterfind("link")}


def test_a_description_that_cannot_be_is_told(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    words = ["--ros-args", "-p", "ros2_control:=gz"]
    with pytest.raises(WrongUseError, match="controllers"):
        RosSession({"world": str(WORLD), "describe": True}, words)
