"""The test's side of cross-process tests: a node in this process."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from forked_programs import forked_programs
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from hrp_msgs.node.start import destroy
from hrp_ros.testing.ros.nodes import environment_of, reserved_domain

_STACK = ExitStack()  # until this process ends
atexit.register(_STACK.close)
DOMAIN_ID = _STACK.enter_context(reserved_domain())
ENVIRONMENT = {**environment_of(DOMAIN_ID), "PYTHONUNBUFFERED": "1"}
PATIENCE = 300.0  # [s]; how long a loaded machine may take before a test gives up
_AFTERMATH = 10.0  # [s]; how long what a failed process has sent may take to arrive
# How processes of ``running`` end unless they fail: while they run, by themselves, by a signal.
_GOOD_ENDS = {None, 0, *(sign * n + k for n in (2, 9, 15) for sign, k in ((-1, 0), (1, 128)))}
_RUNNING: dict[subprocess.Popen, Path] = {}  # the log of each
RELIABLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


def stamp_ns(stamp) -> int:
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def matrix_of(transform) -> np.ndarray:
    """Return the pose of a transform message, shape (4, 4)."""
    x, y, z, w = (getattr(transform.rotation, k) for k in "xyzw")
    T = np.eye(4)
    T[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    T[:3, 3] = [getattr(transform.translation, k) for k in "xyz"]
    return T


class Peer:
    """A node that records all messages of the followed topics.

    A dedicated thread receives them, so that there is never a backlog.

    Args:
        name: Of the node.
        options: Arguments of rclpy's Node, such as ``parameter_overrides``.
    """

    def __init__(self, name: str = "test_peer", **options) -> None:
        os.environ.update(ENVIRONMENT)
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node(name, context=self._context, **options)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._served: list[Node] = []
        self._clients: dict[tuple[str, type], Client] = {}
        self._arrived = threading.Condition()
        self._ended = threading.Event()
        self.messages: dict[str, list] = defaultdict(list)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with suppress(ExternalShutdownException):
            while not self._ended.is_set():
                self._executor.spin_once()
                with self._arrived:
                    self._arrived.notify_all()

    def follow(self, topic: str, message_type: type, qos: QoSProfile = RELIABLE) -> None:
        def keep(message) -> None:
            with self._arrived:
                self.messages[topic].append(message)

        self.node.create_subscription(message_type, topic, keep, qos)

    def action_client(self, kind: type, name: str, **options: Any) -> ActionClient:
        """Return a client of an action.

        It is made in the receiving thread, because that of ROS 2 Kilted joins its node before it
        has what the executor asks of it.
        """
        return self.at_once(partial(ActionClient, self.node, kind, name, **options))

    def serve(self, node: Node) -> None:
        """Serve another node of this context, too, until ``close``, which also destroys it."""
        self._served.append(node)
        self._executor.add_node(node)

    def wait_until(self, what: str, condition: Callable[[], object]) -> None:
        """Return when a condition holds; it is looked at again when a message or answer arrives.

        Nothing is awaited for long of a process of ``running`` that has failed.
        """
        deadline = time.monotonic() + PATIENCE
        with self._arrived:
            while not condition():
                if failures := _failures():
                    deadline = min(deadline, time.monotonic() + _AFTERMATH)
                assert time.monotonic() < deadline, f"waited in vain for: {what}\n{failures}"
                assert self._thread.is_alive() or self._ended.is_set(), f"cannot receive: {what}"
                self._arrived.wait(timeout=0.02)

    def heard(self, topic: str) -> list:
        """Return the messages of a topic once there are any; a latched one may be all."""
        self.wait_until(topic, lambda: self.messages[topic])
        return list(self.messages[topic])

    def wait_for(self, topic: str, count: int = 1) -> list:
        """Return the messages of a topic once there are ``count`` more than now."""
        known = self.messages[topic]
        enough = len(known) + count
        self.wait_until(f"{count} messages of {topic}", lambda: len(known) >= enough)
        return list(known)

    def first_after(self, topic: str, after_ns: int):
        """Return the first message stamped at or after a simulation time."""
        known = self.messages[topic]

        def found():
            return next((m for m in known if stamp_ns(m.header.stamp) >= after_ns), None)

        self.wait_until(f"{topic} at {after_ns} ns", lambda: found() is not None)
        return found()

    def call(self, service: str, kind: type, **fields):
        """Call a service; return its answer."""
        if (service, kind) not in self._clients:
            self._clients[service, kind] = self.node.create_client(kind, service)
        client = self._clients[service, kind]
        self.wait_until(f"service {service}", client.service_is_ready)
        futures = [client.call_async(kind.Request(**fields))]
        late = time.monotonic() + PATIENCE / 3.0

        def answered() -> bool:
            # Fast DDS drops an answer whose reader it has not discovered within 0.1 s.
            if len(futures) == 1 and time.monotonic() > late:
                futures.append(client.call_async(kind.Request(**fields)))
            return any(future.done() for future in futures)

        self.wait_until(f"an answer of {service}", answered)
        return next(future.result() for future in futures if future.done())

    def at_once(self, send: Callable[..., Any], *arguments: Any) -> Any:
        """Execute an action in the receiving thread; return its result.

        A client of an action sends first and registers the request afterwards. A response that
        another thread takes in between is lost.
        """
        task = self._executor.create_task(send, *arguments)
        self.wait_until("what is sent", task.done)
        return task.result()

    def end(self, publisher) -> None:
        """Destroy a publisher in the receiving thread, which may be about to wait for it."""
        self.at_once(self.node.destroy_publisher, publisher)

    def stop(self) -> None:
        """Stop receiving; recorded messages are kept."""
        if self._ended.is_set():
            return
        # Not by a shutdown: it destroys the guard condition that wakes the thread, which could
        # hang.
        self._ended.set()
        self._executor.create_task(lambda: None)
        self._thread.join()
        self._executor.shutdown()

    def close(self) -> None:
        self.stop()  # first, so that nothing waits in a context that has ended
        for node in (*self._served, self.node):
            for entity in list(node.waitables):
                if isinstance(entity, ActionClient):  # which would outlive its node and the context
                    entity.destroy()
            destroy(node)
        self._context.try_shutdown()


# Modules whose processes are forked from one that has imported them, and their programs.
_FORKED = {
    "hrp_sim.ros.sim_node": "sim_node",
    "hrp_model.ros.model_node": "model_node",
    "hrp_sim.cli.main": "hrp-sim",
}


@cache
def programs() -> Path:
    """Return the folder of our programs, forked from a process that has imported them."""
    folder = Path(_STACK.enter_context(tempfile.TemporaryDirectory()))
    return _STACK.enter_context(forked_programs(folder, *_FORKED, "hrp_sim.ros.replay"))


@contextmanager
def running(
    arguments: Sequence[str],
    log: Path,
    folder: Path | None = None,
    *,
    killed: bool = False,
    forked: bool = True,
):
    """Run Python in another process, in a folder; terminate or kill it at the end of the block.

    Its standard input stays open but empty. A killed process leaves shared memory behind. Our nodes
    are forked unless it must be a process of their own: that of the block passes on their signals.
    """
    command = [sys.executable, *arguments]
    if forked and arguments[0] == "-m" and arguments[1] in _FORKED:
        command = [str(programs() / _FORKED[arguments[1]]), *arguments[2:]]
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **ENVIRONMENT},
            cwd=folder,
            start_new_session=True,
        )
        _RUNNING[process] = log
        try:
            yield process
        finally:
            del _RUNNING[process]
            if process.poll() is None and not killed:
                os.killpg(process.pid, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(60.0)  # a killed participant is in the graph for long
            with suppress(ProcessLookupError):  # its child processes may outlive it
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdin.close()
            if command[0] != sys.executable:
                _wait_for_program(process)


def _failures() -> str:
    """Return which processes have failed and what they printed; empty if none has."""
    return "\n".join(
        f"{process.args} ended with status {process.returncode}:\n{log.read_text(errors='replace')}"
        for process, log in list(_RUNNING.items())
        if process.poll() not in _GOOD_ENDS
    )


def _wait_for_program(process: subprocess.Popen) -> None:
    """Wait until a forked program has ended, too, whose own process was killed."""
    place, end = programs() / str(process.pid), time.monotonic() + PATIENCE
    number = place.read_text() if place.exists() else ""
    while number and Path("/proc", number).exists() and time.monotonic() < end:
        time.sleep(0.01)


def program_of(process: subprocess.Popen) -> int:
    """Return the process of a forked program, which that of ``running`` stands for."""
    place = programs() / str(process.pid)
    while not (number := place.read_text() if place.exists() else ""):
        assert process.poll() is None
        time.sleep(0.01)
    return int(number)


@contextmanager
def node_and_peer(arguments: Sequence[str], log: Path, **options: Any):
    """Run a node as ``running``; yield a peer and the process, and print its log on failure."""
    with running(arguments, log, **options) as process:
        peer = Peer()
        try:
            yield peer, process
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise
        finally:
            peer.close()
