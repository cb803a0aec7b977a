"""What ``hrp-sim bench`` does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hrp_model.files.writer import write_all_atomically
from hrp_model.program.command import GOOD, PROBLEMS
from hrp_model.program.console import message_console, output_console, print_message
from hrp_model.program.outputs import Kind, Output, check_outputs, writing

from ..physics.engine import Solver
from .machine import this_machine
from .measure import on_one_core
from .names import ALL, SCENE_NAMES
from .page import page
from .plain_c import BenchError, compile_loop
from .report import print_rows, to_json
from .rows import Row
from .scenes import Scene, Subject, make_scene, scene_of_file
from .sensor_session import SensorSession
from .session import Session


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What to measure, how often, and where to write it.

    Attributes:
        files: Models and worlds.
        scenes: Names of scenes, or ALL; empty means ALL where there are no files.
        solvers: Names of solvers; empty means both.
        duration: Of a run, in simulated [s].
        runs: How many of each.
        original: Whether to measure the files the original's way, too.
        json, markdown: Files to write, or None.
        force: Whether they replace models and worlds.
    """

    files: Sequence[Path] = ()
    scenes: Sequence[str] = ()
    solvers: Sequence[str] = ()
    duration: float = 1.0
    runs: int = 5
    original: bool = False
    json: Path | None = None
    markdown: Path | None = None
    force: bool = False


def bench(options: BenchOptions) -> int:
    """Measure, print tables, write files.

    Returns:
        The exit status: 0, or 1 when the plain C program cannot be made or simulates
        something else.

    Raises:
        ModelError, PhysicsError: A file cannot be read or simulated.
        UsageError: A file cannot be written, or must not be replaced.
    """
    outputs = [
        Output("--json", options.json, Kind.JSON),
        Output("--markdown", options.markdown, Kind.MARKDOWN),
    ]
    check_outputs(outputs, inputs=options.files, force=options.force)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _measure(options, Path(folder))
    except BenchError as error:
        print_message(f"error: {error}")
        return PROBLEMS
    return GOOD


def _measure(options: BenchOptions, folder: Path) -> None:
    solvers = [Solver(name) for name in dict.fromkeys(options.solvers)] or list(Solver)
    console = output_console()
    rows: list[Row] = []
    ode_version = ""
    scenes = [(*x, solver) for x in _scenes(options) for solver in _solvers(x[0], solvers)]
    with _progress() as progress:
        task = progress.add_task("", total=len(scenes) * options.runs)
        for scene, original, solver in scenes:
            progress.update(task, description=f"{scene.name}, {solver.value}")
            is_drawn = scene.subject in (Subject.PICTURES, Subject.FILMING)
            with nullcontext() if is_drawn else on_one_core():
                session = _session(scene, solver, folder, original)
                session.check()
                new = session.measure(
                    options.duration, options.runs, on_run=lambda: progress.advance(task)
                )
            if new:
                print_rows(new, console)
            for note in session.notes:
                console.print(note, style="dim")
            rows += new
            ode_version = session.ode_version or ode_version
    machine = this_machine(ode_version)
    results = {options.json: to_json, options.markdown: page}
    with writing():
        write_all_atomically(
            {
                path: text(rows, machine, options.duration, options.runs).encode(
                    errors="backslashreplace"
                )
                for path, text in results.items()
                if path is not None
            }
        )


def _scenes(options: BenchOptions) -> Iterator[tuple[Scene, bool]]:
    """Yield the scenes asked for, and whether to measure the original's way."""
    names = list(dict.fromkeys(options.scenes))
    if ALL in names or (not names and not options.files):
        names = list(SCENE_NAMES)
    for name in names:
        yield make_scene(name), False
    for path in options.files:
        yield scene_of_file(path), options.original


def _solvers(scene: Scene, solvers: list[Solver]) -> list[Solver]:
    return solvers if scene.subject is Subject.STEPS else solvers[:1]  # sensors know none


def _session(scene: Scene, solver: Solver, folder: Path, original: bool) -> Session | SensorSession:
    if scene.subject not in (Subject.STEPS, Subject.SCANS):
        return SensorSession(scene)
    return Session(scene, solver, _program(folder), folder, original=original)


_program = cache(compile_loop)


def _progress() -> Progress:
    name = TextColumn("{task.description}", markup=False)
    columns = name, BarColumn(), TimeRemainingColumn()
    return Progress(*columns, console=message_console(), transient=True)
