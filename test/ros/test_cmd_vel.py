"""A rover on two tracks that is driven by velocities."""

from __future__ import annotations

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from ros_peer import Peer, node_and_peer
from ros_session import session
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "rover.yaml"
AHEAD, TURN = 0.2, 0.3


@pytest.fixture
def rover(tmp_path):
    arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={WORLD}"]
    with node_and_peer(arguments, tmp_path / "log.txt") as (peer, _):
        peer.follow("joint_states", JointState)
        peer.follow("ground_truth/odom", Odometry)
        peer.wait_for("joint_states")
        yield peer


def speeds(peer):
    """Return how fast the surfaces of the left and of the right track run."""
    state = peer.messages["joint_states"][-1]
    return tuple(state.velocity[state.name.index(name)] for name in ("TRACK_L", "TRACK_R"))


def twist(linear: float, angular: float) -> Twist:
    made = Twist()
    made.linear.x, made.angular.z = linear, angular
    return made


def test_it_drives_ahead_and_turns_to_the_left(rover):
    publisher = rover.node.create_publisher(Twist, "cmd_vel", 1)

    def driving() -> bool:
        publisher.publish(twist(AHEAD, 0.0))
        return speeds(rover) == pytest.approx((AHEAD, AHEAD))

    def turning() -> bool:
        publisher.publish(twist(0.0, TURN))
        left, right = speeds(rover)
        return left < 0.0 < right

    rover.wait_until("running tracks", driving)
    rover.wait_until("tracks that turn it", turning)
    left, right = speeds(rover)
    assert left == pytest.approx(-right)
    odometry = rover.messages["ground_truth/odom"]
    z = lambda: odometry[-1].twist.twist.angular.z  # noqa: E731
    rover.wait_for("ground_truth/odom")
    rover.wait_until("a turn to the left", lambda: 0.2 * TURN < z() < 1.5 * TURN)


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
