"""A URDF of a body with numbers and references that no URDF can hold."""

import math
from dataclasses import replace

import numpy as np
from urdf_tools import chain, parsed

from hrp_model import load_body
from hrp_model.body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link, Range
from hrp_model.devices import Device
from hrp_model.diagnostics import Diagnostics, Severity
from hrp_model.geometry import Box, Shape, Sphere
from hrp_model.rigid import Pose
from hrp_model.urdf import Hardware, UrdfOptions, body_to_urdf


def test_numbers_that_are_not_finite_are_repaired_with_a_warning(diagnostics):
    nan, inf = math.nan, math.inf
    joint = Joint(
        type=JointType.REVOLUTE,
        name="J",
        id=0,
        axis=[0, 0, 0],
        position=Range(nan, 1.0),
        velocity=Range(-2.0, nan),
        effort=Range(nan, nan),
        damping=-1.0,
        friction=nan,
        initial=nan,
        gear_ratio=inf,
        rotor_inertia=nan,
        equivalent_rotor_inertia=nan,
    )
    root = Link(name="R", parent=None, joint=Joint(type=JointType.FIXED, name="R"))
    rest = Link(
        name="L",
        parent="R",
        joint=joint,
        X_PL=Pose(p=[nan, 0, 0]),
        mass=inf,
        center_of_mass=[nan, 0, 0],
        inertia=np.full((3, 3), nan),
        visual=(Shape(Sphere(nan)), Shape(Box([1, 1, 1]), np.diag([1.0, 1.0, inf, 1.0]))),
        collision=(Shape(Box([1, -1, 1])), Shape(Sphere(1e200)), Shape(Sphere(0.5))),
    )
    device = Device(name="D", link="L", X_LS=Pose(np.full((3, 3), nan)))
    body = Body(name="b", links=(root, rest), devices=(device,))
    options = UrdfOptions(ros2_control=Hardware.MUJOCO)
    silent = Diagnostics.silent()
    text = body_to_urdf(body, diagnostics=diagnostics)
    for written in (text, body_to_urdf(body, diagnostics=silent, options=options)):
        assert "nan" not in written
        assert "inf" not in written
    robot = parsed(text)
    link, limit = robot.link_map["L"], robot.joint_map["J"].limit
    assert link.inertial is None
    assert not link.visuals
    assert [c.geometry.radius for c in link.collisions] == [0.5]
    assert robot.joint_map["J"].axis == [0, 0, 1]
    assert robot.joint_map["J"].type == "continuous"
    assert (limit.velocity, limit.effort) == (1e6, 1e6)
    codes = sorted(d.code for d in diagnostics.found)
    assert codes.count("not-finite") == 15
    assert {*codes} == {"not-finite", "negative-resistance", "zero-axis"}
    assert all("'L'" in d.message or "'J'" in d.message or "'D'" in d.message
               for d in diagnostics.found)  # fmt: skip
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


def test_what_hangs_on_no_link_is_left_out_aloud(diagnostics):
    ties = [
        ExtraJoint(type=ExtraJointType.HINGE, links=("A", "X"), name="to nothing"),
        ExtraJoint(type=ExtraJointType.HINGE, links=("A", "B"), axis=[0, 0, 0], name="no axis"),
        ExtraJoint(type=ExtraJointType.BALL, links=("A", "B"), X_AJ=Pose(p=[math.nan, 0, 0])),
    ]
    devices = (Device(name="D", link="X"), Device(name="E", link="B"))
    body = replace(chain("A", "B"), devices=devices, extra_joints=tuple(ties))
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics))
    assert list(robot.link_map) == ["A", "B", "E"]
    assert "'D' is on link 'X'" in diagnostics.take("unknown-link").message
    for words in ("'to nothing' connects link 'X'", "'no axis' has an axis", "pose"):
        assert words in diagnostics.take("unsound-constraint").message


def test_a_negative_mass_is_left_out_aloud(diagnostics):
    body = chain("A", mass=-1.0, inertia=np.eye(3))
    assert parsed(body_to_urdf(body, diagnostics=diagnostics)).links[0].inertial is None
    diagnostics.take("negative-mass")


def test_an_inertia_without_mass_is_kept(diagnostics):
    body = chain("A", inertia=np.diag([1.0, 2.0, 3.0]))
    inertial = parsed(body_to_urdf(body, diagnostics=diagnostics)).links[0].inertial
    assert (inertial.mass, inertial.inertia.izz) == (0.0, 3.0)
