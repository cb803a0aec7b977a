"""The topics of ros2_control's hardware interface, of a run that waits for nobody."""

from __future__ import annotations

import pytest
from hardware import TopicHardware
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import node_and_peer
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
# So that every array is shorter than the names.
INTERFACES = {
    "J1": ["position"],
    "J2": ["position"],
    "J3": ["position"],
    "J4": ["velocity"],
    "J5": ["position"],
    "J6": ["effort"],
}
MODES = {"J4": "velocity", "J6": "effort"}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    """A peer, the hardware of a controller manager, and the log of the simulation."""
    log = tmp_path_factory.mktemp("hardware") / "log.txt"
    arguments = ["-p", f"world:={WORLD}", "-p", "hardware_topics:=true"]
    for joint, mode in MODES.items():
        arguments += ["-p", f"{joint}.mode:={mode}"]
    with node_and_peer(["-m", "hrp_sim.ros.sim_node", "--ros-args", *arguments], log) as (peer, _):
        hardware = TopicHardware(peer.node, INTERFACES)
        peer.wait_until("a listener", hardware.publisher.get_subscription_count)
        peer.wait_until("states", lambda: hardware.read_count)
        hardware.read()
        hardware.commands["position"].update(hardware.states["position"])
        yield peer, hardware, log


def test_joints_follow_commands_in_arrays_that_are_shorter_than_the_names(robot):
    peer, hardware, log = robot
    start = dict(hardware.states["position"])
    hardware.commands["position"]["J1"] = 0.2
    hardware.commands["velocity"]["J4"] = 0.2
    hardware.commands["effort"]["J6"] = 0.02

    def follow() -> bool:
        hardware.read()
        hardware.write()
        position, velocity = (hardware.states[kind] for kind in ("position", "velocity"))
        is_turning = velocity["J4"] == pytest.approx(0.2, abs=0.01) and velocity["J6"] > 0.05
        return is_turning and position["J1"] == pytest.approx(0.2, abs=0.01)

    peer.wait_until("all joints on their way", follow)
    for joint in ("J2", "J3", "J5"):
        assert hardware.states["position"][joint] == pytest.approx(start[joint], abs=0.02)
    said = log.read_text(encoding="utf-8")
    assert "values of" not in said
    assert "ignored" not in said


def test_the_broadcaster_has_joint_states_and_the_controllers_their_commands(robot):
    peer, _, _ = robot
    told = peer.node.get_topic_names_and_types
    peer.wait_until("others", lambda: "/external_wrench" in dict(told()))
    topics = dict(told())
    assert not peer.node.count_publishers("/joint_states")
    for topic in ("joint_states", "joint_commands", "joint_trajectory", "effort_commands"):
        assert f"/{topic}" not in topics


def test_arrays_that_fit_nothing_are_told_and_the_run_goes_on(robot):
    peer, hardware, log = robot
    bad = JointState(name=list(INTERFACES), position=[0.1, 0.2])

    def told() -> bool:
        hardware.publisher.publish(bad)
        return "2 values of position" in log.read_text(encoding="utf-8")

    peer.wait_until("a warning", told)
    held = hardware.commands["position"]["J2"]
    hardware.commands["position"]["J2"] = held + 0.1

    def moved() -> bool:
        hardware.read()
        hardware.write()
        return hardware.states["position"]["J2"] > held + 0.09

    peer.wait_until("a joint that moves on", moved)
