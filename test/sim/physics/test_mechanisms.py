"""Closed mechanisms against their kinematics."""

import numpy as np
import pytest
from sim.physics.measures import energy
from sim.physics.scenes import PRISMATIC, REVOLUTE, X, Z, at, child, fixed, root

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_sim.engine.engine import Solver

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
CRANK, ROD = 0.2, 0.5


def slider_crank(kind, R):
    """A crank and a rod in a plane that R turns; the rod's end rides on a slider along X."""
    links = (
        root(),
        child("CRANK", "BASE", REVOLUTE, Z, X_PL=at(R=R), rotor=0.02),
        child("ROD", "CRANK", REVOLUTE, Z, X_PL=at(CRANK), center_of_mass=ROD / 2.0 * X),
        child("SLIDER", "BASE", PRISMATIC, X, X_PL=at(R=R)),
    )
    tie = ExtraJoint(
        type=kind, links=("ROD", "SLIDER"), X_AJ=at(ROD), X_BJ=at(CRANK + ROD), axis=Z, name="tie"
    )
    return Body(name="crank", links=links, extra_joints=(tie,))


def slider_at(angle):
    return CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2) - CRANK - ROD


def test_a_free_slider_crank_keeps_its_energy(world):
    """Started by its crank, it trades energy between its parts and loses little."""
    body = slider_crank(ExtraJointType.HINGE, np.eye(3))
    dq = np.array([5.0, -5.0 - 5.0 * CRANK / ROD, 0.0])  # consistent at the dead point
    engine, crank = world(fixed(body, dq=dq), gravity=(0, 0, 0), time_step=2.5e-4)
    energies = []
    for _ in range(40):
        engine.step(100)
        energies.append(energy(crank, gravity=0.0))
        assert crank.motion.q[2] == pytest.approx(slider_at(crank.motion.q[0]), abs=1e-4)
    assert np.ptp(energies) < 0.01 * energies[0]
