"""robot_localization with the wheels and the IMU of a vehicle of ours."""

import math
from contextlib import closing

import numpy as np
import pytest
import yaml
from page_walk import steps_of
from paths import ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from ros_peer import Peer, stamp_ns
from ros_tools import needs

pytestmark = pytest.mark.ros

PAGE = ROOT / "docs" / "howto" / "nav2.md"
ROVER = "package://hrp_ros/models/rover/rover.body"
PLACED = {"name": "rover", "model": ROVER, "position": [0, 0, 0.17]}
TRUTH, FILTERED = "ground_truth/odom", "odometry/filtered"
NEWEST = QoSProfile(depth=1)  # no backlog on a loaded machine
SECOND = 1_000_000_000  # [ns]


def latest(peer):
    """Return the present motion, as far as it is known."""
    return peer.messages[TRUTH][-1]


def plane_pose(message):
    """Return x, y and yaw of odometry, in [m] and [rad]."""
    p, q = message.pose.pose.position, message.pose.pose.orientation
    return np.array([p.x, p.y, 2.0 * math.atan2(q.z, q.w)])


def wrapped(angle):
    return math.remainder(angle, 2.0 * math.pi)


def page_parameters():
    """Return the parameters of robot_localization that the page states."""
    steps = steps_of(PAGE.read_text(encoding="utf-8"))
    return next(step.text for step in steps if step.file == "ekf.yaml")


# Seconds at a speed in [m/s] and a yaw rate in [rad/s].
STRAIGHT, TURN = (2.5, 0.6, 0.0), (0.5 * math.pi / 0.9, 0.0, 0.9)
WEAVE = [(1.5, 0.6, 0.9), (1.5, 0.6, -0.9)]
PATHS = {
    "straight": [STRAIGHT],
    "square": [STRAIGHT, TURN] * 4,
    "spin": [TURN] * 4,
    "slalom": [*WEAVE, *WEAVE],
}
RAMP = 8  # commands, 50 ms apart: tracks without motors would jump


def drive(peer, publisher, path):
    """Command a path in simulation time, and stop; a part counts once it is followed."""
    before = np.zeros(2)
    for seconds, *wanted in (*path, (1.0, 0.0, 0.0)):
        command = Twist()
        for share in np.linspace(0.0, 1.0, RAMP + 1)[1:]:
            command.linear.x, command.angular.z = before + share * (np.array(wanted) - before)
            publisher.publish(command)
            peer.first_after(TRUTH, stamp_ns(latest(peer).header.stamp) + SECOND // 20)
        before = np.array(wanted)
        peer.wait_until("the motion", lambda: is_close(latest(peer), command))  # noqa: B023
        peer.first_after(TRUTH, stamp_ns(latest(peer).header.stamp) + int(seconds * SECOND))


def is_close(message, command):
    """Return whether a vehicle moves as it is told to."""
    twist = message.twist.twist
    ahead, turn = twist.linear.x - command.linear.x, twist.angular.z - command.angular.z
    return abs(ahead) < 0.05 and abs(turn) < 0.05


def moved(start, end):
    """Return the motion between two poses, in the frame of the first."""
    c, s = math.cos(start[2]), math.sin(start[2])
    x, y, yaw = end - start
    return np.array([c * x + s * y, c * y - s * x, wrapped(yaw)])


@needs("robot_localization")
@pytest.mark.timeout(900)
def test_wheels_and_imu_are_fused_to_a_drift_below_2_percent(ros):
    (ros.folder / "ekf.yaml").write_text(page_parameters(), encoding="utf-8")
    bodies = [{"model": "package://hrp_ros/models/floor.body"}, PLACED]
    (ros.folder / "plain.yaml").write_text(yaml.safe_dump({"bodies": bodies}), encoding="utf-8")

    def node(package, program, *arguments, until):
        return ros.running("ros2", "run", package, program, "--ros-args", *arguments, until=until)

    world = ("-p", "world:=plain.yaml", "-p", "describe:=true", "-p", "odometry:=none")
    ekf = ("robot_localization", "ekf_node", "--params-file", "ekf.yaml")
    with (
        node("hrp_ros", "sim_node", *world, until="simulating"),
        node(*ekf, until="") as filtering,
        closing(Peer()) as peer,
    ):
        for topic in (TRUTH, FILTERED):
            peer.follow(topic, Odometry, NEWEST)
        publisher = peer.node.create_publisher(Twist, "cmd_vel", 10)
        peer.wait_until("the vehicle", lambda: publisher.get_subscription_count() > 0)
        peer.wait_for(FILTERED)
        for name, path in PATHS.items():
            before = len(peer.messages[TRUTH]) - 1
            start = at_once(peer)
            drive(peer, publisher, path)
            end = at_once(peer)
            true, estimated = (moved(*pair) for pair in zip(start, end, strict=True))
            driven = [plane_pose(m) for m in peer.messages[TRUTH][before:]]
            steps = np.diff(np.array(driven), axis=0)
            way = np.hypot(steps[:, 0], steps[:, 1]).sum()
            turned = sum(abs(wrapped(x)) for x in steps[:, 2])
            error = estimated - true
            assert np.hypot(error[0], error[1]) < 0.02 * way + 0.005, name
            assert abs(wrapped(error[2])) < 0.02 * turned + 0.005, name
        assert "WARN" not in filtering.printed


def at_once(peer):
    """Return the true and the estimated pose of a vehicle at rest."""
    after = stamp_ns(peer.wait_for(TRUTH)[-1].header.stamp)
    return [plane_pose(peer.first_after(topic, after)) for topic in (TRUTH, FILTERED)]
