"""Ctrl-C at any moment from the first line of a node on: it ends in silence, with status 0."""

import random
import signal
import sys

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import ENVIRONMENT

import hrp_model.ros.model_node
import hrp_sim.ros.sim_node
from hrp_model.program.command import StopSignals
from hrp_sim.run.run import Run

SECOND = 40  # calls after the first signal, while the node tidies up
MODEL = ["--ros-args", "-p", f"model:={MODELS / 'arm' / 'arm.body'}", "-p", "world_frame:=world"]
WORLD = ["--ros-args", "-p", f"world:={MODELS / 'worlds' / 'arm.yaml'}", "-p", "describe:=true"]
# By node: what runs it, and the function in which it then stays, whatever the machine.
NODES = {
    "model_node": (hrp_model.ros.model_node.main, StopSignals.wait),
    "sim_node": (hrp_sim.ros.sim_node.main, Run.run),
}


@pytest.fixture
def start(monkeypatch, capfd):
    """Return what runs a node until a signal comes, at a call of a Python function."""
    handlers = {number: signal.getsignal(number) for number in StopSignals.NUMBERS}
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def start(node, moment):
        """Return the number of calls until it runs, and its status and errors after a signal."""
        main, running = NODES[node]
        calls = started = 0

        def count(frame, event, _):
            nonlocal calls, started
            if event != "call":
                return
            calls += 1
            if not started and frame.f_code is running.__code__:
                started = calls
                calls = max(calls, moment)  # it would wait for long
            if calls in (moment, moment + SECOND):
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(sys, "argv", [node, *(MODEL if node == "model_node" else WORLD)])
        sys.setprofile(count)
        try:
            status = main()
        finally:
            sys.setprofile(None)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        lines = "".join(capfd.readouterr()).splitlines()
        return started, status, [x for x in lines if "[INFO]" not in x and "[WARN]" not in x]

    return start


@pytest.mark.parametrize(
    ("node", "count"),
    [
        ("model_node", 15),
        ("sim_node", 5),
        pytest.param("model_node", 60, marks=pytest.mark.slow),
        pytest.param("sim_node", 15, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_at_any_moment_ends_a_node_in_silence(node, count, start):
    length, *ended = start(node, sys.maxsize // 2)
    assert ended == [0, []]
    assert length > 1000
    chosen = random.Random(4)
    moments = [2, 100, length - 100, length + 10]  # the first call is that of ``main`` itself
    moments += [chosen.randrange(2, length) for _ in range(count)]
    for moment in moments:
        _, *ended = start(node, moment)
        assert ended == [0, []], f"at call {moment} of {length}"
