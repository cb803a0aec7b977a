"""The page of the documentation that holds the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..physics.engine import Solver
from .machine import Machine
from .report import cells, headings
from .rows import Row

_HEADER = """\
# Performance

What `hrp-sim bench` measured on one machine; `--markdown` writes this page. Run it to know your
own machine: ratios say more than microseconds.

| | |
| --- | --- |
| processor | {processor}, {cores} cores |
| system | {system} |
| ODE | {ode} |
| compiler of the plain C program | {compiler} |
| Python, numpy | {python}, {numpy} |
| runs | {runs} of {duration:g} simulated seconds or more for each scene and solver |

The same scene is stepped by everybody in turns, a tenth of a run at a time, on one core; times
are CPU times. A ratio is the median, over all these slices, of the time taken to that of a
program in plain C (`test/bench/loop`) for the same steps; the quartiles tell the spread. That
program does the same physics: where it makes its contacts in the engine's order, both end in the
same state to the last bit, which is checked before a scene is measured. It reads the state out
after every step, as the engine does, except beside the engine that takes many steps in one call.

The world solver of the engine may suppose that contacts at rest stick, and saves much work
(`predict_sticking`, on by default). That is no merit of the binding, so ratios with targets are
measured without; rows that say "sticking supposed" are what users get.

"As the original works" is that program working as Choreonoid's ODE plugin does: a hash space and
no self-collision for each robot, up to 100 contacts for each pair of shapes and all of them kept,
friction along fixed axes, rotations to first order, no rotor inertia, no joint limits, an ODE body
for every link. What else Choreonoid does in a step is not in it. "Original" is the ratio to it;
below 1 is faster. QuickStep takes time in proportion to the rows, and a rotor is a row more to the
five of its joint: what has rotors is slower there than what ignores them.

Sensors are compared with who does the same work and nothing else: scans with the same rays in plain
C, a camera with a program in moderngl written for just its picture, an IMU and a force sensor with
their formulas in numpy. The CPU time of a picture is that of all threads. "Filmed" is a simulation
that steps as fast as it can while a camera takes 30 pictures in each second of wall time, drawn on
another core; its ratio, of wall times, is to the same without pictures. Without OpenGL, or a second
core for "filming", these are left out.
"""


def page(rows: Sequence[Row], machine: Machine, duration: float, runs: int) -> str:
    """Return the page as Markdown."""
    values = {name: getattr(machine, name) for name in Machine.__dataclass_fields__}
    parts = [_HEADER.format(**values, runs=runs, duration=duration), *_summary(rows)]
    for _, group in groupby(rows, key=lambda row: (row.scene, row.solver)):
        parts += _scene(list(group))
    return "\n".join(parts)


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    yield "## Targets\n"
    yield "| scene | solver | what | target | |\n| --- | --- | --- | --- | --- |"
    for row in rows:
        for target, verdict in row.judged():
            shown = f"**{verdict}**" if verdict == "missed" else verdict
            who = f"{row.scene} | {_solver(row.solver)} | {row.measured.value}"
            yield f"| {who} | {target} | {shown} |"
    yield ""


def _scene(rows: list[Row]) -> Iterator[str]:
    first = rows[0]
    solver = f", {first.solver.value} solver" if first.solver else ""
    yield f"## {first.scene}{solver}\n"
    yield f"{first.what[0].upper()}{first.what[1:]}.\n"
    columns = headings(rows)[:-1]  # targets have a table of their own
    yield "| " + " | ".join(columns) + " |"
    yield "| --- |" + " ---: |" * (len(columns) - 1)
    for row in rows:
        yield "| " + " | ".join(cells(row, rows)[:-1]) + " |"
    yield ""


def _solver(solver: Solver | None) -> str:
    return solver.value if solver else ""
