"""Commands of each kind as they arrive over real DDS, at something that takes notes."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import Twist, TwistStamped, WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_peer import Peer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hrp_msgs import names
from hrp_msgs.convert.basic import duration, stamp
from hrp_msgs.node.executor import CommandExecutor
from hrp_msgs.topics.commands import KINDS, CommandTopics

pytestmark = pytest.mark.ros

BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
STAMP_NS = 3_000_000_007


class Notes:
    """Notes all commands, and refuses what comes by one topic."""

    def __init__(self) -> None:
        self.taken: list[tuple] = []
        self.refused = ""

    def _note(self, topic, *numbers) -> None:
        if topic == self.refused:
            raise ValueError("not today")
        plain = [list(x) if hasattr(x, "tolist") else x for x in numbers]
        self.taken.append((topic, *plain))

    def trajectory(self, topic, trajectory) -> None:
        points = [[p[0], *(list(column) for column in p[1:])] for p in trajectory.points]
        self._note(topic, trajectory.start_ns, trajectory.names, points)

    joints = array = drive = wrench = set_positions = _note


class Robot:
    """A node with all command topics, served in a thread; and another that publishes."""

    def __init__(self) -> None:
        self.peer = Peer()
        self.other_peer = Peer()  # a process has each topic with one type only
        self.listener = Peer()
        self.notes = Notes()
        self.log: list[str] = []
        self.listener.node.get_logger = lambda: self  # its warnings end up here
        self.executor = CommandExecutor(self.listener.node)
        self.topics = CommandTopics(
            self.listener.node, lambda kind: f"robot/{kind}", self.notes, KINDS, self.executor
        )

    def warning(self, text: str) -> None:
        self.log.append(text)

    def say(self, kind: str, message, *expected, profile=BEST_EFFORT, until=None) -> None:
        """Publish until it was noted as expected, or until something else holds.

        Commands are published repeatedly, and a note of an earlier one may come late.
        """
        topic = f"/robot/{kind}"
        peer = self.other_peer if isinstance(message, TwistStamped) else self.peer
        publisher = peer.node.create_publisher(type(message), topic, profile)
        self.notes.taken.clear()
        until = until or (lambda: (topic, *expected) in list(self.notes.taken))

        def again() -> bool:
            publisher.publish(message)
            return until()

        try:
            self.peer.wait_until(f"a command by {topic} {expected}", again)
        except AssertionError:
            print(self.notes.taken[-10:])
            raise
        finally:
            peer.end(publisher)

    def close(self) -> None:
        self.topics.close()
        self.executor.close()
        self.peer.close()
        self.other_peer.close()
        self.listener.close()


@pytest.fixture(scope="module")
def robot():
    made = Robot()
    yield made
    made.close()


@pytest.mark.parametrize("kind", [names.JOINT_COMMANDS, names.HARDWARE_COMMANDS])
@pytest.mark.parametrize("profile", [BEST_EFFORT, QoSProfile(depth=1)], ids=["best", "reliable"])
def test_joint_commands_come_from_publishers_of_both_kinds(robot, kind, profile):
    message = JointState(name=["A", "B"], position=[1.0, 2.0], velocity=[3.0], effort=[])
    message.header.stamp = stamp(STAMP_NS)
    robot.say(kind, message, STAMP_NS, ["A", "B"], [1.0, 2.0], [3.0], [], profile=profile)


def test_a_trajectory_comes_with_its_times(robot):
    message = JointTrajectory(joint_names=["A", "B"])
    message.header.stamp = stamp(STAMP_NS)
    message.points = [
        JointTrajectoryPoint(positions=[1.0, 2.0], time_from_start=duration(500_000_000)),
        JointTrajectoryPoint(
            positions=[3.0, 4.0],
            velocities=[5.0, 6.0],
            accelerations=[7.0, 8.0],
            effort=[9.0, 10.0],
            time_from_start=duration(2_000_000_001),
        ),
    ]
    points = [
        [500_000_000, [1.0, 2.0], [], [], []],
        [2_000_000_001, [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]],
    ]
    robot.say(names.JOINT_TRAJECTORY, message, STAMP_NS, ["A", "B"], points)


@pytest.mark.parametrize("mode", ["position", "velocity", "effort"])
def test_arrays_come_with_what_they_command(robot, mode):
    message = Float64MultiArray(data=[1.0, math.pi])
    robot.say(f"{mode}_commands", message, mode, [1.0, math.pi])


def test_an_array_begins_where_its_layout_says(robot):
    message = Float64MultiArray(data=[9.0, 1.0, 2.0], layout=MultiArrayLayout(data_offset=1))
    robot.say(names.EFFORT_COMMANDS, message, "effort", [1.0, 2.0])


def test_a_wrench_comes_with_its_frame(robot):
    message = WrenchStamped()
    message.header.frame_id = "HAND"
    message.header.stamp = stamp(STAMP_NS)
    for axis, force, torque in (("x", 1.0, 4.0), ("y", 2.0, 5.0), ("z", 3.0, 6.0)):
        setattr(message.wrench.force, axis, force)
        setattr(message.wrench.torque, axis, torque)
    expected = (STAMP_NS, "HAND", (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    robot.say(names.EXTERNAL_WRENCH, message, *expected)


def test_velocities_are_heard_whichever_of_their_messages_is_published(robot):
    plain = Twist()
    plain.linear.x, plain.angular.z = 0.5, -0.25
    stamped = TwistStamped(twist=plain)
    stamped.header.stamp = stamp(STAMP_NS)
    for message, stamp_ns in ((plain, 0), (stamped, STAMP_NS), (plain, 0)):
        robot.say(names.CMD_VEL, message, stamp_ns, 0.5, -0.25)


def test_what_is_refused_is_told_once_and_the_rest_still_comes(robot, monkeypatch):
    monkeypatch.setattr("hrp_msgs.node.start.WARNING_PERIOD", 1e9)
    robot.notes.refused = "/robot/effort_commands"
    robot.log.clear()
    sent = [0]

    def enough() -> bool:
        sent[0] += 1
        return robot.log and sent[0] > 5

    robot.say(names.EFFORT_COMMANDS, Float64MultiArray(data=[1.0]), until=enough)
    robot.say(names.POSITION_COMMANDS, Float64MultiArray(data=[1.0]), "position", [1.0])
    assert robot.log == ["/robot/effort_commands: not today"]


def test_closed_topics_have_no_listener(robot):
    own = Notes()
    topics = CommandTopics(
        robot.listener.node,
        lambda kind: f"other/{kind}",
        own,
        (names.JOINT_COMMANDS, names.CMD_VEL),
        robot.executor,
    )
    assert topics.topics == ["/other/joint_commands", "/other/cmd_vel"]
    publisher = robot.peer.node.create_publisher(JointState, "/other/joint_commands", 1)
    robot.peer.wait_until("a listener", publisher.get_subscription_count)
    topics.close()
    robot.peer.wait_until("no listener", lambda: not publisher.get_subscription_count())
