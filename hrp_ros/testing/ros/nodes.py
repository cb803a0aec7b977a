"""The processes of nodes, each scenario in a ROS domain of its own."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import threading
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

# Above, the ports of DDS may be those that the system gives to other programs.
_DOMAINS = range(1, 101)
_FIRST_PORT = 31_000
_PARTICIPANTS = 20  # of a domain whose ports are looked at


@contextmanager
def reserved_domain() -> Iterator[int]:
    """Yield a domain that nobody else has reserved or uses on this machine.

    Raises:
        OSError: All are reserved or in use.
    """
    count = len(_DOMAINS)
    for k in range(count):
        domain = _DOMAINS[(os.getpid() + k) % count]  # other processes begin elsewhere
        # A port stands for the domain, since only one process can have it, until it ends.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reservation:
            try:
                reservation.bind(("127.0.0.1", _FIRST_PORT + domain))
            except OSError:
                continue
            if _has_participants(domain):
                continue
            yield domain
            return
    raise OSError(f"all {count} ROS domains for tests are reserved on this machine")


def _has_participants(domain: int) -> bool:
    """Return whether programs that have reserved nothing use a domain.

    Each participant has the first free of the ports that the DDSI-RTPS specification gives to the
    discovery in its domain (section 9.6.1.1, by the default PB, DG, d1 and PG).
    """
    for participant in range(_PARTICIPANTS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", 7400 + 250 * domain + 10 + 2 * participant))
            except OSError:
                return True
    return False


def environment_of(domain: int) -> dict[str, str]:
    """Return variables for processes in a domain that stays on this machine."""
    return {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


# What is kept of the end of the output.
_MAX_LINES, _MAX_LENGTH = 200, 2000
# Wall time between the signals that end a node, in [s].
_ENDINGS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, None))
# Environment variable that marks a node and the processes that it starts.
_MARK = "HRP_ROS_SCENARIO_NODE"
_ROUNDS, _ROUND_PERIOD = 100, 0.05  # looks for such processes, and wall time between them, in [s]
_MAX_READING = 5.0  # wall time for the rest of the output, in [s]


class NodeProcess:
    """A process with a node, or with several of them.

    Args:
        command: Its words.
        folder: Folder in which it runs.
        environment: Additional environment variables.

    Attributes:
        name: The command as text, for messages.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        words = (Path(command[0]).name, *command[1:])
        self.name = shlex.join(words)
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._mark = uuid.uuid4().hex
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment, _MARK: self._mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # so that the processes that it starts end, too
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def status(self) -> int | None:
        """Exit status; None while it runs."""
        return self._process.poll()

    @property
    def output(self) -> str:
        """The end of its output."""
        return "".join(self._lines)

    def close(self) -> None:
        """End the process and those that it has started."""
        for number, patience in _ENDINGS:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
                break
        # Others of its group may have ignored the signal, and would keep its output open; so would
        # those that have left the group.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        _kill_marked(self._mark)
        self._reader.join(_MAX_READING)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            while line := output.readline(_MAX_LENGTH):
                self._lines.append(line)


def _kill_marked(mark: str) -> None:
    """Kill the processes with a mark, and those that they start meanwhile."""
    for _ in range(_ROUNDS):
        if not (found := list(_marked_processes(mark))):
            break
        for number in found:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        threading.Event().wait(_ROUND_PERIOD)


def _marked_processes(mark: str) -> Iterator[int]:
    """Yield the processes with a mark in their environment; none where there is no /proc."""
    with suppress(OSError):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with suppress(OSError):  # has ended, or is of another user
                if mark.encode() in Path("/proc", name, "environ").read_bytes():
                    yield int(name)
