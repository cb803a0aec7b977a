"""Tools of ROS 2 in tests: those of the ROS 2 that was sourced, with this package beside them."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import colcon_tools
import pytest
from ros_peer import ENVIRONMENT, PATIENCE, RELIABLE, Peer

_INDEX = Path("share", "ament_index", "resource_index", "packages")


def missing_packages(*names):
    """Return which packages the sourced ROS 2 lacks."""
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    return [n for n in names if not any((Path(p) / _INDEX / n).is_file() for p in prefixes if p)]


def needs(*packages):
    """Return the mark that skips a test where packages of ROS 2 are missing."""
    lack = missing_packages(*packages)
    return pytest.mark.skipif(bool(lack), reason=f"not installed: {', '.join(lack)}")


def missing():
    """Return why no tool of ROS 2 can be run, or None."""
    if not shutil.which("ros2"):
        return "there is no command ros2; run: source /opt/ros/$ROS_DISTRO/setup.bash"
    return colcon_tools.missing()


def receive(topic, message_type, qos=RELIABLE):
    """Return the first message of a topic."""
    with closing(Peer()) as peer:
        peer.follow(topic, message_type, qos)
        peer.wait_until(f"a message of {topic}", lambda: peer.messages[topic])
        return peer.messages[topic][0]


class Workspace:
    """A workspace with this package, whose environment has the tools of ROS 2.

    Args:
        folder: Where it is built.
    """

    def __init__(self, folder):
        colcon_tools.build_hrp_ros(folder)
        self.folder = folder
        self._source()

    def _source(self):
        logs = {"ROS_LOG_DIR": str(self.folder / "log_of_nodes")}
        self.environment = {**colcon_tools.overlay(self.folder), **ENVIRONMENT, **logs}

    def build(self, package):
        """Build another package, whose folder is below that of the workspace."""
        colcon_tools.colcon("build", self.folder, "--base-paths", package)
        self._source()

    def ask(self, *command, status=0):
        """Run a command to its end; return what it prints."""
        done = self._run(command)
        assert done.returncode == status, done.stdout
        return done.stdout

    def ask_until(self, text, *command):
        """Run a command again until it prints a text, as others become known; return all of it."""
        deadline = time.monotonic() + PATIENCE
        while text not in (printed := self._run(command).stdout):
            assert time.monotonic() < deadline, f"no '{text}' in:\n{printed}"
        return printed

    def _run(self, command):
        return subprocess.run(
            [str(word) for word in command],
            cwd=self.folder, env=self.environment, timeout=PATIENCE, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    @contextmanager
    def running(self, *command, until):
        """Run a command beside the block, which begins once it has printed a text."""
        running = Running([str(word) for word in command], self.folder, self.environment)
        try:
            running.wait_for(until)
            yield running
        except BaseException:
            print(running.printed)
            raise
        finally:
            running.interrupt()


class Running:
    """A command that runs, in a process group of its own."""

    def __init__(self, command, folder, environment):
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".txt", delete=False) as log:
            self._log = Path(log.name)
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    @property
    def printed(self):
        return self._log.read_text(encoding="utf-8")

    def wait_for(self, text):
        """Return once it has printed a text."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.printed:
            in_time = time.monotonic() < deadline and self._process.poll() is None
            assert in_time or text in self.printed, f"no '{text}' in:\n{self.printed}"
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)

    def interrupt(self):
        """Do what Ctrl-C in a terminal does, to its children as well; return the exit status."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        return self.end()

    def end(self):
        """Wait for its end; return the exit status."""
        try:
            return self._process.wait(PATIENCE)
        finally:
            with suppress(ProcessLookupError):  # a child of it may outlive it
                os.killpg(self._process.pid, signal.SIGKILL)
