"""Loops that are little known, noisy or contradictory, or have impossible numbers."""

from dataclasses import replace
from math import cos, hypot, pi, sin

import numpy as np
import pytest
from each_case import all_cases
from loop_bodies import (
    GRASHOF,
    PLANAR,
    REVOLUTE,
    X,
    Y,
    at,
    base,
    drawn_slider_crank,
    four_bar,
    link,
    loops,
    scissor_lift,
    slider_crank,
    slider_position,
    tie,
    tilted,
)

from hrp_model.body import Body
from hrp_model.kinematics.loops import LoopClosure, LoopError


def rod_ends(positions, crank, rod):
    """Return where crank and rod put the pin of the slider."""
    a, b = positions["CRANK"], positions["CRANK"] + positions["ROD"]
    return crank * cos(a) + rod * cos(b), crank * sin(a) + rod * sin(b)


@all_cases("kind", PLANAR)
@all_cases("angle", [0.3, 1.5, 3.0])
def test_a_slider_crank_drawn_in_line_follows_its_slider(kind, angle):
    body = tilted(slider_crank(kind=kind), Y, 0.4)
    positions, problems, residual = loops(body).complete({"SLIDER": slider_position(angle)})
    assert problems == ()
    assert max(residual) < 1e-10
    assert abs(positions["CRANK"]) == pytest.approx(angle, abs=1e-9)


@all_cases("drawn", [0.0, 1e-9, 1e-6, 1e-5, 1e-3, pi - 1e-6, pi])
@all_cases(("crank", "rod"), [(0.2, 0.5), (20.0, 50.0), (0.002, 0.005)])
def test_a_preferred_joint_leads_however_the_model_is_drawn(drawn, crank, rod):
    body = drawn_slider_crank(drawn, crank, rod)
    for name in ("CRANK", "ROD", "SLIDER"):
        closure = LoopClosure(body, prefer=[name])
        assert [body.moving_links[i].name for i in closure.independent] == [name]
    slider = crank * cos(1.0) + np.sqrt(rod**2 - (crank * sin(1.0)) ** 2)
    positions, problems, _ = loops(body).complete({"SLIDER": slider})
    assert problems == ()
    np.testing.assert_allclose(rod_ends(positions, crank, rod), (slider, 0.0), atol=1e-9 * rod)
    assert abs(np.arctan2(sin(positions["CRANK"]), cos(positions["CRANK"]))) == pytest.approx(1.0)


def test_a_preferred_joint_leads_where_the_drawing_shows_another_way_of_moving():
    """Folded flat, crank and rod of equal length turn together, and the slider stays."""
    body = drawn_slider_crank(pi, 0.3, 0.3)
    closure = LoopClosure(body, prefer=["SLIDER"])
    assert [body.moving_links[i].name for i in closure.independent] == ["SLIDER"]
    positions, problems, _ = loops(body).complete({"SLIDER": 0.4})
    assert problems == ()
    np.testing.assert_allclose(rod_ends(positions, 0.3, 0.3), (0.4, 0.0), atol=1e-9)


def test_positions_that_agree_leave_no_residual():
    angle = 0.7
    everything = {"CRANK": angle, "SLIDER": slider_position(angle)}
    everything["ROD"] = loops(slider_crank()).complete({"CRANK": angle}).positions["ROD"]
    found = loops(slider_crank()).complete(everything)
    assert found.problems == ()
    assert max(found.residual) < 1e-12


@pytest.mark.parametrize("more", [{}, {"ROD": 0.1}])
def test_positions_that_contradict_each_other_are_told(more):
    told = {"CRANK": 0.5, "SLIDER": slider_position(0.5) + 0.123}
    if more:
        told["ROD"] = loops(slider_crank()).complete({"CRANK": 0.5}).positions["ROD"]
    found = loops(slider_crank()).complete(told)
    assert found.positions.items() >= told.items()
    [sentence] = found.problems
    names = "CRANK = 0.5 rad, ROD = -0.693 rad, SLIDER" if more else "CRANK = 0.5 rad, SLIDER"
    assert sentence == (f"the loop 'tie' is open by 123 mm at {names} = 0.08924 m")
    assert found.residual.length == pytest.approx(0.123)


def test_a_residual_is_the_distance_between_the_ends():
    a, b, c, d = GRASHOF
    body = four_bar(*GRASHOF)
    closed = loops(body).complete({"CRANK": 1.2}).positions
    told = closed | {"ROCKER": closed["ROCKER"] + 0.2}
    tip = np.array([d + c * cos(told["ROCKER"]), c * sin(told["ROCKER"])])
    angle = told["CRANK"] + told["COUPLER"]
    end = [a * cos(1.2) + b * cos(angle), a * sin(1.2) + b * sin(angle)]
    residual = loops(body).complete(told).residual
    assert residual.length == pytest.approx(hypot(*(tip - end)), abs=1e-12)


@pytest.mark.parametrize("size", [1.0, 30.0])
def test_noise_of_encoders_is_no_contradiction(size):
    body = drawn_slider_crank(0.3, 0.2 * size, 0.5 * size)
    some, random = loops(body), np.random.default_rng(4)
    for angle in np.linspace(0.3, 3.0, 30):
        crank, slider = 0.2 * size, some.complete({"CRANK": angle}).positions["SLIDER"]
        told = {
            "CRANK": angle + random.uniform(-4e-3, 4e-3),
            "SLIDER": slider + random.uniform(-4e-3, 4e-3) * crank,
        }
        found = some.complete(told)
        assert found.problems == ()
        assert 0.0 < found.residual.length < 2e-3 * size
        told["SLIDER"] += 0.1 * crank
        assert some.complete(told).problems


def test_noise_at_a_dead_centre_is_no_contradiction():
    crank = loops(slider_crank())
    positions, problems, residual = crank.complete({"SLIDER": 1e-5})
    assert problems == ()
    assert positions["CRANK"] == pytest.approx(0.0, abs=1e-2)
    assert residual.length == pytest.approx(1e-5, rel=1e-3)
    assert len(crank.complete({"SLIDER": 0.02}).problems) == 1


def test_what_no_joint_can_change_is_no_residual():
    body = four_bar(*GRASHOF)
    aside = replace(body.extra_joints[0], X_AJ=at(GRASHOF[1], z=0.04))
    found = loops(replace(body, extra_joints=(aside,))).complete({"CRANK": 1.3})
    assert found.problems == ()
    assert max(found.residual) < 1e-10


def test_joints_that_a_loop_holds_still_cannot_be_told_otherwise():
    """Three bars make a triangle, which nothing moves."""
    links = (
        base(),
        link("A", "BASE", REVOLUTE, id=0, initial=pi / 3),
        link("B", "BASE", REVOLUTE, X_PL=at(1.0), initial=2 * pi / 3),
    )
    body = Body(name="rigid", links=links, extra_joints=(tie("A", "B", at(1.0), at(1.0)),))
    rigid = loops(body)
    assert rigid.complete({"A": pi / 3}).problems == ()
    [sentence] = rigid.complete({"A": 1.5}).problems
    assert sentence.endswith(" at A = 1.5 rad")


def test_an_axis_that_points_backwards_is_half_a_turn_off():
    links = (base(), link("A", "BASE", REVOLUTE, X), link("B", "BASE", REVOLUTE, X))
    body = Body(name="pair", links=links, extra_joints=(tie("A", "B", at(), at()),))
    found = loops(body).complete({"A": 0.0, "B": pi})
    assert found.residual.angle == pi
    assert len(found.problems) == 1


def test_a_problem_stays_while_other_joints_are_told():
    lift = scissor_lift()
    body = replace(lift, links=(*lift.links, link("HEAD", "B2", REVOLUTE)))
    some = loops(body)
    assert some.complete({"SLIDER": 1.5}).problems
    assert some.complete({"HEAD": 0.1}).problems
    assert not some.complete({"SLIDER": 0.8}).problems
    assert not some.complete({"HEAD": 0.2}).problems


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"axis": np.zeros(3)}, "'tie' has a zero axis"),
        ({"X_AJ": at(np.nan)}, "'tie' has a number that is not finite or above"),
        ({"X_BJ": at(1e300)}, "'tie' has a number that is not finite or above"),
    ],
)
def test_impossible_numbers_are_refused(change, words):
    body = four_bar(*GRASHOF)
    joint = replace(body.extra_joints[0], **change)
    with pytest.raises(ValueError, match=words):
        LoopClosure(replace(body, extra_joints=(joint,)))


@pytest.mark.parametrize("pose", [at(np.inf), at(1e200), at(R=np.full((3, 3), np.nan))])
def test_impossible_links_are_refused(pose):
    body = four_bar(*GRASHOF)
    links = (*body.links[:3], replace(body.links[3], X_PL=pose))
    with pytest.raises(ValueError, match="link 'ROCKER' in a closed loop"):
        LoopClosure(replace(body, links=links))


@pytest.mark.parametrize("value", [1e5, -1e8, 1e15, 1e308])
@pytest.mark.parametrize("body", [slider_crank(), four_bar(*GRASHOF), scissor_lift()])
@pytest.mark.filterwarnings("error")
def test_positions_from_afar_are_reached_or_refused(body, value):
    closure = LoopClosure(body)
    for joint in range(3):
        q = closure.assembled.copy()
        q[joint] = value
        try:
            q = closure.close(q, given=[joint])
        except LoopError as error:
            told, q = str(error), error.q
        else:
            told = ""
        assert "cannot close at" in told or np.abs(closure.residual(q)).max() < 1e-10
        assert q[joint] == value


def test_a_link_that_is_none_is_refused():
    body = four_bar(*GRASHOF)
    joint = replace(body.extra_joints[0], links=("COUPLER", "NONE"))
    with pytest.raises(KeyError, match="NONE"):
        LoopClosure(replace(body, extra_joints=(joint,)))
