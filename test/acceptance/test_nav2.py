"""Nav2 and slam_toolbox with a vehicle of ours, as in docs/howto/nav2.md."""

import math
import os
import re
import signal
from contextlib import closing, contextmanager

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is missing")

from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from ros_peer import Peer, stamp_ns
from ros_tools import needs
from simulation_interfaces.msg import Result, SimulationState
from simulation_interfaces.srv import SetSimulationState

pytestmark = pytest.mark.ros

NAV2 = needs(
    *("nav2_behaviors", "nav2_bt_navigator", "nav2_collision_monitor", "nav2_controller"),
    *("nav2_lifecycle_manager", "nav2_navfn_planner", "nav2_planner", "nav2_smoother"),
    *("nav2_regulated_pure_pursuit_controller", "nav2_velocity_smoother"),
    "nav2_waypoint_follower",
)
ROVER = "package://hrp_ros/models/rover/rover.body"
# It starts at the origin, so that the map of slam_toolbox has the frame of the world.
PLACED = {"name": "rover", "model": ROVER, "position": [0, 0, 0.17]}
PACKAGE = "rover_nav"
GOALS = [(1.2, 0.1, 0.5 * math.pi), (-1.2, 0.6, math.pi), (0.0, 0.0, 0.0)]  # [m], [m], [rad]
TOLERANCE = 0.1  # of the goal checker, in [m] and [rad]
TRUTH = "ground_truth/odom"
NEWEST = QoSProfile(depth=1)  # no backlog on a loaded machine
SECOND = 1_000_000_000  # [ns]
STILL = 0.01  # [m/s], [rad/s]
BRAKING = 0.25 + 0.5 / 1.0  # [s]: the smoother's velocity_timeout, and its speed over max_decel
# What a loaded machine, defaults of Nav2 and the rover's tracks cause.
EXPECTED = re.compile(
    r"(desired|tick) rate|current_(goal|progress)_checker|still-track|InitGoogleLogging|ceres"
)


@pytest.fixture(scope="module")
def package(ros):
    """Return the workspace with a package that drives the rover, and a world with a room."""
    model = ("ros2", "run", "hrp_ros", "hrp-model", "urdf", ROVER)
    ros.ask(*model, "--package", f"src/{PACKAGE}", "--nav2")
    ros.build(f"src/{PACKAGE}")
    bodies = [{"model": "package://hrp_ros/models/room.body"}, PLACED]
    (ros.folder / "room.yaml").write_text(yaml.safe_dump({"bodies": bodies}), encoding="utf-8")
    return ros


@contextmanager
def navigated(ros, localization):
    """Run simulation and Nav2; the block begins when a goal can be sent."""
    arguments = ("world:=room.yaml", f"localization:={localization}", "rviz:=false")
    command = ("ros2", "launch", PACKAGE, "nav2.launch.py", *arguments)
    with (
        ros.running(*command, until="Managed nodes are active") as launched,
        closing(Peer()) as peer,
    ):
        peer.follow(TRUTH, Odometry, NEWEST)
        peer.wait_for(TRUTH)
        yield launched, peer


def latest(peer):
    """Return the present motion, as far as it is known."""
    return peer.messages[TRUTH][-1]


def goal_command(x, y, yaw):
    turn = f"{{z: {math.sin(0.5 * yaw)}, w: {math.cos(0.5 * yaw)}}}"
    pose = f"{{position: {{x: {x}, y: {y}}}, orientation: {turn}}}"
    goal = f"{{pose: {{header: {{frame_id: map}}, pose: {pose}}}}}"
    action = ("/navigate_to_pose", "nav2_msgs/action/NavigateToPose")
    return ("ros2", "action", "send_goal", *action, goal)


def plane_pose(message):
    """Return x, y and yaw of odometry, in [m] and [rad]."""
    p, q = message.pose.pose.position, message.pose.pose.orientation
    return np.array([p.x, p.y, 2.0 * math.atan2(q.z, q.w)])


def wrapped(angle):
    return math.remainder(angle, 2.0 * math.pi)


def is_still(message):
    twist = message.twist.twist
    return math.hypot(twist.linear.x, twist.linear.y) < STILL and abs(twist.angular.z) < STILL


@NAV2
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("localization", "allowed"),
    [("truth", 0.05), pytest.param("slam", 0.1, marks=needs("slam_toolbox"))],
)
def test_goals_are_reached(localization, allowed, package):
    """With slam_toolbox in a map that the rover makes on its way, with odometry that drifts.

    Once there, the rover brakes.
    """
    with navigated(package, localization) as (launched, peer):
        for goal in GOALS:
            sent = package.ask(*goal_command(*goal))
            assert "Goal finished with status: SUCCEEDED" in sent, launched.printed
            after = stamp_ns(latest(peer).header.stamp) + SECOND
            x, y, yaw = plane_pose(peer.first_after(TRUTH, after))
            assert math.hypot(x - goal[0], y - goal[1]) < TOLERANCE + allowed
            assert abs(wrapped(yaw - goal[2])) < TOLERANCE + allowed
        complaints = re.findall(r".*(?:WARN|ERROR).*", launched.printed)
    assert not [text for text in complaints if not EXPECTED.search(text)]


@NAV2
@pytest.mark.timeout(900)
def test_a_vehicle_stops_when_the_controller_dies(package):
    """The controller is killed while the simulation pauses, so that the time is exact."""
    with navigated(package, "truth") as (launched, peer):
        started = re.search(r"controller_server-\d+\]: .* pid \[(\d+)\]", launched.printed)
        with package.running(*goal_command(1.6, 0.0, 0.0), until="accepted"):
            peer.wait_until("speed", lambda: latest(peer).twist.twist.linear.x > 0.4)
            set_state(peer, SimulationState.STATE_PAUSED)
            os.kill(int(started[1]), signal.SIGKILL)
            killed = stamp_ns(latest(peer).header.stamp)
            set_state(peer, SimulationState.STATE_PLAYING)
            peer.first_after(TRUTH, killed + 10 * SECOND)
    moving = [m for m in peer.messages[TRUTH] if not is_still(m)]
    # Beside braking: periods of controller and smoother, on a loaded machine.
    assert 0 < stamp_ns(moving[-1].header.stamp) - killed < (BRAKING + 0.5) * SECOND


def set_state(peer, state):
    """Pause the simulation, or let it go on; return when this is so."""
    service = "sim_node/set_simulation_state"
    answer = peer.call(service, SetSimulationState, state=SimulationState(state=state))
    assert answer.result.result == Result.RESULT_OK
