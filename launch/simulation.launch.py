"""Simulate a world: sim_node, which also publishes the robots' descriptions, and RViz.

ros2 launch hrp_ros simulation.launch.py world:=world.yaml
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import LogInfo, OpaqueFunction, Shutdown

from hrp_model import Diagnostics
from hrp_msgs.names import frame
from hrp_msgs.node.launching import (
    CLOCK,
    COMMON,
    REMAPPINGS,
    RVIZ,
    VIEW,
    Arguments,
    LaunchFiles,
    browser,
    flag,
    node,
    remapped,
    rviz,
    share,
    skipped_part,
)
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.ros.parameters import DESCRIPTION
from hrp_sim.ros.rviz_config import RvizOptions, world_rviz
from hrp_sim.ros.sim_node import PARAMETERS

ARGUMENTS = Arguments(
    (*COMMON, CLOCK, VIEW, REMAPPINGS),
    [p for p in PARAMETERS if "<" not in p.name],  # without those of single sensors
    defaults={
        "world": str(share() / "models" / "worlds" / "humanoid_in_room.yaml"),
        "describe": "true",
    },
    left_out=[param.name for param in DESCRIPTION],
)


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes of a simulation."""
    values = ARGUMENTS.values(context)
    # The values that are used here must be those of the node.
    names = ("world", "frame_prefix", "world_frame", "naming", "base")
    used_here = {name: values[name] for name in names}
    sim_node = node(
        values,
        package="hrp_ros",
        executable="sim_node",
        remappings=remapped(values["remappings"]),
        parameters=ARGUMENTS.parameters(values, used_here),
        on_exit=Shutdown(),
    )
    shown = browser(values)
    return [sim_node, *shown, *(viewer(values) if flag("rviz", values["rviz"]) else [])]


def viewer(values: dict[str, str]) -> list[LaunchDescriptionEntity]:
    """Return RViz with a view of the world, or a warning if it is not installed."""
    if warning := skipped_part("RViz", RVIZ):
        return [warning]
    if values["rviz_config"]:
        return [rviz(values, "", use_sim_time=True)]
    files = LaunchFiles()
    fixed = values["world_frame"]
    if values["odometry"] == "wheels":  # until something localizes the robot
        fixed = frame(values["odom_frame"] or "odom", values["frame_prefix"])
    shown = RvizOptions(
        values["namespace"],
        values["frame_prefix"],
        fixed,
        values["naming"],
        contacts=float(values["contact_rate"]) > 0.0,
        base=values["base"],
    )
    try:
        # sim_node reports the problems of the world.
        text = world_rviz(values["world"], shown, Diagnostics.silent())
    except (ValueError, PhysicsError, OSError) as error:
        message = LogInfo(msg=f"RViz uses its default configuration: {error}")
        config = str(share() / "config" / "simulation.rviz")
        return [message, rviz(values, config, use_sim_time=True)]
    config = files.write("simulation.rviz", text)
    return [files.removal(), rviz(values, config, use_sim_time=True)]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the nodes."""
    return LaunchDescription([*ARGUMENTS.declared(), OpaqueFunction(function=nodes)])
