"""Do what a page of the documentation says, and compare what it prints with what the page shows.

    python test/support/page_walk.py docs/tutorial/?-*.md

The blocks of the pages are walked in their order, in one folder, which is empty at first:

- A block whose first line is a comment with the name of a file, as ``# rover.body``, or
  ``<!-- rover.urdf -->``, becomes this file.
- ``bash``: its commands are run, and must succeed.
- ``python``, without a name of a file: it is run by a process of its own.
- ``text`` directly behind one of these two shows what is printed. ``...`` stands for anything.

Any other block is an error. A comment before a block changes what is done with it:

- ``<!-- walk: until printed -->``: Ctrl-C ends the commands once they have printed what is shown.
- ``<!-- walk: each until TEXT -->``: each line is a command of its own; Ctrl-C ends it once it
  prints a line with this text.
- ``<!-- walk: beside -->``: they go on beside the rest once they have printed what is shown.
- ``<!-- walk: fails -->``: the exit status is not 0.
- ``<!-- walk: continues -->``: Python that is run in one program with the Python before it.
- ``<!-- walk: needs NAME... -->``: skipped where such a program or Python module is missing.
- ``<!-- walk: from FILE -->``: not run, but its lines stand in this file of the sources.
- ``<!-- walk: skip REASON -->``: not run at all.

What is needed may follow another one: ``<!-- walk: beside, needs PROGRAM -->``.
"""

from __future__ import annotations

import argparse
import doctest
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

_SOURCES = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(?:^ *<!-- walk: (?P<how>[^\n]*?) -->\n+)?"
    r"^(?P<indent> *)```(?P<kind>\S*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
_NAME = re.compile(r"(?:#|//|<!--) ([\w./-]+\.\w+)(?: -->)?\n")
_UNTIL, _EACH, _BESIDE, _CONTINUES = "until printed", "each until ", "beside", "continues"
_HOW = re.compile(
    r"|(skip|from) .+|needs .+|(until printed|beside|fails|continues|each until .+?)(, needs .+)?"
)
_INTERRUPTED = (0, 130, -signal.SIGINT)  # how a command may end on Ctrl-C
_SNIPPET = ".snippet.py"  # a file, so that processes that it starts find its functions
_TIMEOUT = 300  # of one command that hangs, in [s]
_OF_LOAD = re.compile(r".* \[controller-blocks\]\n(?: +.*\n)*")
_ELLIPSIS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class WalkError(Exception):
    """A page says something else than what happens."""


@dataclass(frozen=True)
class Step:
    """A block of a page, with what it prints.

    Attributes:
        line: Where it begins.
        kind: Language of the block.
        text: Its text.
        how: What its comment says, or nothing.
        printed: What the page shows as its output, or None.
    """

    line: int
    kind: str
    text: str
    how: str
    printed: str | None

    @property
    def file(self) -> str | None:
        """Name of the file that the block is, if any."""
        found = None if self.left_out else _NAME.match(self.text)
        return None if found is None else found[1]

    @property
    def left_out(self) -> str:
        """Why the block is never run, or nothing."""
        return self.how.removeprefix("skip ") if self.how.startswith("skip ") else ""

    @property
    def excerpt_of(self) -> str:
        """File of the sources that has its lines, or nothing."""
        return self.how.removeprefix("from ") if self.how.startswith("from ") else ""


def steps_of(page: str) -> list[Step]:
    """Return what is to be done in a page.

    Raises:
        WalkError: A block is none of those that can be walked, or its comment is unknown.
    """
    steps: list[Step] = []
    latest, may_show, end = -1, False, 0
    for found in _BLOCK.finditer(page):
        kind, text, how = found["kind"], textwrap.dedent(found["text"]), found["how"] or ""
        if kind.startswith("{"):  # a directive of the site
            continue
        is_behind = not page[end : found.start()].strip("\n")
        end = found.end()
        line = page.count("\n", 0, found.start("text"))
        step = Step(line, kind, text, how, None)
        if not _HOW.fullmatch(how):
            raise WalkError(f"line {line}: unknown comment 'walk: {how}'")
        if kind == "text" and not how and is_behind and may_show:
            steps[latest] = replace(steps[latest], printed=(steps[latest].printed or "") + text)
            may_show = False
            continue
        if how.startswith(_CONTINUES):
            latest = max(n for n, earlier in enumerate(steps) if earlier.kind == kind)
            steps[latest] = _joined(steps[latest], text)
        elif kind in ("bash", "python") or step.file or step.left_out or step.excerpt_of:
            latest = len(steps)
            steps.append(step)
        else:
            raise WalkError(f"line {line}: a block of '{kind}' that is neither run nor written")
        may_show = True
    return steps


def _joined(step: Step, text: str) -> Step:
    """Return a step that goes on with the text of another block."""
    shown = "" if step.printed is None else f"{step.printed.rstrip()}\n"
    return replace(step, text=f"{step.text}\n\n{text}", printed=f"{shown}...")


def missing(step: Step) -> str:
    """Return why a step cannot be done here, or nothing."""
    if step.left_out:
        return step.left_out
    needed = re.search(r"(?:^|, )needs (.+)$", step.how)
    for name in needed[1].split() if needed else ():
        if not shutil.which(name) and importlib.util.find_spec(name) is None:
            return f"needs {name}"
    return ""


class Walk:
    """Does steps in a folder; what runs beside them ends with the walk.

    Args:
        folder: Where files are written and commands are run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._beside: list[tuple[Step, _Running]] = []

    def __enter__(self) -> Walk:
        return self

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        ended = [(step, running, running.interrupted()) for step, running in self._beside]
        for step, running, status in ended if exception is None else ():
            _check_interrupted(step, running, status)

    def do(self, step: Step) -> None:
        """Write the file of a step, or run its commands.

        Raises:
            WalkError: They fail, or print something else than the page shows.
        """
        if step.excerpt_of:
            _find_excerpt(step)
        elif step.file is not None:
            self._write(step.file, step)
        elif step.how.startswith(_EACH):
            self._do_each(step)
        elif step.how.startswith((_UNTIL, _BESIDE)):
            self._do_endless(step)
        else:
            running = self._start(step)
            status = running.end()
            if (status != 0) != step.how.startswith("fails"):
                raise _ended(step, status, running.printed)
            _compare(step, running.printed)

    def _start(self, step: Step, text: str = "") -> _Running:
        command = ["bash", "-euo", "pipefail", "-c", text or step.text]
        if step.kind == "python":
            (self._folder / _SNIPPET).write_text(step.text, encoding="utf-8")
            command = [sys.executable, _SNIPPET]
        return _Running(command, self._folder)

    def _do_endless(self, step: Step) -> None:
        running = self._start(step)
        shown = f"{(step.printed or '').rstrip()}..."
        if not running.prints(lambda printed: _matches(shown, printed)):
            running.end()
            raise _differs(step, running.printed)
        if step.how.startswith(_BESIDE):
            self._beside.append((step, running))
        else:
            _check_interrupted(step, running, running.interrupted())

    def _do_each(self, step: Step) -> None:
        awaited = step.how.removeprefix(_EACH).partition(", needs ")[0]
        printed = ""
        for command in step.text.replace("\\\n", "").splitlines():
            running = self._start(step, command)
            is_endless = running.prints(lambda text: awaited in text)
            status = running.interrupted() if is_endless else running.end()
            if status not in (_INTERRUPTED if is_endless else (0,)):
                raise _ended(step, status, f"{command}\n{running.printed}")
            printed += running.printed
        _compare(step, printed)

    def _write(self, name: str, step: Step) -> None:
        file = (self._folder / name).resolve()
        if not file.is_relative_to(self._folder):
            raise WalkError(f"line {step.line}: '{name}' is not in the folder")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(step.text, encoding="utf-8")


class _Running:
    """A command that runs, and what it has printed."""

    def __init__(self, command: list[str], folder: Path) -> None:
        environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            preexec_fn=_accept_ctrl_c,
        )  # fmt: skip
        self._watchdog = threading.Timer(_TIMEOUT, self._send, (signal.SIGKILL,))
        self._watchdog.start()
        self.printed = ""

    def prints(self, is_awaited: Callable[[str], bool]) -> bool:
        """Wait until what it has printed is awaited; return whether it was before its end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.printed += line
            if is_awaited(self.printed):
                return True
        return False

    def interrupted(self) -> int:
        """Send Ctrl-C, and wait for the end; return the exit status."""
        self._send(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        """Wait for the end; return the exit status."""
        self.printed += self._process.communicate()[0]
        self._watchdog.cancel()
        return self._process.returncode

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def _matches(shown: str, printed: str) -> bool:
    """Whether a page shows what is printed, but for a warning of a machine with much else to do."""
    return doctest.OutputChecker().check_output(shown, _OF_LOAD.sub("", printed), _ELLIPSIS)


def _compare(step: Step, printed: str) -> None:
    if step.printed is not None and not _matches(step.printed, printed):
        raise _differs(step, printed)


def _differs(step: Step, printed: str) -> WalkError:
    return WalkError(
        f"line {step.line}: the page shows\n{step.printed}\nbut this is printed:\n{printed}"
    )


def _ended(step: Step, status: int, printed: str) -> WalkError:
    return WalkError(f"line {step.line}: exit status {status}\n{step.text}\n{printed}")


def _check_interrupted(step: Step, running: _Running, status: int) -> None:
    if status not in _INTERRUPTED:
        raise _ended(step, status, running.printed)


def _find_excerpt(step: Step) -> None:
    text = (_SOURCES / step.excerpt_of).read_text(encoding="utf-8")
    lines, sought = ([line.strip() for line in t.splitlines()] for t in (text, step.text))
    if not any(lines[n : n + len(sought)] == sought for n in range(len(lines))):
        raise WalkError(f"line {step.line}: not in '{step.excerpt_of}':\n{step.text}")


def _accept_ctrl_c() -> None:
    """Undo that programs started in the background ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Walk pages in one folder; return the exit status."""
    parser = argparse.ArgumentParser(description="Do what pages say.")
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE.md")
    with tempfile.TemporaryDirectory() as folder, Walk(Path(folder)) as walk:
        for path in parser.parse_args().pages:
            for step in steps_of(path.read_text(encoding="utf-8")):
                title = step.file or step.text.strip().splitlines()[0]
                if reason := missing(step):
                    print(f"{path}:{step.line}: {title}: skipped: {reason}", flush=True)
                    continue
                print(f"{path}:{step.line}: {title}", flush=True)
                started = time.monotonic()
                try:
                    walk.do(step)
                except WalkError as error:
                    print(f"{path}: {error}", file=sys.stderr)
                    return 1
                print(f"{time.monotonic() - started:8.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
