"""A run in ROS 2 with a page: both control the same run, and the page follows the topics."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("viser")

from ros_peer import ENVIRONMENT, PATIENCE, Peer, stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

pytestmark = pytest.mark.ros


@pytest.fixture
def peer():
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def run():
    """A paused run of the arm, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hrp_sim.cli.main", "run", "arm", "--ros", "--view", "--paused"],
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, process.stdout.readline().split()[1]
    finally:
        process.kill()
        process.communicate()


def test_page_and_topics_show_and_control_the_same_run(run, peer, pages):
    process, address = run
    page = pages.open(address)
    peer.follow("/clock", Clock)
    peer.follow("/joint_states", JointState)
    page.wait_for_text("paused")
    page.wait_for_text("0.000 s")
    # A message of a single step arrives only if the topic is connected.
    page.tab.get_by_role("button", name="Play", exact=True).click()
    peer.wait_for("/clock")
    page.tab.get_by_role("button", name="Pause", exact=True).click()
    page.wait_for_text("paused")
    page.tab.get_by_role("button", name="Reset", exact=True).click()
    page.wait_for_text("0.000 s")

    page.tab.get_by_label("Steps", exact=True).fill("25")
    page.tab.get_by_role("button", name="Step", exact=True).click()
    page.wait_for_text("0.025 s")
    peer.wait_until("25 steps", lambda: stamp_ns(peer.messages["/clock"][-1].clock) == 25_000_000)

    page.tab.get_by_role("button", name="Play", exact=True).click()
    peer.wait_for("/joint_states", 20)
    commands = peer.node.create_publisher(JointState, "/joint_commands", 1)

    def follows_command():
        commands.publish(JointState(name=["J2"], position=[0.8]))
        latest = peer.messages["/joint_states"][-1]
        return abs(latest.position[latest.name.index("J2")] - 0.8) < 0.05

    peer.wait_until("the commanded position", follows_command)
    page.tab.get_by_role("tab", name="Joints").click()
    page.wait_until(lambda: float(page.field("J2").input_value()) == pytest.approx(0.8))

    assert peer.call("/sim_node/pause", SetBool, data=True).success
    page.tab.get_by_role("tab", name="Run").click()
    page.wait_for_text("paused")
    page.tab.get_by_role("button", name="Reset", exact=True).click()
    page.wait_for_text("0.000 s")

    process.send_signal(signal.SIGINT)
    page.wait_for_text("The run was stopped at 0 s.")
    page.errors.clear()  # of the connection that is gone
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Traceback" not in errors
