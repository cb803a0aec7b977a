"""Goals of follow_joint_trajectory while time stands still, or is put back to zero."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not installed")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from paths import MODELS
from rclpy.action import ActionClient
from ros_peer import Peer, running, stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import ResetSimulation
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_msgs.basic import duration, duration_ns

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
MS = 1_000_000


class Robot:
    """The arm in another process, and a client that has it follow trajectories."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        peer.follow("joint_states", JointState)
        peer.follow("/clock", Clock)
        self.states, self.clock = peer.messages["joint_states"], peer.messages["/clock"]
        self.client = ActionClient(peer.node, FollowJointTrajectory, "follow_joint_trajectory")
        self.feedback: list = []
        peer.wait_for("joint_states")
        peer.wait_until("an action server", self.client.server_is_ready)

    @property
    def q(self) -> float:
        """Where J1 is."""
        return self.states[-1].position[self.states[-1].name.index("J1")]

    @property
    def now_ns(self) -> int:
        return stamp_ns(self.clock[-1].clock)

    def pause(self, on: bool) -> None:
        assert self.peer.call("/sim_node/pause", SetBool, data=on).success

    def send(self, seconds: float, q: float):
        """Have J1 go somewhere; return the goal's handle and what becomes its result."""
        point = JointTrajectoryPoint(
            positions=[q], time_from_start=duration(round(seconds * 1000) * MS)
        )
        goal = FollowJointTrajectory.Goal(
            trajectory=JointTrajectory(joint_names=["J1"], points=[point])
        )
        sent = self.peer.at_once(self.client.send_goal_async, goal, self.feedback.append)
        self.peer.wait_until("an accepted goal", sent.done)
        return sent.result(), self.peer.at_once(sent.result().get_result_async)

    def result(self, future):
        self.peer.wait_until("a result", future.done)
        return future.result().status, future.result().result.error_string


@pytest.fixture(scope="module")
def shared_robot(tmp_path_factory):
    log = tmp_path_factory.mktemp("arm") / "log.txt"
    arguments = ["-m", "hrp_sim.node", "--ros-args", "-p", f"world:={WORLD}"]
    with running(arguments, log):
        peer = Peer()
        try:
            yield Robot(peer)
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise
        finally:
            peer.close()


@pytest.fixture
def robot(shared_robot):
    shared_robot.pause(False)
    assert shared_robot.peer.call("/sim_node/reset", Trigger).success
    for told in (shared_robot.states, shared_robot.clock, shared_robot.feedback):
        told.clear()
    shared_robot.peer.wait_for("joint_states")
    shared_robot.peer.wait_for("/clock")
    return shared_robot


@pytest.mark.parametrize("is_under_way", [True, False])
def test_a_goal_that_is_canceled_in_a_pause_ends_in_the_pause(robot, is_under_way):
    if is_under_way:
        handle, future = robot.send(8.0, 2.0)
        robot.peer.wait_until("the way", lambda: robot.q > 0.1)
        robot.pause(True)
    else:
        robot.pause(True)
        handle, future = robot.send(8.0, 2.0)
    robot.peer.at_once(handle.cancel_goal_async)
    assert robot.result(future) == (GoalStatus.STATUS_CANCELED, "it was canceled")
    robot.pause(False)
    since_ns = robot.now_ns
    robot.peer.wait_until("half a second", lambda: robot.now_ns > since_ns + 500 * MS)
    stopped = robot.q
    robot.peer.wait_until("a second", lambda: robot.now_ns > since_ns + 1000 * MS)
    assert robot.q == pytest.approx(stopped, abs=2e-3)
    assert (robot.q > 0.05) == is_under_way


def test_a_goal_is_reached_where_the_clock_is_put_back_meanwhile(robot):
    """Its feedback tells the new time, and how long it has been followed as ever."""
    _, future = robot.send(2.0, 0.8)
    robot.peer.wait_until("the way", lambda: robot.q > 0.2 and robot.feedback)
    answer = robot.peer.call(
        "/sim_node/reset_simulation", ResetSimulation, scope=ResetSimulation.Request.SCOPE_TIME
    )
    assert answer.result.result == Result.RESULT_OK
    assert robot.result(future) == (GoalStatus.STATUS_SUCCEEDED, "")
    robot.peer.wait_until("the end", lambda: abs(robot.q - 0.8) < 5e-3)
    heard = [message.feedback for message in robot.feedback]
    stamps = [stamp_ns(told.header.stamp) for told in heard]
    jumps = [k for k in range(1, len(stamps)) if stamps[k] < stamps[k - 1]]
    assert len(jumps) == 1
    elapsed = [duration_ns(told.desired.time_from_start) for told in heard]
    assert elapsed == sorted(elapsed)
    starts = [stamp - since for stamp, since in zip(stamps, elapsed, strict=True)]
    assert len(set(starts[: jumps[0]])) == len(set(starts[jumps[0] :])) == 1
    assert starts[0] > 0 > starts[-1]  # by the new clock it began before zero
