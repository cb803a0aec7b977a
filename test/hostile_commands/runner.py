"""Runs cases in a server of their own, under strace where it is installed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paths import PYTHONPATH

from hostile_commands.case import Case, Outcome, lay_out
from hostile_commands.escapes import STRACE_OPTIONS, traced_escapes


class CommandRunner:
    """Runs commands, each in a folder of its own.

    Attributes:
        is_traced: Whether strace looks on.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._logs = base / "trace"
        self._count = 0
        strace = shutil.which("strace")
        self.is_traced = strace is not None and _may_trace(strace)
        tracing = [strace, *STRACE_OPTIONS, "-o", str(self._logs)] if self.is_traced else []
        path = os.pathsep.join([PYTHONPATH, os.environ.get("PYTHONPATH", "")])
        self._server = subprocess.Popen(
            [*map(str, tracing), sys.executable, "-m", "hostile_commands.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "ROS_"))},
                "PYTHONPATH": path,
                "PYTHONDONTWRITEBYTECODE": "1",
                "COLUMNS": "100",
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "LP_NUM_THREADS": "1",
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "MESA_SHADER_CACHE_DISABLE": "true",  # the OpenGL driver's own, in the home folder
            },
        )

    def run(self, case: Case) -> Outcome:
        """Make the files of a case, run its command, and look at what has become of them."""
        self._count += 1
        # "allowed" is what a command may change; what it should change lies in "folder".
        allowed = self._base / str(self._count)
        folder = allowed / "folder"
        for made in (folder, allowed / "home", allowed / "tmp"):
            made.mkdir(parents=True)
        lay_out(folder, case.files)
        before = _contents(folder)
        request = {
            "command": list(case.command),
            "folder": str(folder),
            "allowed": str(allowed),
            "out": str(allowed / "out"),
            "err": str(allowed / "err"),
            "terminal": case.on_terminal,
            "environment": {
                "HOME": str(allowed / "home"),
                "TMPDIR": str(allowed / "tmp"),
                **case.environment,
            },
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = json.loads(self._server.stdout.readline())
        after = _contents(folder)
        changed = {
            name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
        } | {f"../tmp/{path.name}" for path in (allowed / "tmp").iterdir()}
        return Outcome(
            status=answer["status"],
            out=(allowed / "out").read_bytes().decode(errors="surrogateescape"),
            err=(allowed / "err").read_bytes().decode(errors="surrogateescape"),
            cpu_seconds=answer["cpu"],
            memory=answer["memory"],
            changed=tuple(sorted(changed)),
            escapes=(
                *answer["escapes"],
                *traced_escapes(self._logs, answer["pid"], folder, allowed),
            ),
        )

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()


@contextmanager
def command_runner(base: Path) -> Iterator[CommandRunner]:
    """Give a runner whose server ends with the block."""
    runner = CommandRunner(base)
    try:
        yield runner
    finally:
        runner.close()


def _may_trace(strace: str) -> bool:
    """Whether processes may be traced here: containers often forbid it."""
    tried = subprocess.run([strace, "-f", "-o", os.devnull, "true"], capture_output=True)
    return tried.returncode == 0


def _contents(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what each path is: its kind, and its target, or its identity, size and content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        kind = stat.S_IFMT(status.st_mode)
        content: tuple[object, ...] = ()
        if stat.S_ISLNK(status.st_mode):
            content = (os.readlink(path),)
        elif stat.S_ISREG(status.st_mode):
            size = status.st_size
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if size < 1 << 24 else ""
            content = (status.st_ino, size, digest)
        found[str(path.relative_to(folder))] = (kind, *content)
    return found
