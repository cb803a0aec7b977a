"""The nodes, started by ``ros2 run`` and asked by the commands of ROS 2."""

import re
from contextlib import closing

import pytest
import yaml
from page_tools import ROS2_PAGES, marked_rows

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from nav_msgs.msg import Odometry
from ros_peer import Peer
from ros_tools import needs
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

HAS_SIMULATION_INTERFACES = needs("simulation_interfaces")
HAS_CONTROL_MSGS = needs("control_msgs")


def rows(name):
    return marked_rows(ROS2_PAGES, name)


@pytest.fixture(scope="module")
def humanoid(ros):
    """Run the humanoid of the demonstration."""
    arguments = ("-p", "world:=humanoid_in_room", "-p", "describe:=true")
    with ros.running(
        "ros2", "run", "hrp_ros", "sim_node", "--ros-args", *arguments, until="simulating"
    ) as running:
        ros.ask_until("/sim_node", "ros2", "node", "list")
        yield running


@pytest.fixture
def ros2(ros, humanoid):
    """Return what runs a command of ``ros2`` while the humanoid is simulated."""
    return lambda *arguments, **options: ros.ask("ros2", *arguments, **options)


def call(ros2, service, kind, values="{}"):
    return ros2("service", "call", f"/sim_node/{service}", kind, values)


# The package


def test_the_package_is_found_with_its_version_and_its_programs(ros):
    share = ros.ask("ros2", "pkg", "prefix", "--share", "hrp_ros").strip()
    for name in ("fastrtps", "fastdds"):  # as docs/ros2.md names them
        assert f"{name}.xml" in ros.ask("ls", f"{share}/config")
    from hrp_model import __version__

    assert ros.ask("ros2", "pkg", "xml", "hrp_ros", "-t", "version").strip() == __version__
    programs = ros.ask("ros2", "pkg", "executables", "hrp_ros").split()[1::2]
    assert set(programs) == {"hrp-model", "hrp-sim", "model_node", "sim_node", "view_node"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sim_node"], "error: parameter 'world' is empty"),
        (["model_node"], "error: parameter 'model' is empty"),
        (["sim_node", "world.yaml"], "Did you mean 'sim_node --ros-args -p world:=world.yaml'?"),
        (["sim_node", "--ros-args", "-p", "world:=arm", "-p", "seed:=1.5"], "an integer, not 1.5"),
    ],
)
def test_a_node_that_is_used_wrongly_has_a_status_and_one_line(arguments, said, ros):
    printed = ros.ask("ros2", "run", "hrp_ros", *arguments, status=2)
    assert said in printed
    assert len(printed.splitlines()) == 2  # with that of "ros2 run"


def test_the_help_of_a_node_lists_its_parameters(ros):
    assert "real_time_factor" in ros.ask("ros2", "run", "hrp_ros", "sim_node", "--help")


@HAS_SIMULATION_INTERFACES
@HAS_CONTROL_MSGS
def test_the_types_of_all_topics_commands_and_services_are_known(ros):
    known = ros.ask("ros2", "interface", "list").split()
    cells = [row[1] for name in ("Topics", "Commands", "Services") for row in rows(name)]
    for package, name in {found for cell in cells for found in re.findall(r"(\w+)/(\w+)", cell)}:
        assert {f"{package}/{kind}/{name}" for kind in ("msg", "srv", "action")} & set(known), name
    shown = ros.ask("ros2", "interface", "show", "simulation_interfaces/action/SimulateSteps")
    assert "uint64 completed_steps" in shown


# Nodes and topics


def test_a_node_is_listed_with_its_services_and_actions(ros2):
    info = ros2("node", "info", "/sim_node")
    for name, kind, _ in rows("Services"):
        if kind.startswith("std_srvs") and "<" not in name:
            package, _, base = kind.partition("/")
            assert f"{name.strip('`').replace('~', '/sim_node')}: {package}/srv/{base}" in info
    for command in ("joint_commands: sensor_msgs/msg/JointState", "external_wrench"):
        assert f"    /{command}" in info


@HAS_SIMULATION_INTERFACES
@HAS_CONTROL_MSGS
def test_services_and_actions_of_standard_packages_are_listed(ros2):
    info = ros2("node", "info", "/sim_node")
    assert info.count("simulation_interfaces/srv/") >= 19
    actions = ros2("action", "list", "-t")
    assert "/follow_joint_trajectory [control_msgs/action/FollowJointTrajectory]" in actions
    assert "/sim_node/simulate_steps [simulation_interfaces/action/SimulateSteps]" in actions


def test_topics_have_their_types_and_qos(ros2):
    listed = set(ros2("topic", "list", "-t").splitlines())
    for name in ("/tf [tf2_msgs/msg/TFMessage]", "/imu/data_raw [sensor_msgs/msg/Imu]"):
        assert name in listed
    for topic, durability in (("/joint_states", "VOLATILE"), ("/devices", "TRANSIENT_LOCAL")):
        info = ros2("topic", "info", "-v", topic)
        assert "Node name: sim_node" in info
        assert "Reliability: RELIABLE" in info
        assert f"Durability: {durability}" in info


@pytest.mark.parametrize("more", [[], ["--qos-reliability", "best_effort"]])
def test_a_sensor_is_echoed_with_either_reliability(more, ros2):
    printed = ros2("topic", "echo", "--once", *more, "/scan").removesuffix("---\n")
    assert yaml.safe_load(printed)["header"]["frame_id"] == "scanner_frame"


def test_what_is_latched_is_echoed_though_it_was_published_before(ros2):
    assert "5 of 5 devices are on" in ros2("topic", "echo", "--once", "/devices")
    assert "<robot" in ros2("topic", "echo", "--once", "--full-length", "/robot_description")


def test_rates_and_sizes_are_measured(ros, humanoid):
    for verb, until in (("hz", "average rate"), ("bw", "Message size mean")):
        with ros.running("ros2", "topic", verb, "/scan", until=until):
            pass


def test_a_message_of_the_command_line_moves_a_joint(ros2):
    with closing(Peer()) as peer:
        peer.follow("/joint_states", JointState)
        values = "{name: [LARM_ELBOW], position: [-1.0]}"
        ros2("topic", "pub", "--once", "/joint_commands", "sensor_msgs/msg/JointState", values)
        states = peer.messages["/joint_states"]
        index = peer.wait_for("/joint_states")[0].name.index("LARM_ELBOW")
        peer.wait_until("the elbow", lambda: states[-1].position[index] < -0.9)


def test_a_vehicle_drives_by_cmd_vel(ros):
    world = ("--ros-args", "-p", "world:=rover", "-r", "__ns:=/driven")
    command = "{linear: {x: 0.3}, angular: {z: 0.2}}"
    drive = ("pub", "-r", "10", "/driven/cmd_vel", "geometry_msgs/msg/Twist", command)
    with (
        ros.running("ros2", "run", "hrp_ros", "sim_node", *world, until="simulating"),
        ros.running("ros2", "topic", *drive, until="publishing"),
        closing(Peer()) as peer,
    ):
        peer.follow("/driven/ground_truth/odom", Odometry)
        known = peer.messages["/driven/ground_truth/odom"]
        peer.wait_until("motion", lambda: known and known[-1].twist.twist.linear.x > 0.2)


# Parameters


def test_parameters_are_listed_read_and_described(ros2):
    assert {"real_time_factor", "LARM_ELBOW.kp"} <= set(ros2("param", "list", "/sim_node").split())
    assert ros2("param", "get", "/sim_node", "clock_rate") == "Double value is: 250.0\n"
    described = ros2("param", "describe", "/sim_node", "real_time_factor")
    assert "Simulation time per real time; 0 = as fast as possible." in described
    assert "Max value: 1000.0" in described
    described = ros2("param", "describe", "/sim_node", "LARM_ELBOW.mode")
    assert "'position', 'velocity' or 'effort'" in described


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("HEAD.kp", "300.0", "Set parameter successful"),
        ("HEAD.kp", "-1.0", "out of range Min: 0.0"),
        ("HEAD.kp", "300", "Wrong parameter type, expected 'Type.DOUBLE'"),
        ("HEAD.mode", "effort", "Set parameter successful"),
        ("HEAD.mode", "best", "HEAD.mode must be 'position', 'velocity' or 'effort', not 'best'"),
        ("HEAD.initial_position", "100.0", "failed"),
        ("clock_rate", "100.0", "read-only"),
    ],
)
def test_parameters_are_set_or_refused_with_a_reason(name, value, said, ros2):
    assert said in ros2("param", "set", "/sim_node", name, value)


def test_the_parameters_of_a_node_start_another_one(ros2, ros):
    dumped = ros.folder / "dumped.yaml"
    dumped.write_text(ros2("param", "dump", "/sim_node").replace("/sim_node:", "/**:"))
    again = ("--params-file", dumped, "-r", "__ns:=/again", "-p", "real_time_factor:=0.5")
    with ros.running(
        "ros2", "run", "hrp_ros", "sim_node", "--ros-args", *again, until="simulating"
    ):
        ros.ask_until("/again/sim_node", "ros2", "node", "list")
        asked = ros2("param", "get", "/again/sim_node", "LARM_ELBOW.kd")
        assert asked == ros2("param", "get", "/sim_node", "LARM_ELBOW.kd")


# Services and actions


def test_services_respond_with_a_message(ros2):
    assert "success=True" in call(ros2, "pause", "std_srvs/srv/SetBool", "{data: true}")
    assert "success=True" in call(ros2, "pause", "std_srvs/srv/SetBool", "{data: false}")
    reset = call(ros2, "reset", "std_srvs/srv/Trigger")
    assert "success=True, message='the world was reset to time zero'" in reset


@HAS_SIMULATION_INTERFACES
def test_a_paused_world_is_stepped_by_service_and_by_action(ros2):
    state = "simulation_interfaces/srv/SetSimulationState"
    assert "result=1" in call(ros2, "set_simulation_state", state, "{state: {state: 2}}")
    step = "simulation_interfaces/srv/StepSimulation"
    assert "result=1" in call(ros2, "step_simulation", step, "{steps: 100}")
    kind = "simulation_interfaces/action/SimulateSteps"
    goal = ("--feedback", "/sim_node/simulate_steps", kind, "{steps: 3}")
    printed = ros2("action", "send_goal", *goal)
    assert "result=1" in call(ros2, "set_simulation_state", state, "{state: {state: 1}}")
    assert "Goal finished with status: SUCCEEDED" in printed
    # The result may arrive before the feedback of the last step.
    assert re.findall(r"completed_steps: (\d)", printed) in (["1", "2"], ["1", "2", "3"])
    assert "stepping" in call(ros2, "step_simulation", step, "{steps: 1}")


@HAS_CONTROL_MSGS
def test_a_trajectory_is_a_goal(ros2):
    kind = "control_msgs/action/FollowJointTrajectory"
    point = "{positions: [0.3], time_from_start: {sec: 1}}"
    for joint, end in (("NECK", "SUCCEEDED"), ("NICK", "Did you mean 'NECK'?")):
        goal = f"{{trajectory: {{joint_names: [{joint}], points: [{point}]}}}}"
        assert end in ros2("action", "send_goal", "/follow_joint_trajectory", kind, goal)


# The other nodes


def test_the_model_node_serves_parameters(ros):
    model = "model:=package://hrp_ros/models/arm/arm.body"
    command = ("ros2", "run", "hrp_ros", "model_node", "--ros-args", "-p", model)
    with ros.running(*command, "-r", "__ns:=/arm", until="'Arm': 8 links"):
        ros.ask_until("/arm/model_node", "ros2", "node", "list")
        printed = ros.ask("ros2", "param", "set", "/arm/model_node", "model", "none.body")
        assert "none.body" in printed
        assert "failed" in printed


def test_the_page_of_view_node_is_printed(ros):
    with ros.running("ros2", "run", "hrp_ros", "view_node", until="view: http://localhost:") as it:
        assert it.interrupt() == 0


def test_a_simulation_ends_by_ctrl_c_without_a_complaint(ros):
    command = ("ros2", "run", "hrp_ros", "sim_node", "--ros-args", "-p", "world:=arm")
    with ros.running(*command, "-r", "__ns:=/ended", until="simulating") as running:
        assert running.interrupt() == 0
    assert len(running.printed.splitlines()) == 1
