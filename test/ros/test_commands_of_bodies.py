"""Commands to robots that come and go in a running world."""

from __future__ import annotations

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter
from ros_peer import Peer
from ros_session import session
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_model import Pose, load_body
from hrp_msgs.convert.basic import duration
from hrp_sim import BodyEntry, Placement

pytestmark = pytest.mark.ros

ARM = MODELS / "arm" / "arm.body"


class World:
    """A world with an arm, to which others are added."""

    def __init__(self, running, peer: Peer) -> None:
        self.running, self.peer = running, peer
        self.client = peer.action_client(FollowJointTrajectory, "arm_2/follow_joint_trajectory")

    def add(self) -> None:
        placement = Placement(name="arm-2", body=load_body(ARM), X_WL=Pose(p=(2, 1, 0)), fixed=True)
        entry = BodyEntry(placement=placement)
        self.running.change(lambda: self.running.runner.simulation.spawn(entry))
        self.peer.wait_until("an action server", self.client.server_is_ready)

    def remove(self) -> None:
        self.running.change(lambda: self.running.runner.simulation.remove("arm-2"))

    def parameters(self, prefix: str) -> set[str]:
        listed = self.peer.call("/sim_node/list_parameters", ListParameters).result.names
        return {name for name in listed if name.startswith(prefix)}

    def send(self, seconds: float, position: float):
        point = JointTrajectoryPoint(positions=[position])
        point.time_from_start = duration(int(seconds * 1e9))
        trajectory = JointTrajectory(joint_names=["J1"], points=[point])
        goal = FollowJointTrajectory.Goal(trajectory=trajectory)
        sent = self.peer.at_once(self.client.send_goal_async, goal)
        self.peer.wait_until("an answer to a goal", sent.done)
        assert sent.result().accepted
        return self.peer.at_once(sent.result().get_result_async)

    def status(self, future) -> int:
        self.peer.wait_until("a result", future.done)
        return future.result().status


@pytest.fixture(scope="module")
def shared_world():
    with session({"world": str(ARM)}) as running:
        peer = Peer()
        peer.follow("joint_states", JointState)
        try:
            peer.wait_for("joint_states")
            yield World(running, peer)
        finally:
            peer.close()


@pytest.fixture
def world(shared_world):
    """A running world with one arm; afterwards it is so again."""
    yield shared_world
    runner = shared_world.running.runner
    if "arm-2" in runner.simulation.bodies:
        shared_world.remove()
    runner.call(runner.resume)


def test_a_robot_that_appears_is_commanded_in_its_namespace_and_the_first_one_as_before(world):
    first = world.parameters("J1.")
    world.add()
    own = {"J1.kp", "J1.kd", "J1.mode", "J1.initial_position"}
    assert world.parameters("arm-2/J1.") == {f"arm-2/{name}" for name in own}
    assert world.parameters("J1.") == first == own
    world.peer.follow("arm_2/joint_states", JointState)
    assert world.status(world.send(0.2, 0.1)) == GoalStatus.STATUS_SUCCEEDED
    told = world.peer.messages["arm_2/joint_states"]
    there = lambda: told and abs(told[-1].position[0] - 0.1) < 0.02  # noqa: E731
    world.peer.wait_until("what is told to catch up", there)
    assert world.peer.messages["joint_states"][-1].position[0] == pytest.approx(0.0, abs=1e-3)
    world.remove()
    assert not world.parameters("arm-2/")


def test_a_robot_that_goes_aborts_its_goals_and_may_come_again(world):
    for _ in range(2):
        world.add()
        going = world.send(10.0, 1.0)
        world.remove()
        assert world.status(going) == GoalStatus.STATUS_ABORTED
        assert "the robot was removed" in going.result().result.error_string
        world.peer.wait_until("no action server", lambda: not world.client.server_is_ready())
    world.peer.wait_for("joint_states", 3)


def test_a_goal_waits_while_the_run_is_paused(world):
    world.add()
    runner = world.running.runner
    runner.call(runner.pause)
    future = world.send(0.1, 0.2)
    stood_ns = runner.simulation.state.time_ns
    runner.call(runner.resume)
    assert world.status(future) == GoalStatus.STATUS_SUCCEEDED
    assert runner.simulation.state.time_ns >= stood_ns + 100_000_000
    world.remove()


def test_parameters_tell_what_a_saved_state_has_brought_back(world):
    def get() -> list[float]:
        names = ["J1.kp", "gains.J1.p", "J1.mode"]
        answer = world.peer.call("/sim_node/get_parameters", GetParameters, names=names)
        kp, alias, mode = answer.values
        return [kp.double_value, alias.double_value, mode.string_value]

    def put(kp: float, mode: str) -> None:
        new = [Parameter("J1.kp", value=kp), Parameter("J1.mode", value=mode)]
        parameters = [p.to_parameter_msg() for p in new]
        answer = world.peer.call("/sim_node/set_parameters", SetParameters, parameters=parameters)
        assert [r.successful for r in answer.results] == [True, True]

    runner = world.running.runner
    put(111.0, "velocity")
    saved = runner.call(runner.simulation.save)
    runner.pause()
    put(222.0, "effort")
    world.running.ros.node.sync()  # as when some body comes
    assert get() == [222.0, 222.0, "effort"]
    assert runner.simulation.controller("Arm").gains("J1")[0] == 222.0
    world.running.change(lambda: runner.simulation.restore(saved))
    assert get() == [111.0, 111.0, "velocity"]
    assert runner.simulation.controller("Arm").gains("J1")[0] == 111.0
    runner.resume()
