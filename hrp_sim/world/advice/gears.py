"""Rules for mimic joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hrp_model import Diagnostic, Link
from hrp_model.body import Mimic
from hrp_model.diagnostics import listed

from ...engine.engine import PhysicsSettings, Solver
from .initial_state import InitialState

_TOLERATED_GAP = 1e-3  # [rad] or [m]: closed within a millisecond


def gears_start_closed(_: PhysicsSettings, starts: Sequence[InitialState]) -> Iterator[Diagnostic]:
    """Mimic joints start where their leaders are; an engine moves both towards each other."""
    for start in starts:
        q = {link.name: float(start.state.q[i]) for i, link in start.joints()}
        gaps = []
        for link, mimic in _followers(start):
            wanted = mimic.position(q[mimic.link])
            if abs(wanted - q[link.name]) > _TOLERATED_GAP:
                gaps.append((abs(wanted - q[link.name]), f"{link.joint.name}: {wanted:.6g}"))
        if gaps:
            message = (
                f"mimic joints start up to {max(gaps)[0]:.3g} rad or m away from where their "
                "leaders are, and move there at 1 rad/s or 1 m/s; start with joints: "
                f"{{{listed([text for _, text in gaps], 8)}}}"
            )
            yield start.warning("open-at-start", message)


def gears_hold_both_ways(
    physics: PhysicsSettings, starts: Sequence[InitialState]
) -> Iterator[Diagnostic]:
    """Mimic joints are constraints of the exact solver alone."""
    if physics.solver is Solver.WORLD:
        return
    for start in starts:
        names = [f"'{link.joint.name}'" for link, _ in _followers(start)]
        if names:
            message = (
                f"mimic joints ({listed(names, 4)}) exert nothing on their leaders with the "
                f"solver '{physics.solver.value}', whatever they carry or touch; write "
                "solver: world"
            )
            yield start.warning("one-way-gears", message)


RULES = (gears_start_closed, gears_hold_both_ways)


def _followers(start: InitialState) -> Iterator[tuple[Link, Mimic]]:
    """Yield the links of mimic joints whose leaders move."""
    names = {link.name for _, link in start.joints()}
    for _, link in start.joints():
        mimic = link.joint.mimic
        if mimic is not None and mimic.link in names:
            yield link, mimic
