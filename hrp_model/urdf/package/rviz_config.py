"""An RViz configuration that shows a robot at its size, by its description and /tf."""

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
) -> str:
    """Return the text of a configuration: the robot and its frames, from the right distance.

    Args:
        body: The robot.
        frames: What its frames are called, with the prefix.
        namespace: Where its description is published.
        frame_prefix: Put before its frames by who publishes /tf, and not in its description.
        world_frame: In which somebody tells where the root is; empty means that nobody does:
            all is relative to the frame above all others then, and the grid lies under the
            lowest point of the initial posture.

    Raises:
        ValueError: RViz has no such prefix, or ROS no such namespace.
    """
    prefix = rviz.tf_prefix(frame_prefix)
    poses = initial_poses(body)
    if not world_frame:
        above = top_pose(body, frames).inverse()
        poses = {name: above @ pose for name, pose in poses.items()}
    topic = rviz.absolute_topic(namespace, names.ROBOT_DESCRIPTION)
    return rviz.document(
        [rviz.robot_model("Robot", topic, prefix)],
        world_frame or frames.root,
        rviz.body_box(body, poses),
        comment=_COMMENT,
        floor_height=0.0 if world_frame else None,
    )
