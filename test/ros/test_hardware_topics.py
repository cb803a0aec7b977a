"""The topics of ros2_control's hardware interface, at the rate of a controller manager."""

from __future__ import annotations

import math
import time
from itertools import pairwise

import numpy as np
import pytest
from hardware import TopicHardware
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import PATIENCE, node_and_peer, stamp_ns
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
RATE = 500  # [Hz]
PERIODS = 500
SECONDS = 1.5  # of simulated time
START = {"J1": 0.0, "J2": 0.5, "J3": 0.9, "J4": 0.0, "J5": 0.6, "J6": 0.0}
# So that every array is shorter than the names.
INTERFACES = {
    "J1": ["position"],
    "J2": ["position"],
    "J3": ["position"],
    "J4": ["velocity"],
    "J5": ["position"],
    "J6": ["effort"],
}
MODES = {"J4": "velocity", "J6": "effort"}
DAMPING = 0.01  # [N m s/rad], of the controller of J6
AMPLITUDE, FREQUENCY = 0.3, 0.5  # [rad], [Hz]


def wave(seconds: float) -> float:
    """A motion that begins at rest."""
    return 0.5 * AMPLITUDE * (1.0 - math.cos(2.0 * math.pi * FREQUENCY * seconds))


@pytest.fixture(scope="module")
def controlled(tmp_path_factory):
    """What came of a controller manager's work for a while: (times, states, peer, hardware)."""
    log = tmp_path_factory.mktemp("hardware") / "log.txt"
    arguments = ["-p", f"world:={WORLD}", "-p", "hardware_topics:=true"]
    for joint, mode in MODES.items():
        arguments += ["-p", f"{joint}.mode:={mode}"]
    with node_and_peer(["-m", "hrp_sim.ros.sim_node", "--ros-args", *arguments], log) as (peer, _):
        hardware = TopicHardware(peer.node, INTERFACES)
        peer.wait_until("a listener", hardware.publisher.get_subscription_count)
        peer.wait_until("states", lambda: hardware.read_count)
        hardware.read()
        for name, position in hardware.states["position"].items():
            hardware.commands["position"][name] = position
        yield work(hardware, peer), peer, hardware, log


def work(hardware, peer):
    """Read, update and write at the rate of a controller manager; return what was seen.

    It ends when so many periods and so much of simulated time have passed: either may lag behind
    the other where the machine has much else to do.
    """
    seen = []
    begin_ns = None
    due = time.monotonic()

    def period():
        nonlocal begin_ns, due
        due += 1.0 / RATE
        time.sleep(max(0.0, due - time.monotonic()))  # the rate, not a wait for anything
        hardware.read()
        now_ns = stamp_ns(hardware.stamp)
        begin_ns = now_ns if begin_ns is None else begin_ns
        seconds = (now_ns - begin_ns) / 1e9
        hardware.commands["position"]["J1"] = wave(seconds)
        hardware.commands["velocity"]["J4"] = 0.2
        hardware.commands["effort"]["J6"] = -DAMPING * (hardware.states["velocity"]["J6"] - 0.4)
        hardware.write()
        seen.append((seconds, *(dict(hardware.states[k]) for k in ("position", "velocity"))))
        return seconds

    give_up = time.monotonic() + PATIENCE
    while period() < SECONDS or len(seen) < PERIODS:
        assert time.monotonic() < give_up, f"only {seen[-1][0]} s have passed"
    return seen


def states(seen):
    """Return of all periods those that saw a new state."""
    return [row for before, row in pairwise([(-1.0,), *seen]) if row[0] > before[0]]


def column(seen, kind, joint):
    return np.array([row[1 + ("position", "velocity").index(kind)][joint] for row in seen])


def test_every_period_sends_a_command_and_sees_new_states(controlled):
    seen, _, hardware, _ = controlled
    assert hardware.written == len(seen) >= PERIODS
    times = np.array([row[0] for row in seen])
    assert np.all(np.diff(times) >= 0.0)
    assert len(states(seen)) > 30  # more, the less else the machine has to do


def test_joints_commanded_by_position_follow(controlled):
    seen = states(controlled[0])
    times = np.array([row[0] for row in seen])
    told = column(seen, "position", "J1")

    def errors(late: float):
        return np.abs(told - [wave(max(0.0, t - late)) for t in times])

    # The command has to come, the servo to follow, the state to go back: some periods late, and
    # a hundred or more where the machine has much else to do.
    best = min(np.median(errors(late)) for late in np.linspace(0.0, 0.3, 31))
    assert best < 0.05 * math.pi * FREQUENCY * AMPLITUDE
    assert errors(0.0).max() < AMPLITUDE
    for joint in ("J2", "J3", "J5"):
        np.testing.assert_allclose(column(seen, "position", joint), START[joint], atol=0.02)


def test_joints_commanded_by_velocity_or_effort_turn(controlled):
    # By simulated time, in which J6 speeds up: its rotor takes seconds to get to 0.4 rad/s.
    later = [row for row in states(controlled[0]) if row[0] > SECONDS / 2.0]
    assert np.median(column(later, "velocity", "J4")) == pytest.approx(0.2, abs=0.05)
    assert 0.05 < np.median(column(later, "velocity", "J6")) < 0.4


def test_shorter_arrays_are_understood_without_a_word(controlled):
    log = controlled[3].read_text(encoding="utf-8")
    assert "values of" not in log
    assert "ignored" not in log


def test_the_broadcaster_has_joint_states_and_the_controllers_their_commands(controlled):
    peer = controlled[1]
    told = peer.node.get_topic_names_and_types
    peer.wait_until("others", lambda: "/external_wrench" in dict(told()))
    topics = dict(told())
    assert not peer.node.count_publishers("/joint_states")
    for topic in ("joint_states", "joint_commands", "joint_trajectory", "effort_commands"):
        assert f"/{topic}" not in topics


def test_arrays_that_fit_nothing_are_told_and_the_run_goes_on(controlled):
    _, peer, hardware, log = controlled
    bad = JointState(name=list(INTERFACES), position=[0.1, 0.2])

    def told() -> bool:
        hardware.publisher.publish(bad)
        return "2 values of position" in log.read_text(encoding="utf-8")

    peer.wait_until("a warning", told)
    held = hardware.commands["position"]["J2"]
    hardware.commands["position"]["J2"] = held + 0.1

    def moved() -> bool:
        hardware.read()
        hardware.write()
        return hardware.states["position"]["J2"] > held + 0.09

    peer.wait_until("a joint that moves on", moved)
