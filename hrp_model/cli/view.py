"""The command ``hrp-model view``: the model in a browser."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostics, ModelError
from ..files.file_watch import FileWatch
from ..files.resources import path_from_uri
from ..load import load_body
from ..program.command import GOOD, StopSignals
from ..program.console import print_note, working
from ..program.parsing import MODEL, port, positive
from ..program.report import CHECK_ALL, print_diagnostics, summary
from ..view.address import DEFAULT_PORT, LOOPBACK

if TYPE_CHECKING:
    from ..program.parsing import Arguments
    from ..view.model_viewer import ModelViewer

_POLL = 0.2  # [s] between looks at the clock and at the signals
_WATCH = 0.5  # [s] between looks at the files; a file that changes in between is being written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.epilog = (
        "The address of the page is printed first; it loads nothing from elsewhere. Exit status: "
        "0 after Ctrl-C or the duration, 1 if the model has errors, 2 if the port is in use."
    )
    parser.add_argument("file", metavar="FILE", help=MODEL)
    parser.add_argument(
        "--watch", action="store_true", help="read the model again when one of its files changes"
    )
    add_viewer_arguments(parser)
    parser.add_argument(
        "--duration",
        type=positive,
        metavar="S",
        help="end after S seconds (default: at Ctrl-C)",
    )


def add_viewer_arguments(parser: Arguments) -> None:
    """Add the options of a program that shows a page: port, host and browser."""
    parser.add_argument(
        "--port",
        type=port,
        metavar="P",
        help=f"port of the page (default: {DEFAULT_PORT}, or the next one that is free)",
    )
    parser.add_argument(
        "--host",
        default=LOOPBACK,
        metavar="ADDRESS",
        help="network interface of the page, such as 0.0.0.0 for all: then everybody in the "
        "network who reaches the port sees the page and can use its controls (default: "
        "%(default)s, this machine only)",
    )
    parser.add_argument(
        "--browser",
        action="store_true",
        help="open the page in the default browser, if there is a display",
    )


def given_viewer_options(options: argparse.Namespace) -> list[str]:
    """Return those of ``add_viewer_arguments`` that the user has given."""
    given = {
        "--port": options.port is not None,
        "--host": options.host != LOOPBACK,
        "--browser": options.browser,
    }
    return [name for name, is_given in given.items() if is_given]


def run(options: argparse.Namespace) -> int:
    """Show a model until Ctrl-C, SIGTERM or the end of the duration."""
    from ..view.model_viewer import ModelViewer
    from ..view.viewer import Viewer

    start = time.monotonic()
    stopped: list[bool] = []
    with StopSignals() as signals, Viewer(options.port, options.host) as viewer:
        viewer.print_address()
        if options.browser:
            viewer.open_browser()
        page = ModelViewer(viewer, options.file)
        model = _Model(options.file, page)
        model.read(keep_going=options.watch)
        signals.stop(lambda: stopped.append(True))
        end = float("inf") if options.duration is None else start + options.duration
        next_look = 0.0
        while not stopped and (now := time.monotonic()) < end:
            if options.watch and now >= next_look:
                next_look = now + _WATCH
                if model.has_changed():
                    model.read(keep_going=True)
            time.sleep(min(_POLL, max(0.0, end - now)))
    return GOOD


class _Model:
    """The model in the page, which is read again when one of its files changes."""

    def __init__(self, name: str, page: ModelViewer) -> None:
        self._name, self._page = name, page
        self._watch = FileWatch()

    def has_changed(self) -> bool:
        """Return whether a file of the model has changed and is not being written right now."""
        return self._watch.has_changed()

    def read(self, *, keep_going: bool) -> None:
        """Read and show the model, and print its problems.

        Args:
            keep_going: Whether the page shows the problems of an invalid model.

        Raises:
            ModelError: The model is invalid, and not ``keep_going``.
        """
        name, before, self._watch = self._name, self._watch, FileWatch()
        diagnostics = Diagnostics.silent()
        try:
            with self._watch.recording(), working(f"reading {name}"):
                if "://" not in name:
                    self._watch.add(path_from_uri(name))  # also if it is a symbolic link
                self._page.show(load_body(name, diagnostics), diagnostics.found)
        except ModelError:
            self._watch.add_all(before)  # files not read this time may still be part of it
            self._page.show_problems(diagnostics.found)
            if not keep_going:
                raise
        finally:
            print_diagnostics(name, diagnostics.found, advice=CHECK_ALL)
        if before.files:
            print_note(f"read again: {summary(name, diagnostics.found)}")
