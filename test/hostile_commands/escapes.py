"""Finds changes outside of a folder: by Python's audit events, and in the logs of strace."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_CHANGING = (
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink"),
    *("os.chmod", "os.chown", "os.truncate", "os.utime"),
)
_FORBIDDEN = ("socket.connect", "os.system", "os.kill")
# Devices that take what is written without keeping it.
_SINKS = ("/dev/null", "/dev/full", "/dev/tty", "/dev/pts/", "/dev/dri/")
STRACE_OPTIONS = (
    *("--seccomp-bpf", "-ff", "-qq", "-s", "512", "-e", "signal=none"),
    "-e",
    "trace=open,openat,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,"
    "link,linkat,symlink,symlinkat,truncate,chmod,fchmodat,connect,clone,clone3,fork,vfork,chdir",
)
_CALL = re.compile(r"^(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\d+)")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')


def report_escapes(allowed: Path, reports: int) -> None:
    """From now on refuse changes outside of a folder, and write a line about each.

    Args:
        allowed: The folder.
        reports: A file descriptor for the lines.
    """
    inside = os.path.realpath(allowed)

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = bool(int(flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))  # type: ignore[call-overload]
            paths = [path] if writes and not isinstance(path, int) else []
        elif event in _CHANGING:
            paths = [a for a in arguments if isinstance(a, str | bytes)]
        elif event in _FORBIDDEN:
            os.write(reports, f"{event} {arguments}\n".encode(errors="replace"))
            return
        else:
            return
        for path in paths:
            real = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
            if not _is_allowed(real, inside):
                os.write(reports, f"{event} {real}\n".encode(errors="replace"))
                raise PermissionError(errno.EACCES, "outside of the test's folder", real)

    sys.addaudithook(audit)


def traced_escapes(logs: Path, pid: int, folder: Path, allowed: Path) -> list[str]:
    """Return the changes outside of a folder that strace saw a process and its children make.

    Args:
        logs: Beginning of the names of the logs, as given to ``strace -ff -o``.
        pid: Of the process.
        folder: Its working directory.
        allowed: Where it may change anything.
    """
    inside = os.path.realpath(allowed)
    return [
        call
        for call, path in _changes(logs, pid, folder)
        if not _is_allowed(os.path.realpath(folder / path), inside)
    ]


def _changes(logs: Path, pid: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each successful call that changes a file, with the path of the file."""
    log = logs.with_name(f"{logs.name}.{pid}")
    if not log.exists():
        return
    for line in log.read_text(errors="replace").splitlines():
        match = _CALL.match(line)
        if match is None or int(match["result"]) < 0:
            continue
        name, arguments = match["name"], match["arguments"]
        if name in ("clone", "clone3", "fork", "vfork"):
            yield from _changes(logs, int(match["result"]), folder)
        elif name == "connect":
            if "AF_INET" in arguments:
                yield line, "/network"
        elif name != "chdir" and not (
            name in ("open", "openat") and not re.search(r"O_WRONLY|O_RDWR|O_CREAT", arguments)
        ):
            for path in _PATH.findall(arguments):
                yield line, path


def _is_allowed(real: str, inside: str) -> bool:
    return real == inside or real.startswith((inside + os.sep, *_SINKS))
