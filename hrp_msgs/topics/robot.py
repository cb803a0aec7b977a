"""Topics of one robot: its description, frames and health."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from .. import names
from ..convert.basic import Array
from ..convert.diagnostics import diagnostic_array, diagnostic_status
from ..convert.tf import tf_message, transform
from ..node import qos
from .topic import Topic

# Pose of a frame: parent, name, position in the parent in [m], unit quaternion (x, y, z, w).
FramePose = tuple[str, str, Sequence[float] | Array, Sequence[float]]
_STATIC_NS = 0  # stamp of static transforms, in [ns]


class Health(Protocol):
    """Health of one part of a node, for ``diagnostic_status``."""

    @property
    def level(self) -> str: ...  # noqa: D102
    @property
    def part(self) -> str: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def values(self) -> Mapping[str, object]: ...  # noqa: D102


class RobotTopics:
    """Publishes description, frames and health of a robot.

    Args:
        node: The publishing node.
        semantics: Whether to publish ``robot_description_semantic``.
        tf: Whether to publish frames on ``/tf`` and ``/tf_static``.
    """

    def __init__(self, node: Node, *, semantics: bool, tf: bool) -> None:
        self._node = node
        self._health = Topic(node, DiagnosticArray, names.DIAGNOSTICS, qos.DIAGNOSTICS)
        self._urdf = Topic(node, String, names.ROBOT_DESCRIPTION, qos.LATCHED)
        self.all = [self._urdf, self._health]
        self._srdf = self._static = self._moving = None
        # Messages are reused, which is faster; transforms by frame name.
        self._message = TFMessage()
        self._transforms: dict[str, TransformStamped] = {}
        if semantics:
            self._srdf = Topic(node, String, names.ROBOT_DESCRIPTION_SEMANTIC, qos.LATCHED)
            self.all.append(self._srdf)
        if tf:
            self._static = Topic(node, TFMessage, names.TF_STATIC, qos.TF_STATIC)
            self._moving = Topic(node, TFMessage, names.TF, qos.TF)
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
    def has_tf_subscribers(self) -> bool:
        """Whether ``/tf`` has subscribers."""
        return self._moving is not None and self._moving.has_subscribers()

    def publish_moving(self, time_ns: int, frames: Iterable[FramePose]) -> None:
        """Publish poses of frames at a time in [ns]; must be called by one thread at a time."""
        if self._moving is None:
            return
        transforms = self._transforms
        for _, name, _, _ in (frames := list(frames)):
            if name not in transforms:
                transforms[name] = TransformStamped()
        message = self._message
        message.transforms = [transform(time_ns, *x, into=transforms[x[1]]) for x in frames]
        self._moving.publish(message)

    def report(self, parts: Iterable[Health], robot: str) -> None:
        """Publish the health of parts of the node, with the name of the robot."""
        node = self._node.get_fully_qualified_name().lstrip("/")
        statuses = [
            diagnostic_status(x.level, f"{node}: {x.part}", x.message, x.values, robot)
            for x in parts
        ]
        now = self._node.get_clock().now().nanoseconds
        self._health.publish(diagnostic_array(now, statuses))
