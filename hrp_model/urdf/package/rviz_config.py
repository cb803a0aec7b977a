"""An RViz configuration that shows a robot from its description and /tf."""

from __future__ import annotations

from hrp_msgs import names

from ... import rviz
from ...body import Body
from ...frames import BodyFrames
from ...kinematics.postures import initial_poses
from ..srdf.srdf import top_pose

_COMMENT = "The robot and its frames, as display.launch.py shows them."


def rviz_config(
    body: Body,
    frames: BodyFrames,
    *,
    namespace: str = "",
    frame_prefix: str = "",
    world_frame: str = "",
    is_simulation: bool = False,
) -> str:
    """Return the text of a configuration that shows the robot and its frames.

    Args:
        body: The robot.
        frames: Its frames, with the prefix.
        namespace: Namespace of its description topic.
        frame_prefix: Prefix of its frames in /tf, but not in its description.
        world_frame: Fixed frame, in which the root's pose is published; empty if there is none:
            then the fixed frame is the topmost one of the robot, and the grid lies under the
            lowest point of the initial posture.
        is_simulation: Whether to show simulation time.

    Raises:
        ValueError: The prefix or the namespace is not valid.
    """
    prefix = rviz.tf_prefix(frame_prefix)
    poses = initial_poses(body)
    if not world_frame:
        X_TW = top_pose(body, frames).inverse()
        poses = {name: X_TW @ pose for name, pose in poses.items()}
    topic = rviz.absolute_topic(namespace, names.ROBOT_DESCRIPTION)
    return rviz.document(
        [rviz.robot_model("Robot", topic, prefix)],
        world_frame or frames.root,
        rviz.body_box(body, poses),
        comment=_COMMENT,
        floor_height=0.0 if world_frame else None,
        namespace=namespace,
        is_simulation=is_simulation,
    )
