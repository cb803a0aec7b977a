"""What each kind of extra joint holds, and what it leaves."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sim.physics.scenes import (
    FREE,
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    moving,
    root,
    world,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.loops import LoopClosure
from hrp_model.kinematics.loops.constraints import LoopConstraints
from hrp_model.rigid import Pose, axis_angle_matrix, unit_vector
from hrp_sim.engine.engine import PhysicsError, Solver

KINDS = pytest.mark.parametrize("kind", list(ExtraJointType))
SOLVERS = pytest.mark.parametrize("solver", list(Solver))
WEIGHTLESS = {"gravity": (0.0, 0.0, 0.0)}
XY, ALONG, HINGE = ExtraJointType.XY, ExtraJointType.Z, ExtraJointType.HINGE


def tangle(kind, seed, turned):
    """A free base, a link on a hinge, and six more joints in a row that come back to it."""
    rng = np.random.default_rng(seed)

    def axis():
        return unit_vector(rng.normal(size=3))

    def pose(is_turned=True):
        R = axis_angle_matrix(axis(), rng.uniform(-3.0, 3.0)) if is_turned else None
        return at(*rng.uniform(-0.2, 0.2, 3), R)

    joints = [REVOLUTE, REVOLUTE, PRISMATIC, REVOLUTE, PRISMATIC, REVOLUTE, PRISMATIC]
    parents = ["BASE", "BASE", "L1", "L2", "L3", "L4", "L5"]
    links = tuple(
        child(f"L{i}", parent, joint, axis(), X_PL=pose(), initial=0.1 * i)
        for i, (joint, parent) in enumerate(zip(joints, parents, strict=True))
    )
    ends = (Pose(), pose()) if turned else (pose(False), pose(False))
    tie = ExtraJoint(type=kind, links=("L0", "L6"), X_AJ=ends[0], X_BJ=ends[1], axis=axis())
    return Body(name="tangle", links=(root(free=True), *links), extra_joints=(tie,))


@cache
def closing_tangle(kind, turned):
    bodies = (tangle(kind, seed, turned) for seed in range(20))
    return next(body for body in bodies if LoopClosure(body).closes)


@KINDS
@pytest.mark.parametrize(("solver", "turned"), [(Solver.WORLD, True), (Solver.QUICK, False)])
def test_an_open_loop_is_pulled_into_what_the_kinematics_call_closed(kind, solver, turned):
    body = closing_tangle(kind, turned)
    closure, random = LoopClosure(body), np.random.default_rng(5)
    q = closure.assembled + random.uniform(-0.05, 0.05, len(closure.assembled))
    settings = {"solver": solver, "iterations": 300}
    engine, tied = world(moving(body, q=q), **WEIGHTLESS, **settings)
    constraints = LoopConstraints(body)
    assert np.abs(constraints.residual(q)).max() > 3e-3
    tied.drive.kd[:] = 2.0
    engine.step(500)
    assert_allclose(constraints.residual(tied.motion.q), 0.0, atol=2e-5)
    tied.drive.kd[:] = 0.0
    tied.drive.effort[:] = random.uniform(-0.2, 0.2, len(q))
    engine.step(200)
    assert np.abs(tied.motion.dq).max() > 0.01
    assert_allclose(constraints.residual(tied.motion.q), 0.0, atol=2e-5)


@KINDS
@SOLVERS
def test_two_free_bodies_keep_their_momentum(kind, solver):
    inertia = (np.diag([0.01, 0.02, 0.025]), np.eye(3) * 0.01)
    links = (
        root(free=True, inertia=inertia[0], mass=1.3),
        child("S", "BASE", FREE, mass=0.7, X_PL=at(0.3)),
    )
    axis = unit_vector(np.array([0.3, 0.5, 0.8]))
    ends = {"X_AJ": at(0.2, 0.1, 0.05), "X_BJ": at(-0.1, 0.1, 0.05)}
    tie = ExtraJoint(type=kind, links=("BASE", "S"), axis=axis, **ends)
    body = Body(name="m", links=links, extra_joints=(tie,))
    start = moving(body, v=np.array([0.1, 0.2, 0.3]), w=np.array([1.0, -2.0, 1.5]))
    engine, pair = world(start, solver=solver, **WEIGHTLESS)
    m = pair.motion

    def momenta():
        P = 1.3 * m.v[0] + 0.7 * m.v[1]
        L = sum(
            mass * np.cross(m.p[i], m.v[i]) + m.R[i] @ inertia[i] @ m.R[i].T @ m.w[i]
            for i, mass in enumerate((1.3, 0.7))
        )
        return P, L

    P, L = momenta()
    engine.step(1000)
    assert_allclose(momenta()[0], P, atol=1e-12)
    assert_allclose(momenta()[1], L, atol=1e-4)
    apart = m.R[0].T @ (m.p[1] + m.R[1] @ ends["X_BJ"].p - m.p[0]) - ends["X_AJ"].p
    held = {
        XY: apart - axis * (axis @ apart),
        ExtraJointType.PISTON: apart - axis * (axis @ apart),
        ALONG: axis * (axis @ apart),
    }
    assert_allclose(held.get(kind, apart), 0.0, atol=1e-5)


@KINDS
@pytest.mark.parametrize("turned", [False, True])
def test_accelerations_are_those_of_the_constrained_equations_of_motion(kind, turned):
    body = closing_tangle(kind, turned)
    closure = LoopClosure(body)
    q, J = closure.assembled, closure.jacobian(closure.assembled)
    efforts = np.random.default_rng(6).uniform(-1.0, 1.0, len(q))
    state = BodyState(body, fix_root=True)
    state.q[:] = q
    state.calc_forward_kinematics()
    # M ddq + J^T f = efforts and J ddq = 0: no direction is held that the joint leaves.
    M = np.block([[state.calc_mass_matrix(), J.T], [J, np.zeros((len(J), len(J)))]])
    ddq = np.linalg.lstsq(M, np.concatenate([efforts, np.zeros(len(J))]), rcond=1e-12)[0]
    engine, tied = world(fixed(body, q=q), cfm=1e-12, **WEIGHTLESS)
    tied.drive.effort[:] = efforts
    engine.step()
    expected = 0.001 * ddq[: len(q)]
    assert_allclose(tied.motion.dq, expected, atol=1e-5 * np.abs(expected).max())


@SOLVERS
@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("world_first", [True, False])
def test_a_bead_slides_along_a_wire(solver, way, world_first):
    wire = unit_vector(np.array([0.6, 0.0, -0.8]))
    # The wire belongs to A: where that is the bead, it is one that cannot be turned.
    inertia = np.eye(3) * (0.01 if world_first else 1e6)
    names = ("BASE", "BEAD") if world_first else ("BEAD", "BASE")
    tie = ExtraJoint(type=XY, links=names, axis=way * wire)
    links = (root(), child("BEAD", "BASE", FREE, inertia=inertia))
    engine, b = world(fixed(Body(name="b", links=links, extra_joints=(tie,))), solver=solver)
    engine.step(500)
    assert_allclose(b.motion.p[1], 0.5 * 0.8 * G * 0.25 * wire, atol=1e-6)
    assert_allclose(b.motion.w[1], 0.0, atol=1e-6)


@SOLVERS
@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("world_first", [True, False])
def test_a_z_joint_holds_a_point_in_a_plane_from_both_sides(solver, way, world_first):
    normal = way * unit_vector(np.array([0.6, 0.0, 0.8]))
    down = unit_vector(np.array([0.8, 0.0, -0.6]))
    inertia = np.eye(3) * (0.01 if world_first else 1e6)
    names = ("BASE", "PUCK") if world_first else ("PUCK", "BASE")
    tie = ExtraJoint(type=ALONG, links=names, axis=normal)
    links = (root(), child("PUCK", "BASE", FREE, inertia=inertia))
    engine, b = world(fixed(Body(name="b", links=links, extra_joints=(tie,))), solver=solver)
    engine.step(500)
    assert_allclose(b.motion.p[1], 0.5 * 0.6 * G * 0.25 * down, atol=1e-6)
    assert_allclose(b.motion.w[1], 0.0, atol=1e-6)


def four_bar(gap=0.0, **crank):
    """A parallelogram of 0.1 and 0.2 about Y; its hinge is open by ``gap`` along its axis."""
    links = (
        root(),
        child("CRANK", "BASE", REVOLUTE, Y, center_of_mass=0.1 * X, **crank),
        child("BAR", "CRANK", REVOLUTE, Y, X_PL=at(0.1), center_of_mass=0.1 * Z),
        child("ROCKER", "BASE", REVOLUTE, Y, X_PL=at(z=0.2), center_of_mass=0.1 * X),
    )
    ends = {"X_AJ": at(z=0.2), "X_BJ": at(0.1, gap)}
    tie = ExtraJoint(type=HINGE, links=("BAR", "ROCKER"), axis=Y, name="tie", **ends)
    return Body(name="bars", links=links, extra_joints=(tie,))


def test_a_gap_that_no_joint_changes_is_left_as_the_model_has_it(caplog):
    runs = []
    for gap in (0.0, 0.04):
        engine, bars = world(fixed(four_bar(gap)))
        engine.step(150)
        runs.append(bars.motion.q.copy())
    assert np.abs(runs[0]).max() > 0.3
    assert_allclose(runs[1], runs[0], atol=1e-6)
    assert "body 'bars': the loop 'tie' is open by 40 mm in every posture" in caplog.text


def test_a_loop_that_no_posture_closes_is_named(caplog):
    body = four_bar()
    short = replace(body.extra_joints[0], X_AJ=at(z=0.9))
    world(fixed(replace(body, extra_joints=(short,))))
    assert "the loop 'tie' is open by" in caplog.text
    assert "no posture closes it" in caplog.text


NAN = np.full(3, np.nan)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"axis": np.zeros(3)}, "link 'BAR': extra joint 'tie' has a zero axis"),
        ({"axis": NAN}, "link 'BAR': extra joint 'tie' has a number that is not finite or above"),
        (
            {"X_BJ": Pose(np.eye(3), NAN)},
            "the position of its extra joint to 'ROCKER' must be below .* not nan",
        ),
        (
            {"X_AJ": Pose(np.eye(3), 1e10 * X)},
            "link 'BAR': the position of its extra joint to 'ROCKER'",
        ),
        ({"X_BJ": Pose(-np.eye(3))}, "link 'BAR': the frame of its extra joint 'tie' is not a"),
        ({"links": ("BAR", "ROKER")}, "extra joint 'tie': no link 'ROKER' in body 'bars'"),
    ],
)
def test_impossible_extra_joints_are_refused_by_name(change, problem):
    body = four_bar()
    tie = replace(body.extra_joints[0], **change)
    with pytest.raises(PhysicsError, match=f"body 'bars'.*{problem}"):
        world(fixed(replace(body, extra_joints=(tie,))))


@SOLVERS
def test_steps_with_all_kinds_repeat_bit_by_bit(solver):
    starts = [
        replace(moving(closing_tangle(kind, True), at(2.0 * i)), name=kind.value)
        for i, kind in enumerate(ExtraJointType)
    ]
    engine, *tied = world(*starts, solver=solver)
    again, *others = world(*starts, solver=solver)
    for body in tied:
        body.drive.effort[:] = 0.1
    for body in others:
        body.drive.effort[:] = 0.1
    again.step(100)
    again.reset()
    for _ in range(100):
        again.step()
    engine.step(100)
    for one, other in zip(tied, others, strict=True):
        assert_array_equal(one.motion.p, other.motion.p)
        assert_array_equal(one.motion.dq, other.motion.dq)
