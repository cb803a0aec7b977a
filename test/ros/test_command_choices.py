"""What a node takes of commands where parts are missing, or not wanted."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import Peer
from ros_session import ended, session
from sensor_msgs.msg import JointState

from hrp_msgs.topics import follow_joint_trajectory

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"


def test_without_packages_of_messages_all_else_is_there_and_one_warning_each_says_so(
    monkeypatch, capfd
):
    monkeypatch.setattr(follow_joint_trajectory, "FollowJointTrajectory", None)
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


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("command_topics:=joint_comands", "Did you mean 'joint_commands'?"),
        ("J1.kp:=-1.0", "J1.kp must be in the range"),
        ("cmd_vel_type:=Tvist", "cmd_vel_type must be"),
    ],
)
def test_a_node_that_is_told_nonsense_about_commands_says_so_and_ends(
    parameter, words, monkeypatch, capfd
):
    given = ["--ros-args", "-p", f"world:={WORLD}", "-p", parameter]
    status, said = ended(given, monkeypatch, capfd)
    assert status == 2
    assert words in said
