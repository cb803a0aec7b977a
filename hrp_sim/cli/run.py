"""``hrp-sim run``: simulate a world with a live table, with or without ROS."""

from __future__ import annotations

import argparse
import threading
from contextlib import ExitStack

from hrp_model.program.command import StopSignals
from hrp_model.program.console import print_note

from .run_alone import set_up_alone
from .run_course import RunCourse, check_run_outputs
from .run_with_ros import set_up_with_ros


def run(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim run``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An output must not or cannot be written.
        OSError: Reading or writing a file failed.
        KeyboardInterrupt: A signal came before the first step.
    """
    check_run_outputs(options)
    others = set(threading.enumerate())
    try:
        return _run(options)
    finally:
        _report_threads(others)


def _run(options: argparse.Namespace) -> int:
    with StopSignals() as signals, ExitStack() as stack:
        page = None
        if options.view:
            from .run_page import RunPage  # needs viser

            page = RunPage(
                options.port,
                options.host,
                on_output=not options.json,
                browser=options.browser,
            )
            stack.callback(page.close)
        set_up = set_up_with_ros(options) if options.ros else set_up_alone(options, page)
        setup = stack.enter_context(set_up)
        return RunCourse(options, setup, page).run(signals)


def _report_threads(others: set[threading.Thread]) -> None:
    """Say which threads of controllers keep the program from ending."""
    for thread in threading.enumerate():
        if not (thread.daemon or thread in others):
            print_note(
                f"note: a controller has left the thread '{thread.name}' running, for which the "
                "program waits; start threads with daemon=True"
            )
