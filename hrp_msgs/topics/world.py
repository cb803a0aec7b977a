"""The topics that tell of a world as a whole: its time, and where the roots of its bodies are."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from .. import names
from ..convert.clock import clock
from ..convert.tf import tf_message, transform
from ..node import qos
from .robot import FramePose
from .topic import Topic

_ALWAYS = 0  # [ns]; what never moves holds at any time
_LEAST = 1  # [ns]; to whoever listens a clock that shows 0 has not started


class WorldTopics:
    """Publishes ``/clock``, ``/tf`` and ``/tf_static``. For any thread.

    Args:
        node: Whose topics they are.

    Attributes:
        tf: Where roots that move are told.
        all: All three.
    """

    def __init__(self, node: Node) -> None:
        self._clock = Topic(node, Clock, names.CLOCK, qos.CLOCK)
        self.tf = Topic(node, TFMessage, names.TF, qos.TF)
        self._static = Topic(node, TFMessage, names.TF_STATIC, qos.TF_STATIC)
        self.all = [self._clock, self.tf, self._static]
        self._fixed: list[FramePose] | None = None
        self._fixing = threading.Lock()

    def show(self, time_ns: int) -> None:
        """Show a simulation time in [ns]; time zero as 1 ns, since 0 means that there is none."""
        if self._clock.has_subscribers():
            self._clock.publish(clock(max(time_ns, _LEAST)))

    def fix(self, find: Callable[[], list[FramePose]]) -> None:
        """Tell where all roots stand that are fixed, in one message, if that has changed.

        Args:
            find: Looks where they are. What one thread finds is told before another one looks,
                so that who looks last has the last word.
        """
        with self._fixing:
            roots = find()
            if roots != self._fixed:
                self._fixed = roots
                self._static.publish(tf_message(transform(_ALWAYS, *root) for root in roots))
