"""The topics by which others command one body, whatever drives it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Protocol

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .. import names
from ..convert.basic import time_ns
from ..convert.joint_command import joint_command
from ..convert.trajectory import Trajectory, joint_trajectory
from ..node import qos
from ..node.command_executor import HearingThread
from ..node.start import creating
from ..node.throttled_warnings import ThrottledWarnings
from .cmd_vel import AS_PUBLISHED, VelocityTopic


class CommandSink(Protocol):
    """Takes the commands to one body, in the thread that hears them.

    Each is told with the full name of the topic that it came by. Times are simulated, in [ns];
    a stamp of 0 means that nobody stamped. What cannot be used is refused by a ValueError, in
    words.
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
        """Take targets of joints, in [rad] or [m], per second, and [N m] or [N]."""

    def trajectory(self, topic: str, trajectory: Trajectory) -> None:
        """Take what joints shall do from now or from a time on."""

    def array(self, topic: str, mode: str, values: Sequence[float]) -> None:
        """Take one "position", "velocity" or "effort" for each joint in the body's order."""

    def drive(self, topic: str, stamp_ns: int, linear_x: float, angular_z: float) -> None:
        """Take the speed ahead in [m/s] and the turn to the left in [rad/s]."""

    def wrench(
        self,
        topic: str,
        stamp_ns: int,
        frame: str,
        force: Sequence[float],
        torque: Sequence[float],
    ) -> None:
        """Take a force in [N] and a torque in [N m], in a frame and about its origin."""


def _joints(sink: CommandSink, topic: str, msg: JointState) -> None:
    sink.joints(topic, time_ns(msg.header.stamp), *joint_command(msg))


def _trajectory(sink: CommandSink, topic: str, msg: JointTrajectory) -> None:
    sink.trajectory(topic, joint_trajectory(msg))


def _array(mode: str, sink: CommandSink, topic: str, msg: Float64MultiArray) -> None:
    sink.array(topic, mode, msg.data[msg.layout.data_offset :])


def _wrench(sink: CommandSink, topic: str, msg: WrenchStamped) -> None:
    vectors = ((v.x, v.y, v.z) for v in (msg.wrench.force, msg.wrench.torque))
    sink.wrench(topic, time_ns(msg.header.stamp), msg.header.frame_id, *vectors)


# Of each topic: the message, and how it is told. Velocities of vehicles have two messages.
_KINDS: dict[str, tuple[Any, Callable[[CommandSink, str, Any], None]]] = {
    names.JOINT_COMMANDS: (JointState, _joints),
    names.JOINT_TRAJECTORY: (JointTrajectory, _trajectory),
    names.POSITION_COMMANDS: (Float64MultiArray, partial(_array, "position")),
    names.VELOCITY_COMMANDS: (Float64MultiArray, partial(_array, "velocity")),
    names.EFFORT_COMMANDS: (Float64MultiArray, partial(_array, "effort")),
    names.EXTERNAL_WRENCH: (WrenchStamped, _wrench),
    names.HARDWARE_COMMANDS: (JointState, _joints),
}
KINDS = (*_KINDS, names.CMD_VEL)


class CommandTopics:
    """Subscribes to the commands of one body.

    Args:
        node: Whose subscriptions they are; its log tells what is refused.
        topic: Gives the name of a topic of this body, such as ``names.JOINT_COMMANDS``.
        sink: Takes the commands.
        kinds: Which topics there are, of ``KINDS``.
        hearing: Hears them.
        profile: Quality of service of all of them.
        velocity_type: Message of ``cmd_vel``, of ``hrp_msgs.topics.cmd_vel.TYPES``.

    Raises:
        WrongUseError: ROS does not take a name or a quality of service.
    """

    def __init__(
        self,
        node: Node,
        topic: Callable[[str], str],
        sink: CommandSink,
        kinds: Collection[str],
        hearing: HearingThread,
        *,
        profile: QoSProfile = qos.COMMAND,
        velocity_type: str = AS_PUBLISHED,
    ) -> None:
        self._node = node
        self._sink = sink
        self._hearing = hearing
        self._refusals = ThrottledWarnings(node)
        self._subscriptions = [
            self._subscribe(topic(kind), *_KINDS[kind], profile) for kind in kinds if kind in _KINDS
        ]
        self._velocities = None
        if names.CMD_VEL in kinds:
            self._velocities = VelocityTopic(
                node, topic(names.CMD_VEL), self._drive, profile, hearing, velocity_type
            )
        for subscription in self._subscriptions:
            hearing.add(subscription)

    @property
    def topics(self) -> list[str]:
        """Full names of the topics."""
        own = [str(subscription.topic_name) for subscription in self._subscriptions]
        return own if self._velocities is None else [*own, self._velocities.name]

    def close(self) -> None:
        """End all subscriptions."""
        for subscription in self._subscriptions:
            topic = str(subscription.topic_name)
            self._hearing.remove(subscription)
            self._node.destroy_subscription(subscription)
            qos.undeclare_qos_overrides(self._node, topic, "subscription")
        if self._velocities is not None:
            self._velocities.close()

    def _subscribe(
        self,
        topic: str,
        message_type: Any,
        tell: Callable[[CommandSink, str, Any], None],
        profile: QoSProfile,
    ) -> Any:
        def take(msg: Any) -> None:
            self._attempt(full_name, lambda: tell(self._sink, full_name, msg))

        with creating(f"topic '{topic}'"):
            subscription = self._node.create_subscription(
                message_type,
                topic,
                take,
                callback_group=self._hearing.group,
                event_callbacks=qos.events(profile),
                **qos.changeable(profile),
            )
        full_name = str(subscription.topic_name)
        return subscription

    def _drive(self, topic: str, stamp_ns: int, linear_x: float, angular_z: float) -> None:
        self._attempt(topic, lambda: self._sink.drive(topic, stamp_ns, linear_x, angular_z))

    def _attempt(self, topic: str, act: Callable[[], None]) -> None:
        try:
            act()
        except ValueError as error:
            self._refusals.warn(topic, str(error))
