"""Subscriptions to the commands of one body, independent of their receiver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from geometry_msgs.msg import Twist, TwistStamped, WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .. import names
from ..convert.basic import Trajectory, joint_trajectory, time_ns
from ..messages import Message
from ..node import qos
from ..node.executor import CommandExecutor
from ..node.start import ThrottledWarnings, creating

M = TypeVar("M", bound=Message)


class CommandReceiver(Protocol):
    """Receives the commands to one body, in the thread of the ``CommandExecutor``.

    ``topic`` is the full name of the topic. Times are simulation times, in [ns]; a stamp of 0 means
    none. An invalid command raises a ValueError with a message for the sender.
    """

    def joints(
        self,
        topic: str,
        stamp_ns: int,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> None:
        """Receive targets of joints, in [rad] or [m], per second, and [N m] or [N]."""

    def set_positions(
        self,
        topic: str,
        stamp_ns: int,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> None:
        """Receive positions to which joints are to be teleported, and their velocities."""

    def trajectory(self, topic: str, trajectory: Trajectory) -> None:
        """Receive a trajectory of joints."""

    def array(self, topic: str, mode: str, values: Sequence[float]) -> None:
        """Receive one "position", "velocity" or "effort" for each joint in the body's order."""

    def drive(self, topic: str, stamp_ns: int, linear_x: float, angular_z: float) -> None:
        """Receive the velocity of a vehicle, forward in [m/s], and its yaw rate in [rad/s]."""

    def wrench(
        self,
        topic: str,
        stamp_ns: int,
        frame: str,
        force: Sequence[float],
        torque: Sequence[float],
    ) -> None:
        """Receive a force in [N] and a torque in [N m] about the origin of a frame, in its axes."""


class CommandSubscriber:
    """Subscribes to commands for one receiver, and logs the commands that it refuses.

    Args:
        node: The node of the subscriptions.
        receiver: Receives the commands.
        executor: Executes the callbacks.
        profile: Quality of service of the subscriptions.
    """

    def __init__(
        self, node: Node, receiver: CommandReceiver, executor: CommandExecutor, profile: QoSProfile
    ) -> None:
        self.node = node
        self._receiver = receiver
        self._executor = executor
        self._profile = profile
        self._warnings = ThrottledWarnings(node)

    def subscribe(
        self, topic: str, message_type: type[M], receive: Callable[[CommandReceiver, str, M], None]
    ) -> Subscription:
        """Subscribe to a topic.

        Args:
            topic: Its name.
            message_type: Class of its messages.
            receive: Passes a message to the receiver, with the full name of the topic.
        """

        def callback(msg: M) -> None:
            try:
                receive(self._receiver, full_name, msg)
            except ValueError as error:
                self._warnings.warn(full_name, str(error))

        full_name = self.node.resolve_topic_name(topic)
        subscription = self.node.create_subscription(
            message_type,
            topic,
            callback,
            callback_group=self._executor.group,
            event_callbacks=qos.events(self._profile),
            **qos.changeable(self._profile),
        )
        self._executor.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription."""
        topic = str(subscription.topic_name)
        self._executor.remove(subscription)
        self.node.destroy_subscription(subscription)
        qos.undeclare_qos_overrides(self.node, topic, "subscription")


@dataclass(frozen=True)
class CommandKind(Generic[M]):
    """A kind of command: its message type, and the function that passes a message to the receiver.

    Attributes:
        message_type: Class of the messages.
        receive: Called with the receiver, the full name of the topic and a message.
    """

    message_type: type[M]
    receive: Callable[[CommandReceiver, str, M], None]

    def subscribe(self, subscriber: CommandSubscriber, topic: str) -> Subscription:
        """Subscribe to such commands on a topic."""
        return subscriber.subscribe(topic, self.message_type, self.receive)


def _twist(receiver: CommandReceiver, topic: str, msg: Twist) -> None:
    receiver.drive(topic, 0, msg.linear.x, msg.angular.z)


def _twist_stamped(receiver: CommandReceiver, topic: str, msg: TwistStamped) -> None:
    twist = msg.twist
    receiver.drive(topic, time_ns(msg.header.stamp), twist.linear.x, twist.angular.z)


_VELOCITY_KINDS: Mapping[str, CommandKind[Twist] | CommandKind[TwistStamped]] = {
    "Twist": CommandKind(Twist, _twist),
    "TwistStamped": CommandKind(TwistStamped, _twist_stamped),
}
AS_PUBLISHED = "as_published"
VELOCITY_TYPES = (AS_PUBLISHED, *_VELOCITY_KINDS)
# Not from the extension module itself, whose name depends on the version of rclpy.
RCLError = rclpy_implementation.RCLError
_CHECK_PERIOD = 1.0  # [s] of wall time


class VelocityTopic:
    """Subscription to velocities whose message type follows the publishers.

    A topic has one type within a process, and messages of another type are not received. So the
    type follows the publishers, which are checked once a second: it changes when only the other
    type has publishers.

    Args:
        subscriber: Creates the subscription.
        topic: Name of the topic.
        message_type: One of ``VELOCITY_TYPES``; ``AS_PUBLISHED`` follows the publishers, the
            others are fixed.

    Raises:
        WrongUseError: Its name or its quality of service is invalid.

    Attributes:
        name: Full name of the topic.
    """

    def __init__(
        self, subscriber: CommandSubscriber, topic: str, message_type: str = AS_PUBLISHED
    ) -> None:
        self._subscriber = subscriber
        self._node = subscriber.node
        self._topic = topic
        self._timer = None
        self._subscription: Subscription | None = None
        self._type = "Twist"
        with creating(f"topic '{topic}'"):
            self.name = str(self._node.resolve_topic_name(topic))
            if message_type != AS_PUBLISHED:
                self._subscribe(message_type)
                return
        self._follow_publishers()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self._node.create_timer(_CHECK_PERIOD, self._follow_publishers, clock=steady)

    def close(self) -> None:
        """End the subscription."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        self._unsubscribe()

    def _subscribe(self, message_type: str) -> None:
        self._type = message_type
        self._subscription = _VELOCITY_KINDS[message_type].subscribe(self._subscriber, self._topic)

    def _unsubscribe(self) -> None:
        if self._subscription is not None:
            self._subscriber.unsubscribe(self._subscription)
            self._subscription = None

    def _follow_publishers(self) -> None:
        publishers = self._node.get_publishers_info_by_topic(self.name)
        types = {info.topic_type.split("/")[-1] for info in publishers} & _VELOCITY_KINDS.keys()
        wanted = self._type if self._type in types or not types else types.pop()
        if self._subscription is not None and wanted == self._type:
            return
        self._unsubscribe()
        # An RCLError is raised while this process still has the topic with the other type; what
        # ``qos_overrides`` sets was checked before.
        with creating(f"topic '{self._topic}'"), suppress(RCLError):
            self._subscribe(wanted)


class UnusedVelocities:
    """Warns once if a node publishes velocities to a body that cannot drive, and no node uses them.

    Args:
        node: Its logger reports them.
        topic: Name of the topic.
        reason: Why they are not used.

    Raises:
        WrongUseError: The name is invalid.
    """

    def __init__(self, node: Node, topic: str, reason: str) -> None:
        self._node = node
        self._reason = reason
        with creating(f"topic '{topic}'"):
            self._name = str(node.resolve_topic_name(topic))
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Timer | None = node.create_timer(_CHECK_PERIOD, self._check, clock=steady)

    def close(self) -> None:
        """End the checks."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _check(self) -> None:
        node, name = self._node, self._name
        if node.count_publishers(name) and not node.count_subscribers(name):
            node.get_logger().warning(f"velocities on {name} are not used: {self._reason}")
            self.close()


def _joints(receiver: CommandReceiver, topic: str, msg: JointState) -> None:
    stamp_ns = time_ns(msg.header.stamp)
    receiver.joints(topic, stamp_ns, msg.name, msg.position, msg.velocity, msg.effort)


def _positions(receiver: CommandReceiver, topic: str, msg: JointState) -> None:
    stamp_ns = time_ns(msg.header.stamp)
    receiver.set_positions(topic, stamp_ns, msg.name, msg.position, msg.velocity, msg.effort)


def _trajectory(receiver: CommandReceiver, topic: str, msg: JointTrajectory) -> None:
    receiver.trajectory(topic, joint_trajectory(msg))


def _array(mode: str) -> CommandKind[Float64MultiArray]:
    def receive(receiver: CommandReceiver, topic: str, msg: Float64MultiArray) -> None:
        receiver.array(topic, mode, msg.data[msg.layout.data_offset :])

    return CommandKind(Float64MultiArray, receive)


def _wrench(receiver: CommandReceiver, topic: str, msg: WrenchStamped) -> None:
    force, torque = ((v.x, v.y, v.z) for v in (msg.wrench.force, msg.wrench.torque))
    receiver.wrench(topic, time_ns(msg.header.stamp), msg.header.frame_id, force, torque)


_Kind = (
    CommandKind[JointState]
    | CommandKind[JointTrajectory]
    | CommandKind[Float64MultiArray]
    | CommandKind[WrenchStamped]
)
# By topic. ``cmd_vel`` has two message types, and a separate kind of subscription.
_KINDS: Mapping[str, _Kind] = {
    names.JOINT_COMMANDS: CommandKind(JointState, _joints),
    names.JOINT_TRAJECTORY: CommandKind(JointTrajectory, _trajectory),
    names.POSITION_COMMANDS: _array("position"),
    names.VELOCITY_COMMANDS: _array("velocity"),
    names.EFFORT_COMMANDS: _array("effort"),
    names.EXTERNAL_WRENCH: CommandKind(WrenchStamped, _wrench),
    names.SET_JOINT_POSITIONS: CommandKind(JointState, _positions),
    names.HARDWARE_COMMANDS: CommandKind(JointState, _joints),
}
KINDS = (*_KINDS, names.CMD_VEL)


class CommandTopics:
    """Subscriptions to the commands of one body.

    Args:
        node: The node of the subscriptions; its logger reports refused commands.
        topic: Returns the topic of this body for a name such as ``names.JOINT_COMMANDS``.
        receiver: Receives the commands.
        kinds: Topics to subscribe to, of ``KINDS``.
        executor: Executes the callbacks.
        profile: Quality of service of all of them.
        velocity_type: Message type of ``cmd_vel``, one of ``VELOCITY_TYPES``.

    Raises:
        WrongUseError: A name or a quality of service is invalid.
    """

    def __init__(
        self,
        node: Node,
        topic: Callable[[str], str],
        receiver: CommandReceiver,
        kinds: Collection[str],
        executor: CommandExecutor,
        *,
        profile: QoSProfile = qos.COMMAND,
        velocity_type: str = AS_PUBLISHED,
    ) -> None:
        self._subscriber = CommandSubscriber(node, receiver, executor, profile)
        self._subscriptions: list[Subscription] = []
        self._velocities: VelocityTopic | None = None
        try:
            for kind in kinds:
                if kind == names.CMD_VEL:
                    self._velocities = VelocityTopic(self._subscriber, topic(kind), velocity_type)
                    continue
                with creating(f"topic '{topic(kind)}'"):
                    self._subscriptions.append(
                        _KINDS[kind].subscribe(self._subscriber, topic(kind))
                    )
        except Exception:
            self.close()
            raise

    @property
    def topics(self) -> list[str]:
        """Full names of the topics."""
        own = [str(subscription.topic_name) for subscription in self._subscriptions]
        return own if self._velocities is None else [*own, self._velocities.name]

    def close(self) -> None:
        """End all subscriptions."""
        for subscription in self._subscriptions:
            self._subscriber.unsubscribe(subscription)
        if self._velocities is not None:
            self._velocities.close()
