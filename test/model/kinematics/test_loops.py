"""Closed loops, against closed forms, differences and the laws of mobility."""

from dataclasses import replace
from math import cos, pi, sin

import numpy as np
import pytest
from each_case import all_cases
from hypothesis import given
from hypothesis import strategies as st
from loop_bodies import (
    GRASHOF,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    X,
    Y,
    Z,
    at,
    base,
    four_bar,
    four_bar_reach,
    freudenstein,
    hexapod,
    hexapod_leg,
    link,
    random_loops,
    scissor_lift,
    slider_crank,
    slider_position,
    tie,
    tilted,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.loops import LoopClosure, LoopError
from hrp_model.rigid import Pose, axis_angle_matrix, rpy_matrix


def names(closure, joints):
    return [closure.body.moving_links[i].name for i in joints]


def at_angle(closure, joint, value, near=None):
    q = (closure.assembled if near is None else near).copy()
    q[[x.name for x in closure.body.moving_links].index(joint)] = value
    return closure.close(q, near=near)


def position(closure, q, joint):
    return q[[x.name for x in closure.body.moving_links].index(joint)]


@pytest.mark.parametrize("kind", PLANAR)
def test_a_four_bar_follows_freudenstein_through_whole_turns(kind):
    closure = LoopClosure(tilted(four_bar(*GRASHOF, kind=kind), Y, 0.7))
    near = closure.assembled
    for angle in np.arange(1.0, 14.0, 0.1):
        near = at_angle(closure, "CRANK", angle, near)
        rocker = position(closure, near, "ROCKER")
        expected = freudenstein(*GRASHOF, angle)
        assert rocker - expected == pytest.approx(2 * pi * round((rocker - expected) / 2 / pi))
        assert np.abs(closure.residual(near)).max() < 1e-12


@pytest.mark.parametrize("kind", PLANAR)
def test_a_far_target_is_reached_on_the_same_branch(kind):
    closure = LoopClosure(four_bar(*GRASHOF, kind=kind))
    for angle in np.random.default_rng(0).uniform(-6, 6, 25):
        q = at_angle(closure, "CRANK", angle)
        rocker = position(closure, q, "ROCKER")
        assert cos(rocker - freudenstein(*GRASHOF, angle)) == pytest.approx(1.0, abs=1e-12)


def test_a_crank_drives_a_slider():
    closure = LoopClosure(slider_crank())
    assert names(closure, closure.independent) == ["CRANK"]
    for angle in np.linspace(-7, 7, 40):
        q = at_angle(closure, "CRANK", angle)
        assert position(closure, q, "SLIDER") == pytest.approx(slider_position(angle), abs=1e-12)


def test_a_slider_drives_a_crank():
    """Any joints may be given; of two solutions the one at hand is kept."""
    closure = LoopClosure(slider_crank())
    order = [x.name for x in closure.body.moving_links]
    slider = order.index("SLIDER")
    for side in (1, -1):
        near = at_angle(closure, "CRANK", side * 0.5)
        for angle in side * np.linspace(0.5, 3.0, 20):
            q = near.copy()
            q[slider] = slider_position(angle)
            near = closure.close(q, given=[slider], near=near)
            assert position(closure, near, "CRANK") == pytest.approx(angle, abs=1e-9)


def test_a_scissor_lift_has_one_degree_of_freedom():
    closure = LoopClosure(scissor_lift())
    assert names(closure, closure.independent) == ["A1"]
    q = at_angle(closure, "A1", 1.2)
    assert position(closure, q, "SLIDER") == pytest.approx(cos(1.2), abs=1e-12)
    assert position(closure, q, "B2") == pytest.approx(pi - 2.4, abs=1e-12)


def test_the_legs_of_a_hexapod_put_its_platform_where_they_reach():
    closure = LoopClosure(hexapod())
    assert names(closure, closure.independent) == [f"LEG{i}" for i in range(6)]
    order = [x.name for x in closure.body.moving_links]
    p, (z, y, x) = np.array([0.05, -0.08, 0.85]), (0.15, -0.1, 0.12)
    R = rpy_matrix(x, y, z)
    q = closure.assembled.copy()
    for i in range(6):
        foot, anchor = hexapod_leg(i)
        q[order.index(f"LEG{i}")] = np.linalg.norm(p + R @ anchor - foot)
    q = closure.close(q)
    pose = [q[order.index(n)] for n in ("PX", "PY", "PZ", "RZ", "RY", "PLATFORM")]
    np.testing.assert_allclose(pose, [*p, z, y, x], atol=1e-10)


def test_slopes_are_the_velocities_of_the_joints_that_follow():
    closure = LoopClosure(hexapod())
    h, q = 1e-5, closure.assembled
    for k, joint in enumerate(closure.independent):
        ends = []
        for step in (h, -h):
            moved = q.copy()
            moved[joint] += step
            ends.append(closure.close(moved)[closure.dependent])
        slopes = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(closure.slopes(q)[:, k], slopes, rtol=0, atol=1e-7)


@given(seed=st.integers(0, 10_000))
def test_the_jacobian_is_the_derivative_of_the_residual(seed):
    body = random_loops(seed)
    closure = LoopClosure(body)
    rng = np.random.default_rng(seed)
    q = rng.normal(size=len(body.moving_links))
    J, h = closure.jacobian(q), 1e-6
    assert J.shape == (len(closure.residual(q)), len(q))
    for k, step in enumerate(h * np.eye(len(q))):
        slope = (closure.residual(q + step) - closure.residual(q - step)) / (2 * h)
        np.testing.assert_allclose(J[:, k], slope, atol=1e-7)


@given(seed=st.integers(0, 10_000))
def test_random_loops_close_about_the_posture_they_were_made_in(seed):
    body = random_loops(seed)
    closure = LoopClosure(body)
    q = np.array([x.joint.initial for x in body.moving_links])
    assert np.abs(closure.residual(q)).max(initial=0.0) < 1e-12
    np.testing.assert_allclose(closure.assembled, q, atol=1e-9)
    rank = np.linalg.matrix_rank(closure.jacobian(q)[:, closure.joints], tol=1e-6)
    assert len(closure.dependent) >= rank  # Gruebler and Kutzbach, without redundant rows
    assert len(closure.dependent) + len(closure.independent) == len(closure.joints)
    near = q
    for _ in range(5):
        target = near.copy()
        target[closure.independent] += np.random.default_rng(seed).uniform(
            -0.02, 0.02, len(closure.independent)
        )
        try:
            near = closure.close(target, near=near)
        except LoopError:  # the end of what such a mechanism can do
            break
        assert np.abs(closure.residual(near)).max(initial=0.0) < 1e-10
        others = np.setdiff1d(np.arange(len(q)), closure.dependent)
        np.testing.assert_array_equal(near[others], target[others])


def slow_pose(state, joint):
    """Pose of the joint frame in the two links' worlds, by Pose's own algebra."""
    poses = {x.name: Pose(R, p) for x, R, p in zip(state.body.links, state.R, state.p, strict=True)}
    return [poses[n] @ X for n, X in zip(joint.links, (joint.X_AJ, joint.X_BJ), strict=True)]


@all_cases("kind", list(ExtraJointType))
@all_cases("seed", range(8))
def test_each_type_holds_what_it_says(kind, seed):
    body = random_loops(2 * seed + 1, loops=1, links=12, chain=True)
    joint = replace(body.extra_joints[0], type=kind)
    body = replace(body, extra_joints=(joint,))
    closure = LoopClosure(body)
    q = closure.assembled.copy()
    q[closure.independent] += 0.001
    state = BodyState(body)
    state.q[:] = closure.close(q)
    state.calc_forward_kinematics()
    X_WA, X_WB = slow_pose(state, joint)
    offset = X_WA.R.T @ (X_WB.p - X_WA.p)
    turn = X_WA.R.T @ X_WB.R
    axis = joint.X_AJ.R.T @ joint.axis  # in the joint frame
    along, across = offset @ axis, np.linalg.norm(np.cross(offset, axis))
    holds = {
        "along": abs(along) < 1e-9,
        "across": across < 1e-9,
        "axis": np.abs(turn @ axis - axis).max() < 1e-9,
        "turn": np.abs(turn - np.eye(3)).max() < 1e-9,
    }
    expected = {
        ExtraJointType.BALL: {"along", "across"},
        ExtraJointType.XY: {"across"},
        ExtraJointType.Z: {"along"},
        ExtraJointType.PISTON: {"across", "axis"},
        ExtraJointType.HINGE: {"along", "across", "axis"},
        ExtraJointType.FIXED: {"along", "across", "axis", "turn"},
    }[kind]
    assert expected <= {what for what, held in holds.items() if held}


def test_driven_joints_are_independent_before_others():
    body = four_bar(*GRASHOF)
    links = list(body.links)
    links[1] = replace(links[1], joint=replace(links[1].joint, id=None))
    links[3] = replace(links[3], joint=replace(links[3].joint, id=4))
    closure = LoopClosure(replace(body, links=tuple(links)))
    assert names(closure, closure.independent) == ["ROCKER"]
    closure = LoopClosure(body, prefer=["COUPLER"])
    assert names(closure, closure.independent) == ["COUPLER"]


def test_joints_beside_the_loops_are_left_alone():
    body = four_bar(*GRASHOF)
    before = link("ARM", "ROCKER", REVOLUTE, X, id=3, initial=0.3)
    body = replace(body, links=(*body.links, before))
    closure = LoopClosure(body)
    assert "ARM" not in names(closure, closure.joints)
    q = closure.assembled.copy()
    q[1], q[0] = 2.5, 1.3
    assert closure.close(q)[1] == 2.5
    assert closure.jacobian(q)[:, 1].tolist() == [0.0] * 5


def test_a_loop_out_of_reach_says_which_and_by_how_much():
    a, b, c, d = 0.5, 0.3, 0.3, 0.6
    closure = LoopClosure(four_bar(a, b, c, d, crank=0.6))
    limit = four_bar_reach(a, b, c, d)
    assert np.abs(closure.residual(at_angle(closure, "CRANK", limit - 1e-4))).max() < 1e-10
    with pytest.raises(LoopError) as error:
        at_angle(closure, "CRANK", 2.0)
    gap = np.sqrt(a * a + d * d - 2 * a * d * cos(2.0)) - b - c
    assert str(error.value) == (
        f"the loop 'tie' cannot close at CRANK = 2 rad: off by {1e3 * gap:.4g} mm"
    )
    best = error.value.q
    assert position(closure, best, "CRANK") == 2.0
    assert np.linalg.norm(closure.residual(best)) == pytest.approx(gap, abs=1e-9)


def test_a_loop_that_never_closes_is_told():
    links = (base(), link("A", "BASE", REVOLUTE), link("B", "BASE", REVOLUTE, X_PL=at(1.0)))
    joint = tie("A", "B", at(0.3), at(0.3), name="")
    closure = LoopClosure(Body(name="open", links=links, extra_joints=(joint,)))
    assert not closure.closes
    assert closure.gap_messages() == ["the loop 'A - B' is open by 400 mm and no posture closes it"]
    with pytest.raises(LoopError, match="'A - B' cannot close at A = 0 rad: off by 400 mm"):
        closure.close(np.zeros(2))


def test_what_no_joint_can_change_does_not_keep_a_loop_from_closing():
    """The bars of a real four-bar lie side by side, not in one plane."""
    body = four_bar(*GRASHOF)
    joint = replace(body.extra_joints[0], X_AJ=at(GRASHOF[1], z=0.04))
    closure = LoopClosure(replace(body, extra_joints=(joint,)))
    assert closure.gap_messages() == ["the loop 'tie' is open by 40 mm in every posture"]
    q = at_angle(closure, "CRANK", 2.0)
    np.testing.assert_allclose(closure.residual(q)[:3], [0, 0, -0.04], atol=1e-12)
    assert LoopClosure(body).gap_messages() == []


def test_a_model_drawn_open_is_assembled_first():
    body = four_bar(*GRASHOF)
    drawn = {"CRANK": 1.0, "COUPLER": -0.3, "ROCKER": 1.2}
    links = [
        x if x.parent is None else replace(x, joint=replace(x.joint, initial=drawn[x.name]))
        for x in body.links
    ]
    closure = LoopClosure(replace(body, links=tuple(links)))
    assert closure.closes
    assert position(closure, closure.assembled, "CRANK") == 1.0
    rocker = position(closure, closure.assembled, "ROCKER")
    assert cos(rocker - freudenstein(*GRASHOF, 1.0)) == pytest.approx(1.0)


def test_a_model_drawn_folded_flat_can_move():
    """There the equations depend on one another; the rank elsewhere tells what follows."""
    closure = LoopClosure(four_bar(0.1, 0.2, 0.1, 0.2, crank=0.0, rocker=0.0))
    assert names(closure, closure.independent) == ["CRANK"]
    assert np.linalg.matrix_rank(closure.jacobian(closure.assembled), tol=1e-9) == 1
    for angle in (0.3, -0.3, 2.0):
        q = at_angle(closure, "CRANK", angle)
        assert np.abs(closure.residual(q)).max() < 1e-11


def test_redundant_loops_count_once():
    """Three equal cranks under one beam: two loops, each of which takes what the other leaves."""
    links = [base(), link("C0", "BASE", REVOLUTE, id=0, initial=0.8)]
    links.append(link("BEAM", "C0", REVOLUTE, X_PL=at(0.3), initial=-0.8))
    ties = []
    for i, x in ((1, 1.0), (2, 2.0)):
        links.append(link(f"C{i}", "BASE", REVOLUTE, X_PL=at(x), initial=0.8))
        ties.append(tie("BEAM", f"C{i}", at(x), at(0.3), name=f"crank {i}"))
    closure = LoopClosure(Body(name="cranks", links=tuple(links), extra_joints=tuple(ties)))
    assert names(closure, closure.independent) == ["C0"]
    q = at_angle(closure, "C0", 2.9)
    np.testing.assert_allclose(q, [2.9, -2.9, 2.9, 2.9], atol=1e-10)


def test_a_change_point_is_passed_straight_on():
    """A flat parallelogram could go on crossed; it does not."""
    closure = LoopClosure(four_bar(0.1, 0.2, 0.1, 0.2, crank=1.0, rocker=1.0))
    near = closure.assembled
    for angle in np.arange(1.0, 7.0, 0.07):
        near = at_angle(closure, "CRANK", angle, near)
        np.testing.assert_allclose(near, [angle, -angle, angle], atol=1e-9)


def test_a_stop_right_at_a_change_point_forgets_nothing():
    closure = LoopClosure(four_bar(0.1, 0.2, 0.1, 0.2, crank=1.0, rocker=1.0))
    near = at_angle(closure, "CRANK", pi)
    np.testing.assert_allclose(near, [pi, -pi, pi], atol=1e-7)
    near = at_angle(closure, "CRANK", 4.0, near)
    np.testing.assert_allclose(near, [4.0, -4.0, 4.0], atol=1e-9)


def test_the_wrong_way_round_is_no_solution():
    links = (base(), link("A", "BASE", REVOLUTE, Y, initial=0.1))
    joint = ExtraJoint(
        type=ExtraJointType.PISTON, links=("BASE", "A"), axis=X, X_BJ=Pose(axis_angle_matrix(Z, pi))
    )
    closure = LoopClosure(Body(name="turned", links=links, extra_joints=(joint,)))
    with pytest.raises(LoopError):
        closure.close(np.array([0.0]), given=[0])
    assert position(closure, closure.close(np.array([3.0])), "A") == pytest.approx(pi)


def test_where_the_root_is_does_not_matter():
    body = tilted(hexapod(), np.array([0.6, 0.0, 0.8]), 2.0)
    q = LoopClosure(hexapod()).assembled
    np.testing.assert_allclose(LoopClosure(body).assembled, q, atol=1e-12)


def test_a_body_without_loops_has_nothing_to_close():
    closure = LoopClosure(Body(name="rod", links=(base(), link("A", "BASE", PRISMATIC))))
    assert (len(closure.joints), closure.closes, closure.gap_messages()) == (0, True, [])
    assert closure.close(np.array([0.3])).tolist() == [0.3]


def test_links_meet_where_the_closed_form_says():
    """The end of the coupler is where the rocker's is, seen by BodyState alone."""
    body = four_bar(*GRASHOF)
    closure, state = LoopClosure(body), BodyState(body)
    state.q[:] = at_angle(closure, "CRANK", -2.0)
    state.calc_forward_kinematics()
    rocker = freudenstein(*GRASHOF, -2.0)
    _, b, c, d = GRASHOF
    end = state.p[2] + state.R[2] @ [b, 0, 0]
    np.testing.assert_allclose(end, [d + c * cos(rocker), c * sin(rocker), 0], atol=1e-12)
