"""Ctrl-C at any moment from the first line of a node on: it ends in silence, with status 0."""

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import closing

import pytest
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import ENVIRONMENT, PATIENCE, Peer
from sensor_msgs.msg import JointState, Joy

import hrp_model.ros.model_node
import hrp_model.ros.view_node
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
    "view_node": (hrp_model.ros.view_node.main, StopSignals.wait),
}
ARGUMENTS = {"model_node": MODEL, "sim_node": WORLD, "view_node": []}


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

        monkeypatch.setattr(sys, "argv", [node, *ARGUMENTS[node]])
        sys.setprofile(count)
        try:
            status = main()
        finally:
            sys.setprofile(None)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        lines = "".join(capfd.readouterr()).splitlines()
        told = ("[INFO]", "[WARN]", "view: http://")
        return started, status, [x for x in lines if not any(word in x for word in told)]

    return start


@pytest.mark.parametrize(
    ("node", "count"),
    [
        ("model_node", 15),
        ("sim_node", 5),
        pytest.param("model_node", 60, marks=pytest.mark.slow),
        pytest.param("sim_node", 15, marks=pytest.mark.slow),
        pytest.param("view_node", 15, marks=pytest.mark.slow),
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


# Runs an example once for each moment, in forks of a process that has imported what it needs, and
# prints how they end. A moment is so many events of Python's profiler after the first call of a
# function.
EXAMPLE = """
import json, os, runpy, signal, sys
import geometry_msgs.msg, rclpy.executors, rclpy.node, sensor_msgs.msg

def start(function, events):
    left = None
    def watch(frame, event, argument):
        nonlocal left
        name = argument.__name__ if event == "c_call" else frame.f_code.co_name
        if left is None and event in ("call", "c_call") and name == function:
            left = events
        if left is not None:
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGINT)
    sys.setprofile(watch)

path, moments = sys.argv[1], json.loads(sys.argv[2])
signal.signal(signal.SIGINT, signal.default_int_handler)
for moment in moments:
    children = globals().setdefault("children", [])
    children.append(os.fork())
    if not children[-1]:
        signal.alarm(200)  # if nothing ends it
        sys.argv = [path]
        start(*moment)
        runpy.run_path(path, run_name="__main__")
        break
else:
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(x, 0)[1]) for x in children]))
"""
BEGIN = [("init", 1), ("get_default_context", 1), ("install_signal_handlers", 1)]
LATER = [
    *(("create_publisher", k) for k in (1, 50)),
    ("create_subscription", 30),
    *(("wait", k) for k in (1, 2)),
    # rclpy makes a RuntimeError of a KeyboardInterrupt in here, before its context is shut down.
    *(("take_message", k) for k in (1, 5, 15, 30, 60)),
    *(("publish", k) for k in (1, 2, 20)),
]


@pytest.mark.parametrize(
    "script",
    ["docs/examples/pd_controller.py", pytest.param("examples/controllers/joystick.py",
                                                    marks=pytest.mark.slow)],
)  # fmt: skip
def test_ctrl_c_at_any_moment_is_a_good_end_of_an_example(script):
    with closing(Peer()) as peer:
        joints = [f"J{k}" for k in range(1, 7)]
        state = JointState(name=joints, position=[0.1] * 6, velocity=[0.0] * 6)
        joy = Joy(axes=[0.5, 1.0])
        sources = [
            (peer.node.create_publisher(type(message), topic, 10), message)
            for topic, message in (("joint_states", state), ("joy", joy))
        ]
        peer.node.create_timer(0.02, lambda: [source.publish(m) for source, m in sources])
        done = subprocess.run(
            [sys.executable, "-c", EXAMPLE, str(ROOT / script), json.dumps(BEGIN + LATER)],
            env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
    ended = json.loads(done.stdout)
    assert set(ended[: len(BEGIN)]) <= {0, -signal.SIGINT}, done.stderr
    assert ended[len(BEGIN) :] == [0] * len(LATER), done.stderr
