"""Nodes that live by the simulator's time: it is reset, and its process ends and comes again."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from ros_peer import PATIENCE, Peer, running, stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from hrp_msgs import qos

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
MODEL = MODELS / "arm" / "arm.body"
SIM_TIME = "use_sim_time:=true"
# What the simulator knows to be a slip of the pen, and so warns of.
TYPO = "sede:=1"


def node(module, *words):
    """Return what Python has to be called with: parameters, and other words with their dash."""
    pairs = [(w,) if w.startswith("-") or " " in w else ("-p", w) for w in words]
    flat = [part for pair in pairs for word in pair for part in word.split(" ")]
    return ["-m", module, "--ros-args", *flat]


@pytest.fixture
def peer():
    peer = Peer(parameter_overrides=[Parameter("use_sim_time", value=True)])
    peer.follow("/clock", Clock)
    peer.follow("joint_states", JointState)
    peer.follow("/tf", TFMessage, qos.TF)
    peer.follow("/diagnostics", DiagnosticArray)
    yield peer
    peer.close()


def newest(messages):
    return stamp_ns(messages[-1].header.stamp) if messages else 0


def test_a_node_sees_a_reset_as_one_jump_back_and_its_timers_go_on(peer, tmp_path):
    jumps, ticks = [], []
    threshold = JumpThreshold(
        min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False
    )
    clock = peer.node.get_clock()
    jumping = clock.create_jump_callback(
        threshold, post_callback=lambda jump: jumps.append(jump.delta.nanoseconds)
    )
    peer.node.create_timer(0.02, lambda: ticks.append(clock.now().nanoseconds))
    with running(node("hrp_sim.node", f"world:={WORLD}"), tmp_path / "log.txt"):
        peer.wait_until("half a second", lambda: ticks and ticks[-1] > 500_000_000)
        assert not jumps
        assert peer.call("sim_node/reset", Trigger).success
        peer.wait_until("the jump", lambda: jumps)
        count = len(ticks)
        peer.wait_until("further ticks", lambda: len(ticks) > count + 10)
        peer.wait_until("0.1 s", lambda: stamp_ns(peer.messages["/clock"][-1].clock) > 100_000_000)
    assert len(jumps) == 1
    assert jumps[0] < -400_000_000
    assert ticks[count + 5] < 400_000_000
    # Before time begins there is none: who sees 0 waits for it.
    assert all(stamp_ns(message.clock) > 0 for message in peer.messages["/clock"])
    jumping.unregister()


@contextmanager
def follower(log):
    """Run model_node, which computes TF from the joints of the simulator."""
    words = (f"model:={MODEL}", "publish_frequency:=0.0", SIM_TIME)
    with running(node("hrp_model.node", *words), log) as process:
        yield process


@contextmanager
def simulator(peer, log, *words):
    """Run the simulator; what was heard of one before is forgotten."""
    for messages in peer.messages.values():
        messages.clear()
    with running(node("hrp_sim.node", f"world:={WORLD}", TYPO, *words), log) as process:
        try:
            yield process
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise


def commanded(peer, publisher, joint, position):
    """Command until the joint is there, and TF of the same time is told."""
    states, transforms = peer.messages["joint_states"], peer.messages["/tf"]

    def there():
        publisher.publish(JointState(name=[joint], position=[position]))
        return states and abs(states[-1].position[states[-1].name.index(joint)] - position) < 0.01

    peer.wait_until(f"{joint} at {position}", there)
    then = newest(states)
    peer.wait_until(
        "transforms",
        lambda: any(stamp_ns(m.transforms[0].header.stamp) >= then for m in transforms),
    )


def test_a_simulator_may_be_killed_and_started_while_others_run(peer, tmp_path):
    first, second, model = (tmp_path / f"{name}.txt" for name in ("first", "second", "model"))
    publisher = peer.node.create_publisher(JointState, "joint_commands", 1)
    with follower(model) as watching:  # before there is a simulator
        with simulator(peer, first) as process:
            commanded(peer, publisher, "J1", 0.3)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
        with simulator(peer, second, "--log-level sim_node:=error") as process:
            commanded(peer, publisher, "J1", -0.3)
            assert newest(peer.messages["joint_states"]) > 0
            watching.send_signal(signal.SIGINT)  # who listens may go first
            assert watching.wait(PATIENCE) == 0, model.read_text(encoding="utf-8")
            commanded_again(peer, publisher)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
    assert "Traceback" not in "".join(p.read_text(encoding="utf-8") for p in (second, model))
    # The second was told to keep warnings to itself.
    assert "there is no parameter 'sede'" in first.read_text(encoding="utf-8")
    assert not second.read_text(encoding="utf-8")


def commanded_again(peer, publisher):
    states = peer.messages["joint_states"]

    def there():
        publisher.publish(JointState(name=["J1"], position=[0.0]))
        return abs(states[-1].position[states[-1].name.index("J1")]) < 0.01

    peer.wait_until("the way back", there)


# What /diagnostics says of each part of a run, at least.
HEALTH = {
    "simulation": {
        "time [s]",
        "real-time factor",
        "real-time factor aimed at",
        "lag [s]",
        "step, mean [s]",
        "step, longest [s]",
        "contacts",
    },
    "commands": {"dropped", "refused", "stale", "timed out"},
    "state": {"sha256 at 1 s"},
}


def test_diagnostics_tell_of_pace_steps_contacts_commands_and_the_state(peer, tmp_path):
    publisher = peer.node.create_publisher(JointState, "joint_commands", 1)

    def values():
        told = {}
        for message in list(peer.messages["/diagnostics"]):
            for status in message.status:
                part = status.name.removeprefix("sim_node: ")
                told.setdefault(part, {}).update({v.key: v.value for v in status.values})
        return told

    with simulator(peer, tmp_path / "log.txt", "real_time_factor:=2.0"):
        peer.wait_until("a state", lambda: "sha256 at 1 s" in values().get("state", {}))

        def refused():
            publisher.publish(JointState(name=["J1"], position=[1.0, 2.0]))
            return values()["commands"]["refused"] != "0"

        peer.wait_until("a refusal", refused)
        found = values()
    assert {part: keys & found[part].keys() for part, keys in HEALTH.items()} == HEALTH
    assert found["simulation"]["real-time factor aimed at"] == "2"
    assert float(found["simulation"]["step, mean [s]"]) > 0.0
    assert len(found["state"]["sha256 at 1 s"]) == 64
