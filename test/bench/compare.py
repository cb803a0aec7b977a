#!/usr/bin/env python3
"""Compare the speed of hrp_sim with other programs that do the same work.

python test/bench/compare.py [FILE ...] [--scene NAME] [--solver NAME] [--runs N] [--page]

Steps are compared with MuJoCo, Bullet, Drake and PyODE, where they are installed (pip install
mujoco pybullet drake), images with plain moderngl, small sensors with plain numpy; all are timed in
turns. All scenes take many minutes, one takes about one. A FILE is a model, limp on a floor, or a
world, limp. --page writes the tables speed*.csv in docs/data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.comparison.contenders import BenchError
from bench.comparison.measure import on_one_core
from bench.comparison.report import LIBRARIES, print_rows, tables, to_json
from bench.comparison.rows import Row
from bench.comparison.scenes import SCENE_NAMES, Scene, Subject, make_scene, scene_of_file
from bench.comparison.session import Session
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hrp_model import ModelError
from hrp_model.files.writer import write_atomically
from hrp_model.program.command import GOOD, PROBLEMS, print_problem, run_program
from hrp_model.program.outputs import Output, check_outputs, writing
from hrp_model.program.parsing import positive
from hrp_model.program.tables import message_console, output_console
from hrp_sim.engine.engine import PhysicsError, Solver
from scripts.data_tables import write_tables


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print tables, write files; return the exit status.

    Returns:
        0; 1 if a model cannot be used, or the compared programs do different work; 2 for a usage
        error.
    """
    return run_program("compare.py", lambda: _reporting(argv))


def _reporting(argv: Sequence[str] | None) -> int:
    try:
        return _main(argv)
    except (ModelError, PhysicsError, BenchError) as error:
        print_problem(error)
        return PROBLEMS


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    if options.holding and not options.files:
        parser.error("--holding needs a FILE")
    if options.runs < 1:
        parser.error(f"--runs must be 1 or greater, not {options.runs}")
    check_outputs([Output("--json", options.json, None)], inputs=options.files)
    rows = _measure(options)
    with writing():
        if options.json:
            written = to_json(rows, options.duration, options.runs)
            write_atomically(options.json, written.encode())
        if options.page:
            rounds = f"{options.runs} runs of {options.duration:g} simulated seconds or more"
            write_tables(tables(rows), rounds=rounds, beside=LIBRARIES)
    return GOOD


def _measure(options: argparse.Namespace) -> list[Row]:
    """Print a table for each scene and solver; return all rows."""
    rows: list[Row] = []
    with _progress() as progress:
        comparisons = list(_comparisons(options))
        task = progress.add_task("", total=len(comparisons) * options.runs)
        for scene, solver in comparisons:
            progress.update(task, description=f"{scene.name}, {solver.value}")
            is_rendered = scene.subject in (Subject.PICTURES, Subject.FILMING)  # by all cores
            with nullcontext() if is_rendered else on_one_core():
                session = Session(scene, solver)
                session.check()
                new = session.measure(
                    options.duration, options.runs, on_run=lambda: progress.advance(task)
                )
            if new:
                print_rows(new, output_console())
            for note in session.notes:
                output_console().print(note, style="dim")
            rows += new
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.rpartition("\n\n")[2])
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="model or world")
    parser.add_argument(
        "--scene",
        action="append",
        default=[],
        choices=SCENE_NAMES,
        help="may be repeated; default: all, or none if there are files",
    )
    parser.add_argument(
        "--solver",
        action="append",
        default=[],
        choices=[s.value for s in Solver],
        help="may be repeated; default: all",
    )
    parser.add_argument(
        "--duration",
        type=positive,
        default=1.0,
        metavar="S",
        help="minimum simulation time of a run (default: %(default)g s)",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=5,
        metavar="N",
        help="number of interleaved runs of each program (default: %(default)d)",
    )
    parser.add_argument(
        "--holding", action="store_true", help="step the files also with servos that hold"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--page", action="store_true", help="write the tables of docs/data")
    return parser


def _comparisons(options: argparse.Namespace) -> Iterator[tuple[Scene, Solver]]:
    """Yield the scenes with their solvers."""
    solvers = [Solver(name) for name in dict.fromkeys(options.solver)] or list(Solver)
    names = list(dict.fromkeys(options.scene)) or ([] if options.files else SCENE_NAMES)
    controls = (False, True) if options.holding else (False,)
    scenes = [make_scene(name) for name in names]
    scenes += [scene_of_file(path, holding=h) for path in options.files for h in controls]
    for scene in scenes:
        # The solver has no effect on sensors.
        for solver in solvers if scene.subject is Subject.STEPS else solvers[:1]:
            if not scene.settling or solver is Solver.WORLD:  # the only one that lets bodies sleep
                yield scene, solver


def _progress() -> Progress:
    name = TextColumn("{task.description}", markup=False)
    columns, console = (name, BarColumn(), TimeRemainingColumn()), message_console()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


if __name__ == "__main__":
    sys.exit(main())
