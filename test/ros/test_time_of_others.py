"""What other processes see of a run's time and health: nodes with use_sim_time, /diagnostics."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Log
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from ros_peer import Peer, running, stamp_ns
from ros_session import session
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros

ARM = MODELS / "worlds" / "arm.yaml"


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    """A node that follows the time of a simulator in another process."""
    log = tmp_path_factory.mktemp("sim") / "log.txt"
    given = ["-p", f"world:={ARM}", "-p", "real_time_factor:=2.0"]
    with (
        running(["-m", "hrp_sim.ros.sim_node", "--ros-args", *given], log),
        closing(Peer(parameter_overrides=[Parameter("use_sim_time", value=True)])) as peer,
    ):
        peer.follow("/clock", Clock)
        peer.follow("/diagnostics", DiagnosticArray)
        yield peer


# What /diagnostics says of each part of a run, at least.
HEALTH = {
    "simulation": {
        "time [s]",
        "real-time factor",
        "target real-time factor",
        "lag [s]",
        "step, mean [s]",
        "step, longest [s]",
        "contacts",
    },
    "commands": {"dropped", "refused", "stale", "timed out"},
}


def test_diagnostics_tell_of_pace_steps_contacts_commands_and_the_state(peer):
    publisher = peer.node.create_publisher(JointState, "joint_commands", 1)

    def values():
        told = {}
        for message in list(peer.messages["/diagnostics"]):
            for status in message.status:
                part = status.name.removeprefix("sim_node: ")
                told.setdefault(part, {}).update({v.key: v.value for v in status.values})
        return told

    peer.wait_until("a state", lambda: values().get("state"))

    def refused():
        publisher.publish(JointState(name=["J1"], position=[1.0, 2.0]))
        return values()["commands"]["refused"] != "0"

    peer.wait_until("a refusal", refused)
    found = values()
    assert {part: keys & found[part].keys() for part, keys in HEALTH.items()} == HEALTH
    assert found["simulation"]["target real-time factor"] == "2"
    assert float(found["simulation"]["step, mean [s]"]) > 0.0
    assert all(key.startswith("sha256 at ") for key in found["state"])
    assert {len(digest) for digest in found["state"].values()} == {64}


def test_a_node_sees_a_reset_as_one_jump_back_and_its_timers_go_on(peer):
    jumps, ticks = [], []
    clock = peer.node.get_clock()
    backward = JumpThreshold(
        min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False
    )
    jumping = clock.create_jump_callback(
        backward, post_callback=lambda jump: jumps.append(jump.delta.nanoseconds)
    )
    timer = peer.node.create_timer(0.02, lambda: ticks.append(clock.now().nanoseconds))
    peer.wait_until("half a second", lambda: ticks and ticks[-1] > 500_000_000)
    assert not jumps
    assert peer.call("sim_node/reset", Trigger).success
    peer.wait_until("the jump", lambda: jumps)
    count = len(ticks)
    peer.wait_until("further ticks", lambda: len(ticks) > count + 5)
    assert len(jumps) == 1
    assert jumps[0] < -400_000_000
    assert all(stamp_ns(message.clock) > 0 for message in peer.messages["/clock"])
    timer.cancel()
    jumping.unregister()


@pytest.mark.parametrize("factor", [0.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_diagnostics_come_once_a_second_of_wall_time_whatever_simulated_time_does(factor):
    began = time.monotonic()
    # The clock of the node is that of the simulation, and makes no difference either.
    parameters = {"world": str(ARM), "use_sim_time": True, "start_paused": True}
    with session(parameters) as running:
        peer = Peer()
        try:
            runner = running.runner

            def simulated() -> float:
                return runner.call(lambda: runner.simulation.state.time_ns) / 1e9

            peer.follow("/diagnostics", DiagnosticArray)
            runner.real_time_factor = factor
            runner.call(runner.resume)
            peer.wait_for("/diagnostics", 2)
            if factor == 0.0:
                peer.wait_until("simulated time", lambda: simulated() > 10.0)
            else:  # seconds of wall time have gone, and hardly any of the other
                assert simulated() < 0.5 * (time.monotonic() - began)
            runner.call(runner.pause)
            stood = simulated()
            peer.wait_for("/diagnostics", 2)
            assert simulated() == stood
            count = running.ros.published()["/diagnostics"][1]
        finally:
            peer.close()
    assert count <= time.monotonic() - began  # a timer may be late, never early


def test_a_second_source_of_time_is_reported_once():
    def warnings():
        return [m.msg for m in list(other.messages["rosout"]) if "/own/clock is also" in m.msg]

    with closing(Peer("other_simulator")) as other:
        other.follow("rosout", Log)
        other.node.create_publisher(Clock, "/own/clock", 1)
        other.follow("/diagnostics", DiagnosticArray)
        with session({"world": str(ARM)}, ["--ros-args", "-r", "/clock:=/own/clock"]):
            other.wait_until("a warning", warnings)
            other.wait_for("/diagnostics", 4)
        assert [("'/other_simulator'" in x) for x in warnings()] == [True]
