"""Closed mechanisms against their kinematics."""

import numpy as np
import pytest
from sim.physics.measures import energy
from sim.physics.scenes import PRISMATIC, REVOLUTE, X, Z, at, child, fixed, root

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.rigid import axis_angle_matrix
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


@SOLVERS
@pytest.mark.parametrize("oblique", [False, True])
def test_a_driven_slider_crank_keeps_to_its_kinematics(world, oblique, solver):
    R = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.9) if oblique else np.eye(3)
    body = slider_crank(ExtraJointType.BALL if oblique else ExtraJointType.HINGE, R)
    engine, crank = world(fixed(body), solver=solver)
    crank.drive.kd[0], crank.drive.dq[0] = 100.0, 4.0
    for _ in range(40):
        engine.step(50)
        assert crank.motion.q[2] == pytest.approx(slider_at(crank.motion.q[0]), abs=1e-4)
    assert crank.motion.q[0] == pytest.approx(8.0, rel=0.05)  # well past both dead points


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


@SOLVERS
def test_a_parallelogram_carries_its_coupler_without_turning_it(world, solver):
    links = (
        root(),
        child("LEFT", "BASE", REVOLUTE, Z),
        child("RIGHT", "BASE", REVOLUTE, Z, X_PL=at(0.4)),
        child("COUPLER", "LEFT", REVOLUTE, Z, X_PL=at(y=0.3)),
    )
    tie = ExtraJoint(
        type=ExtraJointType.HINGE, links=("COUPLER", "RIGHT"), X_AJ=at(0.4), X_BJ=at(y=0.3), axis=Z
    )
    body = Body(name="parallelogram", links=links, extra_joints=(tie,))
    engine, bars = world(fixed(body), gravity=(0, 0, 0), solver=solver)
    bars.drive.kp[0], bars.drive.kd[0] = 200.0, 20.0
    for angle in (0.3, 0.6, 0.9, -0.6):
        bars.drive.q[0] = angle
        engine.step(1000)  # ten times kd / kp
        left, right, coupler = (bars.motion.q[i] for i in range(3))
        assert left == pytest.approx(angle, abs=1e-3)
        assert right == pytest.approx(left, abs=1e-4)
        assert coupler == pytest.approx(-left, abs=1e-4)
