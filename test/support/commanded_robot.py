"""The arm that tests command over ROS 2, in another process."""

from __future__ import annotations

from contextlib import contextmanager

from control_msgs.action import FollowJointTrajectory
from paths import MODELS
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from ros_peer import Peer, node_and_peer, stamp_ns
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

WORLD = MODELS / "worlds" / "arm.yaml"
# Initial joint positions, in [rad].
START = {"J1": 0.0, "J2": 0.5, "J3": 0.9, "J4": 0.0, "J5": 0.6, "J6": 0.0}
SELDOM = "-p", "joint_states.rate:=100.0"  # so that hearing it takes little
# The parameters that tests change.
PARAMETERS = (
    *(f"{joint}.{what}" for joint in START for what in ("kp", "kd", "mode")),
    "constraints.J1.goal",
    *("wrench_duration", "command_timeout", "command_fallback", "command_max_age"),
    "command_rate_limit",
)


class Robot:
    """The arm in another process, with publishers of its commands."""

    def __init__(self, peer: Peer, log) -> None:
        self.peer, self.log = peer, log
        peer.follow("joint_states", JointState)
        self.states = peer.messages["joint_states"]
        self.client = peer.action_client(FollowJointTrajectory, "follow_joint_trajectory")
        self.feedback: list = []
        self._publishers: dict = {}
        peer.wait_for("joint_states")
        peer.wait_until("an action server", self.client.server_is_ready)
        self._first = dict(zip(PARAMETERS, self._values(*PARAMETERS), strict=True))
        self._has_changed = False

    def reset(self) -> None:
        """Reset to time zero and the initial parameters."""
        if self._has_changed:
            self._set(self._first)
            self._has_changed = False
        known = len(self.states)
        assert self.peer.call("/sim_node/reset", Trigger).success

        def begin() -> int:
            """Return the index of the first state after the reset, or 0: earlier states may arrive
            late."""
            times = [stamp_ns(m.header.stamp) for m in list(self.states)]
            return next((k for k in range(known, len(times)) if times[k] <= times[k - 1]), 0)

        self.peer.wait_until("time to begin anew", begin)
        del self.states[: begin()]
        self.feedback.clear()

    @property
    def now_ns(self) -> int:
        return stamp_ns(self.states[-1].header.stamp)

    def where(self, joint: str) -> float:
        state = self.states[-1]
        return state.position[state.name.index(joint)]

    def speed(self, joint: str) -> float:
        state = self.states[-1]
        return state.velocity[state.name.index(joint)]

    def publish(self, topic: str, message) -> None:
        """Publish once, when there is a subscriber."""
        if topic not in self._publishers:
            publisher = self.peer.node.create_publisher(type(message), topic, 1)
            self.peer.wait_until("a listener", publisher.get_subscription_count)
            self._publishers[topic] = publisher
        self._publishers[topic].publish(message)

    def publish_until(self, topic: str, message, what: str, condition) -> None:
        """Publish after each received state until a condition holds."""

        def again() -> bool:
            self.publish(topic, message)
            return condition()

        self.peer.wait_until(what, again)

    def wait(self, seconds: float) -> None:
        """Wait for this simulation time."""
        until = self.now_ns + seconds * 1e9
        self.peer.wait_until(f"{seconds} s", lambda: self.now_ns >= until)

    def wait_for(self, joint: str, position: float, tolerance: float = 5e-3) -> None:
        self.peer.wait_until(
            f"{joint} at {position}", lambda: abs(self.where(joint) - position) < tolerance
        )

    def set(self, **parameters) -> list:
        """Set parameters of the node; return the results. '__' in names means a dot."""
        given = {name.replace("__", "."): parameter_value(v) for name, v in parameters.items()}
        self._has_changed = True
        return self._set(given)

    def _set(self, values) -> list:
        settings = [Parameter(name=name, value=value) for name, value in values.items()]
        return self.peer.call(
            "/sim_node/set_parameters", SetParameters, parameters=settings
        ).results

    def get(self, *names: str) -> list[float]:
        """Return the values of parameters that are numbers."""
        return [value.double_value for value in self._values(*names)]

    def _values(self, *names: str) -> list[ParameterValue]:
        return self.peer.call("/sim_node/get_parameters", GetParameters, names=names).values

    def send(self, goal):
        """Send a goal; return its handle and the future of its result."""
        sent = self.peer.at_once(self.client.send_goal_async, goal, self.feedback.append)
        self.peer.wait_until("an answer to a goal", sent.done)
        assert sent.result().accepted
        return sent.result(), self.peer.at_once(sent.result().get_result_async)

    def result(self, future):
        self.peer.wait_until("a result", future.done)
        return future.result().status, future.result().result


def parameter_value(value: float | str) -> ParameterValue:
    if isinstance(value, str):
        return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)


@contextmanager
def simulated_robot(folder):
    """Run the arm during the block, with its log in the folder."""
    log = folder / "log.txt"
    arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={WORLD}", *SELDOM]
    with node_and_peer(arguments, log) as (peer, _):
        yield Robot(peer, log)
