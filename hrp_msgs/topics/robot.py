"""Topics of one robot: its description and frames."""

from __future__ import annotations

from collections.abc import Iterable

from .. import names, qos
from ..convert.tf import FrameNames, FramePose, MovingFrames, tf_message, transform
from ..messages import String, TFMessage
from ..readings import Array
from .topic import TopicMaker

_STATIC_NS = 0  # stamp of static transforms, in [ns]


class RobotTopics:
    """Publishes description and frames of a robot.

    Args:
        topics: Creates the topics.
        semantics: Whether to publish ``robot_description_semantic``.
        tf: Whether to publish frames on ``/tf`` and ``/tf_static``.
    """

    def __init__(self, topics: TopicMaker, *, semantics: bool, tf: bool) -> None:
        self._urdf = topics.create(String, names.ROBOT_DESCRIPTION, qos.LATCHED)
        self.all = [self._urdf]
        self._srdf = self._static = self._moving = None
        self._moving_frames = MovingFrames()
        if semantics:
            self._srdf = topics.create(String, names.ROBOT_DESCRIPTION_SEMANTIC, qos.LATCHED)
            self.all.append(self._srdf)
        if tf:
            self._static = topics.create(TFMessage, names.TF_STATIC, qos.TF_STATIC)
            self._moving = topics.create(TFMessage, names.TF, qos.TF)
            self.all += [self._static, self._moving]

    def describe(self, urdf: str, srdf: str) -> None:
        """Publish URDF and SRDF of the robot."""
        self._urdf.publish(String(data=urdf))
        if self._srdf is not None:
            self._srdf.publish(String(data=srdf))

    def publish_static(self, frames: Iterable[FramePose]) -> None:
        """Publish all static frames, replacing those published before."""
        if self._static is not None:
            message = tf_message(transform(_STATIC_NS, *frame) for frame in frames)
            self._static.publish(message)

    @property
    def has_tf(self) -> bool:
        """Whether frames are published."""
        return self._moving is not None

    @property
    def has_tf_subscribers(self) -> bool:
        """Whether ``/tf`` has subscribers."""
        return self._moving is not None and self._moving.has_subscribers()

    def publish_moving(self, time_ns: int, frames: FrameNames, poses: Array) -> None:
        """Publish poses of frames; must be called by one thread at a time.

        Args:
            time_ns: Time of the poses, in [ns].
            frames: Names of the parent and of the frame itself, with prefixes.
            poses: See ``MovingFrames.message``.
        """
        if self._moving is not None:
            self._moving.publish(self._moving_frames.message(time_ns, frames, poses))
