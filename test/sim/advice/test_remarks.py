"""Notes on how an engine simulates bodies."""

import numpy as np
from sim.physics.scenes import REVOLUTE, at, child, fixed, placed, root

from hrp_model import Severity
from hrp_model.body import Body
from hrp_model.geometry import Box
from hrp_sim import Simulation
from hrp_sim.world.advice import remarks
from hrp_sim.world.config import BodyEntry, WorldConfig


def test_links_that_start_inside_each_other_and_so_never_collide_are_noted():
    bar = (placed(Box(np.array([0.1, 0.5, 0.1])), at(y=0.2)),)
    arms = (child(name, "BASE", REVOLUTE, collision=bar) for name in "AB")
    body = Body(name="shears", links=(root(), *arms))
    with Simulation(WorldConfig(bodies=(BodyEntry(placement=fixed(body)),))) as simulation:
        [note] = remarks(simulation.bodies.values())
    assert (note.severity, note.code) == (Severity.NOTE, "links-overlap")
    assert "A-B" in note.message
