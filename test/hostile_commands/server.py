"""A process that has imported the programs once, and forks one child for each command.

``python -m hostile_commands.server``: a request a line on the standard input, an answer a line
on standard output, both JSON. Starting a new Python for each of hundreds of commands would
take minutes; a fork takes milliseconds, and the child ends as a process of its own would.
"""

from __future__ import annotations

import gc
import io
import json
import os
import pty
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

from hostile_commands.case import CPU_LIMIT
from hostile_commands.escapes import report_escapes

ADDRESS_SPACE = 4 << 30  # [B]; far above the bound on resident memory, below what would hurt
WALL_LIMIT = 90.0  # [s]; for what waits without using time
_MAX_OUTPUT = 1 << 24  # [B]


def main() -> None:
    """Answer requests until the input ends."""
    _import_programs()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(_run(request)) + "\n")
        answers.flush()


def _import_programs() -> None:
    """Import what commands import late, too, so that no child has to."""
    import collada  # noqa: F401
    import trimesh  # noqa: F401

    import hrp_model.cli.main  # noqa: F401
    import hrp_sim.cli.main
    import hrp_sim.cli.run
    import hrp_sim.ode  # noqa: F401

    # The garbage collector of a child would copy the pages of everything that it looks at.
    gc.collect()
    gc.freeze()


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
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    for name, number in (("stdout", 1), ("stderr", 2)):
        raw = open(number, "wb", closefd=False)  # noqa: SIM115
        policy = "backslashreplace" if name == "stderr" else errors or "strict"
        stream = io.TextIOWrapper(raw, encoding, policy, line_buffering=raw.isatty())
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (2 * int(CPU_LIMIT),) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    report_escapes(Path(str(request["allowed"])), reports)
    sys.argv = command
    raise SystemExit(_program(command[0])())


def _program(name: str) -> Callable[[], int]:
    """Return the function that the console script of this name calls."""
    (found,) = entry_points(group="console_scripts", name=name)
    program: Callable[[], int] = found.load()
    return program


if __name__ == "__main__":
    main()
