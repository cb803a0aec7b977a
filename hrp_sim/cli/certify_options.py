"""Options of ``hrp-sim certify``."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrp_model.cli.common import MODEL
from hrp_model.program.outputs import add_force

from . import argument_types


def add_certify(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
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
