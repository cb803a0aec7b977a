"""Topics of nodes: published ones, /diagnostics, and those of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from .. import names, qos
from ..convert.basic import diagnostic_array, diagnostic_status
from ..messages import Message
from ..node.qos import changeable, profile, undeclare_qos_overrides
from ..node.start import WrongUseError, creating
from ..qos import Qos
from .topic import TopicMaker, type_name

if TYPE_CHECKING:
    from rclpy.topic_endpoint_info import TopicEndpointInfo

    from .recorded import TopicRecording


class NodeTopic:
    """A published topic of a node.

    Its ``qos_overrides`` parameters change history, depth and reliability, as usual in ROS 2.

    Args:
        node: The publishing node.
        message_type: Class of the messages.
        name: Name of the topic.
        qos: Quality of service.
        recording: Records its messages, which are then published as the recorded bytes.

    Raises:
        WrongUseError: Its name or its quality of service is invalid, or it is recorded with
            another type.

    Attributes:
        name, type_name, count: See ``Topic``.
    """

    def __init__(
        self,
        node: Node,
        message_type: type[Message],
        name: str,
        qos: Qos,
        recording: TopicRecording | None = None,
    ) -> None:
        self._node = node
        self._recording = recording
        with creating(f"topic '{name}'"):
            self._publisher = node.create_publisher(message_type, name, **changeable(profile(qos)))
        self.name: str = self._publisher.topic_name
        self.type_name = type_name(message_type)
        self.count = 0
        self._closed = False
        if recording is not None:
            try:
                self._channel = recording.channel(message_type, self.name, qos)
            except ValueError as error:  # as in a previous world, but of another type
                self.close()
                raise WrongUseError(f"{name} cannot be recorded: {error}") from None

    def publish(self, message: Message | bytes) -> None:
        """Publish a message, unless the topic is closed or the ROS context is shut down."""
        if (recording := self._recording) is not None and recording.is_open and not self._closed:
            message = recording.record(self._channel, message)
        try:
            self._publisher.publish(message)
        except RuntimeError:  # base of all errors of rclpy's C++ part
            if not self._is_closed():  # otherwise another thread has just closed it
                raise
        else:
            self.count += 1

    def has_subscribers(self) -> bool:
        """Return whether the topic has subscribers or is recorded."""
        if self._recording is not None and self._recording.is_open:
            return not self._closed
        return bool(self.subscriber_count())

    def subscriber_count(self) -> int:
        """Return the number of subscribers; 0 for a closed topic."""
        try:
            return int(self._publisher.get_subscription_count())
        except RuntimeError:
            if not self._is_closed():
                raise
            return 0

    def subscribers(self) -> frozenset[bytes]:
        """Return the identifiers of the subscribers; none for a closed topic."""
        if not self.subscriber_count():
            return frozenset()
        try:
            found = self._node.get_subscriptions_info_by_topic(self.name)
        except RuntimeError:
            if not self._is_closed():
                raise
            return frozenset()
        return frozenset(bytes(one.endpoint_gid) for one in found)

    def _is_closed(self) -> bool:
        return self._closed or not self._node.context.ok()

    def close(self) -> None:
        """Close the topic; messages that other threads publish later are dropped."""
        self._closed = True
        self._node.destroy_publisher(self._publisher)
        undeclare_qos_overrides(self._node, self.name, "publisher")


class NodeTopics:
    """Creates the topics of a node.

    Args:
        node: The publishing node.
        recording: Records what is published.
    """

    def __init__(self, node: Node, recording: TopicRecording | None = None) -> None:
        self._node = node
        self._recording = recording

    def create(self, message_type: type[Message], name: str, qos: Qos) -> NodeTopic:
        """Create a topic; see ``TopicMaker``.

        Raises:
            WrongUseError: Its name or its quality of service is invalid.
        """
        return NodeTopic(self._node, message_type, name, qos, self._recording)

    @property
    def unrecorded(self) -> NodeTopics:
        """Creates topics of the same node that are not recorded."""
        return NodeTopics(self._node)


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


class HealthTopic:
    """Publishes the health of the parts of a node on ``/diagnostics``.

    Args:
        node: The node.
        topics: Creates the topic.

    Attributes:
        topic: The topic.

    Raises:
        WrongUseError: The quality of service is invalid.
    """

    def __init__(self, node: Node, topics: TopicMaker) -> None:
        self._node = node
        self.topic = topics.create(DiagnosticArray, names.DIAGNOSTICS, qos.DIAGNOSTICS)

    def report(self, parts: Iterable[Health], robot: str = "") -> None:
        """Publish the health of parts of the node, with the name of the robot."""
        node = self._node.get_fully_qualified_name().lstrip("/")
        statuses = [
            diagnostic_status(x.level, f"{node}: {x.part}", x.message, x.values, robot)
            for x in parts
        ]
        now = self._node.get_clock().now().nanoseconds
        self.topic.publish(diagnostic_array(now, statuses))


_TYPE_NAME = re.compile(r"([a-z]\w*)/msg/([A-Z]\w*)", re.ASCII)


def installed_type(name: str) -> type[Message] | None:
    """Return the class of a message type such as "sensor_msgs/msg/Imu", or None.

    Only packages with ROS messages are imported, as the name may come from anybody.
    """
    match = _TYPE_NAME.fullmatch(name)
    spec = find_spec(match[1]) if match else None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if match is None or not any(Path(x, "msg", "__init__.py").is_file() for x in folders):
        return None
    try:
        found: Any = getattr(import_module(f"{match[1]}.msg"), match[2], None)
    except ImportError:  # an incomplete installation
        return None
    fields: Mapping[str, str] | None = getattr(found, "_fields_and_field_types", None)
    return None if fields is None else found


def matching_qos(publishers: Sequence[TopicEndpointInfo], depth: int) -> QoSProfile:
    """Return the strictest profile that every publisher of a topic satisfies."""
    reliable = all(p.qos_profile.reliability is ReliabilityPolicy.RELIABLE for p in publishers)
    latched = all(p.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
