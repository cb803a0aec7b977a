"""Common parts of the tests of model_node: command line, parameters, joint states and
transforms."""

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from mechanism_model import CRANK, ROD
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter
from ros_peer import LATCHED
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from urdf_tools import parsed

from hrp_msgs import names, qos
from hrp_msgs.convert.basic import stamp
from hrp_msgs.node.qos import profile


def rewrite(path, text):
    """Replace a file at once: who watches it never reads a part of it."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def command(**parameters):
    """Return the arguments of Python that start the node."""
    given = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    return ["-m", "hrp_model.ros.model_node", *(["--ros-args", *given] if given else [])]


class Joints:
    """Publishes joint states, and receives the resulting transforms.

    The node subscribes with best effort, so messages before the discovery of both sides are lost.
    Sending again is harmless: each stamp is processed once.
    """

    def __init__(self, peer):
        self._peer = peer
        peer.follow(names.TF, TFMessage, profile(qos.TF))
        self._publisher = peer.node.create_publisher(
            JointState, names.JOINT_STATES, profile(qos.IMAGE)
        )

    def send(self, time_ns, positions):
        msg = JointState(name=list(positions), position=[float(q) for q in positions.values()])
        msg.header.stamp = stamp(time_ns)
        self._publisher.publish(msg)

    def send_without_positions(self, *joints):
        self._publisher.publish(JointState(name=list(joints)))

    def transforms_at(self, time_ns):
        messages = self._peer.messages[names.TF]
        return [m for m in messages if m.transforms[0].header.stamp == stamp(time_ns)]

    def transforms(self, time_ns, positions):
        """Send positions; return the transforms that carry their stamp, by child frame."""

        def answered():
            self.send(time_ns, positions)
            return self.transforms_at(time_ns)

        self._peer.wait_until(f"/tf of {time_ns} ns", answered)
        message = self.transforms_at(time_ns)[0]
        return {t.child_frame_id: t for t in message.transforms}


class Parameters:
    """The parameters of a node in another process."""

    def __init__(self, peer, node):
        self._peer = peer
        self._node = node
        self._clients = {}

    def _call(self, kind, service, request):
        if service not in self._clients:
            client = self._peer.node.create_client(kind, f"{self._node}/{service}")
            self._peer.wait_until(service, client.service_is_ready)
            self._clients[service] = client
        answer = self._clients[service].call_async(request)
        self._peer.wait_until(f"an answer of {service}", answer.done)
        return answer.result()

    def set(self, **values):
        """Set parameters one after the other; return the reasons of refused ones, or nothing."""
        parameters = [
            Parameter(name.replace("__", "."), value=value).to_parameter_msg()
            for name, value in values.items()
        ]
        request = SetParameters.Request(parameters=parameters)
        results = self._call(SetParameters, "set_parameters", request).results
        assert all(result.successful == (not result.reason) for result in results)
        return "; ".join(result.reason for result in results if result.reason)

    def get(self, *wanted):
        request = GetParameters.Request(names=list(wanted))
        values = self._call(GetParameters, "get_parameters", request).values
        return [
            Parameter.from_parameter_msg(ParameterMsg(name=name, value=value)).value
            for name, value in zip(wanted, values, strict=True)
        ]

    def below(self, prefix):
        """Return the names and values of the parameters below a prefix."""
        request = ListParameters.Request(prefixes=[prefix], depth=0)
        found = list(self._call(ListParameters, "list_parameters", request).result.names)
        return dict(zip(found, self.get(*found), strict=True)) if found else {}

    def describe(self, name):
        request = DescribeParameters.Request(names=[name])
        return self._call(DescribeParameters, "describe_parameters", request).descriptors[0]


class Robot:
    """model_node in another process, with its topics and its log."""

    def __init__(self, peer, model, log):
        self.peer, self.model, self.log = peer, model, log
        self.parameters = Parameters(peer, "/model_node")
        self.joints = Joints(peer)
        peer.follow(names.ROBOT_DESCRIPTION, String, profile(qos.LATCHED))
        peer.follow(names.TF_STATIC, TFMessage, LATCHED)
        peer.follow(names.DIAGNOSTICS, DiagnosticArray)
        for topic in (names.ROBOT_DESCRIPTION, names.TF_STATIC):
            peer.wait_until(topic, lambda topic=topic: peer.messages[topic])
        self.time = 0

    def set(self, **values):
        return self.parameters.set(**values)

    def latest(self, topic):
        return self.peer.messages[topic][-1]

    def description(self):
        return parsed(self.latest(names.ROBOT_DESCRIPTION).data)

    def links(self):
        return {link.name for link in self.description().links}

    def static(self):
        transforms = self.latest(names.TF_STATIC).transforms
        return {t.child_frame_id: t for t in transforms}

    def moving(self, frame):
        """Return all transforms of a moving frame."""
        messages = self.peer.messages[names.TF]
        return [t for m in messages for t in m.transforms if t.child_frame_id == frame]

    def wait_until(self, what, condition):
        self.peer.wait_until(what, condition)

    def next_time(self):
        """Return a stamp that was not used before, in another period."""
        self.time += 1_000_000_000
        return self.time

    def positions(self, **positions):
        """Move joints; return the positions of all frames that moved."""
        found = self.joints.transforms(self.next_time(), positions)
        return {name: joint_position(transform) for name, transform in found.items()}

    def health(self, part, condition):
        """Return the level, message and values of a part once they are as wanted."""
        name = f"model_node: {part}"

        def last():
            statuses = [s for m in self.peer.messages[names.DIAGNOSTICS] for s in m.status]
            status = [s for s in statuses if s.name == name][-1:]
            return [(s.level, s.message, {v.key: v.value for v in s.values}) for s in status]

        self.wait_until(f"health of {part}", lambda: last() and condition(*last()[0]))
        return last()[0]


def joint_position(transform):
    """Return the angle about z, or the position along x of the only prismatic joint."""
    t, r = transform.transform.translation, transform.transform.rotation
    if transform.child_frame_id.endswith("SLIDER"):
        return t.x - (CRANK + ROD)
    return 2.0 * np.arctan2(r.z, r.w)
