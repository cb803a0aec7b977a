"""What a node takes of commands where parts are missing, or not wanted."""

from __future__ import annotations

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import node_and_peer
from ros_session import ended
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

WORLD = f"world:={MODELS / 'worlds' / 'arm.yaml'}"
# As it is where control_msgs is not installed.
WITHOUT = """
import sys
sys.modules["control_msgs"] = None
from hrp_sim.ros.sim_node import main
main()
"""


def test_without_control_msgs_all_but_the_action_is_there_and_one_warning_says_so(tmp_path):
    log = tmp_path / "log.txt"
    arguments = ["--ros-args", "-p", WORLD, "-p", "J9.kp:=1.0", "-r", "__ns:=/robot"]
    with node_and_peer(["-c", WITHOUT, *arguments], log) as (peer, _):
        peer.follow("robot/joint_states", JointState)
        publisher = peer.node.create_publisher(JointState, "robot/joint_commands", 1)
        command = JointState(name=["J1"], position=[0.1])
        heard = peer.messages["robot/joint_states"]

        def moved() -> bool:
            publisher.publish(command)
            return bool(heard) and heard[-1].position[0] > 0.09

        peer.wait_until("a joint that moves", moved)
        told = peer.node.get_topic_names_and_types
        peer.wait_until("others", lambda: "/robot/joint_trajectory" in dict(told()))
        topics = dict(told())
    assert not [name for name in topics if "follow_joint_trajectory" in name]
    said = log.read_text(encoding="utf-8").splitlines()
    assert len([line for line in said if "control_msgs is not installed" in line]) == 1
    assert len([line for line in said if "there is no joint 'J9'" in line]) == 1


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
    status, said = ended(["--ros-args", "-p", WORLD, "-p", parameter], monkeypatch, capfd)
    assert status == 2
    assert words in said
