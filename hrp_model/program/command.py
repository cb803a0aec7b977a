"""Run a command or a ROS node as a program: streams, Ctrl-C, exit status, missing ROS."""

from __future__ import annotations

import importlib
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NoReturn

from hrp_msgs.sanitize import shortened

from ..files.file_watch import FileWatch
from ..printable import printable
from .console import (
    OutputError,
    configure_streams,
    discard_output,
    flush_output,
    print_message,
    print_text,
)

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_ROS_REMEDY = (
    "source a ROS 2 installation (its setup.bash), or install ROS 2 from PyPI: "
    "pip install 'hrp_ros[ros]' && python -m hrp_msgs.interfaces.build"
)
# Timeout of each wait, in [s]: if a signal arrives just before a wait begins, Python runs its
# handler only when the wait ends.
_MAX_WAIT = 0.2
GOOD, PROBLEMS, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
# Options that belong after --ros-args.
_ROS_OPTIONS = ("-p", "--param", "-r", "--remap", "--params-file", "--log-level", "-e", "--enclave")
_ASSIGNMENT = r"[A-Za-z_][\w.]*:="


def missing_ros(error: ImportError) -> str:
    """Return the message for ROS 2 that cannot be imported, with two remedies.

    Raises:
        KeyboardInterrupt: A signal came during the import, of which C++ modules make ImportError.
    """
    if isinstance(error.__cause__, KeyboardInterrupt):
        raise error.__cause__
    return f"ROS 2 cannot be imported ({error}): {_ROS_REMEDY}"


class StopSignals:
    """Handles Ctrl-C, SIGTERM and a closed terminal while a program loads, runs and cleans up.

    The first signal raises KeyboardInterrupt or, after ``stop``, calls its action; further
    signals raise nothing, so that they do not interrupt the clean-up. If a signal ended the
    block, further signals stay ignored until the process ends.

    Attributes:
        NUMBERS: The signals; SIGHUP comes when a terminal closes, and nohup ignores it.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._received = False
        self._action: Callable[[], object] | None = None
        # A signal handler may put into it at any time, but must not take the lock of an Event.
        self._arrivals: SimpleQueue[None] = SimpleQueue()

    def __enter__(self) -> StopSignals:
        self._before = {number: signal.getsignal(number) for number in self.NUMBERS}
        if self._before[signal.SIGHUP] is signal.SIG_IGN:
            del self._before[signal.SIGHUP]
        for number in self._before:
            signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._received else handler)

    def stop(self, action: Callable[[], object] = lambda: None) -> None:
        """Make signals call an action from now on instead of raising KeyboardInterrupt.

        The action is called at once if a signal was received before.

        Args:
            action: Called by the main thread at any time, so it must not take locks.
        """
        self._action = action
        if self._received:  # its exception got lost, for instance in a destructor
            action()

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Make every signal in a ``with`` block raise KeyboardInterrupt.

        For what may wait without an end after ``stop``, such as for the reader of a pipe.
        """
        before, self._action = self._action, _interrupt
        try:
            yield
        finally:
            self._action = before

    def wait(self) -> None:
        """Wait for a signal; to be called by the main thread, after ``stop``."""
        while not self._received:
            with suppress(Empty):
                self._arrivals.get(timeout=_MAX_WAIT)

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        is_first, self._received = not self._received, True
        self._arrivals.put(None)
        if self._action is not None:
            self._action()
        elif is_first:
            raise KeyboardInterrupt


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


class UsageError(Exception):
    """Wrong use of a command; the message has the reason."""


def run_program(program: str, command: Callable[[], int]) -> int:
    """Run a command and print its errors.

    The files that it reads are recorded, so that it never overwrites them.

    Args:
        program: Name of the program, as prefix of messages.
        command: Runs the command and returns its exit status.

    Returns:
        The exit status: 0 success, also if the reader of the output closed the pipe; 1 problems
        in the model; 2 usage error, a file that cannot be read or written, or a library that is not
        installed; 130 after Ctrl-C.
    """
    interrupts = _Interrupts()
    try:
        with interrupts:
            configure_streams()
            status = _status(program, command)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:
        if interrupts.received:  # KeyboardInterrupt was wrapped, as imports do
            return INTERRUPTED
        raise
    return INTERRUPTED if interrupts.received else status


def silence_libraries() -> None:
    """Keep what libraries print about absurd numbers and images from the standard error.

    Diagnostics report these with their place. Warnings about the code of users remain.
    """
    import logging  # not for --version and --help

    if not sys.warnoptions:
        modules = r"(numpy|scipy|PIL|trimesh|hrp_model|hrp_sim|hrp_msgs)(\.|$)"
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=modules)
    for name in ("PIL", "trimesh"):
        logging.getLogger(name).addHandler(logging.NullHandler())


def _status(program: str, command: Callable[[], int]) -> int:
    try:
        with FileWatch().recording():
            status = _without_exit(command)
        flush_output()
        return status
    except UsageError as error:
        message = str(error)
    except OutputError as error:
        discard_output()
        message = f"cannot write to standard output: {error.strerror}"
    except OSError as error:
        if isinstance(error, BrokenPipeError) and error.filename is None:
            discard_output()  # the reader closed the pipe
            return GOOD
        place = "" if error.filename is None else f"'{error.filename}': "
        message = f"{place}{error.strerror or error}"
    except ImportError as error:
        from ..diagnostics import MissingLibraryError  # once something is wrong

        if not isinstance(error, MissingLibraryError):
            raise
        message = str(error)
    print_message(f"{program}: error: {printable(shortened(message))}")
    return WRONG_USE


def _without_exit(command: Callable[[], int]) -> int:
    """Return a command's exit status, also if argparse exits."""
    try:
        return command()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else GOOD


def print_problem(error: Exception) -> None:
    """Print why a model or world is invalid; diagnostics include place and severity."""
    from ..diagnostics import ModelError

    if isinstance(error, ModelError):
        print_message("\n".join(printable(str(diagnostic)) for diagnostic in error.diagnostics))
    else:
        print_message(f"error: {error}")


def allow_interrupts() -> None:
    """Make Ctrl-C raise KeyboardInterrupt again, unless the process ignores it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Interrupts:
    """Makes Ctrl-C raise KeyboardInterrupt in a block, and records it.

    An interrupt in a destructor, for which Python would print a traceback, is only recorded.
    """

    received = False

    def __enter__(self) -> None:
        # Not if SIGINT is ignored, nor in another thread that calls main().
        self._handler = signal.getsignal(signal.SIGINT)
        self._is_ours = (
            threading.current_thread() is threading.main_thread()
            and self._handler not in (signal.SIG_IGN, None)
        )
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._on_unraisable
        if self._is_ours:
            signal.signal(signal.SIGINT, self._take)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # StopSignals may have left another handler, which must stay.
        if self._is_ours and signal.getsignal(signal.SIGINT) == self._take:
            signal.signal(signal.SIGINT, self._handler)
        sys.unraisablehook = self._hook

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.received = True
        raise KeyboardInterrupt

    def _on_unraisable(self, unraisable: UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            self._hook(unraisable)


def run_node(module: str, program: str) -> int:
    """Run ``main`` of a module that imports ROS, or print its help.

    Args:
        module: Name of the module, with ``PARAMETERS`` and ``main``.
        program: Name of the program.

    Returns:
        Its exit status; 2 if ROS cannot be imported, or an argument is outside of
        ``--ros-args``.
    """
    from ..diagnostics import MissingLibraryError

    configure_streams()
    silence_libraries()
    try:
        node = importlib.import_module(module)
        params = importlib.import_module("hrp_msgs.node.parameters")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise  # a defect of this package, not a missing ROS
        print_message(f"error: {missing_ros(error)}")
        return WRONG_USE
    except MissingLibraryError as error:
        print_message(f"error: {error}")
        return WRONG_USE
    if {"-h", "--help"}.intersection(sys.argv[1:]):
        return run_program(program, lambda: _print_help(params.usage(program, node.PARAMETERS)))
    if words := _non_ros_arguments(sys.argv[1:]):
        print_message(_correction(program, node.PARAMETERS[0].name, words))
        return WRONG_USE
    allow_interrupts()
    status: int = node.main()
    return status


def _print_help(text: str) -> int:
    print_text(text)
    return GOOD


def _non_ros_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments before ``--ros-args`` and after the ``--`` that ends them.

    Also each ``NAME:=VALUE`` between them that does not follow an option.
    """
    words: list[str] = []
    for_ros = False
    previous = ""
    for word in arguments:
        if word in ("--ros-args", "--"):
            for_ros = word == "--ros-args"
        elif not for_ros or (re.match(_ASSIGNMENT, word) and _is_complete(previous)):
            words.append(word)
        previous = word
    return words


def _is_complete(word: str) -> bool:
    """Return whether a word among the ROS arguments is not an option that needs a value."""
    return word == "--ros-args" or not word.startswith("-")


def _correction(program: str, parameter: str, words: Sequence[str]) -> str:
    """Return the message for arguments outside of ``--ros-args``, with a correction."""
    command = " ".join(printable(word) for word in words)
    fixed = command
    if not words[0].startswith("-"):
        is_parameter = any(":=" in word for word in words)
        fixed = f"-p {command}" if is_parameter else f"-p {parameter}:={printable(words[0])}"
    elif words[0] not in _ROS_OPTIONS:
        name = next((word for word in words if not word.startswith("-")), "FILE")
        fixed = f"-p {printable(name)}" if ":=" in name else f"-p {parameter}:={printable(name)}"
    return (
        f"error: '{command}' is outside of --ros-args. Did you mean '{program} --ros-args {fixed}'?"
    )
