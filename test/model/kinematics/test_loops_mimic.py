"""Joints that follow in proportion, and those that only nearly do."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
import reference_data
from each_case import all_cases
from hypothesis import given
from hypothesis import strategies as st
from loop_bodies import (
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    X,
    Y,
    at,
    base,
    five_bar,
    four_bar,
    freudenstein,
    hexapod,
    link,
    random_loops,
    scissor_lift,
    slider_crank,
    tie,
    tilted,
)
from paths import needs_shared

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Range
from hrp_model.kinematics.loops import LoopClosure, LoopError, Mimic, loop_groups, mimic_joints


def parallelogram(crank=1.0, **options):
    return four_bar(0.1, 0.2, 0.1, 0.2, crank=crank, rocker=crank, **options)


@all_cases("kind", PLANAR)
@all_cases("crank", [0.0, 0.4, -2.0, pi / 2])
def test_a_parallelogram_keeps_its_bars_parallel(kind, crank):
    found = mimic_joints(tilted(parallelogram(crank, kind=kind), Y, 0.4))
    assert found == {"COUPLER": Mimic("CRANK", -1.0, 0.0), "ROCKER": Mimic("CRANK", 1.0, 0.0)}


def test_zero_positions_elsewhere_are_offsets():
    body = parallelogram()
    links = list(body.links)
    turned = at(0.2, R=None)
    links[3] = replace(
        links[3],
        X_PL=replace(turned, R=np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])),
        joint=replace(links[3].joint, initial=1.0 - pi / 2),
    )
    found = mimic_joints(replace(body, links=tuple(links)))
    assert found["ROCKER"].multiplier == 1.0
    assert found["ROCKER"].offset == pytest.approx(-pi / 2, abs=1e-11)


def test_a_scissor_lift_turns_all_bars_alike_but_not_its_slider():
    found = mimic_joints(scissor_lift())
    assert list(found) == ["B1", "A2", "B2"]
    for name, multiplier, offset in (("B1", -1, pi), ("A2", 2, -pi), ("B2", -2, pi)):
        assert found[name].link == "A1"
        assert found[name].multiplier == multiplier
        assert found[name].offset == pytest.approx(offset, abs=1e-11)


def test_a_wedge_drives_a_slider_in_proportion():
    """A pin in a slope of 30 degrees: one slider moves by the other's times the slope."""
    slope = np.array([np.cos(pi / 6), np.sin(pi / 6), 0.0])
    links = (
        base(),
        link("WEDGE", "BASE", PRISMATIC, X, id=0),
        link("LIFT", "BASE", PRISMATIC, Y),
    )
    slot = ExtraJoint(type=ExtraJointType.XY, links=("WEDGE", "LIFT"), axis=slope)
    found = mimic_joints(Body(name="wedge", links=links, extra_joints=(slot,)))
    assert found.keys() == {"LIFT"}
    assert found["LIFT"].multiplier == pytest.approx(-np.tan(pi / 6), abs=1e-11)


@all_cases(
    "body",
    [
        slider_crank(),
        four_bar(0.2, 0.5, 0.4, 0.5),
        four_bar(0.1, 0.2, 0.1, 0.2, rocker=freudenstein(0.1, 0.2, 0.1, 0.2, 1.0, sign=1)),
        four_bar(0.1, 0.2, 0.1 + 1e-5, 0.2, crank=1.0, rocker=1.0),
        hexapod(),
    ],
)
def test_what_follows_along_a_curve_is_no_mimic(body):
    assert mimic_joints(body) == {}


def test_within_its_limits_a_curve_is_a_curve():
    body = four_bar(0.2, 0.5, 0.4, 0.5, position=Range(0.99, 1.01))
    assert mimic_joints(body) == {}


def test_a_joint_that_follows_two_is_no_mimic():
    """A five-bar: two cranks, so that the other joints follow both; but a second loop is one."""
    body = five_bar()
    links, (five,) = body.links, body.extra_joints
    closure = LoopClosure(body)
    assert len(closure.independent) == 2
    assert closure.closes
    assert mimic_joints(body) == {}
    both = (*links, *_renamed(parallelogram(), "P_")[1:])
    ties = (five, tie("P_COUPLER", "P_ROCKER", at(0.2), at(0.1), name="p"))
    body = Body(name="both", links=both, extra_joints=ties)
    assert mimic_joints(body).keys() == {"P_COUPLER", "P_ROCKER"}
    assert loop_groups(body) == [(five,), (ties[1],)]


def _renamed(body, prefix):
    def name(old):
        return old if old == "BASE" else prefix + old

    return [
        replace(
            x,
            name=name(x.name),
            parent=x.parent and name(x.parent),
            joint=replace(x.joint, name=name(x.name), id=None),
        )
        for x in body.links
    ]


def test_loops_that_share_a_joint_are_one_group():
    body = scissor_lift()
    assert loop_groups(body) == [body.extra_joints]


def test_a_loop_that_does_not_close_has_no_mimic():
    links = (base(), link("A", "BASE", REVOLUTE), link("B", "BASE", REVOLUTE, X_PL=at(1.0)))
    body = Body(name="open", links=links, extra_joints=(tie("A", "B", at(0.3), at(0.3)),))
    assert mimic_joints(body) == {}


def test_a_body_without_loops_has_none():
    assert mimic_joints(Body(name="rod", links=(base(), link("A", "BASE", REVOLUTE)))) == {}


def test_no_leader_follows():
    for body in (scissor_lift(), parallelogram()):
        found = mimic_joints(body)
        assert not found.keys() & {x.link for x in found.values()}


@given(seed=st.integers(0, 10_000))
def test_a_mimic_is_never_false(seed):
    """Wherever a random mechanism goes, its mimic joints are where their leaders put them."""
    body = random_loops(seed)
    found = mimic_joints(body)
    order = [x.name for x in body.moving_links]
    rng = np.random.default_rng(seed)
    for group in loop_groups(body):
        closure = LoopClosure(body, group)
        near = closure.assembled
        for _ in range(4):
            q = near.copy()
            q[closure.independent] += rng.uniform(-0.1, 0.1, len(closure.independent))
            try:
                near = closure.close(q, near=near)
            except LoopError:
                break
            for name, mimic in found.items():
                if order.index(name) in closure.joints:
                    position = mimic.position(near[order.index(mimic.link)])
                    assert near[order.index(name)] == pytest.approx(position, abs=1e-8)


@needs_shared
@pytest.mark.parametrize(
    "file", ["choreonoid/misc__ClosedLinkSample.json", "choreonoid/misc__FourWheelCar.json"]
)
def test_real_parallelograms_are_found(file):
    """The same bars tied in three ways by three formats move alike; so does a steering gear."""
    reference = reference_data.load(file)
    body = reference_data.body_of(reference)
    (row,) = reference["extra_joints"]
    for kind in PLANAR:
        joint = ExtraJoint(
            type=kind,
            links=(row["link1"], row["link2"]),
            X_AJ=at(*row["p_in_link1"]),
            X_BJ=at(*row["p_in_link2"]),
            axis=np.array(row["axis"], dtype=float),
        )
        found = mimic_joints(replace(body, extra_joints=(joint,)))
        assert found.keys() == set(joint.links)
        first, second = (found[x] for x in joint.links)
        assert (first.multiplier, second.multiplier) == (-1.0, 1.0)
        assert first.link == second.link
        assert (first.offset, second.offset) == (0.0, 0.0)
