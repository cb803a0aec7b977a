"""A run in ROS 2 with a page: both control the same run, and the page follows the topics."""

import re
import signal
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("viser")

from ros_peer import PATIENCE, node_and_peer, stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

pytestmark = pytest.mark.ros


@pytest.fixture
def run(tmp_path):
    """A paused run: a peer that hears it, its process, its log and the address of its page."""
    log = tmp_path / "log.txt"
    arguments = ["-m", "hrp_sim.cli.main", "run", "arm", "--ros", "--view", "--paused"]
    # A forked process with a page fails in native code when it ends.
    with node_and_peer(arguments, log, forked=False) as (peer, process):
        peer.follow("/clock", Clock)
        peer.follow("/joint_states", JointState)
        address = lambda: re.search(r"http://\S+", log.read_text(encoding="utf-8"))  # noqa: E731
        peer.wait_until("an address", address)
        yield peer, process, log, address()[0]


def command(peer, position):
    """Command joint J2 until it is there."""
    commands = peer.node.create_publisher(JointState, "/joint_commands", 1)

    def follows_command():
        commands.publish(JointState(name=["J2"], position=[position]))
        latest = peer.messages["/joint_states"][-1]
        return abs(latest.position[latest.name.index("J2")] - position) < 0.05

    peer.wait_for("/joint_states")
    peer.wait_until("the commanded position", follows_command)


def check_end(process, log):
    assert process.wait(PATIENCE) == 0
    assert "Traceback" not in log.read_text(encoding="utf-8")


def test_a_run_has_a_page_and_topics_and_one_end(run):
    peer, process, log, address = run
    with urlopen(address) as answer:
        assert b"<html" in answer.read()
    assert peer.call("/sim_node/pause", SetBool, data=False).success
    command(peer, 0.6)
    process.send_signal(signal.SIGINT)
    check_end(process, log)


@pytest.mark.slow
def test_page_and_topics_show_and_control_the_same_run(run, pages):
    peer, process, log, address = run
    page = pages.open(address)
    page.wait_for_text("0.000 s")
    # A message of a single step arrives only if the topic is connected.
    peer.wait_for("/clock")
    page.tab.get_by_label("Steps", exact=True).fill("25")
    page.tab.get_by_role("button", name="Step", exact=True).click()
    page.wait_for_text("0.025 s")
    clock = peer.messages["/clock"]
    peer.wait_until("25 steps", lambda: stamp_ns(clock[-1].clock) == 25_000_000)

    page.tab.get_by_role("button", name="Play", exact=True).click()
    command(peer, 0.6)
    page.wait_until(
        lambda: float(page.field("J2").input_value()) == pytest.approx(np.degrees(0.6), abs=0.1)
    )
    assert peer.call("/sim_node/pause", SetBool, data=True).success
    page.wait_for_text("paused")
    page.tab.get_by_role("button", name="Reset", exact=True).click()
    page.wait_for_text("0.000 s")

    process.send_signal(signal.SIGINT)
    page.wait_for_text("The run was stopped at 0 s.")
    page.errors.clear()  # of the connection that is gone
    check_end(process, log)
