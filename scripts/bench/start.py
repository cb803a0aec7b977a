"""Measure what short commands cost: CPU time in units of that of ``import numpy``, and memory.

All take turns; times are medians of user and system time, each divided by that of the import
beside it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys

from hrp_model.program.tables import progress
from scripts.data_tables import Table, output_tables
from scripts.program import ROOT

ROUNDS = 15
HUMANOID = str(ROOT / "models" / "humanoid" / "humanoid.body")
COMMANDS = (
    ("hrp-sim", "--version"),
    ("hrp-sim", "--help"),
    ("hrp-model", "check", HUMANOID),
    ("hrp-sim", "run", "arm", "--duration", "0.1"),
    ("hrp-sim", "run", "humanoid_in_room", "--duration", "0.1"),
)
_IMPORT = "import numpy"
_COMMAND = """
import sys
from hrp_ros import programs
sys.argv = sys.argv[1:]
sys.exit(getattr(programs, sys.argv[0].replace("-", "_"))())
"""


def cost(*arguments: str) -> tuple[float, float]:
    """Return CPU time [s] and largest memory [MB] of Python with arguments.

    Raises:
        RuntimeError: It failed.
    """
    command = [sys.executable, *arguments]
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    process = os.posix_spawn(sys.executable, command, os.environ, file_actions=silent)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{command} ended with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(rounds: int) -> dict[str, Table]:
    """Return the table by its name: a row for each command."""
    ratios: dict[tuple[str, ...], list[float]] = {words: [] for words in COMMANDS}
    memory: dict[tuple[str, ...], float] = {}
    with progress("measuring commands", rounds) as on_each:
        for number in range(rounds + 1):
            unit, _ = cost("-c", _IMPORT)
            for words in COMMANDS:
                seconds, memory[words] = cost("-c", _COMMAND, *words)
                if number:  # the first round fills caches of files
                    ratios[words].append(seconds / unit)
            on_each()
    rows = [
        [
            " ".join(words).replace(HUMANOID, "humanoid.body"),
            f"{statistics.median(ratios[words]):.2f}",
            f"{memory[words]:.0f}",
        ]
        for words in COMMANDS
    ]
    return {"start": (["command", "CPU time / import numpy", "memory [MB]"], rows)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--page", action="store_true", help="write docs/data")


def run(options: argparse.Namespace) -> int:
    """Measure, and print or write the table."""
    rounds = f"medians of {options.rounds} rounds"
    output_tables(measure(options.rounds), page=options.page, rounds=rounds)
    return 0
