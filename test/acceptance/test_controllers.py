"""ros2_control with our descriptions: controller manager, controllers, topic and mock hardware."""

import re
from contextlib import closing, contextmanager

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from diagnostic_msgs.msg import DiagnosticArray
from ros_peer import Peer
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
