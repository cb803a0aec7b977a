"""What a hostile case is, how it ended, and the rules that hold for every one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MEMORY_LIMIT = 1 << 30  # resident, in [B]
CPU_LIMIT = 10.0  # [s]
# What rich itself writes to a terminal: colours, cursor movement, erasing.
_RICH_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[mABCDGHJKhl]")
# What Python prints for a warning of a library: "/usr/lib/x.py:5: RuntimeWarning: ...".
_LIBRARY_WARNING = re.compile(r"\.py:\d+: \w+Warning: ")


@dataclass(frozen=True)
class Link:
    """A symbolic link to ``target``."""

    target: str


@dataclass(frozen=True)
class Fifo:
    """A named pipe."""


@dataclass(frozen=True)
class Sparse:
    """A file of ``size`` [B] that takes no room on the disk, beginning with ``head``."""

    size: int
    head: bytes = b""


Content = str | bytes | Link | Fifo | Sparse


@dataclass(frozen=True)
class Case:
    """One command in a folder of its own.

    Attributes:
        name: Unique within its family.
        command: The program and its arguments; the folder is the working directory.
        files: What is in the folder, by relative path.
        status: Exit statuses that are right.
        outputs: Paths that the command may write, relative to the folder.
        says: A regular expression that its output has to match.
        on_terminal: Whether stdout and stderr are a terminal.
        data: Whether standard output is a file format, not text for people.
        environment: Further variables.
    """

    name: str
    command: tuple[str, ...]
    files: Mapping[str, Content] = field(default_factory=dict)
    status: tuple[int, ...] = (1,)
    outputs: tuple[str, ...] = ()
    says: str = ""
    on_terminal: bool = False
    data: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    Attributes:
        status: Exit status, or minus the number of the signal that ended it.
        out, err: What it wrote; on a terminal all is in ``out``.
        cpu_seconds: Processor time of it and its children.
        memory: Its peak of resident memory [B].
        changed: Paths in its folder that are new, gone, or of another kind or content.
        escapes: Attempts to change anything outside of its folder.
    """

    status: int
    out: str
    err: str
    cpu_seconds: float
    memory: int
    changed: tuple[str, ...]
    escapes: tuple[str, ...]


def check(case: Case, outcome: Outcome) -> None:
    """Fail unless a command ended as every command has to, and as its case says."""
    text = outcome.out + outcome.err
    ending = f"exit status {outcome.status}, not {case.status}:\n{text[-3000:]}"
    assert "Traceback (most recent call last)" not in text, text[-3000:]
    assert "Exception ignored" not in text, text[-3000:]
    assert not _LIBRARY_WARNING.search(text), text[-3000:]
    assert outcome.status in case.status, ending
    assert outcome.memory < MEMORY_LIMIT, f"{outcome.memory / 2**20:.0f} MiB"
    assert outcome.cpu_seconds < CPU_LIMIT, f"{outcome.cpu_seconds:.1f} s"
    unwanted = [path for path in outcome.changed if not path.startswith(case.outputs or ("\0",))]
    assert not unwanted, f"changed without being asked to: {unwanted}"
    assert not outcome.escapes, f"changed outside of its folder: {outcome.escapes}"
    assert re.search(case.says, text), f"does not say {case.says!r}:\n{text[-3000:]}"
    shown = _RICH_SEQUENCE.sub("", outcome.out) if case.on_terminal else outcome.out
    for name, stream in {"out": "" if case.data else shown, "err": outcome.err}.items():
        allowed = "\n\t\r" if case.on_terminal else "\n\t"
        raw = {c for c in stream if c not in allowed and _steers(c)}
        assert not raw, f"raw characters in {name}: {sorted(map(hex, map(ord, raw)))}"


def _steers(character: str) -> bool:
    """Whether a character steers a terminal or reorders what is shown."""
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")


def lay_out(folder: Path, files: Mapping[str, Content]) -> None:
    """Make the files of a case."""
    import os

    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case Link(target):
                path.symlink_to(target)
            case Fifo():
                os.mkfifo(path)
            case Sparse(size, head):
                with path.open("wb") as file:
                    file.write(head)
                    file.truncate(size)
            case bytes():
                path.write_bytes(content)
            case str():
                path.write_text(content, encoding="utf-8")
