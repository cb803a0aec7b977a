"""Inertia and centre of mass against the shape: what is doubted, and what is left alone."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from each_case import all_cases
from hypothesis import given
from hypothesis import strategies as st

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.diagnostics import Diagnostics, Severity, Source, Span
from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere
from hrp_model.validate import validate

AT = Span(Source("arm.body", "ARM\n"), 0, 3)
KILOGRAM_MILLIMETRES, GRAM_CENTIMETRES = 1e6, 1e7  # how many of them are one kg m^2


def box_inertia(mass, size):
    squares = np.square(size)
    return np.diag(mass / 12.0 * (squares.sum() - squares))


def link(*shapes, mass=2.0, inertia=None, center=(0, 0, 0), kind=JointType.FREE, **options):
    return Link(
        name="ARM",
        parent=None,
        joint=Joint(type=kind, name="ARM"),
        mass=mass,
        inertia=box_inertia(mass, [0.1, 0.2, 0.3]) if inertia is None else inertia,
        center_of_mass=np.array(center, dtype=float),
        visual=shapes,
        at=AT,
        **options,
    )


def codes(*links):
    found = Diagnostics.silent()
    validate(Body(name="b", links=links), found)
    return [d.code for d in found.found]


BOX = Shape(Box([0.1, 0.2, 0.3]))


@given(
    st.tuples(*[st.floats(0.01, 10.0)] * 3),
    st.floats(0.01, 1000.0),
    st.tuples(*[st.floats(-1.0, 1.0)] * 3),
)
def test_a_solid_box_suits_its_inertia_wherever_it_lies(size, mass, place):
    T = np.eye(4)
    T[:3, 3] = place
    solid = link(Shape(Box(size), T), mass=mass, inertia=box_inertia(mass, size), center=place)
    assert codes(solid) == []


@given(st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 3), min_size=4, max_size=20))
def test_masses_anywhere_within_the_shape_suit_it(points):
    """Up to all mass in the corners of the box, no distribution is too wide for its shape."""
    points = np.array([*points, [-1, -1, -1], [1, 1, 1]])
    center = points.mean(axis=0)
    offsets = points - center
    inertia = np.eye(3) * (offsets**2).sum() - offsets.T @ offsets
    found = codes(link(Shape(Box([2, 2, 2])), mass=len(points), inertia=inertia, center=center))
    assert "inertia-out-of-proportion" not in found


@all_cases(
    "shape",
    [
        Shape(Sphere(0.15)),
        Shape(Cylinder(0.1, 0.3)),
        Shape(Cone(0.1, 0.3)),
        Shape(Capsule(0.1, 0.2)),
        Shape(Mesh(np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.2]]), [[0, 1, 2]])),
        Shape(Sphere(1.0), np.diag([0.1, 0.1, 0.2, 1.0])),
    ],
)
def test_every_kind_of_shape_tells_mistakes_of_units(shape):
    sound = np.diag([0.011, 0.011, 0.009])
    assert codes(link(shape, inertia=sound)) == []
    for factor in (KILOGRAM_MILLIMETRES, GRAM_CENTIMETRES, 1.0 / KILOGRAM_MILLIMETRES):
        assert codes(link(shape, inertia=sound * factor)) == ["inertia-out-of-proportion"]
    in_millimetres = replace(shape, T_FG=np.diag([1e3, 1e3, 1e3, 1.0]) @ shape.T_FG)
    assert codes(link(in_millimetres, inertia=sound)) == ["inertia-out-of-proportion"]


def test_a_message_tells_both_sizes_where_the_link_is(diagnostics):
    validate(Body(name="b", links=(link(BOX, inertia=np.eye(3) * 2.0),)), diagnostics)
    found = diagnostics.take("inertia-out-of-proportion")
    assert found.at is AT
    assert "'ARM' is 129 times that of a solid of its shape" in found.message
    assert "it fits a body of 4.24 m, not 0.374 m" in found.message


def test_the_identity_matrix_is_a_placeholder_told_once(diagnostics):
    root = link(BOX, inertia=np.eye(3))
    arms = [
        replace(root, name=n, parent="ARM", joint=replace(root.joint, name=n), at=None)
        for n in (f"L{i}" for i in range(6))
    ]
    validate(Body(name="b", links=(root, *arms)), diagnostics)
    found = diagnostics.take("inertia-out-of-proportion")
    assert found.severity is Severity.WARNING
    assert found.at is AT
    assert found.message.endswith("'ARM', 'L0', 'L1', 'L2' and 3 more")


def test_the_placeholder_of_a_single_link_is_a_note(diagnostics):
    validate(Body(name="b", links=(link(BOX, inertia=np.eye(3)),)), diagnostics)
    found = diagnostics.take("inertia-out-of-proportion")
    assert found.severity is Severity.NOTE
    assert found.message.endswith("identity matrix, which does not fit the size of 'ARM'")


def test_the_identity_matrix_may_be_right():
    assert codes(link(Shape(Box([1, 1, 1])), mass=6.0, inertia=np.eye(3))) == []


def test_all_shapes_of_a_link_count_together():
    far = np.eye(4)
    far[0, 3] = 1.0
    inertia = box_inertia(2.0, [1.1, 0.1, 0.1])
    small = Shape(Box([0.02] * 3))
    assert codes(link(small, inertia=inertia)) == ["inertia-out-of-proportion"]
    assert codes(link(small, replace(small, T_FG=far), inertia=inertia, center=[0.5, 0, 0])) == []
    assert codes(link(small, inertia=inertia, collision=(Shape(Box([1.1, 0.1, 0.1])),))) == []


def test_a_centre_of_mass_in_millimetres_lies_far_outside():
    assert codes(link(BOX, center=[0, 0, 0.1])) == []
    assert codes(link(BOX, center=[0, 0, 0.4])) == []  # a counterweight that is not drawn
    assert codes(link(BOX, center=[0, 0, 100.0])) == ["mass-outside-shape"]


def test_what_cannot_move_may_weigh_what_it_wants():
    odd = {"inertia": np.eye(3), "center": [9, 0, 0]}
    fixed = link(BOX, kind=JointType.FIXED, **odd)
    moved = replace(
        link(BOX), name="M", parent="ARM", joint=Joint(type=JointType.REVOLUTE, name="J")
    )
    assert codes(fixed, moved) == []
    tool = replace(fixed, name="T", parent="M")
    assert sorted(codes(fixed, moved, tool)) == ["inertia-out-of-proportion", "mass-outside-shape"]


def test_a_link_whose_shapes_are_not_all_known_is_not_compared():
    odd = link(BOX, inertia=np.eye(3) * 2.0, center=[9, 0, 0])
    assert sorted(codes(odd)) == ["inertia-out-of-proportion", "mass-outside-shape"]
    assert codes(replace(odd, lacks_shapes=True)) == []


MASS = "mass: 10, center_of_mass: [0, 0, 3], inertia: [2, 0, 0, 2, 0, 2]"
LINK = "{ type: Shape, geometry: { type: Box, size: [0.1, 0.1, 0.1] } }"
TEXTS = {
    "body": (
        "format: ChoreonoidBody\nformat_version: 2.0\nname: arm\nlinks:\n"
        f"  - {{ name: A, joint_type: free, {MASS}, elements: [ {LINK}, "
        "{ type: Resource, uri: %s } ] }\n"
    ),
    "urdf": (
        '<robot name="arm"><link name="W"/><joint name="J" type="floating"><parent link="W"/>'
        '<child link="A"/></joint><link name="A"><inertial><origin xyz="0 0 3"/><mass value="10"/>'
        '<inertia ixx="2" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial>'
        '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'
        '<visual><geometry><mesh filename="%s"/></geometry></visual></link></robot>'
    ),
    "wrl": (
        '#VRML V2.0 utf8\nDEF arm Humanoid { humanoidBody [ DEF A Joint { jointType "free" '
        "children [ DEF S Segment { mass 10 centerOfMass 0 0 3 momentsOfInertia [2 0 0 0 2 0 0 0 2]"
        ' children [ Shape { geometry Box { size 0.1 0.1 0.1 } } Inline { url "%s" } ] } ] } ] }\n'
    ),
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("file", ["absent.stl", "broken.stl", "part.wrl", "sound.obj"])
def test_every_reader_knows_which_links_lack_shapes(kind, file, tmp_path):
    (tmp_path / "broken.stl").write_text("solid a\nfacet")
    (tmp_path / "sound.obj").write_text("v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nf 1 2 3\n")
    part = '#VRML V2.0 utf8\nTransform { children [ Inline { url "absent.wrl" } ] }\n'
    (tmp_path / "part.wrl").write_text(part)
    (tmp_path / f"arm.{kind}").write_text(TEXTS[kind] % file)
    found = Diagnostics.silent()
    body = load_body(tmp_path / f"arm.{kind}", found)
    lacks = file != "sound.obj"
    assert body.link("A").lacks_shapes == lacks
    proportions = {"inertia-out-of-proportion", "mass-outside-shape"}
    assert proportions.isdisjoint(d.code for d in found.found) == lacks


def test_a_part_that_lacks_shapes_does_so_wherever_it_is_used(tmp_path):
    part = '#VRML V2.0 utf8\nTransform { children [ Inline { url "absent.wrl" } ] }\n'
    (tmp_path / "part.wrl").write_text(part)
    text = "".join(
        f"  - {{ name: {name}, elements: [ {{ type: Resource, uri: {uri} }} ], parent: A }}\n"
        for name, uri in (("B", "part.wrl"), ("C", "part.wrl"), ("D", "nodes.yaml"), ("E", "*"))
    )
    text = text.replace("{ type: Resource, uri: * }", LINK)
    (tmp_path / "nodes.yaml").write_text("[ { type: Resource, uri: part.wrl } ]\n")
    head = "format: ChoreonoidBody\nformat_version: 2.0\nname: arm\nlinks:\n  - { name: A }\n"
    (tmp_path / "arm.body").write_text(head + text)
    body = load_body(tmp_path / "arm.body", Diagnostics.silent())
    assert [link.name for link in body.links if link.lacks_shapes] == ["B", "C", "D"]


def test_links_without_shape_or_mass_are_not_compared():
    assert codes(link(inertia=np.eye(3), center=[9, 0, 0])) == []
    assert codes(link(BOX, mass=0.0, inertia=np.eye(3))) == ["massless-link"]
    assert codes(link(BOX, inertia=np.zeros((3, 3)))) == ["no-inertia"]
    assert codes(link(Shape(Box([0, 0, 0])))) == ["empty-shape"]
    assert codes(link(Shape(Mesh(np.zeros((0, 3)), np.zeros((0, 3)))))) == []


def test_numbers_that_are_none_are_told_once():
    assert codes(link(BOX, inertia=np.full((3, 3), nan))) == ["not-finite"]
    assert codes(link(BOX, center=[nan, 0, 0])) == ["not-finite"]
    assert codes(link(Shape(Sphere(nan)))) == ["not-finite"]
    assert codes(link(Shape(Mesh(np.full((3, 3), nan), [[0, 1, 2]])))) == ["not-finite"]
