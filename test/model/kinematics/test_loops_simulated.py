"""Closed loops, against an engine that knows nothing of how they are closed here."""

from dataclasses import replace

import numpy as np
from each_case import all_cases
from loop_bodies import PRISMATIC, REVOLUTE, X, Y, Z, at, base, four_bar, link, slider_crank, tie

from hrp_model.body import Body, ExtraJointType
from hrp_model.kinematics.loops import LoopClosure
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.engine.ode import OdeEngine


def simulated(body, velocity):
    """Postures of a body whose first joint is driven, after 0.1 s each."""
    engine = OdeEngine(PhysicsSettings(gravity=(0, 0, 0)))
    q = LoopClosure(body).assembled
    moved = engine.add_body(Placement(name=body.name, body=body, X_WL=Pose(), fixed=True, q=q))
    moved.drive.kd[0], moved.drive.dq[0] = 1000.0, velocity
    for _ in range(12):
        engine.step(100)
        yield moved.motion.q.copy()


def spherical(kind):
    """A spherical four-bar: all axes meet in one point, where the loop is tied as well."""
    x30, x60 = (axis_angle_matrix(X, np.radians(angle)) for angle in (30, 70))
    links = (
        base(),
        link("CRANK", "BASE", REVOLUTE, Z, id=0, X_PL=at(R=axis_angle_matrix(Y, 0.3))),
        link("COUPLER", "CRANK", REVOLUTE, Z, X_PL=at(R=x30)),
        link("ROCKER", "BASE", REVOLUTE, Z, X_PL=at(R=axis_angle_matrix(X, 1.1))),
    )
    joint = tie("COUPLER", "ROCKER", at(), at(), kind, axis=x60 @ Z)
    return Body(name="spherical", links=links, extra_joints=(joint,))


def wedge():
    """Two sliders and a slot between them, turned by a quarter against each other."""
    turned = at(R=axis_angle_matrix(Z, np.pi / 2))
    links = (
        base(),
        link("WEDGE", "BASE", PRISMATIC, X, id=0),
        link("LIFT", "BASE", PRISMATIC, X, X_PL=turned),
    )
    joint = tie("WEDGE", "LIFT", at(), at(), ExtraJointType.PISTON, axis=[0.8, 0.6, 0.0])
    return Body(name="wedge", links=links, extra_joints=(joint,))


def welded():
    """A four-bar whose rocker is two links, welded by an extra joint."""
    body = four_bar(0.2, 0.5, 0.4, 0.5)
    twin = replace(body.link("ROCKER"), name="TWIN")
    twin = replace(twin, joint=replace(twin.joint, name="TWIN", initial=-0.4))
    weld = tie("ROCKER", "TWIN", at(), at(), ExtraJointType.FIXED, name="weld")
    return replace(body, links=(*body.links, twin), extra_joints=(*body.extra_joints, weld))


@all_cases(
    "body",
    [
        four_bar(0.2, 0.5, 0.4, 0.5, kind=ExtraJointType.BALL),
        four_bar(0.2, 0.5, 0.4, 0.5, kind=ExtraJointType.HINGE),
        slider_crank(kind=ExtraJointType.PISTON),
        spherical(ExtraJointType.HINGE),
        spherical(ExtraJointType.PISTON),
        wedge(),
        welded(),
    ],
)
def test_joints_follow_where_physics_moves_them(body):
    closure = LoopClosure(body)
    (lead,) = closure.independent
    near, travel = closure.assembled, 0.0
    assert np.abs(closure.residual(near)).max() < 1e-12
    for q in simulated(body, 1.5):
        near = closure.close(q, near=near)
        np.testing.assert_allclose(q, near, atol=5e-4)
        travel = abs(q[lead] - closure.assembled[lead])
    assert travel > 0.5
