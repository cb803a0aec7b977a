"""What a fuzzed reader may not do: take long, take much memory, touch other files."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_MIB = 2**20
_PAGE = resource.getpagesize()
_STATM = os.open("/proc/self/statm", os.O_RDONLY)  # open before files are barred
# Nothing that reads models starts programs or speaks to the network.
_FORBIDDEN = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect")
_CHANGING = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod",
             "os.truncate", "shutil.")  # fmt: skip


class FindingError(BaseException):
    """What no reader may catch: it did something forbidden."""


class TooLongError(FindingError):
    """The processor time of one input is used up."""


class TooMuchMemoryError(FindingError):
    """One input made the process grow too much."""


class EscapeError(FindingError):
    """An attempt to change files, to start a program, or to reach the network."""


def confine(*folders: Path) -> None:
    """From now on files are written only in ``folders``, and read only there and in Python's own.

    A file elsewhere cannot be opened (PermissionError), whatever a model says.
    """
    own = [os.path.realpath(folder) + os.sep for folder in folders]
    root = Path(__file__).resolve().parents[2]
    libraries = {sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), str(root)}
    readable = (*own, *(os.path.realpath(p) + os.sep for p in libraries))

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int):
                return
            real = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
            writing = bool(int(flags or 0) & (os.O_WRONLY | os.O_RDWR))  # type: ignore[call-overload]
            if writing and not real.startswith(tuple(own)):
                raise EscapeError(f"{real} was opened for writing")
            if not real.startswith(readable):
                raise PermissionError(errno.EACCES, "outside of the fuzzer's folder", real)
        elif event.startswith(_FORBIDDEN):
            raise EscapeError(f"{event} {arguments}")
        elif event.startswith(_CHANGING):
            paths = [os.path.realpath(a) for a in arguments if isinstance(a, str)]
            if not all(path.startswith(tuple(own)) for path in paths):
                raise EscapeError(f"{event} {arguments}")

    sys.addaudithook(audit)


@contextmanager
def limited(cpu_seconds: float, memory_mib: int) -> Iterator[None]:
    """Bound what the code in a ``with`` block takes.

    Raises:
        TooLongError: It took more processor time.
        TooMuchMemoryError: Its peak of resident memory was that much above the level before.
        MemoryError: It asked for twice as much address space at once.
    """
    before = _resident()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    signal.signal(signal.SIGVTALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if after > peak and after > before + memory_mib * _MIB:
        raise TooMuchMemoryError(f"{(after - before) // _MIB} MiB")


def bound_address_space(memory_mib: int) -> None:
    """Make larger allocations than this, on top of what is in use now, a MemoryError."""
    used = int(os.pread(_STATM, 100, 0).split()[0]) * _PAGE
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + memory_mib * _MIB, hard))


def _resident() -> int:
    return int(os.pread(_STATM, 100, 0).split()[1]) * _PAGE


def _out_of_time(number: int, frame: FrameType | None) -> None:
    raise TooLongError("the processor time is used up")
