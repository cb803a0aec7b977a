"""Look at a robot model: model_node, sliders for its joints, and RViz.

ros2 launch hrp_ros display.launch.py model:=/path/to/robot.body
"""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SLIDERS = "joint_state_publisher_gui"


def sliders(context: LaunchContext) -> list[Node | LogInfo]:
    """Return the window with a slider for each joint, or words about why there is none."""
    if LaunchConfiguration("gui").perform(context).lower() not in ("true", "1"):
        return []
    try:
        get_package_share_directory(SLIDERS)
    except PackageNotFoundError:
        return [LogInfo(msg=f"no joint sliders: the package {SLIDERS} is not installed")]
    return [Node(package=SLIDERS, executable=SLIDERS)]


def generate_launch_description() -> LaunchDescription:
    """Return the nodes that show a model."""
    share = Path(get_package_share_directory("hrp_ros"))
    arguments = [
        DeclareLaunchArgument(
            "model",
            default_value=str(share / "models" / "humanoid" / "humanoid.wrl"),
            description="Robot model (.wrl, .body): a path, file:// or package:// URI.",
        ),
        DeclareLaunchArgument(
            "frame_prefix",
            default_value="",
            description="Put before every TF frame name; set it in RViz's RobotModel too.",
        ),
        DeclareLaunchArgument(
            "gui", default_value="true", description="Whether to open the joint sliders."
        ),
        DeclareLaunchArgument("rviz", default_value="true", description="Whether to start RViz."),
        DeclareLaunchArgument(
            "rviz_config",
            default_value=str(share / "config" / "display.rviz"),
            description="RViz configuration file.",
        ),
    ]
    model_node = Node(
        package="hrp_ros",
        executable="model_node",
        output="screen",
        parameters=[
            {
                "model": ParameterValue(LaunchConfiguration("model"), value_type=str),
                "frame_prefix": ParameterValue(LaunchConfiguration("frame_prefix"), value_type=str),
                "world_frame": "world",
            }
        ],
        on_exit=Shutdown(),
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", LaunchConfiguration("rviz_config")],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return LaunchDescription([*arguments, model_node, OpaqueFunction(function=sliders), rviz])
