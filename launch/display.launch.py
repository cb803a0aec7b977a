"""Show a robot model: model_node, joint sliders and RViz.

ros2 launch hrp_ros display.launch.py model:=/path/to/robot.body
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import LogInfo, OpaqueFunction, Shutdown

from hrp_model import Body, Diagnostics, ModelError, load_body
from hrp_model.frames import Base, BodyFrames, FrameOptions, LinkNaming, body_frames
from hrp_model.ros.parameters import MODEL_NODE
from hrp_model.urdf import joint_state_publisher_yaml, rviz_config
from hrp_msgs.node.launching import (
    COMMON,
    FLAG_DOC,
    RVIZ,
    VIEW,
    Argument,
    Arguments,
    LaunchFiles,
    browser,
    flag,
    node,
    rviz,
    share,
    skipped_part,
)

SLIDERS = "joint_state_publisher_gui"
GUI = Argument(
    "gui", "true", f"Whether to open the joint sliders, if {SLIDERS} is installed. {FLAG_DOC}"
)
ARGUMENTS = Arguments(
    (*COMMON, GUI, VIEW),
    MODEL_NODE,
    defaults={
        "model": str(share() / "models" / "humanoid" / "humanoid.wrl"),
        "watch": "true",
        "world_frame": "world",
    },
)


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes that show a model."""
    values = ARGUMENTS.values(context)
    # The values that are used here must be those of the node.
    used_here = ("model", "frame_prefix", "world_frame", "link_naming", "base")
    model_node = node(
        values,
        package="hrp_ros",
        executable="model_node",
        parameters=ARGUMENTS.parameters(values, {name: values[name] for name in used_here}),
        on_exit=Shutdown(),
    )
    entities: list[LaunchDescriptionEntity] = [model_node, *browser(values)]
    files = LaunchFiles()
    try:
        body, frames = read(values)
    except (ModelError, OSError):
        # model_node reports the problem.
        body = frames = None
    if flag("gui", values["gui"]):
        entities += sliders(values, body, frames, files)
    if flag("rviz", values["rviz"]):
        entities += viewer(values, body, frames, files)
    return [*entities, files.removal()]


def read(values: dict[str, str]) -> tuple[Body, BodyFrames]:
    """Return the model and its frames, as in model_node."""
    quiet = Diagnostics.silent()
    body = load_body(values["model"], quiet)
    naming = FrameOptions(
        LinkNaming(values["link_naming"]), values["frame_prefix"], Base(values["base"])
    )
    return body, body_frames(body, quiet, naming)


def sliders(
    values: dict[str, str], body: Body | None, frames: BodyFrames | None, files: LaunchFiles
) -> list[LaunchDescriptionEntity]:
    """Return joint_state_publisher_gui, or a warning if it is not installed."""
    if warning := skipped_part("joint sliders", SLIDERS):
        return [warning]
    posture = None if body is None or frames is None else joint_state_publisher_yaml(body, frames)
    configs = [] if posture is None else [files.write("joint_state_publisher.yaml", posture)]
    return [node(values, package=SLIDERS, executable=SLIDERS, parameters=configs)]


def viewer(
    values: dict[str, str], body: Body | None, frames: BodyFrames | None, files: LaunchFiles
) -> list[LaunchDescriptionEntity]:
    """Return RViz with a view of the model, or a warning if it is not installed."""
    if warning := skipped_part("RViz", RVIZ):
        return [warning]
    config = str(share() / "config" / "display.rviz")
    if body is None or frames is None or values["rviz_config"]:
        return [rviz(values, config, use_sim_time=False)]
    messages = []
    try:
        text = rviz_config(
            body,
            frames,
            namespace=values["namespace"],
            frame_prefix=values["frame_prefix"],
            world_frame=values["world_frame"],
        )
    except ValueError as error:
        messages.append(LogInfo(msg=f"RViz uses its default configuration: {error}"))
    else:
        config = files.write("display.rviz", text)
    return [*messages, rviz(values, config, use_sim_time=False)]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the nodes."""
    return LaunchDescription([*ARGUMENTS.declared(), OpaqueFunction(function=nodes)])
