"""A URDF of a body with numbers and references that no URDF can hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from each_case import all_cases
from urdf_tools import chain, parsed

from hrp_model import ModelError, load_body
from hrp_model.body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link, Range
from hrp_model.devices import Device
from hrp_model.diagnostics import Diagnostics, Severity
from hrp_model.geometry import Box, Shape, Sphere
from hrp_model.rigid import Pose
from hrp_model.urdf import Hardware, UrdfOptions, body_to_urdf


def moving(link=None, devices=(), **joint):
    """A body whose link L moves on its root R."""
    joint = Joint(type=JointType.REVOLUTE, name="J", id=0, **({"axis": [0, 0, 1]} | joint))
    root = Link(name="R", parent=None, joint=Joint(type=JointType.FIXED, name="R"))
    rest = Link(name="L", parent="R", joint=joint, **(link or {}))
    return Body(name="b", links=(root, rest), devices=devices)


NAN, INF = math.nan, math.inf


@all_cases(
    ("body", "words"),
    [
        (moving(friction=NAN), "the friction of link 'L'"),
        (moving(initial=NAN), "the initial joint position of link 'L'"),
        (moving(gear_ratio=INF), "the gear ratio of link 'L'"),
        (moving(rotor_inertia=NAN), "the rotor inertia of link 'L'"),
        (moving(equivalent_rotor_inertia=NAN), "the rotor inertia of link 'L'"),
        (moving({"X_PL": Pose(p=[NAN, 0, 0])}), "the frame of link 'L'"),
        (moving({"mass": INF}), "the mass of link 'L'"),
        (moving({"mass": -1.0, "inertia": np.eye(3)}), "mass"),
        (moving({"center_of_mass": [NAN, 0, 0]}), "the centre of mass of link 'L'"),
        (moving({"inertia": np.full((3, 3), NAN)}), "the inertia of link 'L'"),
        (moving({"visual": (Shape(Sphere(NAN)),)}), "a shape of link 'L'"),
        (moving(devices=(Device(name="D", link="L", X_LS=Pose(np.full((3, 3), NAN))),)), "'D'"),
        (moving(devices=(Device(name="D", link="X"),)), "'D' is on link 'X'"),
    ],
)
def test_an_invalid_body_of_a_program_is_refused(body, words, diagnostics):
    with pytest.raises(ModelError, match=words):
        body_to_urdf(body, diagnostics=diagnostics)


def test_what_no_urdf_can_hold_is_repaired_with_a_warning(diagnostics):
    body = moving(
        {"collision": (Shape(Box([1, -1, 1])), Shape(Sphere(1e200)), Shape(Sphere(0.5)))},
        axis=[0, 0, 0],
        position=Range(NAN, 1.0),
        velocity=Range(-2.0, NAN),
        effort=Range(NAN, NAN),
        damping=-1.0,
    )
    options = UrdfOptions(ros2_control=Hardware.MUJOCO)
    text = body_to_urdf(body, diagnostics=diagnostics)
    for written in (text, body_to_urdf(body, diagnostics=Diagnostics.silent(), options=options)):
        assert "nan" not in written
        assert "inf" not in written
    robot = parsed(text)
    link, limit = robot.link_map["L"], robot.joint_map["J"].limit
    assert [c.geometry.radius for c in link.collisions] == [0.5]
    assert robot.joint_map["J"].axis == [0, 0, 1]
    assert robot.joint_map["J"].type == "continuous"
    assert (limit.velocity, limit.effort) == (1e6, 1e6)
    codes = sorted(d.code for d in diagnostics.found)
    assert codes == ["negative-resistance", *["not-finite"] * 4, "zero-axis"]
    assert all("'L'" in d.message or "'J'" in d.message for d in diagnostics.found)
    diagnostics.found.clear()


INVERTED = """{format: ChoreonoidBody, format_version: 1.0, links: [{name: A, mass: 1},
  {name: B, parent: A, joint_type: revolute, joint_id: 0, joint_range: [10, -10], mass: 1,
   inertia: [1, 0, 0, 1, 0, 1]}]}"""


def test_inverted_limits_are_warned_of_once_from_file_to_urdf(tmp_path, diagnostics):
    path = tmp_path / "inverted.body"
    path.write_text(INVERTED, encoding="utf-8")
    body = load_body(path, diagnostics)
    assert parsed(body_to_urdf(body, diagnostics=diagnostics)).joint_map["B"].type == "continuous"
    assert diagnostics.take("inverted-range").severity is Severity.WARNING
    inverted = replace(body.links[1].joint, position=Range(2.0, 1.0))
    changed = replace(body, links=(body.root, replace(body.links[1], joint=inverted)))
    body_to_urdf(changed, diagnostics=diagnostics)
    assert diagnostics.take("inverted-range").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("tie", "words"),
    [
        ({"links": ("A", "X")}, "'tie' connects link 'X'"),
        ({"links": ("A", "B"), "X_AJ": Pose(p=[NAN, 0, 0])}, "'tie' has a number"),
    ],
)
def test_a_loop_through_nothing_is_refused(tie, words, diagnostics):
    extra = ExtraJoint(type=ExtraJointType.BALL, name="tie", **tie)
    with pytest.raises(ModelError, match=words):
        body_to_urdf(replace(chain("A", "B"), extra_joints=(extra,)), diagnostics=diagnostics)


def test_a_loop_without_a_direction_is_left_out_aloud(diagnostics):
    tie = ExtraJoint(type=ExtraJointType.HINGE, links=("A", "B"), axis=[0, 0, 0], name="no axis")
    body = replace(chain("A", "B"), extra_joints=(tie,))
    assert list(parsed(body_to_urdf(body, diagnostics=diagnostics)).link_map) == ["A", "B"]
    assert "'no axis' has an axis" in diagnostics.take("unsound-constraint").message


def test_an_inertia_without_mass_is_kept(diagnostics):
    body = chain("A", inertia=np.diag([1.0, 2.0, 3.0]))
    inertial = parsed(body_to_urdf(body, diagnostics=diagnostics)).links[0].inertial
    assert (inertial.mass, inertial.inertia.izz) == (0.0, 3.0)
