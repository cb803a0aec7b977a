"""A double of ros2_control's topic-based hardware, which need not be installed.

It follows joint_state_topic_hardware_interface/JointStateTopicSystem.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import rclpy
from builtin_interfaces.msg import Time
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from ros_peer import Peer
from sensor_msgs.msg import JointState

_COLUMNS = ("position", "velocity", "effort")
_USE_SIM_TIME = Parameter("use_sim_time", value=True)
_HEARD_AT_ONCE = 3  # more than there are messages of /clock in a period


class TopicHardware:
    """Joints whose states and commands are topics, as for a controller manager.

    Args:
        node: The node of the topics.
        interfaces: Command interfaces of each joint.
        threshold: ``trigger_joint_command_threshold``; -1 always writes.

    Attributes:
        states: Of each column: the last value by joint.
        commands: Likewise; changed by the simulated controllers.
        stamp: Of the states.
        read_count: Number of received states.
        written: Number of sent commands.
    """

    def __init__(
        self,
        node: Node,
        interfaces: Mapping[str, Sequence[str]],
        *,
        threshold: float = -1.0,
        states: str = "robot_joint_states",
        commands: str = "robot_joint_command",
    ) -> None:
        self._interfaces = interfaces
        self._threshold = threshold
        self.states = {column: dict.fromkeys(interfaces, 0.0) for column in _COLUMNS}
        self.commands = {column: dict.fromkeys(interfaces, 0.0) for column in _COLUMNS}
        self.stamp = None
        self.read_count = self.written = 0
        self._lock = threading.Lock()
        self._latest: JointState | None = None
        self.publisher = node.create_publisher(JointState, commands, QoSProfile(depth=1))
        node.create_subscription(JointState, states, self._take, qos_profile_sensor_data)

    def _take(self, message: JointState) -> None:
        with self._lock:
            self._latest = message
            self.read_count += 1

    def read(self) -> None:
        """Read the last received states."""
        with self._lock:
            latest = self._latest
        if latest is None:
            return
        self.stamp = latest.header.stamp
        for i, name in enumerate(latest.name):
            if name in self._interfaces:
                for column in _COLUMNS:
                    if values := getattr(latest, column):
                        self.states[column][name] = values[i]

    def write(self, stamp: Time | None = None) -> None:
        """Send the commands: all names, and for each quantity the values of the joints that have
        it.

        Args:
            stamp: Stamp of the message; by default that of the states.
        """
        present, wanted = self.states["position"], self.commands["position"]
        if sum(abs(present[name] - wanted[name]) for name in present) <= self._threshold:
            return
        message = JointState(name=list(self._interfaces))
        message.header.stamp = self.stamp if stamp is None else stamp
        for column in _COLUMNS:
            joints = [name for name, own in self._interfaces.items() if column in own]
            setattr(message, column, [self.commands[column][name] for name in joints])
        self.publisher.publish(message)
        self.written += 1


def sim_time_peer() -> Peer:
    """Return a peer whose clock is /clock, as a controller manager's in simulated time."""
    return Peer("controller_manager", parameter_overrides=[_USE_SIM_TIME])


class ControllerManager:
    """The loop of a controller manager in simulated time: read, update, write, sleep a period.

    The hardware stamps its commands with the clock of a node of its own, which hears /clock only
    after the loop has worked: the stamps are one tick behind.

    Args:
        peer: Made by ``sim_time_peer``; ``close`` ends it, too.
        interfaces: Command interfaces of each joint.
        rate: ``update_rate``, in [Hz].
        update: Simulates the controllers: changes the commands of the hardware.

    Attributes:
        hardware: The hardware that it reads and writes.
        times: Time of its clock at each write, in [ns].
        stamps: Stamps of the commands, in [ns].
    """

    def __init__(
        self,
        peer: Peer,
        interfaces: Mapping[str, Sequence[str]],
        rate: int,
        update: Callable[[TopicHardware], None],
    ) -> None:
        self.hardware = TopicHardware(peer.node, interfaces)
        self.times: list[int] = []
        self.stamps: list[int] = []
        self._peer = peer
        self._period = Duration(nanoseconds=1_000_000_000 // rate)
        self._update = update
        context = peer.node.context
        self._component = rclpy.create_node(
            "hardware_component", context=context, parameter_overrides=[_USE_SIM_TIME]
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._component)
        # rclpy's Clock.sleep_until misses a time that comes while it begins to sleep.
        self._ended = False
        self._ticked = threading.Condition()
        self._jumps = peer.node.get_clock().create_jump_callback(
            JumpThreshold(
                min_forward=Duration(nanoseconds=1), min_backward=None, on_clock_change=True
            ),
            post_callback=lambda _: self._wake(),
        )
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        clock = self._peer.node.get_clock()
        while not self._ended:
            now = clock.now()
            if self.hardware.read_count and self.hardware.publisher.get_subscription_count():
                self.hardware.read()
                self._update(self.hardware)
                stamp = self._component.get_clock().now()
                self.times.append(now.nanoseconds)
                self.stamps.append(stamp.nanoseconds)
                self.hardware.write(stamp.to_msg())
            for _ in range(_HEARD_AT_ONCE):
                self._executor.spin_once(timeout_sec=0.0)
            with self._ticked:
                while not self._ended and clock.now() < now + self._period:
                    self._ticked.wait()

    def _wake(self) -> None:
        with self._ticked:
            self._ticked.notify_all()

    def close(self) -> None:
        """End the loop, and the peer."""
        self._ended = True
        self._wake()
        self._thread.join()
        self._jumps.unregister()
        self._executor.shutdown()
        self._component.destroy_node()
        self._peer.close()
