"""Results: a row for each implementation of each scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from hrp_sim.engine.engine import Solver

from .measure import Contacts, Ratio, Times
from .scenes import Scene, Subject
from .targets import Measured, Quantity, Target, targets_of

# The implementation that each is compared with: the same work, by other means.
REFERENCE = {
    Measured.AT_ONCE: Measured.ENGINE,
    Measured.SIMULATION: Measured.ENGINE,
    Measured.PYODE: Measured.ENGINE,
    Measured.CAMERA: Measured.PLAIN_MODERNGL,
    Measured.FILMED: Measured.UNFILMED,
    Measured.SAMPLES: Measured.NUMPY_SAMPLES,
}
# Implementations that every other one is compared with, where they were measured.
_PEERS = {
    Measured.MUJOCO: Quantity.TO_MUJOCO,
    Measured.BULLET: Quantity.TO_BULLET,
    Measured.DRAKE: Quantity.TO_DRAKE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How fast an implementation of a scene is.

    Attributes:
        scene, description: Those of the scene.
        solver: None where it has no effect.
        measured: The implementation.
        us: Median time of a step, a scan, an image or a sample, in [us]: CPU time, but wall
            time of steps while images are taken.
        real_time_factor: Simulated time by that time; None where nothing is stepped.
        ratio: To the implementation in ``REFERENCE``; None for those that have none.
        to_peers: Further ratios, to other programs.
        contacts, depth: Number of contact points and depth of the deepest one, in [m], medians of
            the ends of all runs; None where nothing is stepped.
    """

    scene: str
    description: str
    solver: Solver | None
    measured: Measured
    us: float
    real_time_factor: float | None
    ratio: Ratio | None = None
    to_peers: Mapping[Quantity, Ratio] = field(default_factory=dict)
    contacts: float | None = None
    depth: float | None = None

    def verdicts(self) -> Iterator[tuple[Target, str]]:
        """Yield the targets of the row, each with "very good", "good" or "missed"."""
        targets = targets_of(self.scene, self.solver or Solver.WORLD, self.measured)
        for target in targets:
            value = {
                Quantity.RATIO: self.ratio.median if self.ratio else None,
                Quantity.TIME: self.us,
                Quantity.SPEED: self.real_time_factor,
                **{quantity: ratio.median for quantity, ratio in self.to_peers.items()},
            }.get(target.quantity)
            if value is not None:
                yield target, target.verdict(value)


def rows_of(scene: Scene, solver: Solver | None, times: Times, contacts: Contacts) -> list[Row]:
    """Return a row for each implementation of a scene."""
    is_stepped = scene.subject in (Subject.STEPS, Subject.FILMING)
    step_us = scene.world.physics.time_step * 1e6 if is_stepped else None
    rows = []
    for measured, own in times.items():
        reference = times.get(REFERENCE.get(measured, measured))
        compared = measured in REFERENCE and reference is not None
        touched = contacts.get(measured)
        peers = {peer: times[peer] for peer in _PEERS if peer in times and measured not in _PEERS}
        rows.append(
            Row(
                scene=scene.name,
                description=scene.description,
                solver=solver,
                measured=measured,
                us=median(own),
                real_time_factor=step_us / median(own) if step_us else None,
                ratio=Ratio.of(own, reference) if compared and reference else None,
                to_peers={_PEERS[peer]: Ratio.of(own, theirs) for peer, theirs in peers.items()},
                contacts=median(count for count, _ in touched) if touched else None,
                depth=median(depth for _, depth in touched) if touched else None,
            )
        )
    return rows
