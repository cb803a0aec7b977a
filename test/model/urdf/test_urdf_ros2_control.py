"""The <ros2_control> block: what controllers find of a robot."""

from dataclasses import replace
from math import cos, inf, sin

import numpy as np
import pytest
from control_tools import (
    complaints,
    interfaces,
    numbered,
    params,
    robots,
    text_of,
    with_hardware,
    written,
)
from each_case import mostly_slow
from urdf_parser_py import urdf
from urdf_parser_py.xml_reflection import core
from urdf_tools import check_urdf, needs_check_urdf, parsed, random_body

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link, Range
from hrp_model.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    Imu,
    RangeSensor,
    RateGyroSensor,
)
from hrp_model.kinematics.loops import mimic_joints
from hrp_model.rigid import Pose, axis_angle_matrix, rpy_matrix
from hrp_model.urdf import CommandInterface, Hardware, UrdfOptions, body_to_urdf

EVERY_HARDWARE = pytest.mark.parametrize("hardware", Hardware)
STATES = ["position", "velocity", "effort"]


def arm(**joint):
    """Return a fixed base, a joint with an id, one without, and a track with an id."""

    def link(name, parent, **keys):
        made = Joint(**{"type": JointType.REVOLUTE, "name": name, **keys})
        return Link(name=name, parent=parent, joint=made, mass=1.0, inertia=np.eye(3))

    links = (
        link("BASE", None, type=JointType.FIXED),
        link("LOOSE", "BASE"),
        link("DRIVEN", "LOOSE", **{"id": 0, **joint}),
        link("TRACK", "BASE", type=JointType.TRACK, id=1),
    )
    return Body(name="arm", links=links)


def test_a_body_without_joints_to_command_is_told(diagnostics):
    still, idle = arm(), arm(id=None)
    still = replace(still, links=(still.root, still.links[3]))
    mock = UrdfOptions(ros2_control=Hardware.MOCK)
    for body, words in ((still, "no <ros2_control> block"), (idle, "no command interface")):
        for options in (mock, UrdfOptions()):
            body_to_urdf(body, diagnostics=diagnostics, options=options)
            diagnostics.take("still-track")
            if options is mock:
                assert words in diagnostics.take("nothing-to-control").message


def test_tracks_that_stand_still_are_told_in_one_warning(diagnostics):
    body = arm()
    track = body.links[3]
    other = replace(track, name="OTHER", joint=replace(track.joint, name="OTHER", id=2))
    body_to_urdf(replace(body, links=(*body.links, other)), diagnostics=diagnostics)
    assert "'TRACK', 'OTHER'" in diagnostics.take("still-track").message


def block_of(body, hardware=Hardware.MOCK, **options):
    robot, _, _ = written(body, ros2_control=hardware, **options)
    assert complaints(robot) == []
    return robot.find("ros2_control")


def joint_of(block, name):
    return block.find(f"joint[@name='{name}']")


# The robots


def commanded(controller):
    """Yield (joint, interface) of all that a controller commands."""
    which = controller.get("interface_name") or "".join(controller.get("command_interfaces", []))
    for name in controller.get("joints", []):
        yield name, which
    for name in controller.get("left_wheel_names", []) + controller.get("right_wheel_names", []):
        yield name, "velocity"


def check_robot(robot, body, frames, parameters):
    """Check one command and three states per joint with an id, and that controllers name it."""
    assert complaints(robot) == []
    blocks = robot.findall("ros2_control")
    moving = [link for link in body.moving_links if link.parent is not None]
    assert len(blocks) == bool(moving)
    used = {pair for node in parameters.values() for pair in commanded(node["ros__parameters"])}
    for link in moving:
        joint = joint_of(blocks[0], frames.joints[link.name])
        assert interfaces(joint, "state") == STATES
        commands = interfaces(joint, "command")
        if link in numbered(body):
            assert len(commands) == 1
            assert (joint.get("name"), commands[0]) in used
        else:
            assert commands == []
            assert joint.get("name") not in {name for name, _ in used}


@EVERY_HARDWARE
def test_every_numbered_joint_has_one_command_and_three_states_and_a_controller(hardware):
    count = 0
    for name, body, robot, frames in robots():
        made, parameters = with_hardware(robot, body, frames, hardware)
        if hardware is Hardware.GZ:
            made = robot  # as it was written
        try:
            check_robot(made, body, frames, parameters)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
        count += len(numbered(body))
    assert count > 60


# Joints


def test_joints_without_a_motor_are_watched_only_and_come_last():
    block = block_of(arm())
    assert [x.get("name") for x in block.findall("joint")] == ["DRIVEN", "LOOSE"]
    assert interfaces(joint_of(block, "LOOSE"), "command") == []
    assert interfaces(joint_of(block, "LOOSE"), "state") == STATES


def test_a_track_is_fixed_in_a_urdf_and_no_joint_to_ros2_control():
    assert joint_of(block_of(arm()), "TRACK") is None


@pytest.mark.parametrize(
    ("command", "limits"),
    [("position", {"min": "-0.5", "max": "1.5"}), ("velocity", {"min": "-2.0", "max": "2.0"}),
     ("effort", {"min": "-80.0", "max": "80.0"})],
)  # fmt: skip
def test_the_command_interface_is_the_one_asked_for_with_its_limits(command, limits):
    body = arm(position=Range(-0.5, 1.5), velocity=Range(-3, 2), effort=Range(-80, 80))
    block = block_of(body, command_interface=CommandInterface(command))
    (found,) = joint_of(block, "DRIVEN").findall("command_interface")
    assert found.get("name") == command
    assert params(found) == limits


def test_a_limit_that_is_not_there_is_not_written():
    (found,) = joint_of(block_of(arm(position=Range(-inf, 2.0))), "DRIVEN").findall(
        "command_interface"
    )
    assert params(found) == {"max": "2.0"}


@pytest.mark.parametrize("hardware", [Hardware.MOCK, Hardware.GZ, Hardware.MUJOCO])
def test_a_simulated_joint_starts_where_the_model_starts(hardware):
    position = joint_of(block_of(arm(initial=0.1 + 0.2), hardware), "DRIVEN").find(
        "state_interface[@name='position']"
    )
    assert float(params(position)["initial_value"]) == 0.1 + 0.2


def initial_values(block):
    """Return the initial value of each state of the joint."""
    states = joint_of(block, "DRIVEN").findall("state_interface")
    return {x.get("name"): float(params(x)["initial_value"]) for x in states}


def test_what_comes_by_topic_is_a_number_before_it_comes():
    block = block_of(arm(initial=0.3), Hardware.TOPIC)
    assert initial_values(block) == {"position": 0.3, "velocity": 0.0, "effort": 0.0}
    block = block_of(arm(initial=0.3), Hardware.TOPIC, positions={"DRIVEN": 0.5})
    assert initial_values(block) == {"position": 0.5, "velocity": 0.0, "effort": 0.0}


def test_a_joint_that_follows_another_is_not_commanded():
    """A parallelogram in the XZ plane: one joint has a motor, two follow it."""

    def turning(name, parent, p, **keys):
        joint = Joint(type=JointType.REVOLUTE, name=name, axis=[0, 1, 0], **keys)
        return Link(name=name, parent=parent, joint=joint, X_PL=Pose(p=p), mass=1.0)

    root = Link(name="BASE", parent=None, joint=Joint(type=JointType.FIXED, name="BASE"))
    links = (
        root,
        turning("CRANK", "BASE", [0, 0, 0], id=0),
        turning("COUPLER", "CRANK", [0, 0, 0.3]),
        turning("ROCKER", "BASE", [0.5, 0, 0], id=1),
    )
    loop = ExtraJoint(
        type=ExtraJointType.HINGE,
        links=("COUPLER", "ROCKER"),
        X_AJ=Pose(p=[0.5, 0, 0]),
        X_BJ=Pose(p=[0, 0, 0.3]),
        axis=[0, 1, 0],
    )
    body = Body(name="parallelogram", links=links, extra_joints=(loop,))
    followers = set(mimic_joints(body))
    assert followers
    robot, _, parameters = written(body, ros2_control=Hardware.MOCK)
    assert complaints(robot) == []
    block = robot.find("ros2_control")
    commanded = {x.get("name") for x in block.findall("joint") if interfaces(x, "command")}
    assert commanded == {"CRANK", "ROCKER"} - followers
    controller = parameters["/**/joint_trajectory_controller"]["ros__parameters"]
    assert set(controller["joints"]) == commanded


def test_a_body_that_does_not_move_has_no_block():
    body = Body(name="box", links=arm().links[:1])
    robot, _, parameters = written(body, ros2_control=Hardware.GZ)
    assert robot.find("ros2_control") is None
    assert robot.find("gazebo") is None
    assert list(parameters) == ["/**/controller_manager"]


def test_without_the_option_there_is_no_block():
    robot, _, _ = written(arm())
    assert robot.find("ros2_control") is None


# Hardware


@pytest.mark.parametrize(
    ("hardware", "plugin", "expected"),
    [
        (
            Hardware.TOPIC,
            "joint_state_topic_hardware_interface/JointStateTopicSystem",
            {
                "joint_commands_topic": "robot_joint_command",
                "joint_states_topic": "robot_joint_states",
                "trigger_joint_command_threshold": "-1.0",
            },
        ),
        (
            Hardware.MOCK,
            "mock_components/GenericSystem",
            {"calculate_dynamics": "true", "mock_sensor_commands": "true"},
        ),
        (Hardware.GZ, "gz_ros2_control/GazeboSimSystem", {}),
        (Hardware.MUJOCO, "mujoco_ros2_control/MujocoSystemInterface", {}),
    ],
)
def test_the_hardware_is_named_as_its_package_documents(hardware, plugin, expected):
    element = block_of(arm(), hardware).find("hardware")
    assert element.findtext("plugin") == plugin
    assert params(element) == expected


def test_gazebo_gets_the_plugin_that_runs_the_controllers():
    robot, _, _ = written(arm(), ros2_control=Hardware.GZ, controllers="/opt/c.yaml")
    plugin = robot.find("gazebo/plugin")
    assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
    assert plugin.get("filename") == "libgz_ros2_control-system.so"
    assert plugin.findtext("parameters") == "/opt/c.yaml"


# Sensors


def with_devices(*devices):
    return Body(name="arm", links=arm(initial=0.7).links, devices=devices)


def test_gyro_and_accelerometer_in_one_place_are_one_imu_and_elsewhere_two():
    def names(offset):
        block = block_of(
            with_devices(
                RateGyroSensor(name="GYRO", link="DRIVEN"),
                AccelerationSensor(name="ACC", link="DRIVEN", X_LS=Pose(p=[offset, 0, 0])),
            )
        )
        return [x.get("name") for x in block.findall("sensor")]

    assert names(0.0) == ["GYRO"]
    assert names(0.1) == ["GYRO", "ACC"]


def test_sensors_have_the_standard_interfaces():
    block = block_of(
        with_devices(
            ForceSensor(name="wrist", link="DRIVEN"),
            Imu(name="body imu", link="BASE"),
            Camera(name="eye", link="DRIVEN"),
            RangeSensor(name="laser", link="DRIVEN"),
            Imu(name="off", link="DRIVEN", on=False),
            ForceSensor(name="under the root", link="BASE"),
        ),
        Hardware.MUJOCO,
    )
    imu, wrist = block.findall("sensor")
    assert imu.get("name") == "body_imu"
    assert interfaces(imu, "state") == [
        *(f"orientation.{axis}" for axis in "xyzw"),
        *(f"angular_velocity.{axis}" for axis in "xyz"),
        *(f"linear_acceleration.{axis}" for axis in "xyz"),
    ]
    assert wrist.get("name") == "wrist"
    assert interfaces(wrist, "state") == [
        f"{what}.{x}" for what in ("force", "torque") for x in "xyz"
    ]
    assert params(imu) == {"mujoco_type": "imu", "mujoco_sensor_name": "body_imu"}
    assert params(wrist) == {"mujoco_type": "fts", "mujoco_sensor_name": "wrist"}


def test_by_topic_come_joints_only():
    block = block_of(with_devices(Imu(name="imu", link="DRIVEN")), Hardware.TOPIC)
    assert block.find("sensor") is None


def test_sensors_of_one_name_are_told_apart():
    block = block_of(
        with_devices(Imu(name="s-1", link="BASE"), ForceSensor(name="s_1", link="DRIVEN"))
    )
    assert [x.get("name") for x in block.findall("sensor")] == ["s_1", "s_1_2"]


def test_a_mock_imu_is_at_rest_in_the_initial_posture():
    """On a joint about Z that stands at 0.7, then tilted: g points up in the world."""
    tilt = rpy_matrix(0.4, -0.3, 0.0)
    (imu,) = block_of(with_devices(Imu(name="imu", link="DRIVEN", X_LS=Pose(tilt)))).findall(
        "sensor"
    )
    values = [float(params(x)["initial_value"]) for x in imu.findall("state_interface")]
    R = np.array([[cos(0.7), -sin(0.7), 0], [sin(0.7), cos(0.7), 0], [0, 0, 1]]) @ tilt
    x, y, z, w = values[:4]
    angle = 2.0 * np.arctan2(np.linalg.norm([x, y, z]), w)
    axis = np.array([x, y, z]) / np.linalg.norm([x, y, z])
    np.testing.assert_allclose(axis_angle_matrix(axis, angle), R, atol=1e-12)
    assert values[4:7] == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(R @ values[7:], [0, 0, 9.80665], atol=1e-12)


# Readers of URDF


def passed_by(hardware):
    return ["ros2_control"] + ["mujoco_inputs"] * (hardware is Hardware.MUJOCO)


def numbered_body(seed):
    """Return a random tree whose joints have ids and gears."""
    body = random_body(seed)
    links = [
        replace(link, inertia=np.eye(3), joint=replace(link.joint, id=i, gear_ratio=10.0 + i))
        for i, link in enumerate(body.links[1:])
    ]
    return Body(name="random", links=(body.root, *links), devices=body.devices)


@EVERY_HARDWARE
@pytest.mark.parametrize("seed", range(3))
def test_urdf_parser_py_reads_the_whole_but_the_blocks_of_others(hardware, seed, monkeypatch):
    body = numbered_body(seed)
    options = {"ros2_control": hardware, "gazebo": True}
    said = []
    monkeypatch.setattr(core, "on_error", said.append)
    robot = urdf.Robot.from_xml_string(text_of(body, **options).encode())
    assert said == [
        f"Unknown tag \"{tag}\" in /robot[@name='random']" for tag in passed_by(hardware)
    ]
    assert len(robot.links) == len(parsed(text_of(body)).links)


@needs_check_urdf
@pytest.mark.parametrize("hardware", mostly_slow(Hardware, 1))
def test_check_urdf_accepts_the_whole(hardware, tmp_path):
    body = numbered_body(3)
    options = {"ros2_control": hardware, "gazebo": True}
    assert check_urdf(text_of(body, **options), tmp_path) == ""


@EVERY_HARDWARE
def test_other_programs_pass_the_blocks_by_without_a_word(hardware, capfd, caplog):
    body = numbered_body(2)
    text = text_of(body, ros2_control=hardware, gazebo=True)
    joints = len(body.moving_links)
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_string(text).njnt == joints
    pinocchio = pytest.importorskip("pinocchio")
    assert pinocchio.buildModelFromXML(text).nv == joints
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
