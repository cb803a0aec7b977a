"""A simulator that is killed and started again while others that follow its time run."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from rclpy.parameter import Parameter
from ros_peer import PATIENCE, Peer, running, stamp_ns
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from hrp_msgs import qos
from hrp_msgs.node.qos import profile

pytestmark = pytest.mark.ros

WORLD = f"world:={MODELS / 'worlds' / 'arm.yaml'}"
MODEL = f"model:={MODELS / 'arm' / 'arm.body'}"
SIMULATOR = ["-m", "hrp_sim.ros.sim_node", "--ros-args"]
FOLLOWER = ["-m", "hrp_model.ros.model_node", "--ros-args"]
# The simulator knows it to be a slip of the pen, and warns of it.
TYPO = "sede:=1"


class Controller:
    """Moves a joint, by the time of the simulator."""

    def __init__(self) -> None:
        self.peer = Peer(parameter_overrides=[Parameter("use_sim_time", value=True)])
        self.peer.follow("joint_states", JointState)
        self.peer.follow("/tf", TFMessage, profile(qos.TF))
        self._publisher = self.peer.node.create_publisher(JointState, "joint_commands", 1)

    def move(self, position: float) -> int:
        """Command until the joint is there; return when that is, in [ns]."""
        states = self.peer.messages["joint_states"]

        def there() -> bool:
            self._publisher.publish(JointState(name=["J1"], position=[position]))
            return bool(states) and abs(states[-1].position[0] - position) < 0.01

        self.peer.wait_until(f"J1 at {position}", there)
        return stamp_ns(states[-1].header.stamp)

    def wait_for_transforms(self, time_ns: int) -> None:
        told = self.peer.messages["/tf"]
        self.peer.wait_until(
            "transforms",
            lambda: any(stamp_ns(m.transforms[0].header.stamp) >= time_ns for m in told),
        )

    def forget(self) -> None:
        for messages in self.peer.messages.values():
            messages.clear()


@contextmanager
def process(arguments, log):
    with running(arguments, log, forked=False) as started:
        try:
            yield started
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise


@pytest.mark.slow
def test_a_simulator_may_be_killed_and_started_while_others_run(tmp_path):
    first, second, model = (tmp_path / f"{name}.txt" for name in ("first", "second", "model"))
    robot = Controller()
    follower = [*FOLLOWER, "-p", MODEL, "-p", "publish_frequency:=0.0", "-p", "use_sim_time:=true"]
    simulator = [*SIMULATOR, "-p", WORLD, "-p", TYPO]
    try:
        with process(follower, model) as following:  # before there is a simulator
            with process(simulator, first) as killed:
                robot.wait_for_transforms(robot.move(0.3))
                os.killpg(killed.pid, signal.SIGKILL)
                killed.wait(PATIENCE)
            robot.forget()
            with process([*simulator, "--log-level", "sim_node:=error"], second) as simulating:
                robot.wait_for_transforms(robot.move(-0.3))
                following.send_signal(signal.SIGINT)  # who listens may go first
                assert following.wait(PATIENCE) == 0
                robot.move(0.0)
                simulating.send_signal(signal.SIGINT)
                assert simulating.wait(PATIENCE) == 0
    finally:
        robot.peer.close()
    assert "Traceback" not in model.read_text(encoding="utf-8")
    assert "there is no parameter 'sede'" in first.read_text(encoding="utf-8")
    # It was told to keep warnings to itself; what the middleware says is not its own.
    assert "sim_node" not in second.read_text(encoding="utf-8")
