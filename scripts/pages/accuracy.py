"""Measure the accuracy of physics, friction, geared grippers and sensors; write docs/data.

Bodies and readings are those of the tests, compared with closed forms, MuJoCo and pinocchio.
Everything is deterministic, as no row contains a time. The physics take some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from hrp_sim.engine.engine import Solver
from scripts.data_tables import DATA, Table, print_tables, write_tables


def physics(*, quick: bool = False) -> dict[str, Table]:
    """Return free motions, and what else is measured of each solver."""
    from sim.physics.accuracy import CHECKS, HEADER, check_row, free_row, motions

    free = [free_row(motion, solver) for motion in motions() for solver in Solver]
    checks = [check_row(check) for check in CHECKS if check.is_quick or not quick]
    return {
        "free_motion": (HEADER, free),
        "physics_checks": (["measured at 1 ms", *(s.value for s in Solver)], checks),
    }


def friction() -> dict[str, Table]:
    """Return what slides, spins and pivots."""
    from sim.physics.sliding import HEADER, rows

    return {"friction": (HEADER, list(rows()))}


def grippers() -> dict[str, Table]:
    """Return what geared fingers do."""
    from sim.physics.grippers import HEADER, rows

    return {"grippers": (HEADER, list(rows()))}


def sensors() -> dict[str, Table]:
    """Return errors of readings: those that depend on the time step, and others."""
    from sim.sensors.accuracy import STEPS, moving_row, still_rows, swinging

    header = ["relative error of moving bodies, by step", *(f"{1e3 * h:g} ms" for h in STEPS)]
    moving = [moving_row(what, error, STEPS) for what, error in swinging()]
    still = ["relative error, at any step", "worst"], still_rows()
    return {"sensors_by_step": (header, moving), "sensors_at_any_step": still}


PARTS: dict[str, Callable[[], dict[str, Table]]] = {
    "physics": physics,
    "friction": friction,
    "grippers": grippers,
    "sensors": sensors,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="may be repeated; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="print quick rows of the physics only")
    parser.add_argument("-o", "--output", type=Path, default=DATA, help="folder of the tables")


def run(options: argparse.Namespace) -> int:
    """Write the tables."""
    if options.quick:
        print_tables(physics(quick=True))
        return 0
    for name in options.only or PARTS:
        write_tables(PARTS[name](), options.output)
    return 0
