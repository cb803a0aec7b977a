"""ros2_control's hardware of topics in lock-step: its commands have the stamp of the clock."""

from __future__ import annotations

import pytest
from hardware import TopicHardware
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticArray
from ros_peer import RELIABLE, Peer, running, stamp_ns
from rosgraph_msgs.msg import Clock

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
JOINTS = [f"J{k}" for k in range(1, 7)]
PERIOD_NS = 2_000_000
PERIODS = 400


class Manager:
    """Reads, updates and writes when the clock moves, as a controller manager in simulated time.

    Attributes:
        hardware: What it reads and writes.
        times: What the clock showed that it has worked at, in [ns].
    """

    def __init__(self, peer: Peer) -> None:
        self.hardware = TopicHardware(peer.node, {joint: ["effort"] for joint in JOINTS})
        self.times: list[int] = []
        peer.node.create_subscription(Clock, "/clock", self._tick, RELIABLE)

    def _tick(self, message: Clock) -> None:
        now_ns = stamp_ns(message.clock)
        hardware = self.hardware
        can_work = hardware.publisher.get_subscription_count() and hardware.read_count
        if not can_work or (self.times and now_ns < self.times[-1]):
            return
        # A clock that tells a time again has not heard the first command: who sends does not know
        # when those who hear have found it.
        if not self.times or now_ns > self.times[-1]:
            self.times.append(now_ns)
        hardware.read()
        for joint in JOINTS:
            effort = -5.0 * hardware.states["velocity"][joint]
            hardware.commands["effort"][joint] = effort
        hardware.write(message.clock)


def lock_step_health(peer):
    """Return the last numbers of the waiting, or None before there are any."""
    for message in reversed(list(peer.messages["/diagnostics"])):
        for status in message.status:
            if status.name == "sim_node: lock-step":
                return {v.key: v.value for v in status.values}
    return None


def test_it_needs_no_time_out_at_more_than_the_rate_of_the_clock(tmp_path):
    log = tmp_path / "log.txt"
    parameters = (
        f"world:={WORLD}",
        "hardware_topics:=true",
        "lock_step:=robot_joint_command",
        f"lock_step_rate:={1e9 / PERIOD_NS}",
        # For ever: without a command that has the stamp of a boundary the run stays there.
        "lock_step_timeout:=0.0",
        # Also between the boundaries; what is stamped so does not count.
        "clock_rate:=240.0",
        "real_time_factor:=0.0",
        *(f"{joint}.mode:=effort" for joint in JOINTS),
    )
    given = [word for p in parameters for word in ("-p", p)]
    peer = Peer()

    def passed():
        health = lock_step_health(peer)
        return health is not None and int(health["control periods"]) >= PERIODS

    try:
        peer.follow("/diagnostics", DiagnosticArray)
        manager = Manager(peer)
        with running(["-m", "hrp_sim.node", "--ros-args", *given], log):
            peer.wait_until("periods that have passed", passed)
    except AssertionError:
        print(lock_step_health(peer))
        print(log.read_text(encoding="utf-8"))
        raise
    finally:
        peer.close()
    assert lock_step_health(peer)["time-outs"] == "0"
    # It saw each boundary, from the first on.
    seen = [time_ns for time_ns in manager.times if time_ns % PERIOD_NS == 0]
    assert seen[:PERIODS] == [k * PERIOD_NS for k in range(1, PERIODS + 1)]
    assert len(manager.times) > len(seen)
