"""A world whose physics fails, seen from another process: it stands still, answers, comes back."""

from __future__ import annotations

import re
import signal
from itertools import pairwise

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from ros_peer import PATIENCE, Peer, node_and_peer, stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

pytestmark = pytest.mark.ros

# Nothing limits the effort on its joint.
LEVER = """\
format: ChoreonoidBody
format_version: 2.0
name: lever
links:
  - { name: BASE, joint_type: fixed, mass: 1 }
  - { name: LEVER, parent: BASE, joint_type: revolute, joint_id: 0, joint_axis: Y, mass: 1,
      center_of_mass: [ 0, 0, -0.5 ], inertia: [ 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1 ] }
"""
SOME_TIME_NS = 300_000_000
# Finite, and so taken; but no lever survives it.
ABSURD = 9e11


@pytest.fixture(scope="module")
def lever(tmp_path_factory):
    """A running lever, what it logs, and a peer."""
    tmp_path = tmp_path_factory.mktemp("lever")
    log, model = tmp_path / "log.txt", tmp_path / "lever.body"
    model.write_text(LEVER, encoding="utf-8")
    arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={model}"]
    with node_and_peer(arguments, log) as (peer, process):
        peer.follow("joint_states", JointState)
        peer.follow("/clock", Clock)
        peer.follow("/diagnostics", DiagnosticArray)
        peer.wait_for("joint_states")
        peer.wait_until("some time", lambda: clock_times(peer)[-1:] >= [SOME_TIME_NS])
        yield peer, process, log


def clock_times(peer: Peer) -> list[int]:
    """Return what the clock has shown so far, in [ns]."""
    return [stamp_ns(m.clock) for m in list(peer.messages["/clock"])]


def has_turned_back(times: list[int]) -> bool:
    return any(b < a for a, b in pairwise(times))


def health(peer: Peer, level: bytes) -> DiagnosticStatus:
    """Return the next report of the simulation's health at this level."""

    def found():
        reports = (s for m in list(peer.messages["/diagnostics"]) for s in m.status)
        mine = [s for s in reports if s.name == "sim_node: simulation"]
        return mine[-1] if mine and mine[-1].level == level else None

    peer.wait_until(f"health {level!r}", found)
    return found()


def blow_up(peer: Peer) -> str:
    """Command what no physics survives until it fails; return the report of its health."""
    publisher = peer.node.create_publisher(JointState, "joint_commands", 1)
    answered = None

    def has_ended():
        # One command for each state, since the first may come before the two have met; and none
        # once time stands still, since it could be taken after a reset.
        nonlocal answered
        if answered != (stamp := peer.messages["joint_states"][-1].header.stamp):
            publisher.publish(JointState(name=["LEVER"], effort=[ABSURD]))
            answered = stamp
        statuses = [s for m in list(peer.messages["/diagnostics"]) for s in m.status]
        return any(s.level == DiagnosticStatus.ERROR for s in statuses)

    peer.wait_until("the end", has_ended)
    peer.end(publisher)
    return health(peer, DiagnosticStatus.ERROR).message


def test_a_pause_stops_time_and_going_on_continues_where_it_was(lever):
    peer, _, _ = lever
    assert peer.call("sim_node/pause", SetBool, data=True).message == "paused"
    health(peer, DiagnosticStatus.WARN)
    assert "still paused" in peer.call("sim_node/reset", Trigger).message
    assert peer.call("sim_node/pause", SetBool, data=False).message == "running"

    def times() -> list[int]:
        return [stamp_ns(m.header.stamp) for m in list(peer.messages["joint_states"])]

    peer.wait_until("time to begin anew", lambda: has_turned_back(times()))
    peer.wait_for("joint_states", 5)
    told = times()
    (turn,) = (k for k in range(1, len(told)) if told[k] < told[k - 1])
    assert told[turn] > 0  # the reset itself has told nothing


def test_a_world_that_blows_up_stands_still_and_a_reset_brings_it_back(lever):
    peer, process, log = lever
    message = blow_up(peer)
    assert "the simulation is halted: body" in message
    assert re.search(r"at [0-9.]+ s \(step [0-9]+\)", message)
    assert "body 'lever', link 'LEVER'" in message
    assert "ros2 service call /sim_node/reset std_srvs/srv/Trigger" in message
    peer.wait_until("the log", lambda: message in log.read_text(encoding="utf-8"))
    assert health(peer, DiagnosticStatus.ERROR).message == message  # and so again

    states = peer.messages["joint_states"]
    count, stopped_ns = len(states), stamp_ns(states[-1].header.stamp)
    shown = len(clock_times(peer))
    answer = peer.call("sim_node/reset", Trigger)
    assert answer.success, answer.message

    def states_since():  # not those on their way, nor that of the halted world, which is repeated
        return [m for m in states[count:] if stamp_ns(m.header.stamp) < stopped_ns]

    peer.wait_until("states of the new time", lambda: len(states_since()) >= 5)
    assert max(abs(v) for v in states_since()[0].velocity) < 1.0
    peer.wait_until("time to begin anew", lambda: has_turned_back(clock_times(peer)[shown - 1 :]))
    health(peer, DiagnosticStatus.OK)

    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0, log.read_text(encoding="utf-8")


def test_who_waits_for_a_node_that_cannot_start_learns_why(tmp_path, monkeypatch):
    """So that a failing test does not wait for long."""
    monkeypatch.setattr("ros_peer._AFTERMATH", 0.0)
    arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", "world:=missing.yaml"]
    with (
        node_and_peer(arguments, tmp_path / "log.txt") as (peer, _),
        pytest.raises(AssertionError, match=r"status \d+:\n[^$]*missing.yaml"),
    ):
        peer.wait_for("/clock")
