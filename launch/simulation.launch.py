"""Simulate a world: sim_node, which describes its robots too, and RViz.

ros2 launch hrp_ros simulation.launch.py world:=world.yaml
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def parameter(name: str, kind: type) -> ParameterValue:
    """Return the launch argument of this name as a parameter of this type."""
    return ParameterValue(LaunchConfiguration(name), value_type=kind)


def generate_launch_description() -> LaunchDescription:
    """Return the nodes of a simulation."""
    share = Path(get_package_share_directory("hrp_ros"))
    arguments = [
        DeclareLaunchArgument(
            "world",
            default_value=str(share / "models" / "worlds" / "humanoid_in_room.yaml"),
            description="World file, or a model to put on a floor: path or URI.",
        ),
        DeclareLaunchArgument(
            "real_time_factor",
            default_value="1.0",
            description="Simulated seconds per real second; 0 = as fast as possible.",
        ),
        DeclareLaunchArgument(
            "engine",
            default_value="ode",
            description="Physics engine: ode, or pyode for worlds of primitives.",
        ),
        DeclareLaunchArgument(
            "solver",
            default_value="",
            description="How steps are solved: world or quick; empty = as the world file says.",
        ),
        DeclareLaunchArgument(
            "frame_prefix",
            default_value="",
            description="Put before every TF frame name of the robot; set it in RViz too.",
        ),
        DeclareLaunchArgument("rviz", default_value="true", description="Whether to start RViz."),
        DeclareLaunchArgument(
            "rviz_config",
            default_value=str(share / "config" / "simulation.rviz"),
            description="RViz configuration file.",
        ),
    ]
    sim_node = Node(
        package="hrp_ros",
        executable="sim_node",
        output="screen",
        parameters=[
            {
                "world": parameter("world", str),
                "describe": True,
                "real_time_factor": parameter("real_time_factor", float),
                "engine": parameter("engine", str),
                "solver": parameter("solver", str),
                "frame_prefix": parameter("frame_prefix", str),
            }
        ],
        on_exit=Shutdown(),
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", LaunchConfiguration("rviz_config")],
        parameters=[{"use_sim_time": True}],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return LaunchDescription([*arguments, sim_node, rviz])
