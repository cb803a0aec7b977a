"""A run in lock-step with this process: it waits, goes on in the end, and can be led meanwhile."""

from __future__ import annotations

import threading

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticArray
from ros_peer import RELIABLE, Peer, node_and_peer, stamp_ns
from ros_session import session
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
PERIOD_NS = 10_000_000


class Controller:
    """Answers joint_states when it is told to; keeps what was read.

    Attributes:
        answers: Whether it answers.
        stamps: Times of the readings so far, in [ns].
    """

    def __init__(self, peer: Peer) -> None:
        self.answers = False
        self.stamps: list[int] = []
        self._publisher = peer.node.create_publisher(JointState, "joint_commands", RELIABLE)
        peer.node.create_subscription(JointState, "joint_states", self._hear, RELIABLE)
        self._lock = threading.Lock()
        self._last: JointState | None = None

    def _hear(self, reading: JointState) -> None:
        with self._lock:
            self.stamps.append(stamp_ns(reading.header.stamp))
            self._last = reading
            if self.answers and self.stamps[-1] % PERIOD_NS == 0:
                self._answer()

    def begin(self) -> None:
        """Answer from now on, and what was heard last first."""
        with self._lock:
            self.answers = True
            if self._last is not None:
                self._answer()

    def send(self, **fields) -> None:
        self._publisher.publish(JointState(**fields))

    def _answer(self) -> None:
        command = JointState(name=["J1"], position=[0.1])
        command.header.stamp = self._last.header.stamp
        self._publisher.publish(command)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """An arm that waits for a command every 10 ms, for half a second at most."""
    log = tmp_path_factory.mktemp("sim") / "log.txt"
    parameters = (
        f"world:={WORLD}",
        "lock_step:=joint_commands",
        f"lock_step_rate:={1e9 / PERIOD_NS}",
        "lock_step_timeout:=0.5",
        "real_time_factor:=0.0",
    )
    given = [word for p in parameters for word in ("-p", p)]
    with node_and_peer(["-m", "hrp_sim.ros.sim_node", "--ros-args", *given], log) as (peer, _):
        peer.follow("/diagnostics", DiagnosticArray)
        yield peer, Controller(peer), log


def told(peer: Peer, key: str) -> str:
    """Return what /diagnostics said last of the lock-step."""
    for message in reversed(list(peer.messages["/diagnostics"])):
        for status in message.status:
            if status.name == "sim_node: lock-step":
                return next(v.value for v in status.values if v.key == key)
    return "0"


def test_a_run_goes_on_without_its_controller_after_the_time_out_and_says_so(run):
    peer, controller, log = run
    controller.answers = False
    before = int(told(peer, "time-outs"))
    peer.wait_until("time-outs", lambda: int(told(peer, "time-outs")) >= before + 2)
    peer.wait_until(
        "a warning",
        lambda: "continues without a command on /joint_commands" in log.read_text(encoding="utf-8"),
    )
    assert told(peer, "controllers") == "/joint_commands"


def test_who_sends_stamps_of_another_time_is_told_of_them(run):
    peer, controller, log = run
    controller.answers = False
    stale = JointState(name=["J1"], position=[1.0])
    stale.header.stamp.sec = 1_234_567

    def is_told() -> bool:
        controller.send(header=stale.header, name=stale.name, position=stale.position)
        told = "on /joint_commands (the last one was stamped 1234567 s)"
        return told in log.read_text(encoding="utf-8")

    peer.wait_until("words", is_told)


def test_a_run_that_waits_answers_to_pause_and_reset(run):
    peer, controller, _ = run
    controller.answers = False
    assert peer.call("sim_node/pause", SetBool, data=True).success
    heard = len(controller.stamps)
    answer = peer.call("sim_node/reset", Trigger)
    assert answer.success, answer.message
    assert peer.call("sim_node/pause", SetBool, data=False).success
    controller.begin()
    peer.wait_until(
        "a new beginning",
        lambda: any(stamp < 5 * PERIOD_NS for stamp in controller.stamps[heard:]),
    )


def test_a_topic_by_which_nothing_is_commanded_is_named_as_that(capfd):
    parameters = {"world": str(WORLD), "lock_step": "joint_comands", "lock_step_timeout": 0.05}
    with session(parameters) as running:
        lock_step = running.runner.gate
        while lock_step.counts.timeouts < 1:
            running.runner.call(lambda: None)
    told = capfd.readouterr().err
    assert "without a command on /joint_comands (not a command topic of any body)" in told
