"""controllers.yaml: controllers that fit the robot, with parameters that they have."""

from dataclasses import replace

import pytest
import yaml
from control_tools import numbered, silent, written
from each_case import all_cases
from paths import MODELS
from urdf_tools import random_body
from vehicles import vehicle, wheel

from hrp_model import BodyState, load_body
from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.devices import ForceSensor, Imu
from hrp_model.files.writer import yaml_text
from hrp_model.frames import body_frames
from hrp_model.geometry import Box, Shape
from hrp_model.rigid import Pose
from hrp_model.urdf import (
    Base,
    CommandInterface,
    Hardware,
    UrdfOptions,
    controllers,
    controllers_yaml,
)

# Parameters as the controllers declare them, as far as they are used, with their types.
GAINS = {"p": float, "i": float, "d": float, "ff_velocity_scale": float}
DECLARED = {
    "joint_state_broadcaster/JointStateBroadcaster": {"frame_id": str},
    "joint_trajectory_controller/JointTrajectoryController": {
        "joints": list,
        "command_interfaces": list,
        "state_interfaces": list,
        "allow_partial_joints_goal": bool,
        "gains": dict,
    },
    "forward_command_controller/ForwardCommandController": {"joints": list, "interface_name": str},
    "imu_sensor_broadcaster/IMUSensorBroadcaster": {"sensor_name": str, "frame_id": str},
    "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster": {
        "sensor_name": str,
        "frame_id": str,
        "multiplier": dict,
    },
    "diff_drive_controller/DiffDriveController": {
        "left_wheel_names": list,
        "right_wheel_names": list,
        "wheel_separation": float,
        "wheel_separation_multiplier": float,
        "wheel_radius": float,
        "base_frame_id": str,
        "odom_frame_id": str,
        "tf_frame_prefix_enable": bool,
        "enable_odom_tf": bool,
        "linear": dict,
    },
}


def limb(*names, devices=(), **joint):
    """Return a chain of links, each 0.5 m below the one before it."""
    links = [Link(name="BASE", parent=None, joint=Joint(type=JointType.FIXED, name="BASE"))]
    for i, name in enumerate(names):
        made = Joint(
            **{"type": JointType.REVOLUTE, "axis": [0, 1, 0], "name": name, "id": i, **joint}
        )
        pose = Pose(p=[0, 0, -0.5 * (i > 0)])
        parent = links[-1].name
        links.append(Link(name=f"{name}_LINK", parent=parent, joint=made, X_PL=pose, mass=2.0,
                          center_of_mass=[0, 0, -0.5]))  # fmt: skip
    return Body(name="limb", links=tuple(links), devices=devices)


def parameters(body, **options):
    """Return the parameters by the name of the controller, checked to be declared ones."""
    _, _, data = written(body, **options)
    data = {key.removeprefix("/**/"): entry["ros__parameters"] for key, entry in data.items()}
    manager = data.pop("controller_manager")
    assert type(manager.pop("update_rate")) is int
    assert set(data) == set(manager)
    for name, entry in manager.items():
        declared = DECLARED[entry["type"]]
        assert {key: type(value) for key, value in data[name].items()} == {
            key: declared[key] for key in data[name]
        }
        for gains in data[name].get("gains", {}).values():
            assert {key: type(value) for key, value in gains.items()} == {
                k: GAINS[k] for k in gains
            }
    return data


def test_one_controller_follows_trajectories_of_all_joints_in_the_models_order():
    body = load_body(MODELS / "humanoid" / "humanoid.body", silent())
    found = parameters(body, ros2_control=Hardware.TOPIC)
    assert list(found) == [
        "joint_state_broadcaster",
        "joint_trajectory_controller",
        "forward_position_controller",
    ]
    names = [link.joint.name for link in sorted(numbered(body), key=lambda link: link.joint.id)]
    assert found["joint_trajectory_controller"]["joints"] == names
    assert found["joint_trajectory_controller"]["command_interfaces"] == ["position"]
    assert found["joint_trajectory_controller"]["state_interfaces"] == ["position", "velocity"]
    assert found["forward_position_controller"] == {"joints": names, "interface_name": "position"}


def test_controllers_of_one_joint_never_run_together():
    body = load_body(MODELS / "humanoid" / "humanoid.body", silent())
    options = UrdfOptions(ros2_control=Hardware.MOCK)
    made = controllers(body, body_frames(body, silent(), options), options)
    active = [joint for c in made if c.active for joint in c.parameters.get("joints", [])]
    assert len(set(active)) == len(active) == len(numbered(body))
    assert [c.name for c in made if not c.active] == ["forward_position_controller"]


def test_velocities_are_fed_forward():
    found = parameters(limb("A", "B"), command_interface=CommandInterface.VELOCITY)
    gains = found["joint_trajectory_controller"]["gains"]
    assert gains == {name: {"p": 10.0, "ff_velocity_scale": 1.0} for name in ("A", "B")}
    assert found["forward_velocity_controller"]["interface_name"] == "velocity"


def test_gains_of_efforts_fit_the_inertia_that_a_joint_moves():
    """Point masses of 2 kg: 0.5 m below each joint, the lower one 1.0 m below the upper."""
    body = limb("A", "B", equivalent_rotor_inertia=0.125)
    found = parameters(body, command_interface=CommandInterface.EFFORT)
    gains = found["joint_trajectory_controller"]["gains"]
    for name, inertia in {"A": 2 * 0.25 + 2 * 1.0 + 0.125, "B": 2 * 0.25 + 0.125}.items():
        assert gains[name]["p"] == pytest.approx(400 * inertia, rel=1e-3)
        assert gains[name]["d"] == pytest.approx(40 * inertia, rel=1e-3)
    assert BodyState(body).q.shape == (2,)


def test_each_sensor_of_the_block_has_a_broadcaster():
    devices = (
        Imu(name="imu 1", link="A_LINK"),
        ForceSensor(name="wrist", link="B_LINK", X_LS=Pose(p=[0, 0, 0.1])),
    )
    body = limb("A", "B", devices=devices)
    found = parameters(body, ros2_control=Hardware.MOCK, frame_prefix="r1/")
    assert found["imu_1_broadcaster"] == {"sensor_name": "imu_1", "frame_id": "r1/imu 1"}
    assert found["wrist_broadcaster"] == {"sensor_name": "wrist", "frame_id": "r1/wrist"}
    robot, _, _ = written(body, ros2_control=Hardware.MOCK)
    sensors = [x.get("name") for x in robot.findall("ros2_control/sensor")]
    assert sensors == [x["sensor_name"] for x in found.values() if "sensor_name" in x]


def test_gazebo_measures_a_wrench_about_the_joint():
    devices = (ForceSensor(name="wrist", link="B_LINK", X_LS=Pose(p=[0, 0, 0.1])),)
    found = parameters(limb("A", "B", devices=devices), ros2_control=Hardware.GZ)
    assert found["wrist_broadcaster"]["frame_id"] == "B_LINK"


@pytest.mark.parametrize("hardware", [None, Hardware.TOPIC])
def test_where_no_sensor_is_read_there_is_no_broadcaster(hardware):
    body = limb("A", devices=(Imu(name="imu", link="A_LINK"),))
    assert "imu_broadcaster" not in parameters(body, ros2_control=hardware)


def test_a_sensor_is_not_mistaken_for_the_joint_states():
    body = limb("A", devices=(Imu(name="joint_state", link="A_LINK"),))
    found = parameters(body, ros2_control=Hardware.MOCK)
    assert found["joint_state_broadcaster_2"]["sensor_name"] == "joint_state"
    assert found["joint_state_broadcaster"] == {"frame_id": "BASE"}


def test_no_two_sensors_share_a_broadcaster():
    names = ("joint_state", "joint_state_broadcaster", "joint_state_sensor")
    body = limb("A", devices=tuple(Imu(name=name, link="A_LINK") for name in names))
    found = parameters(body, ros2_control=Hardware.MOCK)
    told = [x["sensor_name"] for x in found.values() if "sensor_name" in x]
    assert told == list(names)


def test_a_link_without_mass_has_gains_all_the_same():
    body = limb("A")
    body = replace(body, links=(body.root, replace(body.links[1], mass=0.0)))
    found = parameters(body, command_interface=CommandInterface.EFFORT)
    gains = found["joint_trajectory_controller"]["gains"]["A"]
    assert gains["p"] > 0.0
    # The double pole of x'' + d/I x' + p/I x, whatever I is.
    assert gains["d"] ** 2 / (4 * gains["p"]) == pytest.approx(gains["p"] / 20.0**2)


def test_wheels_of_a_car_are_commanded_by_velocity_from_the_start():
    """A car steers, so no controller of a differential drive fits it."""
    fork = wheel("FORK", [0.3, 0, 0], axis=[0, 0, 1], id=0, shape=Shape(Box([0.02] * 3)))
    front = wheel("FRONT", [0, 0, 0], parent="FORK", id=1)
    body = vehicle(fork, front, wheel("REAR", [-0.3, 0, 0], id=2))
    found = parameters(body, ros2_control=Hardware.MOCK)
    assert found["joint_trajectory_controller"]["joints"] == ["FORK"]
    assert found["forward_velocity_controller"]["joints"] == ["FRONT", "REAR"]
    options = UrdfOptions(ros2_control=Hardware.MOCK)
    made = controllers(body, body_frames(body, silent(), options), options)
    assert [c.name for c in made if not c.active] == ["forward_position_controller"]


def two_wheels(**joint):
    left, right = (
        wheel(n, [0, y, 0], id=i, **joint) for i, (n, y) in enumerate((("L", 0.2), ("R", -0.2)))
    )
    mast = wheel("MAST", [0, 0, 0.2], axis=[0, 0, 1], id=2, position=Range(-1, 1))
    return vehicle(left, right, mast)


def test_a_vehicle_is_driven_and_its_other_joints_follow_trajectories():
    body = two_wheels(velocity=Range(-20.0, 20.0))
    found = parameters(body, base=Base.FOOTPRINT, frame_prefix="r1/", ros2_control=Hardware.GZ)
    assert found["diff_drive_controller"] == {
        "left_wheel_names": ["L"],
        "right_wheel_names": ["R"],
        "wheel_separation": pytest.approx(0.4),
        "wheel_separation_multiplier": pytest.approx(1.0),
        "wheel_radius": pytest.approx(0.1),
        "base_frame_id": "r1/base_footprint",
        "odom_frame_id": "r1/odom",
        "tf_frame_prefix_enable": False,
        "enable_odom_tf": True,
        "linear": {"x": {"max_velocity": 2.0, "min_velocity": -2.0}},
    }
    assert found["joint_trajectory_controller"]["joints"] == ["MAST"]
    assert found["forward_velocity_controller"]["joints"] == ["L", "R"]
    robot, _, _ = written(body, ros2_control=Hardware.GZ)
    commands = {
        x.get("name"): x.find("command_interface").get("name")
        for x in robot.findall("ros2_control/joint")
    }
    assert commands == {"L": "velocity", "R": "velocity", "MAST": "position"}


def test_who_sends_the_states_by_topic_tells_where_the_root_is():
    found = parameters(two_wheels(), ros2_control=Hardware.TOPIC)
    assert found["diff_drive_controller"]["enable_odom_tf"] is False
    assert "linear" not in found["diff_drive_controller"]


def test_wheels_without_motors_are_not_driven():
    body = two_wheels()
    links = [replace(link, joint=replace(link.joint, id=None)) for link in body.links[1:3]]
    body = Body(name="cart", links=(body.root, *links))
    assert list(parameters(body, ros2_control=Hardware.GZ)) == ["joint_state_broadcaster"]


@all_cases("name", ["on", "1", "a: b", "né", "- x", "'", '"', "{}", "~", "1e3", "y", "#"])
def test_any_name_of_a_joint_is_read_back(name):
    found = parameters(limb(name), command_interface=CommandInterface.EFFORT)
    assert found["joint_trajectory_controller"]["joints"] == [name]
    assert list(found["joint_trajectory_controller"]["gains"]) == [name]


def test_ros_reads_all_words_of_a_file_as_words(tmp_path):
    rclpy = pytest.importorskip("rclpy")
    from rclpy.context import Context
    from rclpy.node import Node

    words = ["x", "y", "N", "yes", "1e3", "1", ".5", "inf", "nan", "~", "null", "true"]
    file = tmp_path / "words.yaml"
    file.write_text(yaml_text({"/**": {"ros__parameters": {"joints": words}}}))
    context = Context()
    rclpy.init(args=["--ros-args", "--params-file", str(file)], context=context)
    try:
        node = Node("n", context=context, automatically_declare_parameters_from_overrides=True)
        assert node.get_parameter("joints").value == words
        node.destroy_node()
    finally:
        context.try_shutdown()


@pytest.mark.parametrize("namespace", ["", "/fleet/r1"])
def test_ros_reads_the_file_in_any_namespace(namespace, tmp_path):
    rclpy = pytest.importorskip("rclpy")
    from rclpy.context import Context
    from rclpy.node import Node

    body = random_body(2)
    links = [replace(x, joint=replace(x.joint, id=i)) for i, x in enumerate(body.links[1:])]
    body = Body(name="random", links=(body.root, *links), devices=body.devices)
    options = UrdfOptions(ros2_control=Hardware.MOCK, command_interface=CommandInterface.EFFORT)
    text = controllers_yaml(body, body_frames(body, silent(), options), options)
    file = tmp_path / "controllers.yaml"
    file.write_text(text, encoding="utf-8")
    context = Context()
    rclpy.init(args=["--ros-args", "--params-file", str(file)], context=context)
    try:
        for key, entry in yaml.safe_load(text).items():
            node = Node(
                key.removeprefix("/**/"),
                namespace=namespace,
                context=context,
                automatically_declare_parameters_from_overrides=True,
            )
            for name, value in flat(entry["ros__parameters"]):
                assert node.get_parameter(name).value == value
            node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def flat(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
