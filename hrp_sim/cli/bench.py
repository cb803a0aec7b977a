"""``hrp-sim bench``: measure the speed of a world."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hrp_model.program.command import GOOD
from hrp_model.program.console import message_console, output_console, print_data, working

from ..lab.benchmark.measure import WorldBench
from ..lab.benchmark.report import result_object, result_text
from ..world.load import load_world
from ..world.reporting import printed_warnings
from .run_options import project_options


def bench(options: argparse.Namespace) -> int:
    """Do what ``hrp-sim bench`` does; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
    """
    with printed_warnings(options.world) as diagnostics, working(f"reading {options.world}"):
        world = load_world(options.world, diagnostics, project=project_options(options))
        measured = WorldBench(world, diagnostics)
    columns = TextColumn("measuring"), BarColumn(), TimeRemainingColumn()
    console = message_console()
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with closing(measured), _without_warnings(), progress:
        task = progress.add_task("", total=1.0)
        result = measured.measure(
            options.duration, lambda done: progress.update(task, completed=done)
        )
    if options.json:
        print_data(f"{json.dumps(result_object(options.world, result), indent=1)}\n")
    else:
        output_console().print(result_text(options.world, result))
    return GOOD


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Drop log messages of the physics: engines count the messages of ODE over repeated runs."""
    logger = logging.getLogger("hrp_sim")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
