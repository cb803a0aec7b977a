"""Simulate a world whose robots are controlled by ros2_control.

This is simulation.launch.py with the topics of joint_state_topic_hardware_interface, and with a
controller manager and matching controllers for each robot.

ros2 launch hrp_ros ros2_control.launch.py world:=world.yaml
ros2 launch hrp_ros ros2_control.launch.py model:=robot.xacro controllers_file:=controllers.yaml
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from hrp_model import Diagnostics
from hrp_model.files.model_file import split_model_name
from hrp_model.files.resources import path_from_uri
from hrp_model.frames import Base, body_frames
from hrp_model.kinematics.actuation import controlled_joints
from hrp_model.load import load_xml
from hrp_model.read_context import read_source
from hrp_model.urdf import Hardware, UrdfOptions, controllers, controllers_yaml
from hrp_model.urdf.controllers_file import (
    StartOrder,
    read_controllers_file,
    start_order,
    with_variables,
)
from hrp_model.urdf.topic_hardware import (
    ControlledDescription,
    generated_description,
    with_topic_hardware,
)
from hrp_msgs.node.launching import (
    COMMON,
    LaunchFiles,
    documentation,
    flag,
    missing_packages,
    node,
    require_packages,
    resolved_frame_prefix,
    share,
)
from hrp_msgs.sanitize import one_line
from hrp_sim import load_world
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.ros.parameters import SIM_NODE
from hrp_sim.world.naming import name_bodies

REQUIRED_PACKAGES = ("controller_manager", "joint_state_topic_hardware_interface")
# Packages of the generated controllers.
CONTROLLERS = (
    "joint_state_broadcaster", "joint_trajectory_controller", "forward_command_controller"
)  # fmt: skip
# The simulation may take longer to load than a spawner waits; Humble's lacks the second option.
WAITING = ["--switch-timeout", "60"]
if os.environ.get("ROS_DISTRO") != "humble":
    WAITING += ["--service-call-timeout", "70"]
QUIET = Diagnostics.silent()
# Defaults of the simulator that differ from those of simulation.launch.py. The controllers run at
# 500 Hz, and cannot be faster than the clock.
DEFAULTS = {"hardware_topics": "true", "clock_rate": "500.0"}


@dataclass(frozen=True)
class Robot:
    """A controlled robot.

    Attributes:
        namespace: Namespace of its controller manager.
        active, inactive: Names of the controllers that are active at start, and of the others.
        parameters: Text of their parameter file.
        options: Further options of the spawners.
    """

    namespace: str
    active: list[str]
    inactive: list[str]
    parameters: str
    options: tuple[str, ...] = ()


@dataclass
class UserFiles:
    """The robot and the controllers of files of the user, read before anything starts.

    Attributes:
        description: Description of a robot with its own <ros2_control> blocks, with the hardware
            of the simulation; None without one.
        order: Controllers to start; None if they are not known to fit one robot.
        has_own_types: Whether only the spawner finds the types of the controllers.
        is_clock_chosen: Whether the user gave a rate of the clock.
        files: Has the parameter file, if that has variables.
    """

    description: ControlledDescription | None = None
    order: StartOrder | None = None
    has_own_types: bool = False
    is_clock_chosen: bool = False
    files: LaunchFiles = field(default_factory=LaunchFiles)


def declared() -> list[LaunchDescriptionEntity]:
    """Return the actions that declare own arguments, and those with other defaults."""
    arguments = {
        "model": "A robot in place of world. With controllers_file, the <ros2_control> blocks of "
        "its URDF or xacro are used, for the hardware of the simulation.",
        "controllers_file": "Parameter file (YAML) of the controller manager and the controllers; "
        "empty: one is generated for each robot.",
        "controller_names": "Names of the controllers to start, separated by blanks; empty: the "
        "generated ones, or those of controllers_file.",
    }
    own = [
        DeclareLaunchArgument(name, default_value="", description=description)
        for name, description in arguments.items()
    ]
    params = {param.name: param for param in SIM_NODE}
    # Before the included file declares them: ``--show-args`` shows the first default.
    changed = [
        DeclareLaunchArgument(name, default_value=value, description=documentation(params[name]))
        for name, value in DEFAULTS.items()
    ]
    return [*own, *changed]


def note_given(context: LaunchContext, own: UserFiles) -> None:
    """Note what the user gave, before the defaults are set."""
    own.is_clock_chosen = "clock_rate" in context.launch_configurations


def check(context: LaunchContext, own: UserFiles) -> list[LaunchDescriptionEntity]:
    """Check the installed packages and the arguments, and prepare a robot with its own blocks.

    Raises:
        MissingPackagesError: A required package is not installed; nothing is started.
        ValueError: The hardware topics are disabled, or a file cannot be used.
    """
    values = context.launch_configurations
    generated = () if values["controllers_file"] else CONTROLLERS
    require_packages([*REQUIRED_PACKAGES, *generated], "ros2_control.launch.py")
    if not flag("hardware_topics", values["hardware_topics"]):
        raise ValueError(
            "hardware_topics is false, but controllers need these topics; for a simulation "
            "without controllers use simulation.launch.py"
        )
    model = values.pop("model")  # simulation.launch.py does not have this argument
    if model and "world" in values:
        raise ValueError("model is a robot in place of world: give one of them")
    if model:
        values["world"] = model
    return prepare(model, values, own) if values["controllers_file"] else []


def prepare(model: str, values: dict[str, str], own: UserFiles) -> list[LaunchDescriptionEntity]:
    """Prepare controllers of a file, and a robot with its own <ros2_control>; return warnings.

    Raises:
        MissingPackagesError: robot_state_publisher is not installed.
        ValueError: A file cannot be used.
    """
    diagnostics = Diagnostics.silent()
    root = load_xml(model, QUIET) if model else None  # sim_node reports its warnings
    own.description = None if root is None else with_topic_hardware(root, diagnostics)
    diagnostics.raise_errors()
    file = values["controllers_file"]
    try:
        source = read_source(path_from_uri(file), file)
    except OSError as error:
        raise ValueError(f"controllers_file: cannot read '{file}': {error.strerror}") from None
    _, arguments = split_model_name(model)  # which may be empty, unlike those of launch
    usual = {x.name: x.default for x in COMMON}  # declared later
    filled = with_variables(source, {**usual, **arguments, **values}, diagnostics)
    diagnostics.raise_errors()
    if filled.text != source.text:
        values["controllers_file"] = own.files.write("controllers.yaml", filled.text)
    robot = own.description or the_robot(values.get("world", ""))
    if robot is None:
        return []
    listed = read_controllers_file(filled, values.get("namespace", ""), diagnostics)
    names = values["controller_names"].split()
    own.order = start_order(listed, robot, names, diagnostics, is_installed)
    own.has_own_types = listed.has_own_types
    diagnostics.raise_errors()
    if not own.is_clock_chosen:
        values["clock_rate"] = str(max(float(values["clock_rate"]), listed.update_rate))
    if own.description is not None:
        require_packages(["robot_state_publisher"], "a description with its own <ros2_control>")
        pairs = [f"{joint}/{x}" for joint, kinds in robot.commands.items() for x in kinds]
        values |= {"describe": "false", "base": "none", "hardware_interfaces": " ".join(pairs)}
    return [LogInfo(msg=one_line(str(warning))) for warning in diagnostics.found]


def is_installed(package: str) -> bool:
    """Return whether a ROS package is installed."""
    return not missing_packages([package])


def the_robot(world: str) -> ControlledDescription | None:
    """Return the interfaces of the only robot in a world; None without one, or if it is broken."""
    try:
        bodies = (
            [entry.placement.body for entry in load_world(world, QUIET).bodies] if world else []
        )
    except (ValueError, PhysicsError, OSError):
        return None  # sim_node reports the problem
    robots = [body for body in bodies if controlled_joints(body)]
    if len(robots) != 1:
        return None
    return generated_description(robots[0], body_frames(robots[0], QUIET))


def managed_robots(values: dict[str, str]) -> list[Robot]:
    """Return the robots of the world whose joints can be commanded."""
    entries = load_world(values["world"], QUIET).bodies
    bodies = {entry.placement.name: entry.placement.body for entry in entries}
    namespaces = {entry.placement.name: entry.namespace for entry in entries}
    naming = name_bodies(bodies, resolved_frame_prefix(values), namespaces, values["naming"])
    robots = []
    for name, body in bodies.items():
        options = UrdfOptions(
            frame_prefix=naming[name].frame_prefix,
            base=Base(values["base"]),
            ros2_control=Hardware.TOPIC,
        )
        frames = body_frames(body, QUIET, options)
        generated = controllers(body, frames, options)
        if generated:
            active = [c.name for c in generated if c.active]
            inactive = [c.name for c in generated if not c.active]
            namespace = naming[name].absolute_namespace(values["namespace"]).strip("/")
            parameters = controllers_yaml(body, frames, options)
            robots.append(Robot(namespace, active, inactive, parameters))
    return robots


def nodes(context: LaunchContext, own: UserFiles) -> list[LaunchDescriptionEntity]:
    """Return the controller managers, and the spawners that are started after them."""
    values = dict(context.launch_configurations)
    try:
        robots = managed_robots(values)
    except (ValueError, PhysicsError, OSError):
        return []  # sim_node reports the problem and ends the launch
    if not robots:
        return [LogInfo(msg="no controllers are started: no joint of this world can be commanded")]
    actions: list[LaunchDescriptionEntity] = []
    chosen = values["controller_names"].split()
    if own.description is not None:
        actions.append(state_publisher(robots[0], values, own.description))
    if own.order is not None:
        options = ("--param-file", values["controllers_file"]) if own.has_own_types else ()
        active, inactive = own.order.active, own.order.inactive
        robots = [replace(robots[0], active=active, inactive=inactive, options=options)]
    elif chosen or values["controllers_file"]:
        robots = [replace(x, active=chosen or x.active, inactive=[]) for x in robots]
    actions += [action for robot in robots for action in managed(robot, values, own.files)]
    return [*actions, own.files.removal()]


def state_publisher(
    robot: Robot, values: dict[str, str], description: ControlledDescription
) -> Node:
    """Return the node that publishes a description, and the frames of its links."""
    text = ParameterValue(description.urdf, value_type=str)
    prefix = resolved_frame_prefix(values)
    return node(
        values,
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=robot.namespace,
        parameters=[{"robot_description": text, "use_sim_time": True, "frame_prefix": prefix}],
    )


def managed(
    robot: Robot, values: dict[str, str], files: LaunchFiles
) -> list[LaunchDescriptionEntity]:
    """Return the controller manager of a robot, and its spawners."""
    given = values["controllers_file"]
    name = f"controllers_{robot.namespace.replace('/', '_')}.yaml"
    file = given or files.write(name, robot.parameters)
    manager = node(
        values,
        package="controller_manager",
        executable="ros2_control_node",
        namespace=robot.namespace,
        parameters=[file, {"use_sim_time": True}],
        # Humble expects the description in the namespace of the node.
        remappings=[("~/robot_description", "robot_description")],
        on_exit=Shutdown(),
    )
    steps = [spawner(robot, values, robot.active)]
    if robot.inactive:
        steps.append(spawner(robot, values, robot.inactive, "--inactive"))
    chain = [OnProcessStart(target_action=manager, on_start=[steps[0]])]
    chain += [
        OnProcessExit(target_action=before, on_exit=start_after(after))
        for before, after in pairwise(steps)
    ]
    return [*(RegisterEventHandler(handler) for handler in chain), manager]


def spawner(robot: Robot, values: dict[str, str], names: list[str], *options: str) -> Node:
    """Return a node that loads controllers; it waits while the simulation is paused."""
    return node(
        values,
        package="controller_manager",
        executable="spawner",
        namespace=robot.namespace,
        arguments=[*names, *WAITING, *robot.options, *options],
    )


def start_after(after: Node) -> Callable[..., list[LaunchDescriptionEntity]]:
    """Return a handler that starts a node after a spawner has succeeded."""

    def act(event: object, _: LaunchContext) -> list[LaunchDescriptionEntity]:
        code = getattr(event, "returncode", 0)
        if code != 0:
            return [LogInfo(msg=f"a spawner failed with status {code}; the others are not started")]
        return [after]

    return act


def generate_launch_description() -> LaunchDescription:
    """Return the simulation, then the controllers."""
    simulation = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(share() / "launch" / "simulation.launch.py")),
        launch_arguments=[(name, LaunchConfiguration(name)) for name in DEFAULTS],
    )
    own = UserFiles()
    given = OpaqueFunction(function=partial(note_given, own=own))
    first = OpaqueFunction(function=partial(check, own=own))
    last = OpaqueFunction(function=partial(nodes, own=own))
    return LaunchDescription([given, *declared(), first, simulation, last])
