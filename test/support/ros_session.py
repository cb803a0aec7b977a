"""A simulation in ROS 2 within the process of a test, so that a test can change its world."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager

from ros_peer import DOMAIN_ID, ENVIRONMENT

from hrp_model.program.command import run_node
from hrp_sim.ros.sim_node import RosSession
from hrp_sim.run.run import Run


class Session:
    """A RosSession that runs in a thread.

    Attributes:
        ros: The session.
        runner: The run.
    """

    def __init__(self, parameters, arguments=()):
        os.environ.update(ENVIRONMENT)
        self.ros = RosSession(parameters, ["test", *arguments], DOMAIN_ID)
        try:
            self.runner = Run(self.ros.simulation)
            self.ros.serve(self.runner)
        except BaseException:
            self.ros.close()
            raise
        self._thread = threading.Thread(target=self.runner.run)
        self._thread.start()

    def change(self, action):
        """Change the world in the stepping thread; then update the topics."""
        result = self.runner.change(action)
        self.ros.node.sync()
        return result

    def serve(self, action):
        """Execute an action in the executor thread."""
        done, failure = threading.Event(), []

        def act():
            try:
                action()
            except Exception as error:
                failure.append(error)
            done.set()

        self.ros.node.executor.create_task(act)
        assert done.wait(300.0)
        if failure:
            raise failure[0]

    def close(self):
        self.runner.stop()
        self._thread.join()
        self.runner.close()
        self.ros.close()


@contextmanager
def session(parameters, arguments=()):
    """Yield a running Session."""
    running = Session(parameters, arguments)
    try:
        yield running
    finally:
        running.close()


_MODULES = {
    "sim_node": "hrp_sim.ros.sim_node",
    "model_node": "hrp_model.ros.model_node",
    "view_node": "hrp_model.ros.view_node",
}


def ended(arguments, monkeypatch, capfd, node="sim_node"):
    """Start a node in this process with a failure; return its exit status and its messages."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", [node, *map(str, arguments)])
    status = run_node(_MODULES[node], node)
    return status, "".join(capfd.readouterr())
