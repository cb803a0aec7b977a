"""Callbacks that fail: they are told, and what they have in common with others goes on."""

from __future__ import annotations

import gc
import os
import threading

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

import rclpy
from rclpy.executors import SingleThreadedExecutor
from ros_peer import DOMAIN_ID, ENVIRONMENT
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from hrp_msgs.node.executor import ExecutorThread, remove_destroyed

PATIENCE = 300.0  # [s]


class Log:
    """A logger that keeps what it is told."""

    def __init__(self):
        self.errors = []

    def error(self, text):
        self.errors.append(text)


@pytest.fixture
def served(monkeypatch):
    """Yield a node that is served in a thread, and its log, which repeats nothing."""
    monkeypatch.setattr("hrp_msgs.node.executor._LOG_PERIOD", 1e9)
    os.environ.update(ENVIRONMENT)
    context, log = rclpy.Context(), Log()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    node = rclpy.create_node("served", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    serving = ExecutorThread(executor, log)
    yield node, log
    serving.close()
    node.destroy_node()
    context.try_shutdown()


def called_often(node, act, often):
    """Have something done by a timer until it was called so often."""
    enough, count = threading.Event(), [0]

    def call():
        count[0] += 1
        if count[0] >= often:
            enough.set()
        act()

    timer = node.create_timer(0.0, call)
    assert enough.wait(PATIENCE)
    node.destroy_timer(timer)


def raiser(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize("error", [RuntimeError("of no use"), KeyError("gone")])
def test_a_failing_callback_is_told_once_with_its_traceback_and_the_others_go_on(served, error):
    node, log = served
    called_often(node, raiser(error), 20)
    called_often(node, lambda: None, 20)
    (text,) = log.errors
    assert str(error) in text
    assert "Traceback" in text
    assert "test_executor.py" in text


def test_two_kinds_of_failure_are_both_told(served):
    node, log = served

    def first():
        raise ValueError("left is missing")

    def second():
        raise ValueError("right is missing")

    called_often(node, first, 3)
    called_often(node, second, 3)
    assert ["left is missing" in text for text in log.errors] == [True, False]
    assert ["right is missing" in text for text in log.errors] == [False, True]


def test_what_has_ended_of_a_node_is_forgotten_and_the_rest_is_served(served):
    node, log = served
    before = len(node.default_callback_group.entities)
    for _ in range(10):
        node.destroy_publisher(node.create_publisher(Bool, "told", 1))
        node.destroy_subscription(node.create_subscription(Bool, "heard", lambda _: None, 1))
        node.destroy_service(node.create_service(SetBool, "asked", lambda _, answer: answer))
    done = threading.Event()

    def forget():
        gc.collect()
        remove_destroyed(node.default_callback_group)
        if len(node.default_callback_group.entities) == before:
            done.set()
        else:  # what waits for them may still have them
            node.executor.create_task(forget)

    node.executor.create_task(forget)
    assert done.wait(PATIENCE)
    called_often(node, lambda: None, 2)
    assert log.errors == []


def test_serving_ends_at_any_moment_though_nothing_comes():
    os.environ.update(ENVIRONMENT)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    node = rclpy.create_node("served", context=context, start_parameter_services=False)
    for k in range(300):
        log, executor = Log(), SingleThreadedExecutor(context=context)
        executor.add_node(node)
        serving = ExecutorThread(executor, log)
        for _ in range(k % 7):  # at another moment each time
            executor.wake()
        serving.close()
        assert log.errors == []
    node.destroy_node()
    context.try_shutdown()
