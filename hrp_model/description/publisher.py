"""Publish the description of a robot, and the frames of its links."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from hrp_msgs import names
from hrp_msgs.convert.tf import FrameNames, FramePose
from hrp_msgs.topics.world import RobotTopics

from ..frames import Frame
from ..rigid import matrix_quaternion
from .description import Description
from .follower import JointFollower, LastPositions, WarningThrottle
from .frame_tree import MovedFrame, MovedFrames

MAX_FREQUENCY = 100.0  # [Hz], by default
_WARNING_PERIOD = 10.0  # [s] of repeating the same warning


class DescriptionPublisher:
    """Publishes descriptions, one after the other, and the frames of their links.

    Args:
        topics: The topics of the robot.
        warn: Called with each warning.

    Attributes:
        topics: As given.
        description: The published description, after ``publish``.
        follower: Follows its joints, after ``publish``.
        frame_prefix: Prefix of all frame names.
        world_frame: Parent frame of the root; empty: no such transform.
        max_frequency: Maximum rate of frames in [Hz], from the next ``publish`` on; see
            ``JointFollower.set_max_frequency``.
    """

    description: Description
    follower: JointFollower

    def __init__(
        self,
        topics: RobotTopics,
        warn: Callable[[str], object],
        *,
        frame_prefix: str = "",
        world_frame: str = "",
    ) -> None:
        self.topics = topics
        self.frame_prefix = frame_prefix
        self.world_frame = world_frame
        self.max_frequency = MAX_FREQUENCY
        self._warn = warn
        self._warnings = WarningThrottle(_WARNING_PERIOD)
        self._warned_of_world = False
        self._last_names: tuple[tuple[str, FrameNames], FrameNames] = ("", ()), ()

    def publish(self, description: Description, last: LastPositions | None = None) -> None:
        """Publish a robot, in place of a previous one with the given last joint positions."""
        self.description = description
        self.follower = JointFollower(description.tree, description.loops, last)
        self.follower.set_max_frequency(self.max_frequency)
        self.topics.describe(description.urdf, description.srdf)
        self.publish_fixed()
        self.publish_last_positions()
        for link in description.tree.floating:
            self._warn(f"no transform for link '{link}', which floats freely")

    def publish_fixed(self) -> None:
        """Publish the frames that do not move, such as after a change of their names."""
        frames = self._frame_poses(self.description.tree.fixed)
        if world := self.world_frame:
            [(_, top, p, xyzw)] = self._frame_poses([self.description.in_world(world)])
            own = (names.frame(x, self.frame_prefix) for x in self.description.frames.names)
            if world not in own:
                frames.append((world, top, p, xyzw))  # robots share the world frame: no prefix
            elif not self._warned_of_world:
                self._warned_of_world = True
                self._warn(
                    f"no transform from world_frame '{world}' to the model, as a frame of the "
                    "model has the same name"
                )
        self.topics.publish_static(frames)

    def publish_last_positions(self) -> None:
        """Publish the moving frames at the last positions, with new stamps."""
        for time_ns, frames in self.follower.repeated().items():
            self._publish_moved(time_ns, frames)

    def publish_initial_posture(self, time_ns: int) -> None:
        """Publish the moving frames at the initial joint positions, with a stamp in [ns]."""
        links = {name: link for name, (link, _, _) in self.description.tree.moving.items()}
        leaders = {name: x.joint for name, x in links.items() if x.joint.mimic is None}
        known = {name: joint.initial for name, joint in leaders.items()}
        if known and self.topics.has_tf_subscribers:
            tree, loops = self.description.tree, self.description.loops
            self._publish_moved(time_ns, tree.moved(loops.complete(known).positions))

    def move(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
    ) -> None:
        """Publish the transforms of moved links, within the rate limit.

        Args:
            time_ns: Time of the positions, in [ns].
            joints: Names; unknown ones are reported once.
            positions: In [rad] or [m], one per name; values that are not finite are left out.
        """
        if frames := self._follow(time_ns, joints, positions):
            self._publish_moved(time_ns, frames)

    def _publish_moved(self, time_ns: int, frames: MovedFrames) -> None:
        self.topics.publish_moving(time_ns, self._prefixed_names(frames.names), frames.poses)

    def _follow(
        self, time_ns: int, joints: Sequence[str], positions: Sequence[float]
    ) -> MovedFrames:
        """Return the moved frames, and report problems."""
        follower, now = self.follower, time.monotonic()
        known = len(follower.unknown)
        frames = follower.follow(time_ns, joints, positions, now)
        if new := list(follower.unknown)[known:]:
            text = ", ".join(f"'{name}'" for name in new)
            self._warn(f"joint_states: unknown or fixed joints: {text}")
        for problem in self._warnings.due(follower.open_loops, now):
            self._warn(problem)
        return frames

    def _frame_poses(self, frames: Iterable[Frame]) -> list[FramePose]:
        return self._prefixed(
            MovedFrame(f.name, f.parent, tuple(f.pose.p.tolist()), matrix_quaternion(f.pose.R))
            for f in frames
        )

    def _prefixed_names(self, frames: FrameNames) -> FrameNames:
        """Return the names of frames with the prefix, which is the same for the next ones."""
        key, prefix = (self.frame_prefix, frames), self.frame_prefix
        if key != self._last_names[0]:
            pairs = ((names.frame(a, prefix), names.frame(b, prefix)) for a, b in frames)
            self._last_names = key, tuple(pairs)
        return self._last_names[1]

    def _prefixed(self, frames: Iterable[MovedFrame]) -> list[FramePose]:
        prefix = self.frame_prefix
        return [
            (names.frame(f.parent, prefix), names.frame(f.name, prefix), f.p, f.xyzw)
            for f in frames
        ]
