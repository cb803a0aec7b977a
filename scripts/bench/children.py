"""Programs beside the measuring one, which answer with lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# Of the programs that talk by ROS: seen by nobody else.
HERE = {
    "ROS_DOMAIN_ID": str(1 + os.getpid() % 100),
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
}


class Child:
    """A program that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, line: str) -> None:
        """Send it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for a line of JSON, and return its content.

        Raises:
            RuntimeError: The program has ended.
        """
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise RuntimeError("a process has ended early")
        return json.loads(line)


@contextmanager
def child(
    *arguments: str, environment: Mapping[str, str] = HERE, answers: bool = True
) -> Iterator[Child]:
    """Run Python with arguments, and kill it in the end; drop what it prints if nobody reads it."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if answers else subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield Child(process)
    finally:
        process.kill()
        process.communicate()
