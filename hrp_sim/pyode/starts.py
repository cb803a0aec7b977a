"""Bodies put to where they start: ``body_reset`` in ``ode/_core_state.c``."""

from __future__ import annotations

import numpy as np

from ..articulation.articulation import Articulation
from .assembly import Assembly
from .coordinates import Coordinates
from .motion import Motion


def to_starts(bodies: list[Assembly], motion: Motion, coordinates: Coordinates) -> None:
    """Put bodies to their starts, and write them; motion and coordinates are of the same."""
    motion.write_groups(np.concatenate([np.zeros((25, 0)), *(b.first for b in bodies)], axis=1))
    for body in bodies:
        body.wrench.force[...] = body.wrench.torque[...] = 0.0
        body.motion.track_position[...] = 0.0
        body.limited[:] = False
        body.now[0] = body.articulation.q[body.coordinates]
    motion.read()
    coordinates.read_anew()
    motion.write_still(bodies)


def to_start_of(body: Assembly, articulation: Articulation) -> None:
    """Put the groups and joints of a body where an articulation starts, and write it."""
    body.start(articulation)
    body.limited[:] = False
    body.now[0] = articulation.q[body.coordinates]
    motion, coordinates = Motion([body]), Coordinates([body])
    motion.read()
    coordinates.read_anew()
    motion.write_still([body])
