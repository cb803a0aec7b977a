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

SHARE = Path(get_package_share_directory("hrp_ros"))
SLIDERS = "joint_state_publisher_gui"
# Names, defaults and meanings.
ARGUMENTS = (
    (
        "model",
        str(SHARE / "models" / "humanoid" / "humanoid.wrl"),
        "Robot model (.wrl, .body): a path, file:// or package:// URI.",
    ),
    ("frame_prefix", "", "Put before every TF frame name; set it in RViz's RobotModel too."),
    ("watch", "true", "Whether to show the model anew when one of its files changes."),
    ("publish_frequency", "20.0", "Most /tf messages per second [Hz]; 0 = one per joint_states."),
    ("link_naming", "joint", "Names of links: 'joint', as in the model, or 'segment'."),
    ("base", "none", "Links above the root: 'none', 'base_link', or also 'base_footprint'."),
    (
        "collision",
        "as_modelled",
        "Collision shapes: 'as_modelled', 'convex', 'box' or 'decomposed'.",
    ),
    ("glb_up", "z", "If links lie on their sides: 'y', for RViz from ROS 2 Lyrical on."),
    ("gui", "true", "Whether to open the joint sliders."),
    ("rviz", "true", "Whether to start RViz."),
    ("rviz_config", str(SHARE / "config" / "display.rviz"), "RViz configuration file."),
)


def sliders(context: LaunchContext) -> list[Node | LogInfo]:
    """Return the window with a slider for each joint, or words about why there is none."""
    if LaunchConfiguration("gui").perform(context).lower() not in ("true", "1"):
        return []
    try:
        get_package_share_directory(SLIDERS)
    except PackageNotFoundError:
        return [LogInfo(msg=f"no joint sliders: the package {SLIDERS} is not installed")]
    return [Node(package=SLIDERS, executable=SLIDERS)]


def parameter(argument: str, kind: type) -> ParameterValue:
    """Return a launch argument as a node parameter of a type."""
    return ParameterValue(LaunchConfiguration(argument), value_type=kind)


def generate_launch_description() -> LaunchDescription:
    """Return the nodes that show a model."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=meaning)
        for name, default, meaning in ARGUMENTS
    ]
    model_node = Node(
        package="hrp_ros",
        executable="model_node",
        output="screen",
        parameters=[
            {
                "model": parameter("model", str),
                "frame_prefix": parameter("frame_prefix", str),
                "watch": parameter("watch", bool),
                "publish_frequency": parameter("publish_frequency", float),
                "link_naming": parameter("link_naming", str),
                "base": parameter("base", str),
                "collision": parameter("collision", str),
                "glb_up": parameter("glb_up", str),
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
    return LaunchDescription([*declared, model_node, OpaqueFunction(function=sliders), rviz])
