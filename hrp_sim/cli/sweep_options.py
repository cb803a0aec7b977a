"""Options of ``hrp-sim sweep``."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrp_model.program.parsing import number

from ..lab.sweeps.limits import MAX_TIMEOUT

_jobs = number(int, "a whole number from 1 to 1000", lambda value: 1 <= value <= 1000)
_timeout = number(
    float,
    f"a number of seconds above 0, up to {MAX_TIMEOUT:g}",
    lambda value: 0.0 < value <= MAX_TIMEOUT,
)


def add_sweep(sweep: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim sweep``."""
    sweep.description = (
        "Run a study: a world many times with values that vary, such as friction, masses or "
        "pushes. The folder gets a table of the results and a report; the same command continues "
        "an interrupted study. docs/studies.md lists what a study may contain."
    )
    sweep.add_argument("study", metavar="STUDY", help="study file (.yaml)")
    sweep.add_argument("--out", type=Path, metavar="FOLDER", help="folder for all results")
    sweep.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="number of processes (default: one for each CPU)",
    )
    sweep.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, such as tcp://host:8786",
    )
    sweep.add_argument(
        "--timeout",
        type=_timeout,
        metavar="S",
        help="wall time after which a case fails, in [s] (default: none)",
    )
    sweep.add_argument(
        "--dry-run", action="store_true", help="check everything and list the cases, without a run"
    )
