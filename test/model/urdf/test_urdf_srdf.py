"""SRDF of bodies, against MoveIt's rules."""

from dataclasses import replace

import pytest
from each_case import all_cases
from srdf_tools import OURS, complaints, described, limb, link, loaded, read, robots, silent, tree
from urdf_tools import random_body

from hrp_model.body import JointType, Range, link_pair
from hrp_model.devices import ForceSensor
from hrp_model.frames import Base
from hrp_model.rigid import Pose
from hrp_model.urdf import UrdfOptions, body_to_srdf, convert

# Legality


@robots
def test_moveit_has_nothing_to_complain_about(path, tmp_path):
    assert complaints(*described(loaded(path), folder=tmp_path)) == []


@pytest.mark.parametrize("base", Base)
def test_nor_with_other_frames(base):
    options = UrdfOptions(base=base, frame_prefix="my_")
    assert complaints(*described(loaded(OURS["humanoid.wrl"]), options)) == []


@all_cases("seed", range(8))
def test_nor_with_any_tree(seed):
    assert complaints(*described(random_body(seed, 25))) == []


def test_a_body_always_has_the_same_srdf():
    assert described(random_body(1)) == described(random_body(1))


def test_it_goes_with_names_that_others_have_too():
    names = ["world", "world_joint", "whole_body", "whole_body_end_effector", "a b&<\"'"]
    body = tree(*(link(name, "ROOT") for name in names), root=JointType.FREE)
    assert complaints(*described(body)) == []
    (joint,) = read(body).srdf.findall("virtual_joint")
    assert (joint.get("name"), joint.get("parent_frame")) == ("world_joint_2", "world_2")


# The world


def test_a_free_root_floats_in_the_world():
    (joint,) = read(tree(link("A", "ROOT"), root=JointType.FREE)).srdf.findall("virtual_joint")
    assert dict(joint.attrib) == {
        "name": "world_joint",
        "type": "floating",
        "parent_frame": "world",
        "child_link": "ROOT",
    }


def test_a_fixed_root_is_fixed_at_the_origin_and_elsewhere_as_tf_says():
    at_origin, elsewhere = tree(link("A", "ROOT")), tree(at=Pose(p=(0.0, 0.0, 1.0)))
    (joint,) = read(at_origin).srdf.findall("virtual_joint")
    assert joint.get("type") == "fixed"
    (joint,) = read(elsewhere).srdf.findall("virtual_joint")
    assert joint.get("type") == "floating"
    standing = read(elsewhere, UrdfOptions(base=Base.FOOTPRINT)).srdf.find("virtual_joint")
    assert standing.get("child_link") == "base_footprint"


# Groups


def chains(description):
    """Return the joints of each group that is a chain."""
    found = {}
    for name, group in description.groups.items():
        for chain in group.findall("chain"):
            found[name] = description.chain(chain.get("base_link"), chain.get("tip_link"))
    return found


def test_limbs_are_the_ways_between_branches_and_tips():
    found = read(loaded(OURS["humanoid.wrl"]))
    legs = ("HIP_Y", "HIP_R", "HIP_P", "KNEE", "ANKLE_P", "ANKLE_R")
    arms = ("SHOULDER_P", "SHOULDER_R", "ELBOW")
    assert chains(found) == {
        "LLEG": [f"LLEG_{name}" for name in legs],
        "RLEG": [f"RLEG_{name}" for name in legs],
        "CHEST": ["CHEST"],
        "HEAD": ["NECK", "HEAD"],
        "LARM": [f"LARM_{name}" for name in arms],
        "RARM": [f"RARM_{name}" for name in arms],
    }
    assert found.active("whole_body") == {j.name for j in moving_joints(OURS["humanoid.wrl"])}
    ends = {(e.get("parent_group"), e.get("parent_link")) for e in found.srdf.iter("end_effector")}
    assert ends == {
        ("LLEG", "LLEG_ANKLE_R"), ("RLEG", "RLEG_ANKLE_R"), ("HEAD", "HEAD"),
        ("LARM", "LARM_ELBOW"), ("RARM", "RARM_ELBOW"),
    }  # fmt: skip


def moving_joints(path):
    return [link.joint for link in loaded(path).moving_links]


@robots
def test_every_joint_that_moves_is_in_one_group_and_those_of_chains_in_the_whole(path):
    body = loaded(path)
    found = read(body)
    joints = [joint for joints in chains(found).values() for joint in joints]
    if "whole_body" in found.groups:
        assert set(found.members("whole_body")[0]) == set(joints)
    hands = [end.get("group") for end in found.srdf.iter("end_effector")]
    for name in hands:
        joints += [joint.get("name") for joint in found.groups[name].findall("joint")]
    moving = [j for j in joints if found.joints[j].get("type") != "fixed"]
    assert sorted(moving) == sorted(x.joint.name for x in body.moving_links if x.parent)


@all_cases(
    ("names", "expected"),
    [
        (("LARM_JOINT0", "LARM_JOINT1"), "LARM"),
        (("LARM_SHOULDER", "LARM_SLIDE"), "LARM"),
        (("leftKneePitch", "leftKneeYaw"), "leftKnee"),
        (("left_arm.1", "left_arm.2"), "left_arm"),
        (("R_KNEE", "R_ANKLE"), "R_LEG"),
        (("R_SHOULDER", "R_HIP"), "R_HIP"),
        (("finger_link1", "finger_link2"), "finger"),
        (("A", "B"), "B"),
        (("脚1", "脚2"), "chain_2"),
    ],
)
def test_a_chain_is_called_what_its_joints_have_in_common(names, expected):
    body = tree(*limb("ROOT", *names), link("other", "ROOT"))
    assert list(chains(read(body))) == [expected, "other"]


def test_chains_with_the_same_words_are_called_after_their_tips():
    found = read(tree(*limb("ROOT", "left_a", "left_b"), *limb("ROOT", "left_c", "left_d")))
    assert list(chains(found)) == ["left_b", "left_d"]


def test_the_joints_of_a_single_arm_without_names_are_a_manipulator():
    found = read(tree(*limb("ROOT", "J1", "J2", "J3"), link("TOOL", "J3", JointType.FIXED)))
    assert chains(found) == {"manipulator": ["J1", "J2", "J3"]}
    (end,) = found.srdf.findall("end_effector")
    assert (end.get("parent_link"), end.get("parent_group")) == ("J3", "manipulator")
    assert [x.get("name") for x in found.groups[end.get("group")]] == ["TOOL"]
    assert "whole_body" not in found.groups


def test_small_branches_at_the_end_of_a_chain_are_its_hand():
    arm = limb("ROOT", "ARM_1", "ARM_2", "ARM_3")
    fingers = [*limb("ARM_3", "F1", "F2"), *limb("ARM_3", "THUMB")]
    found = read(tree(*arm, *fingers, *limb("ROOT", "LEG_1", "LEG_2")))
    assert list(chains(found)) == ["ARM", "LEG"]
    end = next(e for e in found.srdf.iter("end_effector") if e.get("parent_group") == "ARM")
    assert end.get("parent_link") == "ARM_3"
    assert found.active(end.get("group")) == {"F1", "F2", "THUMB"}


def test_long_branches_are_chains_of_their_own():
    trunk = limb("ROOT", "TRUNK_1", "TRUNK_2")
    arms = [*limb("TRUNK_2", "LARM_1", "LARM_2"), *limb("TRUNK_2", "RARM_1", "RARM_2")]
    found = read(tree(*trunk, *arms))
    assert list(chains(found)) == ["TRUNK", "LARM", "RARM"]
    ends = [end.get("parent_group") for end in found.srdf.iter("end_effector")]
    assert ends == ["LARM", "RARM"]


def test_what_is_fixed_to_a_tip_is_its_end_effector():
    sole = link("SOLE", "LEG_2", JointType.FIXED)
    sensor = ForceSensor(name="FORCE", link="SOLE")
    found = read(tree(*limb("ROOT", "LEG_1", "LEG_2"), sole, devices=(sensor,)))
    (end,) = found.srdf.findall("end_effector")
    links = [x.get("name") for x in found.groups[end.get("group")]]
    assert links == ["SOLE", "FORCE"]
    assert found.active(end.get("group")) == set()


def test_what_floats_inside_a_body_begins_limbs_of_its_own():
    body = tree(
        link("FLOAT", "ROOT", JointType.FREE), *limb("FLOAT", "ARM_1", "ARM_2"), link("X", "ROOT")
    )
    assert chains(read(body)) == {"X": ["X"], "ARM": ["ARM_1", "ARM_2"]}
    assert complaints(*described(body)) == []


# States


def states(description, group):
    return {
        state.get("name"): {j.get("name"): float(j.get("value")) for j in state.findall("joint")}
        for state in description.srdf.findall("group_state")
        if state.get("group") == group
    }


def test_states_are_the_initial_posture_and_zero_where_the_joints_can_be_there():
    bent = {"initial": 0.25, "position": Range(0.1, 1.0)}
    body = tree(link("KNEE", "ROOT", joint=bent), link("NECK", "ROOT", joint={"initial": -0.1}))
    found = read(body)
    assert states(found, "KNEE") == {"initial": {"KNEE": 0.25}}
    assert states(found, "NECK") == {"initial": {"NECK": -0.1}, "zero": {"NECK": 0.0}}
    assert states(found, "whole_body") == {"initial": {"KNEE": 0.25, "NECK": -0.1}}


# Passive joints


def test_joints_that_nobody_commands_are_passive():
    body = tree(
        link("DRIVEN", "ROOT", joint={"id": 0}), link("LOOSE", "ROOT"),
        link("STILL", "ROOT", JointType.FIXED),
    )  # fmt: skip
    assert [x.get("name") for x in read(body).srdf.iter("passive_joint")] == ["LOOSE"]


# Collisions


def test_neighbours_need_no_test_and_neither_do_those_across_a_link_without_shapes():
    bare = link("BARE", "A", collision=())
    body = tree(link("A", "ROOT"), bare, link("B", "BARE"), link("C", "B"))
    reasons = read(body).disabled()
    assert reasons == {
        link_pair("ROOT", "A"): "Adjacent",
        link_pair("A", "B"): "Adjacent",
        link_pair("B", "C"): "Adjacent",
    }


def test_links_on_one_rigid_body_need_no_test():
    """The tray on the hand of an arm, and a camera on the same hand."""
    arm = limb("ROOT", "A", "B")
    hand = [link("TRAY", "B", JointType.FIXED), link("CAMERA", "TRAY", JointType.FIXED)]
    reasons = read(tree(*arm, *hand)).disabled()
    assert reasons[link_pair("B", "CAMERA")] == "Adjacent"
    assert link_pair("A", "TRAY") not in reasons


def test_what_floats_may_hit_what_it_hangs_on():
    assert read(tree(link("FLOAT", "ROOT", JointType.FREE))).disabled() == {}


def test_pairs_that_the_model_names_are_the_users():
    named = frozenset({link_pair("ROOT", "B"), link_pair("ROOT", "A"), link_pair("A", "SHADOW")})
    shadow = link("SHADOW", "ROOT", collision=())
    body = tree(*limb("ROOT", "A", "B"), shadow, self_collision_disabled=named)
    reasons = read(body).disabled()
    assert reasons[link_pair("ROOT", "B")] == "User"
    assert reasons[link_pair("ROOT", "A")] == "Adjacent"
    assert not any("SHADOW" in pair for pair in reasons)


def test_pairs_that_overlap_at_first_are_told():
    """A hand that is folded back onto the root."""
    folded = link("B", "A", X_PL=Pose(p=(0.02, 0.0, -0.25)))
    body = tree(link("A", "ROOT"), folded)
    assert read(body).disabled()[link_pair("ROOT", "B")] == "Default"
    diagnostics = silent()
    body_to_srdf(body, convert(body, diagnostics=silent()).frames, diagnostics)
    (found,) = diagnostics.found
    assert (found.code, "'ROOT' and 'B'" in found.message) == ("initial-overlap", True)
    raised = replace(folded.joint, initial=1.5)
    moved = tree(link("A", "ROOT"), replace(folded, X_PL=Pose(p=(0.02, 0, 0.3)), joint=raised))
    assert link_pair("ROOT", "B") not in read(moved).disabled()
