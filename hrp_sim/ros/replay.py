"""The output of a replay on ROS topics."""

from __future__ import annotations

from rclpy.context import Context
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from hrp_msgs.convert.basic import clock
from hrp_msgs.messages import Message
from hrp_msgs.names import CLOCK
from hrp_msgs.node.start import WrongUseError as WrongUseError
from hrp_msgs.node.start import creating, destroy, init_ros
from hrp_msgs.recording import RecordedMessage, RecordedTopic, Recording
from hrp_msgs.topics.node_topics import installed_type

_DEPTH = 100  # messages for delayed subscribers
_MAX_LATCHED = 1000  # messages for late subscribers
_CLOCK_PERIOD_NS = 1_000_000  # of /clock, if it was not recorded


class RosOutput:
    """Publishes recorded messages: the same bytes on the same topics, with the recorded types.

    Latched topics stay latched: late subscribers receive all messages of such a topic that were
    published. ``/clock`` follows the times of the messages, unless it was recorded itself.

    Args:
        recording: The recording.
        context: Initialised context of ROS; by default a new one.

    Attributes:
        publishers: Publishers of the recorded topics, by name.
        left_out: Why the other topics are not published, by name.

    Raises:
        WrongUseError: ROS cannot start, or the name of a topic is invalid.
    """

    def __init__(self, recording: Recording, *, context: Context | None = None) -> None:
        self._own_context = None
        if context is None:
            context = self._own_context = Context()
            init_ros([], context=context)
        with creating("the node"):
            self._node = Node(
                "hrp_sim_replay",
                context=context,
                use_global_arguments=False,
                enable_rosout=False,
                start_parameter_services=False,
            )
        self.left_out: dict[str, str] = {}
        self.publishers: dict[str, Publisher] = {}
        try:
            for topic in recording.topics.values():
                self._open(topic)
            self._clock = None if CLOCK in self.publishers else self._publisher(CLOCK, Clock, 1)
        except BaseException:
            self.close()
            raise
        self._clock_ns: int | None = None

    @property
    def topics(self) -> list[str]:
        """Names of the topics that are published."""
        return list(self.publishers)

    def take(self, message: RecordedMessage) -> None:
        """Publish a message."""
        self._tick(message.time_ns)
        self.publishers[message.topic].publish(message.data)

    def jump(self, time_ns: int) -> None:
        """Set the clock to another time in [ns]."""
        self._clock_ns = None
        self._tick(time_ns)

    def refresh(self, time_ns: int) -> None:
        """Set the clock to the present time in [ns]."""
        self._tick(time_ns)

    def close(self) -> None:
        """Close all topics."""
        destroy(self._node)
        if self._own_context is not None:
            self._own_context.try_shutdown()

    def _open(self, topic: RecordedTopic) -> None:
        if not topic.readable:
            self.left_out[topic.name] = "its messages cannot be read"
        elif (message_type := installed_type(topic.type_name)) is None:
            self.left_out[topic.name] = f"the type {topic.type_name} is not installed"
        else:
            depth = min(max(topic.count, 1), _MAX_LATCHED) if topic.latched else _DEPTH
            self.publishers[topic.name] = self._publisher(
                topic.name, message_type, depth, latched=topic.latched
            )

    def _publisher(
        self, name: str, message_type: type[Message], depth: int, *, latched: bool = False
    ) -> Publisher:
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        profile = QoSProfile(
            depth=depth, reliability=ReliabilityPolicy.RELIABLE, durability=durability
        )
        with creating(f"topic '{name}'"):
            return self._node.create_publisher(message_type, name, profile)

    def _tick(self, time_ns: int) -> None:
        if self._clock is None:
            return
        if self._clock_ns is None or time_ns >= self._clock_ns + _CLOCK_PERIOD_NS:
            self._clock_ns = time_ns
            self._clock.publish(clock(time_ns))
