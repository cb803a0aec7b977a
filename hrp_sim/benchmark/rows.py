"""Results: one row for each way to step each scene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from ..physics.engine import Solver
from .measure import Ratio, Times
from .scenes import Scene, Subject
from .targets import AS_ORIGINAL, Measured, Quantity, Target, targets_of

# Who does the same work with nothing around it.
REFERENCE = {
    Measured.ENGINE: Measured.PLAIN,
    Measured.SIMULATION: Measured.PLAIN,
    Measured.PYODE: Measured.PLAIN,
    Measured.ENGINE_STICKING: Measured.PLAIN,
    Measured.SIMULATION_STICKING: Measured.PLAIN,
    Measured.AT_ONCE: Measured.PLAIN_AT_ONCE,
    Measured.SCAN: Measured.PLAIN_SCAN,
    Measured.CAMERA: Measured.BARE_DRAWING,
    Measured.FILMED: Measured.UNFILMED,
    Measured.SAMPLES: Measured.NUMPY_SAMPLES,
}
# What a user gets, sensors read: only WORLD can suppose that contacts stick.
_AS_USED = {
    Solver.QUICK: (Measured.SIMULATION,),
    Solver.WORLD: (Measured.SIMULATION_STICKING,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How fast one way to step a scene is.

    Attributes:
        scene, what: Of the scene.
        solver: None where none matters.
        measured: Which way.
        us: Median time of a step, a scan, a picture or a sample, in [us]: CPU time, but wall
            time of steps while pictures are taken.
        real_time_factor: Simulated by that time; None where nothing is stepped.
        ratio: To the reference in ``REFERENCE``; None for those who are references.
        to_original: Ratio to the original's way, where that was measured.
    """

    scene: str
    what: str
    solver: Solver | None
    measured: Measured
    us: float
    real_time_factor: float | None
    ratio: Ratio | None = None
    to_original: Ratio | None = None

    def judged(self) -> Iterator[tuple[Target, str]]:
        """Yield the row's targets, and whether they are reached."""
        targets = targets_of(self.scene, self.solver or Solver.WORLD, self.measured)
        if self.to_original and self.measured in _AS_USED[self.solver or Solver.WORLD]:
            targets = (*targets, AS_ORIGINAL)
        for target in targets:
            value = {
                Quantity.RATIO: self.ratio.median if self.ratio else None,
                Quantity.TO_ORIGINAL: self.to_original.median if self.to_original else None,
                Quantity.TIME: self.us,
                Quantity.SPEED: self.real_time_factor,
            }[target.quantity]
            if value is not None:
                yield target, target.verdict(value)


def rows_of(scene: Scene, solver: Solver | None, times: Times) -> list[Row]:
    """Return a row for everybody who took turns in a scene."""
    is_stepped = scene.subject in (Subject.STEPS, Subject.FILMING)
    step_us = scene.world.physics.time_step * 1e6 if is_stepped else None
    original = times.get(Measured.ORIGINAL)
    rows = []
    for measured, own in times.items():
        reference = times.get(REFERENCE.get(measured, measured))
        compared = measured in REFERENCE and reference is not None
        to_original = original is not None and measured is not Measured.ORIGINAL
        rows.append(
            Row(
                scene=scene.name,
                what=scene.what,
                solver=solver,
                measured=measured,
                us=median(own),
                real_time_factor=step_us / median(own) if step_us else None,
                ratio=Ratio.of(own, reference) if compared and reference else None,
                to_original=Ratio.of(own, original) if to_original and original else None,
            )
        )
    return rows
