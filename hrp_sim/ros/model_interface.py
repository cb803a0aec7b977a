"""Node that publishes description and frames of one simulated body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock

from hrp_model.ros.model_node import ModelNode
from hrp_msgs.convert.basic import NS_PER_S, clock
from hrp_msgs.convert.converter import Message
from hrp_msgs.convert.tf import FramePose


class SimulatedModelNode(ModelNode):
    """A ``ModelNode`` in the process of the simulator, which sets its clock.

    It does not subscribe to ``/clock``, because receiving a message takes longer than a step of the
    physics.
    """

    _take_clock: Callable[[Clock], None] | None = None
    _moved_ns = -1

    def create_subscription(
        self,
        msg_type: type[Message],
        topic: str,
        callback: Callable[[Message], None],
        *arguments: object,
        **options: object,
    ) -> Subscription | None:
        """Create a subscription, except to the clock, whose callback ``set_time`` calls."""
        if msg_type is not Clock:
            return super().create_subscription(msg_type, topic, callback, *arguments, **options)
        self._take_clock = callback
        return None

    def set_time(self, time_ns: int) -> None:
        """Set the clock to a simulation time in [ns]."""
        if self._take_clock is not None:
            self._take_clock(clock(time_ns))

    @property
    def moves(self) -> bool:
        """Whether joint positions determine published frames."""
        return self.publisher.moves

    def is_due(self, time_ns: int) -> bool:
        """Return whether ``move`` at this time in [ns] would publish something.

        Without subscribers that is once a second, for the health of the joints.
        """
        is_second = not 0 <= self._moved_ns // NS_PER_S == time_ns // NS_PER_S
        publisher = self.publisher
        has_subscribers = publisher.topics.has_tf_subscribers
        return (is_second or has_subscribers) and publisher.follower.is_due(time_ns)

    def publish_posture(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
        above: Sequence[FramePose] = (),
    ) -> None:
        """Publish the frames of links; see ``DescriptionPublisher.publish_posture``."""
        self.publisher.publish_posture(time_ns, joints, positions, above)

    def move(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
        above: Sequence[FramePose] = (),
    ) -> None:
        """Publish the frames of links; see ``DescriptionPublisher.move``."""
        self._moved_ns = time_ns
        self.publisher.move(time_ns, joints, positions, above)
