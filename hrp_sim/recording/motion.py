"""Motion of bodies as a sequence of postures, from a recording or simulated now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from hrp_model import Body, BodyState, Diagnostics

from ..engine.engine import PhysicsError, Placement
from ..render.view import BodyPoses, LinkPoses
from ..simulation import Simulation
from ..world.advice import advise
from ..world.load import load_world
from ..world.projects import AS_IN_PROJECT, ProjectOptions
from .video import FilmSource, RecordingSource, SimulationSource

if TYPE_CHECKING:  # so that worlds need no library for recordings
    from .recorded_run import RecordedRun

MAX_RATE = 25.0  # in [Hz]
# Poses of moving links, as many as 60 s of 80 links at the highest rate: about 7 MB of a page.
MAX_POSES = 120_000


@dataclass(frozen=True)
class RecordedMotion:
    """The postures of bodies over time.

    Attributes:
        bodies: By name.
        rate: Postures per second, in [Hz].
        postures: Poses of all links by body, the first at the start; later ones without the
            bodies that cannot move.
        problem: Why the physics ended the run early; empty otherwise.
    """

    bodies: Mapping[str, Body]
    rate: float
    postures: list[BodyPoses]
    problem: str

    @property
    def duration(self) -> float:
        """Time from the first to the last posture, in [s]."""
        return max(len(self.postures) - 1, 0) / self.rate


def recorded_motion(run: RecordedRun, duration: float | None = None) -> RecordedMotion:
    """Return the motion of a recorded run.

    Args:
        run: The run.
        duration: Of the part from its start, in [s]; by default all of it.
    """
    source = RecordingSource(run)
    length = source.duration if duration is None else min(source.duration, duration)
    return _motion(source, length)


def simulated_motion(
    world: str,
    duration: float,
    diagnostics: Diagnostics,
    *,
    project: ProjectOptions = AS_IN_PROJECT,
) -> RecordedMotion:
    """Simulate a world, and return the motion.

    Args:
        world: As for ``load_world``.
        duration: In [s] of simulation time; shorter if the physics fails.
        diagnostics: Receives the problems of the world and its models, as ``hrp-sim check``
            reports them.
        project: How a project is read.

    Raises:
        ModelError: The world cannot be used.
    """
    config = load_world(world, diagnostics, project=project)
    try:
        with Simulation(config, defer_images=True, diagnostics=diagnostics) as simulation:
            for advice in advise(config):
                diagnostics.add(advice)
            return _motion(SimulationSource(simulation), duration)
    except PhysicsError as error:
        placed = [entry.placement for entry in config.bodies]
        bodies = {placement.name: placement.body for placement in placed}
        return RecordedMotion(bodies, MAX_RATE, [{x.name: _placed(x) for x in placed}], str(error))


def _placed(placement: Placement) -> LinkPoses:
    """Return the poses of the links of a body in its initial state."""
    state = BodyState(placement.body)
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.q = placement.initial_q
    state.calc_forward_kinematics()
    return LinkPoses(state.p, state.R)


def _motion(source: FilmSource, duration: float) -> RecordedMotion:
    """Return the motion of a run at a rate at which there are at most ``MAX_POSES``."""
    moving = {name for name, body in source.bodies.items() if not body.is_static}
    links = max(sum(len(source.bodies[name].links) for name in moving), 1)
    rate = min(MAX_RATE, MAX_POSES / max(duration * links, 1.0))
    postures: list[BodyPoses] = []
    for frame in islice(source.frames(rate), ceil(duration * rate - 1e-9) + 1):
        poses = {name: x for name, x in frame.poses.items() if not postures or name in moving}
        postures.append(poses)
    return RecordedMotion(source.bodies, rate, postures, source.problem)
