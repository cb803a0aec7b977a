"""Which robot gets the plain names, and what the others are called."""

from hrp_model import Body, Joint, JointType, Link
from hrp_sim.naming import name_bodies


def body(joint_type):
    return Body(
        name="model",
        links=(Link(name="ROOT", parent=None, joint=Joint(type=joint_type, name="ROOT")),),
    )


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
    assert names({"HRP-2": ROBOT, "left arm": ROBOT}, "", {"HRP-2": "a", "left arm": "b"}) == {
        "HRP-2": ("a/scan", "a/ROOT"),
        "left arm": ("b/scan", "b/ROOT"),
    }


def test_a_world_without_robots_has_names_too():
    assert names({"floor": FLOOR}) == {"floor": ("floor/scan", "floor/ROOT")}
    assert names({}) == {}
