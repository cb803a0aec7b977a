"""ros2_control with our descriptions: controller manager, controllers, topic and mock hardware."""

import re
from contextlib import closing, contextmanager

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from ros_peer import Peer, stamp_ns
from ros_tools import needs
from sensor_msgs.msg import JointState

from hrp_msgs import names

CONTROLLERS = ("joint_state_broadcaster", "joint_trajectory_controller")
pytestmark = [
    pytest.mark.ros,
    needs("controller_manager", "forward_command_controller", *CONTROLLERS),
]
topic_hardware = needs("joint_state_topic_hardware_interface")

MODEL = "package://hrp_ros/models/arm/arm.body"
JOINTS = [f"J{k}" for k in range(1, 7)]
GOAL = {"J1": 0.5, "J2": 0.3}  # [rad]
# As in docs/howto/ros2_control.md.
TRAJECTORY = (
    "{trajectory: {joint_names: [J1, J2], "
    "points: [{positions: [0.5, 0.3], time_from_start: {sec: 2}}]}}"
)
TOLERANCE = 0.01  # [rad]
ACTION = (
    "/joint_trajectory_controller/follow_joint_trajectory",
    "control_msgs/action/FollowJointTrajectory",
)
RATE = 500  # [Hz], of the generated controllers
LOCK_STEP = ("lock_step:=robot_joint_command", f"lock_step_rate:={RATE}.0")


def plain(text):
    """Return a text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@contextmanager
def controlled(ros, package, *arguments):
    """Launch robot and controllers; the block begins when all controllers are loaded."""
    command = ("ros2", "launch", package, "ros2_control.launch.py", *arguments)
    with ros.running(*command, until="process started") as launched:
        # The spawner of the inactive controllers comes last.
        for text in ("forward_position_controller", " inactive"):
            ros.ask_until(text, "ros2", "control", "list_controllers")
        yield launched


def simulated(ros, *arguments):
    return controlled(ros, "hrp_ros", "world:=arm", "rviz:=false", *arguments)


def positions(peer):
    """Return the position of each joint."""
    state = peer.wait_for(names.JOINT_STATES)[-1]
    return dict(zip(state.name, state.position, strict=True))


def assert_moves(ros, tolerance=TOLERANCE):
    """Send the goal of the page; its joints must arrive, and all others stay where they are."""
    with closing(Peer()) as peer:
        peer.follow(names.JOINT_STATES, JointState)
        before = positions(peer)
        sent = ros.ask("ros2", "action", "send_goal", *ACTION, TRAJECTORY)
        assert "Goal finished with status: SUCCEEDED" in sent
        after = positions(peer)
    assert set(after) == set(JOINTS)
    for joint in JOINTS:
        assert after[joint] == pytest.approx(GOAL.get(joint, before[joint]), abs=tolerance), joint


@topic_hardware
def test_a_trajectory_arrives_in_the_simulation(ros):
    with simulated(ros) as launched:
        assert_moves(ros)
        assert "ERROR" not in launched.printed
        assert launched.interrupt() == 0
    cleanly = "[sim_node-1]: process has finished cleanly"
    assert cleanly in launched.printed, launched.printed


@topic_hardware
def test_a_trajectory_arrives_in_lock_step_without_a_missing_command(ros):
    def lock_step():
        """Return the last numbers of the waiting; the manager has diagnostics of its own."""
        statuses = [s for m in list(peer.messages[names.DIAGNOSTICS]) for s in m.status]
        own = [status for status in statuses if status.name == "sim_node: lock-step"]
        return {value.key: value.value for value in own[-1].values} if own else {}

    with closing(Peer()) as peer, simulated(ros, *LOCK_STEP) as launched:
        peer.follow(names.DIAGNOSTICS, DiagnosticArray)
        assert_moves(ros)
        periods = 2 * RATE  # of the trajectory
        peer.wait_until("periods", lambda: int(lock_step().get("control periods", 0)) > periods)
        assert lock_step()["time-outs"] == "0"
        assert "ERROR" not in launched.printed


@topic_hardware
def test_ros2_control_lists_the_controllers_and_interfaces_of_the_description(ros):
    with simulated(ros):
        listed = plain(ros.ask("ros2", "control", "list_controllers"))
        interfaces = plain(ros.ask("ros2", "control", "list_hardware_interfaces"))
        components = plain(ros.ask("ros2", "control", "list_hardware_components"))
    states = dict(re.findall(r"^(\w+) .* (\w+) *$", listed, re.M))
    assert states == {
        **dict.fromkeys(CONTROLLERS, "active"),
        "forward_position_controller": "inactive",
    }
    commands, _, readings = interfaces.partition("state interfaces")
    claimed = {f"{joint}/position [available] [claimed]" for joint in JOINTS}
    assert set(re.findall(r"^\t(.*)", commands, re.M)) == claimed
    assert set(re.findall(r"^\t(\S+)", readings, re.M)) == {
        f"{joint}/{kind}" for joint in JOINTS for kind in ("position", "velocity", "effort")
    }
    assert "joint_state_topic_hardware_interface/JointStateTopicSystem" in components


@needs("robot_state_publisher")
def test_a_trajectory_arrives_in_a_generated_package_with_mock_hardware(ros):
    """As in docs/howto/ros2_control.md."""
    package = "arm_description"
    options = ("--package", f"src/{package}", "--ros2-control", "mock")
    ros.ask("ros2", "run", "hrp_ros", "hrp-model", "urdf", MODEL, *options)
    ros.build(f"src/{package}")
    with controlled(ros, package):
        assert_moves(ros)


@topic_hardware
@needs("robot_state_publisher")
@pytest.mark.parametrize(("interface", "tolerance"), [("velocity", 0.02), ("effort", 0.06)])
def test_a_trajectory_arrives_by_velocities_and_efforts(interface, tolerance, ros):
    """As under "Gains" in docs/howto/ros2_control.md; without a term for gravity, arms sink."""
    urdf, controllers = f"{interface}.urdf", f"{interface}.yaml"
    options = ("--ros2-control", "topic", "--command-interface", interface)
    written = ("-o", urdf, "--controllers", controllers)
    ros.ask("ros2", "run", "hrp_ros", "hrp-model", "urdf", MODEL, *options, *written)
    description = {"robot_description": (ros.folder / urdf).read_text(encoding="utf-8")}
    parameters = ros.folder / f"description_{interface}.yaml"
    values = {"robot_state_publisher": {"ros__parameters": description}}
    parameters.write_text(yaml.safe_dump(values), encoding="utf-8")

    def node(package, program, *arguments, until):
        return ros.running("ros2", "run", package, program, "--ros-args", *arguments, until=until)

    world = ("-p", "world:=arm", "-p", "hardware_topics:=true", "-p", "describe:=false")
    clock, describer = ("-p", f"clock_rate:={RATE}.0"), ("robot_state_publisher",) * 2
    manager = ("controller_manager", "ros2_control_node", "-p", "use_sim_time:=true")
    with (
        node("hrp_ros", "sim_node", *world, *clock, until="simulating"),
        node(*describer, "--params-file", parameters, until="Robot initialized"),
        node(*manager, "--params-file", controllers, until="update rate"),
    ):
        ros.ask("ros2", "run", "controller_manager", "spawner", *CONTROLLERS)
        assert_moves(ros, tolerance)


WHEEL = """\
  - name: {name}
    parent: BASE
    translation: [ {x}, {y}, 0 ]
    joint_type: revolute
    joint_id: {id}
    joint_axis: [ 0, 1, 0 ]
    mass: 0.5
    inertia: [ 2e-3, 0, 0, 0, 4e-3, 0, 0, 0, 2e-3 ]
    elements: [ {{ type: Shape, geometry: {{ type: Cylinder, radius: 0.1, height: 0.04 }} }} ]
"""
VEHICLE = (
    """\
format: ChoreonoidBody
format_version: 2.0
name: vehicle
links:
  - name: BASE
    joint_type: free
    translation: [ 0, 0, 0.1 ]
    mass: 5.0
    inertia: [ 0.05, 0, 0, 0, 0.05, 0, 0, 0, 0.08 ]
    elements:
      - type: Shape
        translation: [ 0, 0, 0.05 ]
        geometry: { type: Box, size: [ 0.4, 0.24, 0.06 ] }
"""
    + WHEEL.format(name="LEFT_BACK", x=-0.12, y=0.15, id=0)
    + WHEEL.format(name="LEFT_FRONT", x=0.12, y=0.15, id=1)
    + WHEEL.format(name="RIGHT_BACK", x=-0.12, y=-0.15, id=2)
    + WHEEL.format(name="RIGHT_FRONT", x=0.12, y=-0.15, id=3)
)
SPEED, FAR = 0.3, 0.6  # [m/s], [m]
DRIVER = "diff_drive_controller"


@topic_hardware
@needs(DRIVER)
def test_a_vehicle_drives_to_its_goal_and_its_controller_knows_how_far(ros):
    (ros.folder / "vehicle.body").write_text(VEHICLE, encoding="utf-8")
    world = ros.folder / "vehicle.yaml"
    floor = "{model: package://hrp_ros/models/floor.body}"
    world.write_text(f"bodies: [{floor}, {{model: vehicle.body}}]\n", encoding="utf-8")
    command = ("ros2", "launch", "hrp_ros", "ros2_control.launch.py", f"world:={world}")
    with (
        ros.running(*command, "rviz:=false", until="process started") as launched,
        closing(Peer()) as peer,
    ):
        launched.wait_for(f"and activated {DRIVER}")
        peer.follow(names.ODOMETRY, Odometry)
        peer.follow(f"{DRIVER}/odom", Odometry)
        driver = peer.node.create_publisher(TwistStamped, f"{DRIVER}/cmd_vel", 10)

        def places():
            """Return where the controller thinks that it is, and where it was then; and speeds."""
            own = peer.wait_for(f"{DRIVER}/odom")[-1]
            true = peer.first_after(names.ODOMETRY, stamp_ns(own.header.stamp))
            at = [np.array([m.pose.pose.position.x, m.pose.pose.position.y]) for m in (own, true)]
            return (*at, max(abs(m.twist.twist.linear.x) for m in (own, true)))

        def drive(speed, is_there):
            while not is_there(*places()):
                twist = TwistStamped()
                twist.header.stamp = peer.messages[names.ODOMETRY][-1].header.stamp
                twist.twist.linear.x = speed
                driver.publish(twist)

        own_start, start, _ = places()
        drive(SPEED, lambda own, true, _: np.linalg.norm(true - start) > FAR)
        drive(0.0, lambda own, true, speed: speed < 1e-3)
        own, true, _ = places()
        way = np.linalg.norm(true - start)
        assert way > FAR
        assert np.linalg.norm(own - own_start) == pytest.approx(way, rel=0.05)
        assert "ERROR" not in launched.printed
