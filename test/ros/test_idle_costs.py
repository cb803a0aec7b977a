"""Nodes that have nothing to do take no processor time to speak of, whatever they wait for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.action import ActionClient
from ros_peer import LATCHED, Peer, running, stamp_ns
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_msgs.basic import duration

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
# Of a processor, while there is nothing to do; what waits by looking takes all of one.
LITTLE = 0.2


def processor_time(process):
    """Return how long a process and its threads have computed, in [s]."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def cost_of_a_second(peer, process, topic="/diagnostics"):
    """Return the processor time between two messages that are a second of wall time apart."""
    peer.wait_for(topic)
    before = processor_time(process)
    peer.wait_for(topic)
    return processor_time(process) - before


def cost_of_simulating(peer, process):
    """Return the processor time of a second of simulated time."""
    clocks = peer.messages["/clock"]
    begin_ns, before = stamp_ns(peer.wait_for("/clock")[-1].clock), processor_time(process)
    peer.wait_until("a second", lambda: stamp_ns(clocks[-1].clock) - begin_ns >= 1_000_000_000)
    passed = (stamp_ns(clocks[-1].clock) - begin_ns) / 1e9
    return (processor_time(process) - before) / passed


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a node; it returns the process and a peer."""
    peers, open_runs = [], []

    def run(module, *parameters):
        words = [word for p in parameters for word in ("-p", p)]
        context = running(["-m", module, "--ros-args", *words], tmp_path / "log.txt")
        process = context.__enter__()
        open_runs.append(context)
        peers.append(Peer())
        peers[-1].follow("/diagnostics", DiagnosticArray)
        return process, peers[-1]

    yield run
    for context in open_runs:
        context.__exit__(None, None, None)
    for peer in peers:
        peer.close()


def test_a_goal_costs_nothing_while_it_is_followed_nor_while_the_world_stands_still(run):
    # The clock of the system would be that of the simulation, and stand still with it.
    process, peer = run("hrp_sim.node", f"world:={WORLD}", "use_sim_time:=true")
    peer.follow("/clock", Clock)
    client = ActionClient(peer.node, FollowJointTrajectory, "follow_joint_trajectory")
    peer.wait_until("an action server", client.server_is_ready)
    without = cost_of_simulating(peer, process)
    point = JointTrajectoryPoint(positions=[1.0], time_from_start=duration(10**12))
    goal = FollowJointTrajectory.Goal(
        trajectory=JointTrajectory(joint_names=["J1"], points=[point])
    )
    told = []
    sent = client.send_goal_async(goal, told.append)
    peer.wait_until("an accepted goal", sent.done)
    assert sent.result().accepted
    peer.wait_until("feedback", lambda: told)
    assert cost_of_simulating(peer, process) < without + LITTLE
    assert peer.call("sim_node/pause", SetBool, data=True).success
    assert cost_of_a_second(peer, process) < LITTLE
    assert cost_of_a_second(peer, process, "/clock") < LITTLE


def test_waiting_for_a_controller_costs_nothing(run):
    process, peer = run(
        "hrp_sim.node", f"world:={WORLD}", "lock_step:=joint_commands", "lock_step_timeout:=0.0"
    )
    assert cost_of_a_second(peer, process) < LITTLE


def test_a_model_whose_joints_do_not_move_costs_nothing(run):
    process, peer = run("hrp_model.node", f"model:={MODELS / 'arm' / 'arm.body'}", "watch:=true")
    peer.follow("robot_description", String, LATCHED)
    peer.wait_until("a description", lambda: peer.messages["robot_description"])
    assert cost_of_a_second(peer, process) < LITTLE
