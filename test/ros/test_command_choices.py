"""A node where packages of messages are missing."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import Peer
from ros_session import session
from sensor_msgs.msg import JointState

from hrp_msgs.topics import action_servers

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"


def test_without_packages_of_messages_all_else_is_there_and_one_line_each_says_so(
    monkeypatch, capfd
):
    monkeypatch.setattr(action_servers, "_actions", None)
    monkeypatch.setitem(sys.modules, "hrp_msgs.convert.contacts", None)
    given = ("-p", "J9.kp:=1.0", "-p", "contact_rate:=20.0", "-r", "__ns:=/robot")
    with session({"world": str(WORLD)}, ["--ros-args", *given]), closing(Peer()) as peer:
        peer.follow("robot/joint_states", JointState)
        publisher = peer.node.create_publisher(JointState, "robot/joint_commands", 1)
        command = JointState(name=["J1"], position=[0.1])
        heard = peer.messages["robot/joint_states"]

        def moved() -> bool:
            publisher.publish(command)
            return bool(heard) and heard[-1].position[0] > 0.09

        peer.wait_until("a joint that moves", moved)
        told = peer.node.get_topic_names_and_types
        others = {"/robot/joint_trajectory", "/robot/contacts/markers"}
        peer.wait_until("others", lambda: others <= dict(told()).keys())
        topics = dict(told())
    assert not [name for name in topics if "follow_joint_trajectory" in name]
    assert "/robot/contacts" not in topics
    said = "".join(capfd.readouterr())
    for words in ("control_msgs is not installed", "ros_gz_interfaces is not installed", "'J9'"):
        assert len([line for line in said.splitlines() if words in line]) == 1, said
    (note,) = (line for line in said.splitlines() if "control_msgs" in line)
    assert "INFO" in note  # nobody asked for the action


def test_an_action_that_was_asked_for_and_has_no_type_is_warned_of(monkeypatch, capfd):
    monkeypatch.setattr(action_servers, "_actions", None)
    given = ("-p", "command_topics:=follow_joint_trajectory")
    with session({"world": str(WORLD)}, ["--ros-args", *given]):
        pass
    (warning,) = (x for x in capfd.readouterr().err.splitlines() if "control_msgs" in x)
    assert "WARN" in warning
