"""Expand a xacro file in a process of its own, and serve the files that it asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import IO, Any

from ...diagnostics import (
    Diagnostic,
    MissingLibraryError,
    Severity,
    Source,
    Span,
    did_you_mean_or_all,
)
from ...files.resources import OutsideError, ResourceError
from ...late_dataclass import dataclass
from ...read_context import ReadContext, read_source
from ..xml_tree import Element, parse

_WORKER = Path(__file__).with_name("worker.py")
_MAX_TIME = 60.0  # [s], including the time to read files
_MAX_ANSWER = 1 << 26  # [B]
_MAX_READS = 1000
# All that Python itself may need; no secrets.
_VARIABLES = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME")
_SEVERITIES = {"warning": Severity.WARNING, "error": Severity.WARNING, "message": Severity.NOTE}


def expand(source: Source, context: ReadContext) -> Element | None:
    """Return the root element of a xacro file without macros; None after reporting errors.

    Elements have the places at which they are written in the files. All files are found by
    ``context``; the macros get ``context.arguments``.

    Raises:
        MissingLibraryError: xacro is not installed.
    """
    if find_spec("xacro") is None:
        raise MissingLibraryError("reading .xacro files needs xacro: pip install 'hrp_ros[xacro]'")
    return _Expander(source, context).expand()


@dataclass
class _File:
    """A file that the expansion has read, and its text as bytes, to which places refer."""

    source: Source
    data: bytes

    def offset(self, byte: int) -> int:
        """Return the character offset of a byte offset."""
        if len(self.data) == len(self.source.text):
            return byte
        return len(self.data[:byte].decode("utf-8", errors="ignore"))


class _Expander:
    """The parent's side of one expansion."""

    def __init__(self, source: Source, context: ReadContext) -> None:
        self._source = source
        self._context = context
        self._files: list[_File] = []
        self._by_path: dict[str, int] = {}
        self._reads = 0
        self._is_broken = False  # a file has errors, which were reported

    def expand(self) -> Element | None:
        """Return the root element, or None after reporting errors."""
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        process = subprocess.Popen(
            [sys.executable, os.fspath(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(_MAX_TIME, process.kill)
        timer.start()
        try:
            return self._converse(process.stdin, process.stdout)
        finally:
            timer.cancel()
            process.kill()
            process.communicate()

    def _converse(self, requests: IO[bytes], answers: IO[bytes]) -> Element | None:
        arguments = {name: str(value) for name, value in self._context.arguments.items()}
        start = {"path": self._path, "arguments": arguments}
        try:
            _send(requests, start)
            while line := answers.readline(_MAX_ANSWER + 1):
                if len(line) > _MAX_ANSWER:
                    break
                message = json.loads(line)
                if "elements" in message:
                    self._warn_of_arguments(message["unknown"], message["known"])
                    return self._tree(message["elements"])
                if "problem" in message:
                    self._report(message)
                    return None
                if "said" in message:
                    self._print(message)
                else:
                    _send(requests, self._answer(message))
        except (BrokenPipeError, ValueError):
            pass  # the process was killed
        text = "the expansion takes too much time or memory: does a macro repeat without end?"
        self._context.diagnostics.error("too-large", text, self._start)
        return None

    @property
    def _path(self) -> str:
        path = self._source.path
        return self._source.name if path is None else os.fspath(path)

    @property
    def _start(self) -> Span:
        return Span(self._source, 0, 0)

    def _answer(self, request: Mapping[str, str]) -> dict[str, object]:
        """Return the answer to a request of the process."""
        what, name, file = request["ask"], request["name"], request["file"]
        try:
            if what == "package":
                folder = self._source.path.parent if self._source.path else Path()
                return {"value": os.fspath(self._context.package_folder(name, folder))}
            if what == "variable":
                if self._context.access.sandboxed:
                    raise OutsideError("environment variables are not used in a sandbox")
                return {"value": os.environ.get(name)}
            if what == "file":
                return self._file(name, file)
            return {"text": read_source(self._found(name, file)).text}
        except OutsideError as error:
            code = "outside-sandbox" if self._context.access.sandboxed else "link-outside"
            return {"refused": f"cannot use '{name}': {error}", "code": code}
        except ResourceError as error:
            hint = f" (wanted by $(find {name}))" if what == "package" else ""
            return {"refused": f"{error}{hint}", "code": error.code}
        except OSError as error:
            reason = f"cannot read '{name}': {error.strerror or error}"
            return {"refused": reason, "code": "unreadable-file"}

    def _found(self, name: str, file: str) -> Path:
        """Return the path of a file that another one names."""
        self._reads += 1
        if self._reads > _MAX_READS:
            raise ResourceError(f"files are included more than {_MAX_READS} times")
        return self._context.find(name, Path(file).parent)

    def _file(self, name: str, file: str) -> dict[str, object]:
        """Return a xacro file."""
        source = self._source
        if self._files:
            path = self._found(name, file)
            name = os.fspath(path)
            if name not in self._by_path:
                source = read_source(path)
        if name not in self._by_path:
            # Also checked here, for errors with places, and for limits.
            count = self._context.count
            if parse(source, self._context.diagnostics, lambda at: count("nodes", at=at)) is None:
                self._is_broken = True
                return {"refused": "", "code": "xml-syntax"}
            self._by_path[name] = len(self._files)
            self._files.append(_File(source, source.text.encode("utf-8", errors="replace")))
        index = self._by_path[name]
        return {"path": name, "file": index, "text": self._files[index].source.text}

    def _at(self, place: tuple[int, int] | None) -> Span:
        """Return the place of an element."""
        if place is None:
            return self._start
        file = self._files[place[0]]
        start = file.offset(place[1])
        return Span(file.source, start, start + 1)

    def _report(self, message: Mapping[str, Any]) -> None:
        if self._is_broken:
            return
        text = message["problem"]
        for caller in message["callers"]:
            text += f"; in the macro <{caller['macro']}> called at {self._at(caller['at'])}"
        self._context.diagnostics.error(message["code"], text, self._at(message["at"]))

    def _print(self, message: Mapping[str, Any]) -> None:
        severity = _SEVERITIES.get(message["said"])
        if severity is not None:
            code = "xacro-warning" if severity is Severity.WARNING else "xacro-message"
            at = self._at(message["at"])
            self._context.diagnostics.add(Diagnostic(severity, code, message["text"], at))

    def _warn_of_arguments(self, unknown: list[str], known: list[str]) -> None:
        for name in unknown:
            hint = did_you_mean_or_all(name, [x for x in known if x not in unknown])
            text = f"the file has no argument '{name}'.{hint}"
            self._context.diagnostics.warn("unknown-argument", text, self._start)

    def _tree(self, elements: list[Any]) -> Element:
        """Return elements as a tree."""
        stack: list[Element] = []
        for tag, attributes, text, place, depth in elements:
            at = self._at(place)
            self._context.count("nodes", at=at)
            element = Element(tag, attributes, at.source, at.start, text=text)
            del stack[depth:]
            if stack:
                stack[-1].children.append(element)
            stack.append(element)
        return stack[0]


def _send(stream: IO[bytes], message: Mapping[str, object]) -> None:
    stream.write(f"{json.dumps(message)}\n".encode())
    stream.flush()
