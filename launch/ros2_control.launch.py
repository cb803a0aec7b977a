"""Simulate a world whose robots are driven by ros2_control.

This is simulation.launch.py with the topics of joint_state_topic_hardware_interface, and for each
robot a controller manager with controllers that fit it.

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
from hrp_model.urdf.options import Hardware, UrdfOptions
from hrp_model.urdf.package.controllers import controllers, controllers_yaml
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
from hrp_sim.physics.engine import PhysicsError
from hrp_sim.ros.parameters import SIM_NODE
from hrp_sim.world.naming import name_bodies

NEEDED = ("controller_manager", "joint_state_topic_hardware_interface")
# Of the controllers that are made for a robot with joints.
CONTROLLERS = (
    "joint_state_broadcaster", "joint_trajectory_controller", "forward_command_controller"
)  # fmt: skip
QUIET = Diagnostics(listener=lambda _: None)
# Of the simulator, where those of simulation.launch.py do not fit. Our controllers run at 500 Hz;
# they cannot be faster than the clock.
DEFAULTS = {"hardware_topics": "true", "clock_rate": "500.0"}


@dataclass(frozen=True)
class Robot:
    """A robot under control.

    Attributes:
        namespace: Of its controller manager.
        active, waiting: Names of the controllers that run from the start, and of those that
            wait to be switched to.
        file: Text of their parameters.
    """

    namespace: str
    active: list[str]
    waiting: list[str]
    file: str


def declared() -> list[LaunchDescriptionEntity]:
    """Return the actions that declare own arguments, and those with other defaults."""
    arguments = {
        "controllers_file": "YAML file with parameters of the controller manager and the "
        "controllers; empty = one that fits is made for each robot.",
        "controller_names": "Names of the controllers to start, with blanks between; empty = those "
        "that fit the robot. To be given with controllers_file.",
    }
    own = [
        DeclareLaunchArgument(name, default_value="", description=meaning)
        for name, meaning in arguments.items()
    ]
    params = {param.name: param for param in SIM_NODE}
    # Before the included file declares them: ``--show-args`` shows the first default.
    changed = [
        DeclareLaunchArgument(name, default_value=value, description=documentation(params[name]))
        for name, value in DEFAULTS.items()
    ]
    return [*own, *changed]


def check(context: LaunchContext) -> None:
    """Check that there is all that is needed.

    Raises:
        MissingPackagesError: There is not; nothing is started.
        ValueError: The simulator is not to have the topics of the hardware.
    """
    values = context.launch_configurations
    made = () if values["controllers_file"] else CONTROLLERS
    require_packages([*NEEDED, *made], "ros2_control.launch.py")
    if not flag("hardware_topics", values["hardware_topics"]):
        raise ValueError(
            "hardware_topics is false, but controllers need these topics; for a simulation "
            "without controllers take simulation.launch.py"
        )


def managed_robots(values: dict[str, str]) -> list[Robot]:
    """Return the robots of the world whose joints can be commanded."""
    entries = load_world(values["world"], QUIET).bodies
    bodies = {entry.placement.name: entry.placement.body for entry in entries}
    namespaces = {entry.placement.name: entry.namespace for entry in entries}
    naming = name_bodies(bodies, resolved_frame_prefix(values), namespaces, values["naming"])
    found = []
    for name, body in bodies.items():
        options = UrdfOptions(
            frame_prefix=naming[name].frame_prefix,
            base=Base(values["base"]),
            ros2_control=Hardware.TOPIC,
        )
        frames = body_frames(body, QUIET, options)
        made = controllers(body, frames, options)
        if made:
            active = [c.name for c in made if c.active]
            waiting = [c.name for c in made if not c.active]
            namespace = naming[name].below(values["namespace"]).strip("/")
            found.append(Robot(namespace, active, waiting, controllers_yaml(body, frames, options)))
    return found


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the controller managers, and the spawners that follow their start."""
    values = dict(context.launch_configurations)
    try:
        robots = managed_robots(values)
    except (ValueError, PhysicsError, OSError):
        return []  # sim_node tells what is wrong with the world, and ends the launch
    if not robots:
        return [LogInfo(msg="no joint of this world can be commanded: there are no controllers")]
    files = LaunchFiles()
    started = [action for robot in robots for action in managed(robot, values, files)]
    return [*started, files.removal()]


def managed(
    robot: Robot, values: dict[str, str], files: LaunchFiles
) -> list[LaunchDescriptionEntity]:
    """Return the controller manager of a robot, and what loads its controllers."""
    own = values["controllers_file"]
    name = f"controllers_{robot.namespace.replace('/', '_')}.yaml"
    file = own or files.write(name, robot.file)
    manager = node(
        values,
        package="controller_manager",
        executable="ros2_control_node",
        namespace=robot.namespace,
        parameters=[file, {"use_sim_time": True}],
        # Humble waits for the description in the namespace of the node.
        remappings=[("~/robot_description", "robot_description")],
        on_exit=Shutdown(),
    )
    chosen = values["controller_names"].split()
    steps = [spawner(robot, values, chosen or robot.active)]
    if robot.waiting and not chosen and not own:
        steps.append(spawner(robot, values, robot.waiting, "--inactive"))
    chain = [OnProcessStart(target_action=manager, on_start=[steps[0]])]
    chain += [
        OnProcessExit(target_action=before, on_exit=go_on(after))
        for before, after in pairwise(steps)
    ]
    return [*(RegisterEventHandler(handler) for handler in chain), manager]


def spawner(robot: Robot, values: dict[str, str], names: list[str], *options: str) -> Node:
    """Return the node that loads controllers and ends; while time stands still it waits."""
    return node(
        values,
        package="controller_manager",
        executable="spawner",
        namespace=robot.namespace,
        arguments=[*names, "--switch-timeout", "60", *options],
    )


def go_on(after: Node) -> Callable[..., list[LaunchDescriptionEntity]]:
    """Return what follows a spawner that has ended well."""

    def act(event: object, _: LaunchContext) -> list[LaunchDescriptionEntity]:
        code = getattr(event, "returncode", 0)
        if code != 0:
            return [LogInfo(msg=f"a spawner ended with status {code}; the others are not started")]
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
