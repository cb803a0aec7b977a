"""A rover on tracks, driven and heard from another process."""

from __future__ import annotations

import math
import signal

import numpy as np
import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import PATIENCE, node_and_peer, stamp_ns
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "rover.yaml"
NAMES = ["TRACK_L", "TRACK_R", "MAST"]
COMMAND = {"velocity": [0.2, 0.1, math.nan], "position": [math.nan, math.nan, 0.3]}


def children(messages):
    """Return the frames whose places messages of TF tell."""
    return {t.child_frame_id for message in list(messages) for t in message.transforms}


def test_one_command_drives_the_tracks_and_turns_the_mast(tmp_path):
    log = tmp_path / "log.txt"
    with node_and_peer(["-m", "hrp_sim.cli.main", "run", str(WORLD), "--ros"], log) as (
        peer,
        process,
    ):
        peer.follow("joint_states", JointState)
        peer.follow("/tf", TFMessage)
        publisher = peer.node.create_publisher(JointState, "joint_commands", 1)
        peer.wait_until("a listener", publisher.get_subscription_count)
        heard = peer.messages["joint_states"]
        moved = peer.messages["/tf"]

        def turned() -> bool:
            publisher.publish(JointState(name=NAMES, **COMMAND))
            return bool(heard) and heard[-1].position[2] > 0.29

        peer.wait_until("a mast that turns", turned)
        peer.wait_until("its frame", lambda: "MAST" in children(moved))
        heard, moved = list(heard), list(moved)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, log.read_text(encoding="utf-8")
    assert all(state.name == NAMES for state in heard)
    assert heard[-1].velocity[:2].tolist() == [0.2, 0.1]
    assert all(np.isnan(state.effort[:2]).all() for state in heard)
    driving = [state for state in heard if state.velocity[0] == 0.2]
    since_ns = stamp_ns(driving[0].header.stamp)
    for state in driving:
        run = (stamp_ns(state.header.stamp) - since_ns) / 1e9
        expected = run * np.array([0.2, 0.1]) + driving[0].position[:2]
        np.testing.assert_allclose(state.position[:2], expected, atol=1e-12)
    assert driving[0].position[0] == pytest.approx(2.0 * driving[0].position[1]) != 0.0
    assert not children(moved) & {"TRACK_L", "TRACK_R"}
    said = log.read_text(encoding="utf-8")
    assert "not moving" not in said
    assert "ignored" not in said
