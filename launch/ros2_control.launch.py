"""Simulate a world whose robots are controlled by ros2_control.

This is simulation.launch.py with the topics of joint_state_topic_hardware_interface, and with a
controller manager and matching controllers for each robot.

ros2 launch hrp_ros ros2_control.launch.py world:=world.yaml
"""

from collections.abc import Callable
from dataclasses import dataclass
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

from hrp_model import Diagnostics
from hrp_model.frames import Base, body_frames
from hrp_model.urdf import Hardware, UrdfOptions, controllers, controllers_yaml
from hrp_msgs.node.launching import (
    LaunchFiles,
    documentation,
    flag,
    node,
    require_packages,
    resolved_frame_prefix,
    share,
)
from hrp_sim import load_world
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.ros.parameters import SIM_NODE
from hrp_sim.world.naming import name_bodies

REQUIRED_PACKAGES = ("controller_manager", "joint_state_topic_hardware_interface")
# Packages of the generated controllers.
CONTROLLERS = (
    "joint_state_broadcaster", "joint_trajectory_controller", "forward_command_controller"
)  # fmt: skip
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
    """

    namespace: str
    active: list[str]
    inactive: list[str]
    parameters: str


def declared() -> list[LaunchDescriptionEntity]:
    """Return the actions that declare own arguments, and those with other defaults."""
    arguments = {
        "controllers_file": "Parameter file (YAML) of the controller manager and the controllers; "
        "empty: one is generated for each robot.",
        "controller_names": "Names of the controllers to start, separated by blanks; empty: the "
        "generated ones. Use it together with controllers_file.",
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


def check(context: LaunchContext) -> None:
    """Check the installed packages and the arguments.

    Raises:
        MissingPackagesError: A required package is not installed; nothing is started.
        ValueError: The hardware topics are disabled.
    """
    values = context.launch_configurations
    generated = () if values["controllers_file"] else CONTROLLERS
    require_packages([*REQUIRED_PACKAGES, *generated], "ros2_control.launch.py")
    if not flag("hardware_topics", values["hardware_topics"]):
        raise ValueError(
            "hardware_topics is false, but controllers need these topics; for a simulation "
            "without controllers use simulation.launch.py"
        )


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


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the controller managers, and the spawners that are started after them."""
    values = dict(context.launch_configurations)
    try:
        robots = managed_robots(values)
    except (ValueError, PhysicsError, OSError):
        return []  # sim_node reports the problem and ends the launch
    if not robots:
        return [LogInfo(msg="no controllers are started: no joint of this world can be commanded")]
    files = LaunchFiles()
    actions = [action for robot in robots for action in managed(robot, values, files)]
    return [*actions, files.removal()]


def managed(
    robot: Robot, values: dict[str, str], files: LaunchFiles
) -> list[LaunchDescriptionEntity]:
    """Return the controller manager of a robot, and its spawners."""
    own = values["controllers_file"]
    name = f"controllers_{robot.namespace.replace('/', '_')}.yaml"
    file = own or files.write(name, robot.parameters)
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
    chosen = values["controller_names"].split()
    steps = [spawner(robot, values, chosen or robot.active)]
    if robot.inactive and not chosen and not own:
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
        arguments=[*names, "--switch-timeout", "60", *options],
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
    first, last = OpaqueFunction(function=check), OpaqueFunction(function=nodes)
    return LaunchDescription([*declared(), first, simulation, last])
