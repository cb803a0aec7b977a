"""The humanoid, balanced by another process over topics: it stands, and in lock-step it repeats.

HRP_BALANCE_SECONDS=30 makes the runs as long, and lets the free one go in real time.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from ros import balance_controller
from ros_peer import Peer, running
from sensor_msgs.msg import JointState

from hrp_model import load_body
from hrp_sim import Simulation, load_world

SECONDS = int(os.environ.get("HRP_BALANCE_SECONDS", "1"))
SECONDS_IN_LOCK_STEP = max(2, SECONDS)
pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(600 + 20 * SECONDS)]
# The tests share two cores with others: at half the speed a hitch is half as long for the robot.
FACTOR = 1.0 if SECONDS >= 30 else 0.5
HUMANOID = MODELS / "humanoid" / "humanoid.wrl"
UPRIGHT = 0.7  # lowest height of the pelvis that is standing, in [m]
BURN = "while True: sum(range(100_000))"


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """The humanoid on bent knees, by what drives its joints until a command comes."""
    bend = 1.0 - math.cos(balance_controller.KNEE / 2)
    height = (
        load_body(HUMANOID).root.X_PL.p[2]
        - (balance_controller.THIGH + balance_controller.SHANK) * bend
    )
    joints = ", ".join(f"{name}: {angle}" for name, angle in balance_controller.POSTURE.items())
    paths = {}
    for control in ("none", "hold"):
        paths[control] = tmp_path_factory.mktemp("world") / f"{control}.yaml"
        paths[control].write_text(
            "physics: { time_step: 0.001, solver: world }\n"
            f"bodies:\n  - model: {MODELS / 'floor.body'}\n  - model: {HUMANOID}\n"
            f"    position: [0, 0, {height}]\n    joints: {{ {joints} }}\n    control: {control}\n",
            encoding="utf-8",
        )
    return paths


class Watched:
    """What a run with the controller told."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def values(self, part: str) -> dict[str, str]:
        """Return what /diagnostics said of a part of the run, newest last."""
        return {
            value.key: value.value
            for message in list(self._peer.messages["/diagnostics"])
            for status in message.status
            if status.name == f"sim_node: {part}"
            for value in status.values
        }

    def time(self) -> float:
        return float(self.values("simulation").get("time [s]", 0.0))

    def knee(self) -> tuple[float, float]:
        """Return how much the left knee aims above where it is, in [rad], and its effort."""
        last = self._peer.messages["joint_states"][-1]
        k = last.name.index("LLEG_KNEE")
        return balance_controller.KNEE - last.position[k], last.effort[k]

    def heights(self) -> list[float]:
        return [m.pose.pose.position.z for m in list(self._peer.messages["ground_truth/odom"])]


@contextmanager
def balanced(world, folder, seconds, *parameters):
    """Run the world and the controller, each in a process of its own."""
    given = [word for p in (f"world:={world}", *parameters) for word in ("-p", p)]
    with ExitStack() as stack:
        peer = Peer()
        stack.callback(peer.close)
        peer.follow("/diagnostics", DiagnosticArray)
        peer.follow("ground_truth/odom", Odometry)
        peer.follow("joint_states", JointState)
        stack.enter_context(running([balance_controller.__file__], folder / "balance.txt"))
        arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", *given]
        stack.enter_context(running(arguments, folder / "sim.txt"))
        watched = Watched(peer)
        for k in range(1, seconds + 1):  # so that patience is for each second
            peer.wait_until(f"{k} s of simulation", lambda k=k: watched.time() > k)
        yield watched


@contextmanager
def a_loaded_machine():
    """Keep two cores busy."""
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(2)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def states_in_lock_step(world, folder):
    """Return the hashes of a run that waits for the controller for as long as it takes."""
    # Not as fast as possible: hashes are repeated for ten simulated seconds, which would be over
    # before this process has found the topic.
    parameters = ("lock_step:=joint_commands", "lock_step_timeout:=0.0", "real_time_factor:=2.0")
    with balanced(world, folder, SECONDS_IN_LOCK_STEP, *parameters) as watched:
        counts = watched.values("lock-step")
        assert int(counts["control periods"]) >= 500 * SECONDS_IN_LOCK_STEP - 1
        assert counts["time-outs"] == counts["dropped commands"] == "0"
        assert min(watched.heights()) > UPRIGHT
        told = watched.values("state")
    return [told[f"sha256 at {k} s"] for k in range(1, SECONDS_IN_LOCK_STEP + 1)]


def test_in_lock_step_a_loaded_machine_moves_the_robot_the_same_to_the_last_bit(worlds, tmp_path):
    idle = states_in_lock_step(worlds["none"], tmp_path)
    with a_loaded_machine():
        loaded = states_in_lock_step(worlds["none"], tmp_path)
    assert loaded == idle
    assert len(set(idle)) == SECONDS_IN_LOCK_STEP


def test_without_waiting_for_it_the_controller_holds_the_robot_too(worlds, tmp_path):
    parameters = (f"real_time_factor:={FACTOR}",)
    with balanced(worlds["hold"], tmp_path, SECONDS, *parameters) as watched:
        assert min(watched.heights()) > UPRIGHT
        # It is the controller that carries the robot: its springs give way by effort / stiffness,
        # and what held the posture before did not.
        sag, effort = watched.knee()
        assert abs(effort) > 3.0
        assert effort == pytest.approx(balance_controller.GAINS["LEG"][0] * sag, abs=1.0)


def test_without_the_controller_the_robot_sinks_to_the_ground(worlds):
    simulation = Simulation(load_world(worlds["none"]))
    (robot,) = (s for s in simulation.bodies.values() if not s.body.is_static)
    while simulation.state.time_ns < 10**9:
        simulation.step()
    assert robot.motion.p[0, 2] < 0.5 * UPRIGHT
    simulation.close()
