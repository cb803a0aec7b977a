"""Which robot gets the plain names, and what the others are called."""

from dataclasses import replace

import pytest

from hrp_model import Body, Joint, JointType, Link
from hrp_model.devices import Attachment, Imu
from hrp_msgs.names import NameCollisionError, namespace_error
from hrp_sim.world.naming import BodyNaming, name_bodies, spawned_naming


def body(joint_type):
    return Body(
        name="model",
        links=(Link(name="ROOT", parent=None, joint=Joint(type=joint_type, name="ROOT")),),
    )


def with_arm(body, **properties):
    """Return the body with a joint."""
    joint = Joint(type=JointType.REVOLUTE, name="ARM", **properties)
    return replace(body, links=(*body.links, Link(name="ARM", parent="ROOT", joint=joint)))


FLOOR, ROBOT = body(JointType.FIXED), body(JointType.FREE)


def names(bodies, *args):
    """Return a topic and a frame of each body."""
    return {
        key: (naming.topic("scan"), naming.frame_prefix + "ROOT")
        for key, naming in name_bodies(bodies, *args).items()
    }


def test_the_only_robot_has_the_plain_names_and_its_surroundings_their_own():
    assert names({"floor": FLOOR, "r1": ROBOT, "room": FLOOR}) == {
        "floor": ("floor/scan", "floor/ROOT"),
        "r1": ("scan", "ROOT"),
        "room": ("room/scan", "room/ROOT"),
    }


IMU = Imu(name="imu", link="ROOT")


@pytest.mark.parametrize(
    "robot", [with_arm(FLOOR), with_arm(ROBOT), replace(ROBOT, devices=(IMU,))]
)
def test_loose_things_beside_a_robot_leave_it_the_plain_names(robot):
    handle = Attachment(name="handle", link="ROOT")
    things = {
        "block": ROBOT,
        "can": replace(ROBOT, devices=(handle,)),
        "rope": with_arm(ROBOT, is_passive=True),
        "eye": replace(FLOOR, devices=(IMU,)),
    }
    found = names({"floor": FLOOR, **things, "r1": robot})
    assert found.pop("r1") == ("scan", "ROOT")
    assert all(found[name] == (f"{name}/scan", f"{name}/ROOT") for name in found)


def test_of_several_robots_each_has_its_own_names():
    assert names({"r1": ROBOT, "r2": ROBOT}) == {
        "r1": ("r1/scan", "r1/ROOT"),
        "r2": ("r2/scan", "r2/ROOT"),
    }


def test_a_frame_prefix_comes_before_everything():
    assert names({"floor": FLOOR, "r1": ROBOT}, "sim/") == {
        "floor": ("floor/scan", "sim/floor/ROOT"),
        "r1": ("scan", "sim/ROOT"),
    }


def test_names_that_cannot_be_topics_go_by_their_tokens():
    assert names({"HRP-2": ROBOT, "2nd arm": ROBOT}) == {
        "HRP-2": ("HRP_2/scan", "HRP_2/ROOT"),
        "2nd arm": ("n2nd_arm/scan", "n2nd_arm/ROOT"),
    }


def test_a_wish_goes_before_the_rule_and_others_follow_it_still():
    bodies = {"floor": FLOOR, "r1": ROBOT, "r2": ROBOT}
    assert names(bodies, "sim/", {"r1": "", "r2": "/team/a", "floor": None}) == {
        "floor": ("floor/scan", "sim/floor/ROOT"),
        "r1": ("scan", "sim/ROOT"),
        "r2": ("/team/a/scan", "sim/team/a/ROOT"),
    }


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"r1": "", "r2": ""}, "'r1' and 'r2' would both have no namespace"),
        ({"r1": "a", "r2": "/a"}, "'r1' and 'r2' would both have namespace '/a'"),
        ({"r1": "r2"}, "'r1' and 'r2' would both have namespace 'r2'"),
        ({"r1": "my robot"}, "body 'r1': 'my robot' is not a valid namespace"),
    ],
)
def test_two_bodies_never_share_a_namespace(wishes, words):
    with pytest.raises(NameCollisionError, match=words):
        name_bodies({"r1": ROBOT, "r2": ROBOT}, "", wishes)


@pytest.mark.parametrize("text", ["", "a", "/a", "a/b_2/_c", "A"])
def test_a_namespace(text):
    assert namespace_error(text) == ""


@pytest.mark.parametrize("text", ["/", "a/", "//a", "a//b", "2a", "a-b", "a b", "~/a", "{x}"])
def test_no_namespace(text):
    assert "is not a valid namespace" in namespace_error(text)


def test_who_comes_later_renames_nobody():
    taken = name_bodies({"r1": ROBOT})
    assert taken["r1"] == BodyNaming("", "")
    late = spawned_naming("r-2", None, taken)
    assert late == BodyNaming("r_2", "r_2/")
    assert spawned_naming("r3", "x", taken, "sim/") == BodyNaming("x", "sim/x/")
    with pytest.raises(NameCollisionError, match="'r-2' and 'r 2' would both have"):
        spawned_naming("r 2", None, {**taken, "r-2": late})


def test_a_world_without_robots_has_names_too():
    assert names({"floor": FLOOR}) == {"floor": ("floor/scan", "floor/ROOT")}
    assert names({}) == {}


@pytest.mark.parametrize(
    ("own", "of_node", "found"),
    [
        ("", "/", "/"),
        ("", "/lab", "/lab"),
        ("arm", "/", "/arm"),
        ("arm", "/lab", "/lab/arm"),
        ("/cell/arm", "/lab", "/cell/arm"),
    ],
)
def test_the_nodes_of_a_body_live_below_that_of_its_world(own, of_node, found):
    assert BodyNaming(own, "").absolute_namespace(of_node) == found
