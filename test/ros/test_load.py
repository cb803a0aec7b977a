"""A humanoid with all its sensors under load: who listens all the time misses nothing.

``python scripts/bench ros`` is the long form, and measures what it costs.
"""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

import load_listener
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from rclpy.qos import qos_profile_sensor_data
from ros_peer import PATIENCE, RELIABLE, Peer, running
from sensor_msgs.msg import Image, JointState
from std_srvs.srv import SetBool

pytestmark = [pytest.mark.ros, pytest.mark.slow]  # others listen for gaps in less

WORLD = f"""
physics: {{ time_step: 0.001, solver: world }}
bodies:
  - model: {MODELS / "room.body"}
  - model: {MODELS / "humanoid" / "humanoid.wrl"}
    sensors: {{ scanner: {{ rate: 40 }} }}
    control: hold
"""
ROUNDS, AT_ONCE = 4, 5  # guests
COMMANDS = 100  # of a controller before it is killed
# Answers each reading with a command, stamped alike.
CONTROLLER = """
import rclpy
from sensor_msgs.msg import JointState

def answer(reading):
    command = JointState(header=reading.header, name=reading.name[:1], position=[0.0])
    publisher.publish(command)

rclpy.init()
node = rclpy.create_node("controller")
publisher = node.create_publisher(JointState, "joint_commands", 10)
node.create_subscription(JointState, "joint_states", answer, 10)
rclpy.spin(node)
"""
NS_PER_S = 1_000_000_000
STOPS = 5
STOPPED, BETWEEN = 0.8, 0.3  # [s] of simulated time


class Load:
    """A humanoid that runs, who listens to all of it, and a peer.

    Attributes:
        process: The simulation.
        log: What it logs.
        peer: In this process.
        ear: Hears all topics all the time.
    """

    def __init__(self, stack: ExitStack, folder, *parameters: str) -> None:
        world, self.log = folder / "load.yaml", folder / "sim.txt"
        world.write_text(WORLD, encoding="utf-8")
        words = [word for p in (f"world:={world}", *parameters) for word in ("-p", p)]
        arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", *words]
        self.process = stack.enter_context(running(arguments, self.log))
        self.peer = Peer()
        stack.callback(self.peer.close)
        self.ear = load_listener.LoadListener(context=self.peer.node.context)
        self.peer.serve(self.ear)
        self.peer.follow("/diagnostics", DiagnosticArray)

    def wait_for_all(self, samples: int = 20) -> None:
        """Wait until more of all topics was heard."""
        enough = {topic: len(stamps) + samples for topic, stamps in self.ear.stamps.items()}
        for topic, count in enough.items():
            self.peer.wait_until(topic, lambda t=topic, n=count: len(self.ear.stamps[t]) >= n)

    def told(self, part: str, key: str) -> str:
        """Return what /diagnostics said last."""
        for message in reversed(list(self.peer.messages["/diagnostics"])):
            for status in message.status:
                if status.name == f"sim_node: {part}":
                    return next(v.value for v in status.values if v.key == key)
        return "0"

    def check_nothing_is_missing(self) -> None:
        """Check that every sample was heard, from the first to the last before a pause."""
        assert self.peer.call("sim_node/pause", SetBool, data=True).success
        clock = self.ear.stamps["/clock"]
        # Shown once a second while it stands still; what is heard may lag behind the answer.
        self.peer.wait_until("the time it stands at", lambda: clock[-3:] == 3 * clock[-1:])
        for topic, rate in load_listener.RATES.items():
            stamps = self.ear.stamps[topic]
            last = clock[-1] * rate // NS_PER_S  # the number of its last sample

            def has_come(stamps=stamps, rate=rate, last=last):
                return last in (round(stamp * rate / NS_PER_S) for stamp in stamps[-3:])

            self.peer.wait_until(f"the last of {topic}", has_come)
            assert load_listener.missing(stamps, rate) == 0, topic
        assert self.peer.call("sim_node/pause", SetBool, data=False).success

    def end(self, *signals: int) -> None:
        """Check that it ends cleanly."""
        for number in signals:
            self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        said = self.log.read_text(encoding="utf-8")
        assert status == 0, said
        assert "Traceback" not in said
        assert "[ERROR]" not in said


@contextmanager
def loaded(folder, *parameters):
    with ExitStack() as stack:
        yield Load(stack, folder, *parameters)


def let_guests_come_and_go() -> None:
    """Let many come, each as a process of its own would, hear something and leave."""
    for k in range(ROUNDS):
        guests = [Peer(f"guest{i}") for i in range(AT_ONCE)]
        try:
            for i, guest in enumerate(guests):
                profile = RELIABLE if i % 2 else qos_profile_sensor_data
                guest.follow("joint_states", JointState, profile)
                guest.follow("head_camera/image_raw", Image, profile)
            for guest in guests:
                guest.wait_for("joint_states", 1 + AT_ONCE * k)
                guest.wait_until("an image", lambda g=guest: g.messages["head_camera/image_raw"])
        finally:
            for guest in guests:
                guest.close()


def kill_a_controller(load: Load, folder) -> None:
    """Let a process command the robot, and kill it meanwhile."""
    commands = load.peer.messages["joint_commands"]
    with running(["-c", CONTROLLER], folder / "controller.txt", killed=True):
        heard = len(commands)
        load.peer.wait_until("commands", lambda: len(commands) >= heard + COMMANDS)
    # It was killed at the end of the block.


def test_who_listens_misses_nothing_while_others_come_go_call_and_are_killed(tmp_path):
    with loaded(tmp_path) as load, ExitStack() as stack:
        load.wait_for_all()
        host = stack.enter_context(ThreadPoolExecutor(1))
        coming = host.submit(let_guests_come_and_go)
        answers = 0
        while not coming.done():
            name = ["real_time_factor"]
            answer = load.peer.call("sim_node/get_parameters", GetParameters, names=name)
            assert answer.values[0].double_value == 1.0
            for paused in (True, False):
                assert load.peer.call("sim_node/pause", SetBool, data=paused).success
            answers += 1
        coming.result()
        assert answers > 0
        load.check_nothing_is_missing()

        load.peer.follow("joint_commands", JointState)
        kill_a_controller(load, tmp_path)
        with running([load_listener.__file__], tmp_path / "listener.txt", killed=True):
            count = load.peer.node.count_subscribers
            load.peer.wait_until("a second listener", lambda: count("/head_camera/image_raw") >= 2)
            load.wait_for_all()
        load.wait_for_all()  # the other is dead now, though not yet given up
        load.check_nothing_is_missing()
        load.end(signal.SIGTERM)
