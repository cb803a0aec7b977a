"""Nodes that have nothing to do take no processor time to speak of, whatever they wait for."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from ros_peer import Peer, program_of, running
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_msgs.convert.basic import duration

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
# Of what one processor does in the time; who waits by looking takes as much as there is.
LITTLE = 0.3
SLOWLY = "real_time_factor:=0.05"  # so that steps cost next to nothing


def processor_time(process):
    """Return how long a process and its threads have computed, in [s]."""
    fields = Path(f"/proc/{program_of(process)}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def shares(peer, *processes):
    """Return what each process computes in about a second, as a share of a processor's time."""
    peer.wait_for("/diagnostics")
    start, before = time.monotonic(), [processor_time(process) for process in processes]
    while (seconds := time.monotonic() - start) < 1.0:  # several may come at once
        peer.wait_for("/diagnostics", len(processes))
    return [
        (processor_time(process) - then) / seconds
        for process, then in zip(processes, before, strict=True)
    ]


@pytest.fixture
def peer():
    peer = Peer()
    peer.follow("/diagnostics", DiagnosticArray)
    yield peer
    peer.close()


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a node, and returns its process."""
    with ExitStack() as stack:

        def run(module, *parameters):
            words = [word for p in parameters for word in ("-p", p)]
            arguments = ["-m", module, "--ros-args", *words]
            return stack.enter_context(running(arguments, tmp_path / f"{module}.txt"))

        yield run


def test_a_goal_costs_nothing_while_it_is_followed_nor_while_the_world_stands_still(run, peer):
    # The clock of the system would be that of the simulation, and stand still with it.
    process = run("hrp_sim.ros.sim_node", f"world:={WORLD}", "use_sim_time:=true", SLOWLY)
    peer.follow("/clock", Clock)
    client = peer.action_client(FollowJointTrajectory, "follow_joint_trajectory")
    peer.wait_until("an action server", client.server_is_ready)
    point = JointTrajectoryPoint(positions=[1.0], time_from_start=duration(10**12))
    goal = FollowJointTrajectory.Goal(
        trajectory=JointTrajectory(joint_names=["J1"], points=[point])
    )
    told = []
    sent = peer.at_once(client.send_goal_async, goal, told.append)
    peer.wait_until("an accepted goal", sent.done)
    assert sent.result().accepted
    peer.wait_until("feedback", lambda: told)
    assert shares(peer, process)[0] < LITTLE
    assert peer.call("sim_node/pause", SetBool, data=True).success
    assert shares(peer, process)[0] < LITTLE
    peer.wait_for("/clock")  # of wall time, too


def test_what_waits_for_a_controller_or_for_joint_states_costs_nothing(run, peer):
    waiting = run(
        "hrp_sim.ros.sim_node",
        f"world:={WORLD}",
        "lock_step:=joint_commands",
        "lock_step_timeout:=0.0",
    )
    model = run("hrp_model.ros.model_node", f"model:={MODELS / 'arm' / 'arm.body'}", "watch:=true")
    for node in ("sim_node", "model_node"):
        peer.wait_until(
            f"the health of {node}",
            lambda node=node: any(
                status.name.startswith(node)
                for message in list(peer.messages["/diagnostics"])
                for status in message.status
            ),
        )
    assert max(shares(peer, waiting, model)) < LITTLE
