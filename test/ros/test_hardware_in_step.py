"""ros2_control's hardware of topics in lock-step: it sleeps by the clock, and its stamps lag."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not installed")

from diagnostic_msgs.msg import DiagnosticArray
from hardware import ControllerManager, sim_time_peer
from ros_peer import Peer, running, stamp_ns
from rosgraph_msgs.msg import Clock
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import ResetSimulation
from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
JOINTS = [f"J{k}" for k in range(1, 7)]
RATE = 500  # [Hz]
PERIOD_NS = 1_000_000_000 // RATE


def damp(hardware):
    """Play a controller that brakes."""
    for joint in JOINTS:
        hardware.commands["effort"][joint] = -5.0 * hardware.states["velocity"][joint]


def manager(rate=RATE):
    return ControllerManager(sim_time_peer(), {joint: ["effort"] for joint in JOINTS}, rate, damp)


def lock_step_health(peer):
    """Return the last numbers of the waiting; all are 0 before there are any."""
    for message in reversed(list(peer.messages["/diagnostics"])):
        for status in message.status:
            if status.name == "sim_node: lock-step":
                return {v.key: v.value for v in status.values} | {"message": status.message}
    return {"control periods": "0", "time-outs": "0", "message": ""}


@contextmanager
def simulation(folder, **parameters):
    """Run the arm in lock-step with hardware topics; yield a peer that hears how it goes."""
    given = {
        "world": WORLD,
        "hardware_topics": "true",
        "lock_step": "robot_joint_command",
        "lock_step_rate": float(RATE),
        "real_time_factor": 0.0,
        **{f"{joint}.mode": "effort" for joint in JOINTS},
        **parameters,
    }
    words = [word for key, value in given.items() for word in ("-p", f"{key}:={value}")]
    log = folder / "log.txt"
    peer = Peer()
    peer.follow("/diagnostics", DiagnosticArray)
    peer.follow("/clock", Clock)
    try:
        with running(["-m", "hrp_sim.ros.sim_node", "--ros-args", *words], log):
            yield peer
    except AssertionError:
        print(lock_step_health(peer))
        print(log.read_text(encoding="utf-8"))
        raise
    finally:
        peer.close()


@pytest.mark.parametrize("periods", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_every_period_is_answered_by_a_manager_whose_stamps_lag_behind(periods, tmp_path):
    # For ever: without an answer the run would stay at a boundary.
    with simulation(tmp_path, lock_step_timeout=0.0, clock_rate=240.0) as peer:
        # Nobody commands yet, and the run goes on.
        peer.wait_until(
            "a free run", lambda: "not waiting for" in lock_step_health(peer)["message"]
        )
        peer.wait_for("/clock", 20)
        controllers = manager()
        try:
            peer.wait_until("periods", lambda: len(controllers.times) > periods)
            peer.wait_for("/diagnostics")
        finally:
            controllers.close()
        health = lock_step_health(peer)
        shown = [stamp_ns(message.clock) for message in list(peer.messages["/clock"])]
    assert health["time-outs"] == "0"
    assert all(time_ns % PERIOD_NS == 0 for time_ns in shown)
    gaps = [b - a for a, b in pairwise(controllers.times)]
    assert gaps[-periods // 2 :] == [PERIOD_NS] * (periods // 2)
    # What this is about: how many lag depends on the machine.
    assert any(s < t for s, t in zip(controllers.stamps, controllers.times, strict=True))


def test_a_reset_keeps_time_so_that_controllers_go_on_unless_time_is_asked_for(tmp_path):
    # Not as fast as possible: there is a while between zero and where time was.
    with simulation(tmp_path, lock_step_timeout=0.0, real_time_factor=1.0) as peer:
        controllers = manager()
        try:
            times = controllers.times
            peer.wait_until("commands", lambda: len(times) > 200)
            answer = peer.call("sim_node/reset", Trigger)
            assert answer.success
            assert "its time kept" in answer.message
            after_ns = times[-1]
            peer.wait_until("more commands", lambda: len(times) > 220)
            assert times[-1] >= after_ns > 0
            # They stand still now, and the run goes on without them.
            scope = ResetSimulation.Request.SCOPE_TIME
            result = peer.call("sim_node/reset_simulation", ResetSimulation, scope=scope).result
            assert result.result == Result.RESULT_OK
            assert "ros2_control controllers wait" in result.error_message
            heard = len(peer.messages["/clock"])
            peer.wait_until(
                "a run without them",
                lambda: any(
                    10 * PERIOD_NS < stamp_ns(m.clock) < after_ns
                    for m in list(peer.messages["/clock"])[heard:]
                ),
            )
        finally:
            controllers.close()
        assert result.error_message in (tmp_path / "log.txt").read_text(encoding="utf-8")
