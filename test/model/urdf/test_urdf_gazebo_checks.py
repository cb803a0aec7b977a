"""What Gazebo refuses or drops is told to those who ask for it."""

from dataclasses import replace

import pytest
from arm_model import WITHOUT_MASS, write_model

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.devices import ForceSensor
from hrp_model.frames import Base, LinkNaming
from hrp_model.urdf import Hardware, UrdfOptions, body_to_urdf

GAZEBO = UrdfOptions(gazebo=True)
# Joints of these bodies have no ids, and some are tracks.
NOT_ASKED_FOR = ("nothing-to-control", "still-track")
KINDS = {"-": JointType.REVOLUTE, "=": JointType.FIXED, "t": JointType.TRACK}


def body_of(*links):
    """Return a body of links, each given as (parent and joint, name, mass): ("A-", "B", 1)."""
    made = []
    for above, name, mass in links:
        kind = KINDS[above[-1]] if above else JointType.FREE
        joint = Joint(type=kind, name=f"{name}_joint")
        made.append(Link(name=name, parent=above[:-1] or None, joint=joint, mass=mass))
    return Body(name="robot", links=tuple(made))


def dropped(body, diagnostics, options=GAZEBO):
    """Return what Gazebo is said to drop."""
    body_to_urdf(body, diagnostics=diagnostics, options=options)
    found = [d.message for d in diagnostics.found if d.code == "dropped-by-gazebo"]
    assert {d.code for d in diagnostics.found} <= {"dropped-by-gazebo", *NOT_ASKED_FOR}
    diagnostics.found.clear()
    return [message.removeprefix("Gazebo drops link ") for message in found]


def test_a_massless_root_takes_the_robot_with_it(diagnostics):
    body = body_of(("", "A", 0.0), ("A-", "B", 1.0), ("B-", "C", 0.0), ("A-", "D", 1.0))
    assert dropped(body, diagnostics) == ["'A', which has no mass, and 3 more below it"]
    options = UrdfOptions(ros2_control=Hardware.GZ)
    assert len(dropped(body, diagnostics, options)) == 1


def test_a_massless_link_takes_what_it_carries_with_it(diagnostics):
    body = body_of(
        ("", "A", 1.0), ("A-", "B", 0.0), ("B-", "C", 1.0), ("A-", "D", 1e-7), ("A-", "E", 1e-5)
    )
    assert dropped(body, diagnostics) == [
        "'B', which has no mass, and 1 more below it",
        "'D', which has no mass",
    ]


def test_who_does_not_ask_for_gazebo_hears_nothing(diagnostics):
    body = body_of(("", "A", 0.0), ("A-", "B", 1.0))
    for options in (UrdfOptions(), UrdfOptions(ros2_control=Hardware.MOCK)):
        assert dropped(body, diagnostics, options) == []


@pytest.mark.parametrize("fixed", ["=", "t"])
def test_what_fixed_joints_join_has_the_mass_of_all(fixed, diagnostics):
    lower = body_of(("", "A", 0.0), (f"A{fixed}", "B", 1.0), ("B-", "C", 1.0))
    upper = body_of(("", "A", 1.0), ("A-", "B", 0.0), (f"B{fixed}", "C", 0.5))
    for body in (lower, upper):
        assert dropped(body, diagnostics) == []
    light = body_of(("", "A", 0.0), (f"A{fixed}", "B", 0.0), ("B-", "C", 1.0))
    assert dropped(light, diagnostics) == ["'A', which has no mass, and 2 more below it"]


def test_a_fixed_joint_that_is_kept_for_its_sensor_joins_nothing(diagnostics):
    body = body_of(("", "A", 0.0), ("A=", "B", 1.0))
    body = replace(body, devices=(ForceSensor(name="ft", link="B"),))
    assert dropped(body, diagnostics) == ["'A', which has no mass, and 1 more below it"]
    assert dropped(body, diagnostics, UrdfOptions(ros2_control=Hardware.GZ)) == []


def test_a_base_above_the_root_has_its_mass(diagnostics):
    body = body_of(("", "A", 1.0), ("A-", "B", 1.0))
    assert dropped(body, diagnostics, replace(GAZEBO, base=Base.FOOTPRINT)) == []


def test_a_root_called_world_is_the_world_and_joins_nothing(diagnostics):
    body = body_of(("", "world", 0.0), ("world=", "A", 0.0), ("world=", "B", 1.0))
    assert dropped(body, diagnostics) == ["'A', which has no mass"]


def test_the_place_is_that_of_the_link_that_lacks_the_mass(tmp_path, diagnostics):
    body = load_body(write_model(tmp_path, WITHOUT_MASS), diagnostics)
    diagnostics.take("massless-link")
    body_to_urdf(body, diagnostics=diagnostics, options=replace(GAZEBO, frame_prefix="r_"))
    diagnostics.take("shape-without-mesh")
    found = diagnostics.take("dropped-by-gazebo")
    assert found.at == body.link("ARM").at is not None


def test_joints_named_like_links_are_told(diagnostics):
    links = body_of(("", "WAIST", 1.0), ("WAIST-", "NECK", 1.0)).links
    named = [
        replace(
            link,
            joint=replace(link.joint, name=link.name, id=0),
            info={"segments": [link.name[0]]},
        )
        for link in links
    ]
    body = Body(name="robot", links=tuple(named))
    for options in (GAZEBO, UrdfOptions(ros2_control=Hardware.GZ)):
        body_to_urdf(body, diagnostics=diagnostics, options=options)
        assert "'NECK'" in diagnostics.take("joint-named-like-link").message
        body_to_urdf(body, diagnostics=diagnostics, options=replace(options, frame_prefix="r_"))
    segments = replace(GAZEBO, link_naming=LinkNaming.SEGMENT)
    body_to_urdf(body, diagnostics=diagnostics, options=segments)
