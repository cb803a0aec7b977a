"""The <transmission> blocks: gear ratios, for those who read them in either form."""

import pytest
from control_tools import complaints, numbered, text_of, written
from urdf_tools import parsed, wheel

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.urdf.options import CommandInterface, Hardware


def geared(ratio, **joint):
    root = Link(name="BASE", parent=None, joint=Joint(type=JointType.FIXED, name="BASE"))
    made = Joint(
        **{"type": JointType.REVOLUTE, "name": "ELBOW", "id": 0, "gear_ratio": ratio, **joint}
    )
    return Body(name="arm", links=(root, Link(name="FORE", parent="BASE", joint=made, mass=1.0)))


@pytest.mark.parametrize(
    ("command", "interface"),
    [("position", "Position"), ("velocity", "Velocity"), ("effort", "Effort")],
)
def test_a_transmission_has_the_gear_ratio_of_the_model(command, interface):
    robot, _, _ = written(
        geared(123.4), transmissions=True, command_interface=CommandInterface(command)
    )
    (found,) = robot.findall("transmission")
    assert found.get("name") == "ELBOW_transmission"
    assert found.findtext("type") == "transmission_interface/SimpleTransmission"
    joint, motor = found.find("joint"), found.find("actuator")
    assert joint.get("name") == "ELBOW"
    assert joint.findtext("hardwareInterface") == f"hardware_interface/{interface}JointInterface"
    assert (motor.get("name"), motor.findtext("mechanicalReduction")) == ("ELBOW_motor", "123.4")


@pytest.mark.parametrize("ratio", [100.0, -80.0, 1.0])
def test_urdf_parser_py_reads_it_without_a_word(ratio):
    robot = parsed(text_of(geared(ratio), transmissions=True))
    (found,) = robot.transmissions
    assert found.actuators[0].mechanicalReduction == ratio


def test_inside_ros2_control_it_has_the_form_that_ros2_control_reads():
    robot, _, _ = written(geared(50.0), transmissions=True, ros2_control=Hardware.MOCK)
    assert complaints(robot) == []
    (found,) = robot.findall("ros2_control/transmission")
    assert found.findtext("plugin") == "transmission_interface/SimpleTransmission"
    joint, motor = found.find("joint"), found.find("actuator")
    assert (joint.get("name"), joint.get("role")) == ("ELBOW", "joint1")
    assert joint.findtext("mechanical_reduction") == "50.0"
    assert (motor.get("name"), motor.get("role")) == ("ELBOW_motor", "actuator1")


def test_in_mujoco_actuators_act_on_the_joints():
    robot, _, _ = written(geared(50.0), transmissions=True, ros2_control=Hardware.MUJOCO)
    assert robot.find("ros2_control/transmission") is None
    assert robot.find("transmission") is not None


def test_a_ratio_of_zero_is_no_transmission():
    robot, _, _ = written(geared(0.0), transmissions=True, ros2_control=Hardware.MOCK)
    assert not list(robot.iter("transmission"))


def test_a_joint_without_a_motor_has_none():
    body = wheel()
    assert not numbered(body)
    robot, _, _ = written(body, transmissions=True, ros2_control=Hardware.MOCK)
    assert not list(robot.iter("transmission"))


def test_without_the_option_there_are_none():
    robot, _, _ = written(geared(50.0), ros2_control=Hardware.MOCK)
    assert not list(robot.iter("transmission"))
