"""The node that describes one body of a simulation: it lives in the process of the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rosgraph_msgs.msg import Clock

from hrp_model.ros.model_node import ModelNode
from hrp_msgs.convert.basic import NS_PER_S
from hrp_msgs.convert.clock import clock
from hrp_msgs.topics.robot import FramePose


class SimulatedModelNode(ModelNode):
    """Describes a body of a simulation in the same process, which sets its clock.

    It has no subscription to ``/clock``: to take each of its messages costs an executor more
    time than a step of the physics.
    """

    _take_clock: Callable[[Clock], None] | None = None
    _moved_ns = -1

    def create_subscription(self, msg_type: Any, *arguments: Any, **options: Any) -> Any:
        """Subscribe as any node does, but leave the clock to ``show_time``."""
        if msg_type is not Clock:
            return super().create_subscription(msg_type, *arguments, **options)
        _, self._take_clock, *_ = arguments
        return None

    def show_time(self, time_ns: int) -> None:
        """Set the clock to a simulation time in [ns]."""
        if self._take_clock is not None:
            self._take_clock(clock(time_ns))

    @property
    def moves(self) -> bool:
        """Whether joint positions move frames that are published here."""
        return bool(self.settings["publish_tf"] and self._follower.joints)

    def is_due(self, time_ns: int) -> bool:
        """Return whether ``move`` at this time in [ns] would publish something.

        While nobody listens that is once a second, for the health of the joints.
        """
        is_second = not 0 <= self._moved_ns // NS_PER_S == time_ns // NS_PER_S
        return (is_second or self._robot.has_tf_subscribers) and self._follower.is_due(time_ns)

    def move(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
        above: Sequence[FramePose] = (),
    ) -> None:
        """Publish where joints have moved their links; see ``ModelNode.move``."""
        self._moved_ns = time_ns
        super().move(time_ns, joints, positions, above)
