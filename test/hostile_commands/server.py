"""A process that has imported the programs once, and forks one child for each command.

``python -m hostile_commands.server``: a request a line on the standard input, an answer a line
on standard output, both JSON. Starting a new Python for each of hundreds of commands would
take minutes; a fork takes milliseconds, and the child ends as a process of its own would.
"""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from forked_programs import become, import_programs

from hostile_commands.case import CPU_LIMIT
from hostile_commands.escapes import report_escapes

ADDRESS_SPACE = 4 << 30  # [B]; far above the bound on resident memory, below what would hurt
WALL_LIMIT = 300.0  # [s]; for what waits without using time
_MAX_OUTPUT = 1 << 24  # [B]


def main() -> None:
    """Answer requests until the input ends."""
    import_programs()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(_run(request)) + "\n")
        answers.flush()


def _run(request: dict[str, object]) -> dict[str, object]:
    """Run one command in a child; return how it ended."""
    out, err = str(request["out"]), str(request["err"])
    on_terminal = bool(request["terminal"])
    terminal = pty.openpty() if on_terminal else None
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        if terminal:
            os.close(terminal[0])
            streams = (terminal[1], terminal[1])
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            streams = (os.open(out, flags), os.open(err, flags))
        _become(request, streams, write_end)
    os.close(write_end)
    if terminal:
        os.close(terminal[1])
    status, usage, written, escapes = _watch(child, terminal[0] if terminal else None, read_end)
    if terminal:
        Path(out).write_bytes(written)
        Path(err).write_bytes(b"")
    return {
        "pid": child,
        "status": os.waitstatus_to_exitcode(status),
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024,
        "escapes": escapes,
    }


def _watch(
    child: int, terminal: int | None, reports: int
) -> tuple[int, resource.struct_rusage, bytes, list[str]]:
    """Read what a child writes until it ends; kill it when it takes too long."""
    contents: dict[int, bytearray] = {reports: bytearray()}
    if terminal is not None:
        contents[terminal] = bytearray()
    open_ends = set(contents)
    deadline = time.monotonic() + WALL_LIMIT
    while open_ends:
        ready, _, _ = select.select(list(open_ends), [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        for end in ready:
            try:
                data = os.read(end, 65536)
            except OSError:  # a terminal whose other side is closed
                data = b""
            if not data:
                open_ends.discard(end)
            elif len(contents[end]) < _MAX_OUTPUT:
                contents[end] += data
    _, status, usage = os.wait4(child, 0)
    for end in contents:
        os.close(end)
    shown = b"" if terminal is None else bytes(contents[terminal])
    return status, usage, shown, contents[reports].decode(errors="replace").splitlines()


def _become(request: dict[str, object], streams: tuple[int, int], reports: int) -> NoReturn:
    """Become the program of a request; never returns."""
    command = [str(word) for word in request["command"]]  # type: ignore[attr-defined]
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
    os.closerange(max(reports, *streams) + 1, 256)
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.chdir(str(request["folder"]))
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (2 * int(CPU_LIMIT),) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    report_escapes(Path(str(request["allowed"])), reports)
    become(command)


if __name__ == "__main__":
    main()
