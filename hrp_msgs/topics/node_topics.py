"""Topics of nodes: published ones, /diagnostics, and those of other programs."""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

from .. import names, qos
from ..convert.basic import diagnostic_array, diagnostic_status
from ..messages import Message
from ..node._sender import Outlet, Sender
from ..node.qos import changeable, profile, undeclare_qos_overrides
from ..node.start import WrongUseError, creating
from ..qos import Qos
from ..sanitize import one_line
from .topic import TopicMaker, type_name

if TYPE_CHECKING:
    from rclpy.topic_endpoint_info import TopicEndpointInfo

    from .recorded import TopicRecording


# How long to wait for a middleware that blocks, in [s]; a topic that is closed then drops messages.
PATIENCE = 1.0
BLOCKED = "the middleware blocks"
_LOG_PERIOD = 5.0  # [s] between errors of one topic


def rcl_sender() -> Sender:
    """Return what sends the messages of rclpy's publishers in a thread of its own."""
    rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")  # loaded by rclpy
    functions = (
        rcl.rcl_publish_serialized_message,
        rcl.rcl_publisher_get_subscription_count,
        rcutils.rcutils_get_error_string,
        rcutils.rcutils_reset_error,
    )
    return Sender(*(ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions))


class NodeTopic:
    """A published topic of a node.

    Its ``qos_overrides`` parameters change history, depth and reliability, as usual in ROS 2.

    Args:
        node: The publishing node.
        message_type: Class of the messages.
        name: Name of the topic.
        qos: Quality of service.
        recording: Records its messages, which are then published as the recorded bytes.
        sender: Sends its messages later, in their order. Then what the middleware cannot publish is
            logged, and without it an error of ``publish``.

    Raises:
        WrongUseError: Its name or its quality of service is invalid, or it is recorded with
            another type.

    Attributes:
        name, type_name: See ``Topic``.
    """

    def __init__(
        self,
        node: Node,
        message_type: type[Message],
        name: str,
        qos: Qos,
        recording: TopicRecording | None = None,
        sender: Sender | None = None,
    ) -> None:
        self._node = node
        self._recording = recording
        self._sender, self._outlet, self._failed = sender, None, 0
        self._next_log = 0.0
        with creating(f"topic '{name}'"):
            self._publisher = node.create_publisher(message_type, name, **changeable(profile(qos)))
        self.name: str = self._publisher.topic_name
        self.type_name = type_name(message_type)
        self._count = 0
        self._closed = False
        if sender is not None:
            self._outlet = Outlet(sender, self._publisher.handle.pointer)
            if recording is None:  # asked several times a step, and in C a tenth of the cost
                self.has_subscribers = self._outlet.has_subscribers  # type: ignore[method-assign]
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
        if (outlet := self._outlet) is not None:
            data = message if isinstance(message, bytes) else serialize_message(message)
            self._count += outlet.put(data)
            if outlet.failed != self._failed:
                self._report(outlet)
            return
        try:
            self._publisher.publish(message)
        except RuntimeError:  # base of all errors of rclpy's C++ part
            if not self._is_closed():  # by another thread, just now
                raise
        else:
            self._count += 1

    @property
    def count(self) -> int:
        """Number of messages so far, without those that could not be published."""
        return self._count - (0 if self._outlet is None else self._outlet.failed)

    def _report(self, outlet: Outlet) -> None:
        """Log that messages could not be published, unless the ROS context is shut down."""
        self._failed = outlet.failed
        if self._node.context.ok() and self._sender is not None:
            self._log(self._sender.error)

    def _log(self, error: str) -> None:
        if (now := time.monotonic()) < self._next_log:  # rclpy would throttle all topics as one
            return
        self._next_log = now + _LOG_PERIOD
        self._node.get_logger().error(
            f"{self.name}: a message cannot be published: {one_line(error)}"
        )

    def has_subscribers(self) -> bool:
        """Return whether the topic has subscribers or is recorded."""
        if self._recording is not None and self._recording.is_open:
            return not self._closed
        return self.subscriber_count() > 0

    def subscriber_count(self) -> int:
        """Return the number of subscribers; 0 for a closed topic."""
        if (outlet := self._outlet) is not None:
            return outlet.subscriptions()
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
        """Publish what is queued, and close the topic; later messages are dropped."""
        self._closed = True
        if (outlet := self._outlet) is not None:
            if not outlet.close(PATIENCE):
                self._log(BLOCKED)
            if outlet.failed != self._failed:
                self._report(outlet)
        self._node.destroy_publisher(self._publisher)
        undeclare_qos_overrides(self._node, self.name, "publisher")


class NodeTopics:
    """Creates the topics of a node.

    Args:
        node: The publishing node.
        recording: Records what is published.
        sender: Sends it; see ``NodeTopic``.
    """

    def __init__(
        self,
        node: Node,
        recording: TopicRecording | None = None,
        sender: Sender | None = None,
    ) -> None:
        self._node = node
        self._recording = recording
        self._sender = sender

    def create(self, message_type: type[Message], name: str, qos: Qos) -> NodeTopic:
        """Create a topic; see ``TopicMaker``.

        Raises:
            WrongUseError: Its name or its quality of service is invalid.
        """
        return NodeTopic(self._node, message_type, name, qos, self._recording, self._sender)

    @property
    def unrecorded(self) -> NodeTopics:
        """Creates topics of the same node that are not recorded."""
        return NodeTopics(self._node, sender=self._sender)

    def flush(self) -> None:
        """Return when all messages so far are published; see ``TopicMaker``."""
        if self._sender is not None:
            self._sender.flush(PATIENCE)


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
