"""Advice on mimic joints, and on links that start inside each other."""

from dataclasses import replace

import numpy as np
from sim.physics.scenes import REVOLUTE, at, child, fixed, placed, root

from hrp_model import Severity
from hrp_model.body import Body, Mimic
from hrp_model.geometry import Box
from hrp_sim import Simulation
from hrp_sim.control import ControlSettings
from hrp_sim.engine.engine import PhysicsSettings, Solver
from hrp_sim.world.advice import advise, remarks
from hrp_sim.world.config import BodyEntry, WorldConfig


def found(q, solver=Solver.WORLD):
    follower = child("B", "BASE", REVOLUTE)
    follower = replace(follower, joint=replace(follower.joint, mimic=Mimic("A", 2.0, 0.1)))
    body = Body(name="gears", links=(root(), child("A", "BASE", REVOLUTE), follower))
    placement = fixed(body, q=np.array(q))
    physics = PhysicsSettings(solver=solver)
    entry = BodyEntry(placement=placement, control=ControlSettings())
    return [
        (d.code, d.message)
        for d in advise(WorldConfig(bodies=(entry,), physics=physics))
        if d.severity is Severity.WARNING
    ]


def test_gears_that_start_closed_are_fine():
    assert found([0.2, 0.5]) == []


def test_gears_that_start_open_are_reported_with_where_they_close():
    [(code, message)] = found([0.2, 0.3])
    assert code == "open-at-start"
    assert "0.2 rad" in message
    assert "{B: 0.5}" in message


def test_a_solver_without_gears_is_reported():
    [(code, message)] = found([0.2, 0.5], Solver.QUICK)
    assert code == "one-way-gears"
    assert "quick" in message


def test_links_that_start_inside_each_other_and_so_never_collide_are_noted():
    bar = (placed(Box(np.array([0.1, 0.5, 0.1])), at(y=0.2)),)
    arms = (child(name, "BASE", REVOLUTE, collision=bar) for name in "AB")
    body = Body(name="shears", links=(root(), *arms))
    with Simulation(WorldConfig(bodies=(BodyEntry(placement=fixed(body)),))) as simulation:
        [note] = remarks(simulation.bodies.values())
    assert (note.severity, note.code) == (Severity.NOTE, "links-overlap")
    assert "A-B" in note.message
