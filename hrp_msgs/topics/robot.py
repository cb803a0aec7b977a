"""The topics that tell others about one robot: its texts, where its frames are, its health."""

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

# A frame: its parent, its name, its position p in [m] and unit quaternion (x, y, z, w) there.
FramePose = tuple[str, str, Sequence[float] | Array, Sequence[float]]
_ALWAYS = 0  # [ns]; what never moves holds at any time


class Health(Protocol):
    """What ``diagnostic_status`` is made of, for one part of a node."""

    @property
    def level(self) -> str: ...  # noqa: D102
    @property
    def part(self) -> str: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def values(self) -> Mapping[str, object]: ...  # noqa: D102


class RobotTopics:
    """Publishes a robot.

    Args:
        node: Whose topics they are.
        semantics: Whether there is ``robot_description_semantic``.
        tf: Whether there are ``/tf`` and ``/tf_static``; if not, frames go nowhere.
    """

    def __init__(self, node: Node, *, semantics: bool, tf: bool) -> None:
        self._node = node
        self._health = Topic(node, DiagnosticArray, names.DIAGNOSTICS, qos.DIAGNOSTICS)
        self._urdf = Topic(node, String, names.ROBOT_DESCRIPTION, qos.LATCHED)
        self.all = [self._urdf, self._health]
        self._srdf = self._static = self._moving = None
        # Filled anew each time, which is faster; by the frames' names.
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
        """Publish the texts of the robot."""
        self._urdf.publish(String(data=urdf))
        if self._srdf is not None:
            self._srdf.publish(String(data=srdf))

    def fix(self, frames: Iterable[FramePose]) -> None:
        """Publish all the frames that never move, in place of those before."""
        if self._static is not None:
            self._static.publish(_message(_ALWAYS, frames))

    @property
    def has_tf_subscribers(self) -> bool:
        """Whether anybody listens to the frames that move."""
        return self._moving is not None and self._moving.has_subscribers()

    def move(self, time_ns: int, frames: Iterable[FramePose]) -> None:
        """Publish where frames are at a time in [ns]; to be called by one thread at a time."""
        if self._moving is None:
            return
        known = self._transforms
        for _, name, _, _ in (frames := list(frames)):
            if name not in known:
                known[name] = TransformStamped()
        message = self._message
        message.transforms = [transform(time_ns, *x, into=known[x[1]]) for x in frames]
        self._moving.publish(message)

    def report(self, parts: Iterable[Health], robot: str) -> None:
        """Publish how parts of the node are doing, and with which robot."""
        node = self._node.get_fully_qualified_name().lstrip("/")
        statuses = [
            diagnostic_status(x.level, f"{node}: {x.part}", x.message, x.values, robot)
            for x in parts
        ]
        now = self._node.get_clock().now().nanoseconds
        self._health.publish(diagnostic_array(now, statuses))


def _message(time_ns: int, frames: Iterable[FramePose]) -> TFMessage:
    return tf_message(transform(time_ns, *frame) for frame in frames)
