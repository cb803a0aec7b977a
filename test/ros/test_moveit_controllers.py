"""Actions of the controllers in a file of MoveIt: trajectories of some joints, and grippers."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from action_msgs.msg import GoalStatus
from control_msgs import action as actions
from package_tools import write
from paths import MODELS
from ros_peer import Peer
from ros_session import ended, session
from silent_diagnostics import silent
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_model import load_body
from hrp_model.urdf import MOVEIT
from hrp_msgs.convert.basic import duration
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.action_servers import GRIPPER, PARALLEL_GRIPPER, is_available
from hrp_sim.ros.moveit_controllers import read_moveit_controllers, unmatched
from hrp_sim.run.run import Run

pytestmark = pytest.mark.ros
Result = actions.FollowJointTrajectory.Result
with_grippers = pytest.mark.skipif(
    not (is_available(GRIPPER) and is_available(PARALLEL_GRIPPER)),
    reason="the installed control_msgs has no grippers",
)
LINK = (
    '<link name="{0}"><inertial><mass value="0.5"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="{4}"/>'
    '<limit lower="{5}" upper="{6}" effort="20" velocity="{7}"/>{8}</joint>'
)
ROBOT = "".join(
    (
        '<robot name="gripper">',
        *(LINK.format(name) for name in ("base", "wrist", "left", "right", "third")),
        JOINT.format("turn", "revolute", "base", "wrist", "0 0 1", -3, 3, 2, ""),
        JOINT.format("finger", "prismatic", "wrist", "left", "0 1 0", 0, 0.04, 0.1, ""),
        JOINT.format(
            *("mirror", "prismatic", "wrist", "right", "0 -1 0", 0, 0.04, 0.1),
            '<mimic joint="finger"/>',
        ),
        JOINT.format("thumb", "prismatic", "wrist", "third", "1 0 0", 0, 0.04, 0.1, ""),
        "</robot>",
    )
)
# As of a stock configuration; the gripper lists a joint that follows the other, too.
CONTROLLERS = """
moveit_controller_manager: moveit_simple_controller_manager/MoveItSimpleControllerManager
moveit_simple_controller_manager:
  controller_names: [arm_controller, hand_controller, both, jaws, ghost]
  arm_controller:
    type: FollowJointTrajectory
    action_ns: follow_joint_trajectory
    default: true
    joints: [turn]
  hand_controller: {type: GripperCommand, action_ns: gripper_cmd, joints: [finger, mirror]}
  both: {type: GripperCommand, action_ns: gripper_cmd, parallel: true, joints: [finger, thumb]}
  jaws: {type: ParallelGripperCommand, action_ns: gripper_cmd, joints: [finger]}
  ghost: {type: FollowJointTrajectory, action_ns: follow_joint_trajectory, joints: [trun]}
"""


class Robot:
    """The robot, and clients of its actions."""

    def __init__(self, peer: Peer, run: Run) -> None:
        self.peer = peer
        self.run = run
        self._clients = {}

    def send(self, name: str, goal):
        """Send a goal, and return its handle and the future of its result."""
        kind = type(goal).__name__.removesuffix("_Goal")
        if name not in self._clients:
            client = self.peer.action_client(getattr(actions, kind), name)
            self._clients[name] = client
        client = self._clients[name]
        self.peer.wait_until("an action server", client.server_is_ready)
        sent = self.peer.at_once(client.send_goal_async, goal)
        self.peer.wait_until("an answer", sent.done)
        assert sent.result().accepted
        return self.peer.at_once(sent.result().get_result_async)

    def result(self, future):
        self.peer.wait_until("a result", future.done)
        return future.result().status, future.result().result

    def position(self, joint):
        body = self.run.call(lambda: self.run.simulation.bodies["gripper"])
        return body.motion.q[[x.joint.name for x in body.body.moving_links].index(joint)]


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gripper")
    (folder / "gripper.urdf").write_text(ROBOT, encoding="utf-8")
    (folder / "controllers.yaml").write_text(CONTROLLERS, encoding="utf-8")
    world = folder / "world.yaml"
    world.write_text("bodies: [{model: gripper.urdf, fixed: true}]\n", encoding="utf-8")
    file = str(folder / "controllers.yaml")
    with session({"world": str(world), "moveit_controllers": file}) as running:
        running.runner.call(lambda: setattr(running.runner, "real_time_factor", 0.0))
        peer = Peer()
        try:
            yield Robot(peer, running.runner)
        finally:
            peer.close()


def trajectory(joint: str, position: float, seconds: float = 0.2):
    point = JointTrajectoryPoint(positions=[position])
    point.time_from_start = duration(round(seconds * 1e9))
    joints = JointTrajectory(joint_names=[joint], points=[point])
    return actions.FollowJointTrajectory.Goal(trajectory=joints)


def grip(position: float):
    goal = actions.GripperCommand.Goal()
    goal.command.position = position
    return goal


def test_a_controller_moves_its_joints_and_no_others(robot):
    action = "arm_controller/follow_joint_trajectory"
    status, result = robot.result(robot.send(action, trajectory("turn", 0.3)))
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
    status, result = robot.result(robot.send(action, trajectory("finger", 0.02)))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_JOINTS)
    assert "joint 'finger' is not one of this controller: turn" in result.error_string
    # The action for all joints is there, too.
    status, _ = robot.result(robot.send("follow_joint_trajectory", trajectory("finger", 0.02)))
    assert status == GoalStatus.STATUS_SUCCEEDED


def test_the_package_of_an_arm_runs_its_own_world_and_controllers(tmp_path):
    """What demo.launch.py gives to sim_node."""
    pytest.importorskip("coal", reason="coal is not installed")
    arm = load_body(MODELS / "arm" / "arm.body", silent())
    write(arm, tmp_path / "arm_description", additions=[MOVEIT])
    config = tmp_path / "arm_description" / "config"
    file = str(config / "moveit_controllers.yaml")
    given = {"world": str(config / "demo_world.yaml"), "moveit_controllers": file}
    with session({**given, "describe": True, "world_frame": "world"}) as running:
        running.runner.call(lambda: setattr(running.runner, "real_time_factor", 0.0))
        peer = Peer()
        try:
            robot = Robot(peer, running.runner)
            action = "manipulator_controller/follow_joint_trajectory"
            status, result = robot.result(robot.send(action, trajectory("J2", 0.3, 1.0)))
            assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
        finally:
            peer.close()


@with_grippers
def test_a_gripper_opens_and_stalls_on_what_it_holds(robot):
    action = "hand_controller/gripper_cmd"
    status, result = robot.result(robot.send(action, grip(0.035)))
    assert (status, result.reached_goal, result.stalled) == (
        GoalStatus.STATUS_SUCCEEDED, True, False,
    )  # fmt: skip
    assert result.position == pytest.approx(0.035, abs=0.01)
    status, result = robot.result(robot.send(action, grip(-0.5)))  # on its stop
    assert (status, result.reached_goal, result.stalled) == (
        GoalStatus.STATUS_SUCCEEDED, False, True,
    )  # fmt: skip
    assert result.position == pytest.approx(0.0, abs=1e-3)
    assert result.effort > 0.0


@with_grippers
def test_the_position_of_parallel_fingers_is_their_sum(robot):
    status, result = robot.result(robot.send("both/gripper_cmd", grip(0.06)))
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert result.position == pytest.approx(0.06, abs=0.02)
    assert robot.result(robot.send("hand_controller/gripper_cmd", grip(0.03)))[1].reached_goal


@with_grippers
def test_a_parallel_gripper_takes_joint_states(robot):
    goal = actions.ParallelGripperCommand.Goal()
    goal.command.name, goal.command.position = ["finger"], [0.01]
    status, result = robot.result(robot.send("jaws/gripper_cmd", goal))
    assert (status, result.reached_goal) == (GoalStatus.STATUS_SUCCEEDED, True)
    assert result.state.name == ["finger"]
    assert result.state.position[0] == pytest.approx(0.01, abs=0.01)
    for names, positions in ((["turn"], [0.1]), (["finger"], []), (["finger"], [float("nan")])):
        goal.command.name, goal.command.position = names, positions
        assert robot.result(robot.send("jaws/gripper_cmd", goal))[0] == GoalStatus.STATUS_ABORTED


@with_grippers
def test_another_command_ends_a_grip(robot):
    robot.result(robot.send("hand_controller/gripper_cmd", grip(0.0)))
    robot.run.call(lambda: setattr(robot.run, "real_time_factor", 0.05))  # it stalls after 28 s
    stalling = robot.send("hand_controller/gripper_cmd", grip(0.5))
    robot.peer.wait_until("the first motion", lambda: robot.position("finger") > 1e-3)
    robot.run.pause()
    other = robot.send("follow_joint_trajectory", trajectory("finger", 0.02))
    robot.run.call(lambda: setattr(robot.run, "real_time_factor", 0.0))
    robot.run.resume()
    robot.result(other)
    status, result = robot.result(stalling)
    assert status == GoalStatus.STATUS_ABORTED
    assert not result.stalled


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no 'moveit_simple_controller_manager'"),
        ("a: 1\n", "no 'moveit_simple_controller_manager'"),
        ("moveit_simple_controller_manager: {controller_names: [a]}\n", "lists 'a', which has no"),
        (
            "moveit_simple_controller_manager:\n  controller_names: [a]\n  a: {joints: []}\n",
            "controller 'a' has no joints",
        ),
        (
            "moveit_simple_controller_manager:\n  controller_names: [a]\n"
            "  a: {joints: [x], type: Grip}\n",
            "type 'Grip' is unknown",
        ),
        (
            "moveit_simple_controller_manager:\n  controller_names: ['a b']\n"
            "  a b: {joints: [x]}\n",
            "not a valid namespace",
        ),
        (
            "moveit_simple_controller_manager:\n  controller_names: [a]\n"
            "  a: {joints: [x, y, x]}\n",
            "controller 'a' lists joint 'x' twice",
        ),
        ("moveit_simple_controller_manager: [\n", "yaml"),
    ],
)
def test_a_file_that_lists_no_usable_controllers_is_refused_with_its_place(tmp_path, text, words):
    file = tmp_path / "controllers.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(WrongUseError, match="moveit_controllers: ") as refused:
        read_moveit_controllers(str(file))
    assert words in str(refused.value)


def test_a_folder_is_no_file_of_controllers(tmp_path):
    with pytest.raises(WrongUseError, match="is a folder"):
        read_moveit_controllers(str(tmp_path))


def test_a_controller_whose_joints_no_robot_has_is_a_warning(tmp_path):
    file = tmp_path / "controllers.yaml"
    file.write_text(CONTROLLERS, encoding="utf-8")
    found = read_moveit_controllers(str(file))
    bodies = {"one": ["turn", "finger", "mirror"], "other": ["turn", "thumb"]}
    both, ghost = unmatched(found, bodies)
    assert "no action 'both/gripper_cmd': no single robot has all of its joints" in both
    assert "no robot has its joint 'trun'. Did you mean 'turn'?" in ghost


def test_a_file_that_is_not_there_ends_the_node(monkeypatch, capfd):
    arguments = ("--ros-args", "-p", "world:=arm", "-p", "moveit_controllers:=/no/such.yaml")
    status, printed = ended(arguments, monkeypatch, capfd)
    assert status == 2
    assert "moveit_controllers: cannot read '/no/such.yaml'" in printed
