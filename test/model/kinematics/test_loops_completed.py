"""Joint positions that nobody tells, from those that somebody does."""

from math import cos, pi

import numpy as np
import pytest
from loop_bodies import (
    REVOLUTE,
    X,
    at,
    base,
    five_bar,
    four_bar,
    freudenstein,
    link,
    loops,
    scissor_lift,
    slider_crank,
    slider_position,
    tie,
)

from hrp_model.body import Body
from hrp_model.kinematics.loops import LoopClosure


def test_dependent_joints_are_added():
    crank = loops(slider_crank())
    for angle in np.linspace(0.0, 7.0, 50):
        positions, problems, _ = crank.complete({"CRANK": angle, "elsewhere": 1.0})
        assert problems == ()
        assert positions.keys() == {"CRANK", "ROD", "SLIDER", "elsewhere"}
        assert (positions["CRANK"], positions["elsewhere"]) == (angle, 1.0)
        assert positions["SLIDER"] == pytest.approx(slider_position(angle), abs=1e-12)


def test_positions_that_are_told_are_used_as_they_are():
    crank = loops(slider_crank())
    told = {"CRANK": 0.5, "SLIDER": 0.123}
    positions, *_ = crank.complete(told)
    assert {name: positions[name] for name in told} == told
    angles = LoopClosure(slider_crank()).close(np.array([0.5, 0.0, 0.0]))
    assert positions["ROD"] == pytest.approx(angles[1], abs=1e-12)
    everything = {"CRANK": 0.5, "SLIDER": 0.123, "ROD": 3.0}
    assert crank.complete(everything).positions == everything
    assert told == {"CRANK": 0.5, "SLIDER": 0.123}


def test_the_encoder_may_be_on_a_joint_that_depends():
    crank = loops(slider_crank())
    crank.complete({"CRANK": 0.3})
    for angle in np.linspace(0.3, 2.8, 20):
        positions, problems, _ = crank.complete({"SLIDER": slider_position(angle)})
        assert problems == ()
        assert positions["CRANK"] == pytest.approx(angle, abs=1e-9)


def test_messages_about_other_joints_pass_untouched():
    assert loops(slider_crank()).complete({"WHEEL": 0.1}) == ({"WHEEL": 0.1}, (), (0.0, 0.0))
    body = Body(name="rod", links=(base(), link("A", "BASE", REVOLUTE)))
    assert loops(body).complete({"A": 0.1}) == ({"A": 0.1}, (), (0.0, 0.0))


def test_a_scissor_lift_is_lifted_by_its_slider():
    lift = loops(scissor_lift())
    for angle in (0.6, 0.9, 1.3):
        positions, *_ = lift.complete({"SLIDER": cos(angle)})
        assert positions["A1"] == pytest.approx(angle, abs=1e-9)
        assert positions["B1"] == pytest.approx(pi - angle, abs=1e-9)
        assert positions["A2"] == pytest.approx(2 * angle - pi, abs=1e-9)


def test_proportion_holds_at_change_points_too():
    bars = loops(four_bar(0.1, 0.2, 0.1, 0.2, crank=1.0, rocker=1.0))
    for angle in (pi, -pi, 0.0, 2 * pi, 1.5):
        positions, problems, _ = bars.complete({"CRANK": angle})
        assert (positions["COUPLER"], positions["ROCKER"]) == (-angle, angle)
        assert problems == ()


def test_joints_told_by_different_sources_are_remembered():
    """A five-bar has two cranks; each message tells of one."""
    body = five_bar()
    five, closure = loops(body), LoopClosure(body)
    five.complete({"A": 2.1})
    positions, problems, _ = five.complete({"C": 0.9})
    assert problems == ()
    assert positions.keys() == {"B", "C", "D"}
    q = [2.1 if x.name == "A" else positions[x.name] for x in body.moving_links]
    assert np.abs(closure.residual(np.array(q))).max() < 1e-10


def test_out_of_reach_is_told_and_left_behind():
    a, b, c, d = 0.5, 0.3, 0.3, 0.6
    bars = loops(four_bar(a, b, c, d, crank=0.6))
    positions, problems, _ = bars.complete({"CRANK": 2.0})
    assert positions.keys() == {"CRANK", "COUPLER", "ROCKER"}
    assert len(problems) == 1
    assert problems[0].startswith("the loop 'tie' cannot close at CRANK = 2 rad: off by")
    positions, problems, _ = bars.complete({"CRANK": 0.7})
    assert problems == ()
    assert positions["ROCKER"] == pytest.approx(freudenstein(a, b, c, d, 0.7), abs=1e-10)


def test_each_loop_is_closed_for_itself():
    links = [base()]
    for side, y in (("L", 0.5), ("R", -0.5)):
        links += [
            link(f"{side}1", "BASE", REVOLUTE, X_PL=at(0, y), id=len(links), initial=0.6),
            link(f"{side}2", f"{side}1", REVOLUTE, X_PL=at(0.5)),
            link(f"{side}3", "BASE", REVOLUTE, X_PL=at(0.6, y)),
        ]
    ties = tuple(tie(f"{s}2", f"{s}3", at(0.3), at(0.3), name=s) for s in "LR")
    both = loops(Body(name="legs", links=tuple(links), extra_joints=ties))
    positions, problems, _ = both.complete({"L1": 2.0, "R1": 0.7})
    assert len(positions) == 6
    assert [x.split("'")[1] for x in problems] == ["L"]


def test_loops_with_impossible_numbers_are_left_alone():
    links = [base(), link("A", "BASE", REVOLUTE), link("B", "BASE", REVOLUTE, X_PL=at(0.2))]
    links += [link("C", "BASE", REVOLUTE), link("D", "BASE", REVOLUTE, X_PL=at(0.2))]
    ties = (
        tie("A", "B", at(np.nan), at(), name="bad"),
        tie("C", "D", at(0.1), at(-0.1), axis=0 * X, name="flat"),
    )
    some = loops(Body(name="bad", links=tuple(links), extra_joints=ties))
    assert some.complete({"A": 0.1, "C": 0.2}) == ({"A": 0.1, "C": 0.2}, (), (0.0, 0.0))
