"""Controllers of a parameter file that a robot can start."""

from each_case import all_cases

from hrp_model import Diagnostics, Severity
from hrp_model.diagnostics import Source
from hrp_model.urdf.controllers_file import read_controllers_file, start_order, with_variables
from hrp_model.urdf.topic_hardware import ControlledDescription

STATES = ("position", "velocity", "effort")
ROBOT = ControlledDescription(
    urdf="",
    joints=("a", "b", "left", "right", "free"),
    commands={"a": ("position", "velocity"), "b": ("position",), "left": ("velocity",),
              "right": ("velocity",)},
    states={**dict.fromkeys(("a", "b", "left", "right"), STATES), "ft": ("force.x",)},
)  # fmt: skip
JTC = "joint_trajectory_controller/JointTrajectoryController"
FORWARD = "forward_command_controller/ForwardCommandController"
MANAGER = "controller_manager: {ros__parameters: {update_rate: 50, "
BROADCASTER = "jsb: {type: joint_state_broadcaster/JointStateBroadcaster}"


def own(name, type_, parameters):
    return f"{name}: {{ros__parameters: {{type: {type_}, {parameters}}}}}\n"


def order(text, *codes, names=(), namespace="", **variables):
    """Return the file and the order, after checking the codes of all problems."""
    diagnostics = Diagnostics.silent()
    source = with_variables(Source("c.yaml", text), variables, diagnostics)
    file = read_controllers_file(source, namespace, diagnostics)
    made = start_order(file, ROBOT, names, diagnostics) if not diagnostics.has_errors else None
    assert [x.code for x in diagnostics.found] == list(codes), diagnostics.found
    return file, made, diagnostics


def test_controllers_are_those_with_a_type_in_either_place():
    text = (
        MANAGER + BROADCASTER + "}}\n"
        + own("arm", JTC, "joints: [a, b], command_interfaces: [position]")
        + "other_node: {ros__parameters: {joints: [nothing]}}"
    )  # fmt: skip
    file, made, _ = order(text)
    assert (made.active, made.inactive) == (["jsb", "arm"], [])
    assert (file.update_rate, file.has_own_types) == (50.0, True)


def test_who_wants_joints_that_are_taken_is_inactive_unless_chosen():
    text = (
        own("arm", JTC, "joints: [a, b], command_interfaces: [position]")
        + own("speed", FORWARD, "joints: [a], interface_name: velocity")
        + own("wheels", "d/D", "left_wheel_names: [left], right_wheel_names: [right]")
    )
    _, made, _ = order(text)
    assert (made.active, made.inactive) == (["arm", "wheels"], ["speed"])
    _, made, _ = order(text, names=["speed", "wheels"])
    assert (made.active, made.inactive) == (["speed", "wheels"], [])


def test_controllers_that_others_command_come_first():
    text = (
        own("drive", "d/D", "left_wheel_names: [pid/left], right_wheel_names: [pid/right]")
        + own("pid", "pid_controller/PidController", "dof_names: [left, right], "
              "command_interface: velocity")
    )  # fmt: skip
    _, made, _ = order(text)
    assert (made.active, made.inactive) == (["pid", "drive"], [])
    circle = text.replace("[left, right]", "[drive/left]")
    order(circle, "controllers-file")


LEFT_OUT = {
    "interface": own("x", FORWARD, "joints: [a], interface_name: acceleration"),
    "interface of another joint": own("x", FORWARD, "joints: [b], interface_name: velocity"),
    "kind of a wheel": own("x", "d/D", "left_wheel_names: [b]"),
    "kind of a group": own("x", "position_controllers/JointGroup", "joints: [left]"),
    "joint outside of the block": own("x", FORWARD, "joints: [free], interface_name: position"),
    "gpio": own("x", "gpio_controllers/GpioCommandController", "gpios: [io]"),
    "sensor": own("x", "imu_sensor_broadcaster/IMUSensorBroadcaster", "sensor_name: imu"),
    "axis": own("x", "f/FBroadcaster", "interface_names.force.y: ft/force.y"),
    "state": own("x", JTC, "joints: [b], command_interfaces: [position], "
                 "state_interfaces: [position, acceleration]"),
    "nothing that is known": own("x", "vendor/Io", "tf_prefix: left_"),
    "whole interface": own("x", JTC, "joints: [b], command_interfaces: [position], "
                           "speed_scaling: {state_interface: scaling/factor}"),
    "passthrough": own("x", "p/P", "interfaces: [b/effort]"),
}  # fmt: skip


@all_cases("case", LEFT_OUT)
def test_what_the_robot_lacks_stops_a_controller_with_a_reason(case):
    good = own("good", FORWARD, "joints: [b], interface_name: position")
    text = good + LEFT_OUT[case]
    _, made, diagnostics = order(text, "controllers-file")
    assert made.active == ["good"]
    assert diagnostics.found[0].severity is Severity.WARNING
    assert str(diagnostics.found[0].at).startswith("c.yaml:2:")
    if case != "nothing that is known":
        _, _, diagnostics = order(text, "controllers-file", names=["x"])
        assert diagnostics.has_errors


WRONG = {
    "unknown joint": (own("x", FORWARD, "joints: [a, shoulder]"), "unknown-joint"),
    "broadcast of an unknown joint": (
        own("x", "j/JBroadcaster", "joints: [c], interfaces: [position]"),
        "unknown-joint",
    ),
    "no controllers": ("controller_manager: {ros__parameters: {update_rate: 10}}",
                       "controllers-file"),
    "empty": ("", "controllers-file"),
    "a list": ("[1, 2]", "controllers-file"),
    "no YAML": ("a: [", "yaml-syntax"),
    "another namespace": ("/left/" + own("x", FORWARD, "joints: [a]"), "controllers-file"),
    "too many": (MANAGER + ", ".join(f"c{i}: {{type: t/T}}" for i in range(101)) + "}}",
                 "too-large"),
    "a variable without a value": (own("x", FORWARD, "joints: [$(var p)]"), "controllers-file"),
}  # fmt: skip


@all_cases("case", WRONG)
def test_a_wrong_file_is_an_error(case):
    text, code = WRONG[case]
    _, _, diagnostics = order(text, code)
    assert diagnostics.has_errors


def test_an_unknown_name_is_an_error_and_resembles_one():
    text = own("forward", FORWARD, "joints: [a], interface_name: position")
    _, _, diagnostics = order(text, "controllers-file", names=["forwrd", "forward"])
    assert "'forward'" in diagnostics.found[0].message


def test_nodes_are_found_as_ros_finds_them():
    body = "ros__parameters: {type: t/T, joints: [a]}"
    for key in ("x", "/x"):
        order(f"{key}: {{{body}}}")
        order(f"{key}: {{{body}}}", "controllers-file", namespace="left")
    for key in ("/**/x", "/left/x", "/*/x", "/left"):
        inner = f"x: {{{body}}}" if key == "/left" else body
        file, _, _ = order(f"{key}: {{{inner}}}", namespace="/left/")
        assert list(file.controllers) == ["x"]


def test_parameters_of_all_nodes_are_those_of_the_manager_and_of_each_controller():
    shared = "{ros__parameters: {update_rate: 50, x: {type: t/T}, joints: [a, b]}}"
    for key, namespace in (("/**", ""), ("**", "left"), ("*", ""), ("/left/**", "left")):
        file, _, _ = order(f"'{key}': {shared}\nx: {{ros__parameters: {{}}}}", namespace=namespace)
        assert (list(file.controllers), file.update_rate) == (["x"], 50.0)
        assert file.controllers["x"].texts("joints") == ("a", "b")
    order(f"/right/**: {shared}", "controllers-file", namespace="left")
    own_joints = f"/**: {shared}\n/**/x: {{ros__parameters: {{joints: [b]}}}}"
    assert order(own_joints)[0].controllers["x"].texts("joints") == ("b",)


def test_keys_that_are_repeated_count_as_for_rcl():
    """Robotis writes /** before each node; places are those in the file."""
    text = """# controllers
/**:
  controller_manager: {ros__parameters: {update_rate: 50, x: {type: t/T}, y: {type: t/T}}}
/**:
  x: {ros__parameters: {joints: [a], interface_name: position}}
/**:
  y: {ros__parameters: {joints: [b, e]}}
"""
    _, _, diagnostics = order(text, "unknown-joint")
    assert str(diagnostics.found[0].at).startswith("c.yaml:7:37")


def test_variables_are_replaced_as_launch_does():
    text = own("x", FORWARD, "joints: ['$(var side)'], interface_name: velocity")
    _, made, _ = order(text, side="left")
    assert made.active == ["x"]
