"""The command topics of one body, independent of their receiver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .. import names
from ..convert.basic import time_ns
from ..convert.trajectory import joint_trajectory
from ..node import qos
from ..node.command_executor import CommandExecutor
from ..node.start import creating
from .cmd_vel import AS_PUBLISHED, VelocityTopic
from .command_subscription import CommandKind, CommandReceiver, CommandSubscriber


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
        velocity_type: Message type of ``cmd_vel``, of ``hrp_msgs.topics.cmd_vel.TYPES``.

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
