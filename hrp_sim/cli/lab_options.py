"""Options of ``hrp-sim study``, ``bench`` and ``certify``."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrp_model.cli.common import MODEL
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import number

from ..lab.sweeps import MAX_TIMEOUT
from ..world.world_names import DEFAULT_WORLD
from . import argument_types
from .run_options import WORLD, add_project

_jobs = number(int, "a whole number from 1 to 1000", lambda value: 1 <= value <= 1000)
_timeout = number(
    float,
    f"a number of seconds above 0, up to {MAX_TIMEOUT:g}",
    lambda value: 0.0 < value <= MAX_TIMEOUT,
)


def add_study(study: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim study``."""
    study.description = (
        "Run a study: a world many times with values that vary, such as friction, masses or "
        "pushes. The folder gets a table of the results and a report; the same command continues "
        "an interrupted study. docs/studies.md lists what a study may contain."
    )
    study.add_argument("study", metavar="STUDY", help="study file (.yaml)")
    study.add_argument("--out", type=Path, metavar="FOLDER", help="folder for all results")
    study.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="number of processes (default: one for each CPU)",
    )
    study.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, such as tcp://host:8786",
    )
    study.add_argument(
        "--timeout",
        type=_timeout,
        metavar="S",
        help="wall time after which a case fails, in [s] (default: none)",
    )
    study.add_argument(
        "--dry-run", action="store_true", help="check everything and list the cases, without a run"
    )


def add_bench(bench: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim bench``."""
    bench.description = (
        "Measure how fast a world or a model runs on this machine, where the time goes, and which "
        "settings make it faster. docs/performance.md explains the result."
    )
    bench.add_argument(
        "world",
        nargs="?",
        default=DEFAULT_WORLD,
        metavar="WORLD",
        help=f"{WORLD}; default: {DEFAULT_WORLD}",
    )
    add_project(bench)
    bench.add_argument(
        "--duration",
        type=argument_types.positive,
        default=1.0,
        metavar="S",
        help="simulation time to measure, from the start (default: %(default)g s)",
    )
    bench.add_argument("--json", action="store_true", help="print the result as JSON")


def add_certify(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim certify``."""
    parser.description = (
        "Compare the motion of models without contacts in the engine, and in pinocchio and MuJoCo "
        "with the URDF of the model: accelerations in random states, gravity torques, momentum, "
        "and the engine's motion of a second with an exact solution. docs/certificates.md "
        "explains the result. The exit status is 1 if a model is not equal in the engine and a "
        "library."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=MODEL)
    parser.add_argument(
        "--urdf",
        type=Path,
        metavar="FILE",
        help="certify this URDF of the one model, written by 'hrp-model urdf' with its default "
        "names, instead of a new one",
    )
    parser.add_argument(
        "--states",
        type=argument_types.states,
        default=100,
        metavar="N",
        help="number of random states (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=argument_types.seed,
        default=0,
        metavar="N",
        help="of the states (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--page", type=Path, metavar="OUT.html", help="also write the result as a page"
    )
    add_force(parser)
