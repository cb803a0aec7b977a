"""A controller over topics in lock-step, and the same class inside of the simulation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import RELIABLE, Peer, stamp_ns
from ros_session import session
from sensor_msgs.msg import JointState

from hrp_sim import Controller, Simulation

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
PERIOD_NS, RATE = 10_000_000, 100.0


class Wave(Controller):
    """Waves by positions that depend on the state; at time zero it holds the initial posture."""

    def initialize(self, io):
        self.io = io
        io.drive("position")

    def start(self):
        self.middle = self.io.q_target.copy()

    def control(self):
        io = self.io
        io.q_target = self.middle + 0.3 * np.sin(5.0 * io.time) - 0.02 * io.dq
        return True


class TopicIO:
    """Serves a controller by topics: each message of joint_states is answered by one command."""

    def __init__(self, peer: Peer, controller: Controller, start: np.ndarray) -> None:
        self.q_target, self.dq, self.time = start, np.zeros_like(start), 0.0
        self.drive = lambda _mode: None
        self._controller = controller
        self._answered = 0
        controller.initialize(self)
        controller.start()
        self._publisher = peer.node.create_publisher(JointState, "joint_commands", RELIABLE)
        peer.node.create_subscription(JointState, "joint_states", self._answer, RELIABLE)

    def _answer(self, reading: JointState) -> None:
        time_ns = stamp_ns(reading.header.stamp)
        is_boundary = time_ns % PERIOD_NS == 0 and time_ns != self._answered
        if not (is_boundary and self._publisher.get_subscription_count()):
            return
        self._answered = time_ns
        self.q, self.dq = np.array(reading.position), np.array(reading.velocity)
        self.time = time_ns / 1e9
        assert self._controller.control()
        command = JointState(name=reading.name, position=self.q_target.tolist())
        command.header.stamp = reading.header.stamp
        self._publisher.publish(command)


def test_the_same_numbers_move_the_robot_the_same_to_the_last_bit(diagnostics):
    with Simulation(WORLD, diagnostics=diagnostics) as simulation:
        start = simulation.bodies["arm"].drive.q.copy()
        simulation.add_controller("arm", Wave(), rate=RATE)
        simulation.run(2.0)
        expected = simulation.state_hash()
    parameters = {
        "world": str(WORLD),
        "lock_step": "joint_commands",
        "lock_step_rate": RATE,
        "lock_step_timeout": 0.0,
        "real_time_factor": 0.0,
    }
    peer = Peer()
    try:
        TopicIO(peer, Wave(), start)
        with session(parameters) as run:
            found: dict[int, str] = {}
            peer.wait_until(
                "two seconds", lambda: found.update(run.runner.states.take()) or 2 * 10**9 in found
            )
    finally:
        peer.close()
    assert found[2 * 10**9] == expected


def test_the_node_runs_controllers_of_its_parameter(tmp_path):
    (tmp_path / "wave.py").write_text(
        "from hrp_sim import Controller\n\nclass Fails(Controller):\n"
        "    def control(self):\n        raise ValueError('no sea')\n"
    )
    parameters = {"world": str(WORLD), "python_controllers": f"arm={tmp_path / 'wave.py'}:Fails"}
    with session(parameters) as run:
        peer = SimpleNamespace(found=[])
        waiting = Peer()
        try:
            waiting.wait_until(
                "its failure",
                lambda: peer.found.extend(run.runner.simulation.controllers.failures) or peer.found,
            )
        finally:
            waiting.close()
    assert "raised ValueError: no sea" in peer.found[0]


@pytest.mark.parametrize("permitted", ["first", "none"])
def test_the_first_world_may_be_run_without_its_controllers(permitted, tmp_path):
    (tmp_path / "hold.py").write_text(
        "from hrp_sim import Controller\n\nclass Hold(Controller):\n"
        "    def control(self):\n        return True\n"
        "open(__file__ + '.ran', 'w').close()\n"
    )
    world = tmp_path / "world.yaml"
    world.write_text(
        f"bodies: [ {{ model: {MODELS / 'arm' / 'arm.body'}, name: arm }} ]\n"
        "controllers: [ { class: hold.py:Hold, body: arm } ]\n"
    )
    with session({"world": str(world), "run_controllers": permitted}):
        assert (tmp_path / "hold.py.ran").exists() is (permitted == "first")
