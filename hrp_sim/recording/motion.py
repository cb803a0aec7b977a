"""Motion of bodies as a sequence of postures, from a recording or simulated now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

from hrp_model import Body, BodyState, Diagnostics

from ..advice import advise
from ..physics.engine import PhysicsError, Placement
from ..physics.schedule import NS_PER_S
from ..render.view import LinkPoses
from ..simulation import Simulation
from ..world.load import load_world
from .recorded_run import RecordedRun

MAX_RATE = 25.0  # in [Hz]
# Poses of moving links, as many as 60 s of 80 links at the highest rate: about 7 MB of a page.
MAX_POSES = 120_000


@dataclass
class Motion:
    """The postures of bodies over time.

    Attributes:
        bodies: By name.
        rate: Postures per second, in [Hz].
        postures: Poses of all links by body, the first at the start.
        problem: Why the physics ended the run early; empty otherwise.
    """

    bodies: Mapping[str, Body]
    rate: float
    postures: list[Mapping[str, LinkPoses]] = field(default_factory=list)
    problem: str = ""

    @property
    def duration(self) -> float:
        """Time from the first to the last posture, in [s]."""
        return max(len(self.postures) - 1, 0) / self.rate


def recorded_motion(run: RecordedRun, duration: float | None = None) -> Motion:
    """Return the motion of a recorded run.

    Args:
        run: The run.
        duration: Of the part from its start, in [s]; by default all of it.
    """
    length = (run.end_ns - run.start_ns) / NS_PER_S
    length = length if duration is None else min(length, duration)
    motion = Motion(run.bodies, _rate(run.bodies, length))
    for time_ns in _times(length, motion.rate):
        motion.postures.append(run.poses(run.start_ns + time_ns))
    return motion


def simulated_motion(world: str, duration: float, diagnostics: Diagnostics) -> Motion:
    """Simulate a world, and return the motion.

    Args:
        world: As for ``load_world``.
        duration: In [s] of simulation time; shorter if the physics fails.
        diagnostics: Receives the problems of the world and its models, as ``hrp-sim check``
            reports them.

    Raises:
        ModelError: The world cannot be used.
    """
    config = load_world(world, diagnostics)
    bodies = {entry.placement.name: entry.placement.body for entry in config.bodies}
    motion = Motion(bodies, _rate(bodies, duration))
    try:
        with Simulation(config, defer_images=True, diagnostics=diagnostics) as simulation:
            for advice in advise(config):
                diagnostics.add(advice)
            simulation.wanted = lambda _: False  # no sensor is read
            for time_ns in _times(duration, motion.rate):
                while simulation.state.time_ns < time_ns:
                    simulation.step()
                motion.postures.append(_posture(simulation))
    except PhysicsError as error:
        motion.problem = str(error)
        if not motion.postures:
            motion.postures.append({x.placement.name: _placed(x.placement) for x in config.bodies})
    return motion


def _placed(placement: Placement) -> LinkPoses:
    """Return the poses of the links of a body in its initial state."""
    state = BodyState(placement.body)
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.q = placement.initial_q
    state.calc_forward_kinematics()
    return LinkPoses(state.p, state.R)


def _posture(simulation: Simulation) -> dict[str, LinkPoses]:
    return {
        name: LinkPoses(simulated.motion.p.copy(), simulated.motion.R.copy())
        for name, simulated in simulation.bodies.items()
    }


def _rate(bodies: Mapping[str, Body], duration: float) -> float:
    """Return the rate of postures in [Hz] at which there are at most ``MAX_POSES``."""
    links = sum(len(body.links) for body in bodies.values() if not body.is_static)
    return min(MAX_RATE, MAX_POSES / max(duration * links, 1.0))


def _times(duration: float, rate: float) -> Iterator[int]:
    """Yield the times of postures from zero on, in [ns]."""
    return (round(i / rate * NS_PER_S) for i in range(ceil(duration * rate - 1e-9) + 1))
