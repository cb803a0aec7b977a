"""What a Body promises about its links and joints."""

import re
from math import nan, pi

import numpy as np
import pytest
from each_case import all_cases

from hrp_model import Body, Joint, JointType, Link
from hrp_model.body import link_pair


def link(name, parent=None, kind=JointType.REVOLUTE, joint_id=None, mass=0.0):
    if parent is None and kind is JointType.REVOLUTE:
        kind = JointType.FREE
    return Link(
        name=name, parent=parent, mass=mass, joint=Joint(type=kind, name=f"J_{name}", id=joint_id)
    )


def body(*links):
    return Body(name="robot", links=links)


def test_links_are_found_by_name():
    robot = body(link("BASE"), link("ARM", "BASE"), link("HAND", "ARM"), link("HEAD", "BASE"))
    assert robot.root.name == "BASE"
    assert robot.link("HAND").parent == "ARM"
    assert robot.link_index("HAND") == 2
    assert robot.parent_indices == (-1, 0, 1, 0)


def test_an_unknown_link_lists_those_there_are():
    with pytest.raises(KeyError, match=re.escape("no link 'LEG' in body 'robot'; it has BASE")):
        body(link("BASE")).link("LEG")


@all_cases(
    ("links", "message"),
    [
        ([], "at least one link"),
        ([link("A", "B")], "'A': exactly the first link has no parent"),
        ([link("A"), link("B")], "'B': exactly the first link has no parent"),
        ([link("A"), link("B", "C"), link("C", "A")], "'B' comes before its parent 'C'"),
        ([link("A"), link("B", "B")], "'B' comes before its parent 'B'"),
        ([link("A"), link("B", "A"), link("B", "A")], "two links are named 'B'"),
    ],
)
def test_a_body_is_a_tree_with_parents_first(links, message):
    with pytest.raises(ValueError, match=message):
        body(*links)


def test_joint_vectors_follow_the_ids_and_then_the_links_without_one():
    robot = body(
        link("BASE"),
        link("D", "BASE"),
        link("B", "BASE", JointType.PRISMATIC, joint_id=5),
        link("FLANGE", "B", JointType.FIXED, joint_id=1),
        link("TRACK", "BASE", JointType.TRACK, joint_id=2),
        link("A", "B", joint_id=0),
        link("C", "A"),
    )
    assert [x.name for x in robot.moving_links] == ["A", "B", "D", "C"]
    assert [x.name for x in robot.jointed_links] == ["A", "TRACK", "B", "D", "C"]
    assert [x.name if x else None for x in robot.joints] == [
        "A", "FLANGE", "TRACK", None, None, "B"
    ]  # fmt: skip


def test_the_first_of_equal_joint_ids_wins_and_both_still_move():
    robot = body(link("BASE"), link("A", "BASE", joint_id=0), link("B", "BASE", joint_id=0))
    assert [x.name for x in robot.joints] == ["A"]
    assert [x.name for x in robot.moving_links] == ["A", "B"]


@all_cases(
    ("told", "resolution"),
    [
        ({"encoder_pulse": 512.0}, pi / 256.0),
        ({"encoder_pulse": 512.0, "gear_ratio": -100.0}, pi / 25600.0),
        ({"encoder_pulse": 512.0, "gear_ratio": 2e3, "type": JointType.PRISMATIC}, pi / 512e3),
        ({}, None),
        ({"encoder_pulse": 512.0, "type": JointType.TRACK}, None),
        ({"encoder_pulse": 512.0, "gear_ratio": 0.0}, None),
        ({"encoder_pulse": -512.0}, None),
        ({"encoder_pulse": 1.0}, None),
        ({"encoder_pulse": nan}, None),
        ({"encoder_pulse": 1e300, "gear_ratio": 1e300}, None),
    ],
)
def test_an_encoder_turns_with_the_motor(told, resolution):
    joint = Joint(**{"type": JointType.REVOLUTE, "name": "J", **told})
    assert joint.encoder_resolution == pytest.approx(resolution)


def test_a_body_without_ids_has_no_numbered_joints():
    assert body(link("BASE")).joints == ()


def test_masses_add_up():
    assert body(link("A", mass=1.5), link("B", "A", mass=2.25)).total_mass == 3.75


@pytest.mark.parametrize(
    ("root", "child", "fixed", "static"),
    [
        (JointType.FREE, JointType.FIXED, False, False),
        (JointType.FIXED, JointType.FIXED, True, True),
        (JointType.FIXED, JointType.REVOLUTE, True, False),
        (JointType.FIXED, JointType.TRACK, True, False),
    ],
)
def test_what_can_move(root, child, fixed, static):
    robot = body(link("A", None, root), link("B", "A", child))
    assert (robot.is_root_fixed, robot.is_static) == (fixed, static)


def test_arrays_at_the_door_are_checked_copied_and_frozen():
    axis = np.array([0.0, 1.0, 0.0])
    joint = Joint(type=JointType.REVOLUTE, name="J", axis=axis)
    axis[0] = 5.0
    assert joint.axis.tolist() == [0.0, 1.0, 0.0]
    assert not joint.axis.flags.writeable
    with pytest.raises(ValueError, match=re.escape("inertia must have shape (3, 3), got (3,)")):
        Link(name="A", parent=None, joint=joint, inertia=np.ones(3))


def test_a_pair_of_links_has_no_order():
    assert link_pair("A", "B") == link_pair("B", "A")
