"""The launch files, started by ``ros2 launch`` from a workspace."""

import importlib
import re

import launch_double
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("launch_ros", reason="launch_ros is not importable")
from nav_msgs.msg import Odometry
from ros_peer import LATCHED
from ros_tools import missing_packages, needs, receive
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from hrp_model.ros.parameters import MODEL_NODE
from hrp_sim.ros.sim_node import PARAMETERS

pytestmark = pytest.mark.ros

FILES = {
    "display.launch.py": (MODEL_NODE, "model:=package://hrp_ros/models/arm/arm.body"),
    "simulation.launch.py": (PARAMETERS, "world:=arm"),
}
CONTROL = "ros2_control.launch.py"
CONTROLLERS = ("controller_manager", "joint_state_topic_hardware_interface")
OPTIONAL = ("rviz2", "joint_state_publisher_gui")
CLEANLY = "process has finished cleanly"
XML = """
<launch>
  <include file="$(find-pkg-share hrp_ros)/launch/simulation.launch.py">
    <arg name="world" value="arm"/>
    <arg name="rviz" value="false"/>
    <arg name="namespace" value="included"/>
  </include>
  <node pkg="hrp_ros" exec="model_node" namespace="beside">
    <param name="model" value="package://hrp_ros/models/arm/arm.body"/>
  </node>
</launch>
"""


def launch(name, *arguments):
    return ("ros2", "launch", "hrp_ros", name, *arguments)


def shown_arguments(ros, name):
    """Return the arguments of a launch file and their defaults, as they are shown to users."""
    shown = ros.ask(*launch(name, "--show-args"))
    return dict(
        re.findall(r"^    '(.*?)':\n(?:        .*\n)*?        \(default: '(.*)'\)", shown, re.M)
    )


@pytest.mark.parametrize("name", FILES)
def test_the_robot_is_described_in_its_namespace_until_ctrl_c(name, ros):
    arguments = FILES[name][1], "namespace:=lab", "rviz:=false"
    with ros.running(*launch(name, *arguments), until="process started") as started:
        assert "<robot" in receive("/lab/robot_description", String, LATCHED).data
        assert started.interrupt() == 0
    assert CLEANLY in started.printed
    assert "ERROR" not in started.printed


@pytest.mark.parametrize("name", FILES)
def test_what_is_optional_and_missing_is_a_warning(name, ros):
    if not (lack := missing_packages(*OPTIONAL[: 2 if "display" in name else 1])):
        pytest.skip(f"installed: {', '.join(OPTIONAL)}")
    with ros.running(*launch(name, FILES[name][1]), until="process started") as started:
        receive("/robot_description", String, LATCHED)
    for package in lack:
        assert started.printed.count(f"the package {package} is not installed") == 1
    assert "ERROR" not in started.printed


@pytest.mark.parametrize("name", FILES)
def test_all_parameters_of_the_node_are_arguments(name, ros):
    shown = shown_arguments(ros, name)
    expected = {p.name for p in FILES[name][0] if p.name.isidentifier()} - {"describe"}
    assert expected <= shown.keys()


def test_a_model_of_the_folder_of_the_user_is_found(ros):
    (ros.folder / "mine.urdf").write_text('<robot name="Mine"><link name="only"/></robot>')
    command = launch("display.launch.py", "model:=mine.urdf", "rviz:=false", "gui:=false")
    with ros.running(*command, until="'Mine': 1 link"):
        pass


@pytest.mark.parametrize("value", ["inf", "max"])
def test_a_choice_that_yaml_takes_for_a_number_arrives_as_it_is(value, ros):
    command = launch("simulation.launch.py", "world:=rover", "rviz:=false", f"no_return:={value}")
    with ros.running(*command, until="simulating"):
        assert value in ros.ask_until(value, "ros2", "param", "get", "/sim_node", "no_return")


def test_a_launch_file_in_xml_includes_ours_and_starts_our_nodes(ros):
    (ros.folder / "own.launch.xml").write_text(XML)
    with ros.running("ros2", "launch", "own.launch.xml", until="process started"):
        for namespace in ("included", "beside"):
            assert "<robot" in receive(f"/{namespace}/robot_description", String, LATCHED).data


def test_two_simulators_have_clocks_of_their_own(ros):
    """As under "In several processes" in docs/ros2.md."""
    file = "simulation.launch.py"
    one = launch(file, "world:=arm", "namespace:=a", "rviz:=false")
    other = launch(file, "world:=arm", "namespace:=b", "rviz:=false", "clock_topic:=/b/clock")
    with ros.running(*one, until="simulating"), ros.running(*other, until="simulating"):
        for topic in ("/clock", "/b/clock"):
            assert "Publisher count: 1" in ros.ask_until("count: 1", "ros2", "topic", "info", topic)
            receive(topic, Clock)
        for name in "ab":
            odometry = receive(f"/{name}/ground_truth/odom", Odometry)
            assert odometry.child_frame_id == f"{name}/base_link"


def test_a_node_that_cannot_start_ends_the_launch(ros):
    """The status of ``ros2 launch`` is 0 then, as docs/ros2.md states."""
    printed = ros.ask(*launch("simulation.launch.py", "rviz:=false", "world:=none.yaml"))
    for text in ("cannot read 'none.yaml'", "exit code 1", "was required: shutting down"):
        assert text in printed
    assert "Traceback" not in printed


def test_an_argument_that_is_misspelt_is_a_warning(ros):
    warning = "there is no argument 'wrld'. Did you mean 'world'?"
    command = launch("simulation.launch.py", "rviz:=false", "wrld:=arm")
    with ros.running(*command, until="simulating") as started:
        assert warning in started.printed


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("params_file:=none.yaml", "params_file: there is no file 'none.yaml'"),
        ("real_time_factor:=fast", "real_time_factor must be a number, not 'fast'"),
        ("real_time_factor:=-1.0", "real_time_factor must be in the range 0 .. 1000, not -1"),
        ("solver:=best", "Valid options are: ['', 'world', 'quick']"),
    ],
)
def test_invalid_arguments_end_the_launch_before_anything_starts(argument, said, ros):
    printed = ros.ask(*launch("simulation.launch.py", "world:=arm", argument), status=1)
    assert said in printed
    assert "process started" not in printed
    assert "Traceback" not in printed


def test_the_example_of_a_parameter_file_is_used(ros):
    share = ros.ask("ros2", "pkg", "prefix", "--share", "hrp_ros").strip()
    file = f"params_file:={share}/config/simulation.yaml"
    with ros.running(
        *launch("simulation.launch.py", "rviz:=false", file), until="simulating"
    ) as it:
        assert "WARN" not in it.printed


# ros2_control


def test_what_ros2_control_lacks_is_named_before_anything_starts(ros):
    if not (lack := missing_packages(*CONTROLLERS)):
        pytest.skip("ros2_control is installed")
    printed = ros.ask(*launch(CONTROL, "world:=arm"), status=1)
    assert all(package in printed for package in lack)
    assert "process started" not in printed
    assert "Traceback" not in printed


def test_the_defaults_that_are_shown_are_those_of_ros2_control(ros):
    shown = shown_arguments(ros, CONTROL)
    assert (shown["hardware_topics"], shown["clock_rate"]) == ("true", "500.0")
    assert shown["rviz"] == shown["joint_limits"] == "true"


# The double of launch, with which all else is tested


@needs("launch", "launch_ros")
@pytest.mark.parametrize("module", launch_double.CLASSES)
def test_the_double_has_classes_that_there_are(module):
    real = importlib.import_module(module)
    absent = [k.__name__ for k in launch_double.CLASSES[module] if not hasattr(real, k.__name__)]
    assert absent == []
