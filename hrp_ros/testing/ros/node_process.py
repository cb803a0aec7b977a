"""Run the nodes of a scenario in processes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# What is kept of the end of the output.
_MAX_LINES, _MAX_LENGTH = 200, 2000
# Wall time between the signals that end a node, in [s].
_ENDINGS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, None))


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
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
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
        # Others of its group may have ignored the signal, and would keep its output open.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            while line := output.readline(_MAX_LENGTH):
                self._lines.append(line)
