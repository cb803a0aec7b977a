"""A rover on two tracks that is driven by velocities, whichever of their messages is used."""

from __future__ import annotations

import math

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from ros_peer import Peer, running
from ros_session import session
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "rover.yaml"
AHEAD, TURN = 0.2, 0.3


@pytest.fixture(scope="module")
def rover(tmp_path_factory):
    log = tmp_path_factory.mktemp("rover") / "log.txt"
    with running(["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={WORLD}"], log):
        peer, other = Peer(), Peer()  # a process has each topic with one type only
        try:
            for one in (peer, other):
                one.follow("joint_states", JointState)
            peer.follow("ground_truth/odom", Odometry)
            peer.wait_for("joint_states")
            yield peer, other
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise
        finally:
            peer.close()
            other.close()


def speeds(peer):
    """Return how fast the surfaces of the left and of the right track run."""
    state = peer.messages["joint_states"][-1]
    return tuple(state.velocity[state.name.index(name)] for name in ("TRACK_L", "TRACK_R"))


def drive(peer, message, left, right) -> None:
    peer.wait_for("joint_states")
    publisher = peer.node.create_publisher(type(message), "cmd_vel", 1)

    def turning() -> bool:
        publisher.publish(message)
        return speeds(peer) == pytest.approx((left, right))

    try:
        peer.wait_until("running tracks", turning)
    finally:  # others may want this topic with the other type
        peer.end(publisher)


def twist(linear: float, angular: float) -> Twist:
    made = Twist()
    made.linear.x, made.angular.z = linear, angular
    return made


def test_it_drives_ahead_and_turns_to_the_left(rover):
    peer, _ = rover
    drive(peer, twist(AHEAD, 0.0), AHEAD, AHEAD)
    publisher = peer.node.create_publisher(Twist, "cmd_vel", 1)

    def turning() -> bool:
        publisher.publish(twist(0.0, TURN))
        left, right = speeds(peer)
        return left < 0.0 < right

    try:
        peer.wait_until("tracks that turn it", turning)
        left, right = speeds(peer)
        assert left == pytest.approx(-right)
        odometry = peer.messages["ground_truth/odom"]
        z = lambda: odometry[-1].twist.twist.angular.z  # noqa: E731
        peer.wait_for("ground_truth/odom")
        peer.wait_until("a turn to the left", lambda: 0.2 * TURN < z() < 1.5 * TURN)
    finally:
        peer.end(publisher)


def test_velocities_with_a_stamp_drive_it_as_well(rover):
    peer, other = rover
    drive(other, TwistStamped(twist=twist(AHEAD, 0.0)), AHEAD, AHEAD)
    drive(peer, twist(-AHEAD, 0.0), -AHEAD, -AHEAD)


def test_no_velocity_changes_nothing(rover):
    peer, _ = rover
    drive(peer, twist(AHEAD, 0.0), AHEAD, AHEAD)
    publisher = peer.node.create_publisher(Twist, "cmd_vel", 1)
    try:
        peer.wait_until("a listener", publisher.get_subscription_count)
        for _ in range(20):
            publisher.publish(twist(math.nan, 0.0))
            peer.wait_for("joint_states")
    finally:
        peer.end(publisher)
    assert speeds(peer) == pytest.approx((AHEAD, AHEAD))


def test_velocities_to_what_cannot_drive_are_answered_by_one_warning(capfd):
    peer, log = Peer(), []

    def answers() -> int:
        log.extend(capfd.readouterr())
        return "".join(log).count("/fixed/cmd_vel")

    try:
        given = "--ros-args", "-r", "__ns:=/fixed"  # where the rover of this file is not
        with session({"world": str(MODELS / "worlds" / "arm.yaml")}, given):
            publisher = peer.node.create_publisher(Twist, "/fixed/cmd_vel", 1)
            peer.wait_until("a warning", answers)
            peer.end(publisher)
    finally:
        peer.close()
    assert answers() == 1
    assert "its root is fixed to the world" in "".join(log)
