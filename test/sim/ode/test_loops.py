"""Extra joints close loops, and keep them closed."""

import logging

import numpy as np
import pytest
from sim.ode.scenes import PRISMATIC, REVOLUTE, X, Y, Z, at, child, fixed, placed, root, world

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.geometry import Box
from hrp_model.rigid import axis_angle_matrix


def slider_crank(kind):
    """A crank of 0.2 and a rod of 0.5 about Z; the rod's end is tied to a slider along X."""
    links = (
        root(),
        child("CRANK", "BASE", REVOLUTE, Z),
        child("ROD", "CRANK", REVOLUTE, Z, X_PL=at(0.2)),
        child("SLIDER", "BASE", PRISMATIC, X),
    )
    tie = ExtraJoint(
        type=kind, links=("ROD", "SLIDER"), X_AJ=at(0.5), X_BJ=at(0.7), axis=Z, name="tie"
    )
    return Body(name="crank", links=links, extra_joints=(tie,))


@pytest.mark.parametrize("kind", [ExtraJointType.BALL, ExtraJointType.HINGE])
def test_a_slider_crank_follows_its_kinematics(kind):
    engine, crank = world(fixed(slider_crank(kind)), gravity=(0, 0, 0))
    crank.drive.kd[0], crank.drive.dq[0] = 100.0, 2.0
    for _ in range(30):
        engine.step(100)
        angle = crank.motion.q[0]
        x = 0.2 * np.cos(angle) + np.sqrt(0.25 - (0.2 * np.sin(angle)) ** 2)
        assert crank.motion.q[2] == pytest.approx(x - 0.7, abs=1e-4)
    assert crank.motion.q[0] == pytest.approx(6.0, abs=0.05)


def test_a_piston_leaves_sliding_and_turning_about_its_axis():
    links = (
        root(),
        child("A", "BASE", REVOLUTE, Z),
        child("B", "BASE", REVOLUTE, Z, X_PL=at(0.3)),
    )
    # A point of B at 0.1 beside its axis runs along a slot in A.
    slot = ExtraJoint(
        type=ExtraJointType.BALL, links=("A", "B"), X_AJ=at(0.3, 0.1), X_BJ=at(0.0, 0.1)
    )
    rigid = Body(name="m", links=links, extra_joints=(slot,))
    engine, stuck = world(fixed(rigid), gravity=(0, 0, 0))
    stuck.drive.effort[0] = 1.0
    engine.step(300)
    assert abs(stuck.motion.q[0]) < 1e-4  # a triangle cannot move
    links = (links[0], links[1], child("B", "BASE", PRISMATIC, X, X_PL=at(0.3)))
    rail = ExtraJoint(type=ExtraJointType.PISTON, links=("A", "B"), axis=X, X_AJ=at(0.3))
    engine, free = world(
        fixed(Body(name="m", links=links, extra_joints=(rail,))), gravity=(0, 0, 0)
    )
    free.drive.effort[:] = 1.0, 1.0
    engine.step(300)
    assert abs(free.motion.q[0]) < 1e-4
    assert free.motion.q[1] == pytest.approx(0.5 * 0.3**2, rel=1e-2)


def test_points_that_do_not_meet_are_pulled_together():
    body = slider_crank(ExtraJointType.BALL)
    engine, crank = world(fixed(body, q=np.array([0.0, 0.0, 0.02])), gravity=(0, 0, 0))
    crank.drive.kd[:] = 1.0
    engine.step(500)
    m = crank.motion
    end = m.R[2] @ [0.5, 0, 0] + m.p[2]
    np.testing.assert_allclose(end, m.R[3] @ [0.7, 0, 0] + m.p[3], atol=1e-4)


def test_a_fixed_extra_joint_holds_to_a_static_link():
    links = (root(), child("A", "BASE", REVOLUTE, X, center_of_mass=0.3 * Y))
    weld = ExtraJoint(type=ExtraJointType.FIXED, links=("A", "BASE"))
    body = Body(name="weld", links=links, extra_joints=(weld,))
    engine, held = world(fixed(body, at(R=axis_angle_matrix(Z, 0.3)), q=np.array([0.5])))
    engine.step(500)
    assert held.motion.q[0] == pytest.approx(0.5, abs=1e-4)


def test_links_that_overlap_at_the_start_are_named(caplog):
    bar = (placed(Box(np.array([0.1, 0.5, 0.1])), at(y=0.2)),)
    links = (
        root(),
        child("A", "BASE", REVOLUTE, X, collision=bar),
        child("B", "BASE", REVOLUTE, X, collision=bar),
    )
    with caplog.at_level(logging.INFO, logger="hrp_sim"):
        world(fixed(Body(name="b", links=links)))
    assert "overlapping links pass through each other: A-B" in caplog.text
