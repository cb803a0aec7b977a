"""Robots: what Humanoid, Joint, Segment, Surface and ExtraJoint mean."""

from math import inf, pi

import numpy as np
import pytest
from each_case import all_cases
from vrml_tools import body_of, link_of, robot, write

from hrp_model.body import ExtraJointType, JointType, link_pair
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import axis_angle_matrix

BOX = "Shape { geometry Box { } }"
BALL = "Shape { geometry Sphere { } }"


def joint_of(fields, diagnostics=None, above=""):
    """Read the joint of a link below BASE."""
    inside = f'jointType "free" children DEF J Joint {{ {fields} }}'
    return robot(inside, diagnostics, above).link("J").joint


def segment(fields):
    return f"DEF S Segment {{ {fields} }}"


def test_links_come_parents_first_in_the_order_of_the_file():
    body = robot("""jointType "free" children [
      DEF A Joint { jointType "rotate" children DEF A1 Joint { jointType "slide" } }
      DEF S Segment { }
      DEF B Joint { jointType "fixed" } ]""")
    assert [(x.name, x.parent) for x in body.links] == (
        [("BASE", None), ("A", "BASE"), ("A1", "A"), ("B", "BASE")]
    )
    assert body.self_collision_disabled == {
        *(link_pair("BASE", "A"), link_pair("A", "A1"), link_pair("BASE", "B"))
    }


def test_the_body_is_named_after_the_humanoid():
    joint = 'humanoidBody DEF B Joint { jointType "free" }'
    assert body_of(f'DEF X-1 Humanoid {{ name "y" {joint} }}').name == "X-1"
    assert body_of(f'Humanoid {{ name "y" {joint} }}').name == "y"
    assert body_of(f"Humanoid {{ {joint} }}", name="a/z.wrl").name == "z"


def test_info_of_the_humanoid_is_kept():
    body = body_of("""DEF R Humanoid { info [ "a" "b" ] version "1.1"
      humanoidBody DEF B Joint { jointType "free" } joints USE B segments [ USE NONE ] }""")
    assert body.info["info"] == ["a", "b"]
    assert body.info["version"] == "1.1"


def test_viewpoints_of_the_humanoid_are_poses_of_cameras(diagnostics):
    body = body_of("""DEF R Humanoid { humanoidBody DEF B Joint { jointType "free" } viewpoints [
      Viewpoint { position 1 2 3 orientation 0 0 2 0.5 fieldOfView 0.7 description "front" }
      DEF SIDE Viewpoint { } Shape { geometry Box { } } ] }""", diagnostics)  # fmt: skip
    front, side = body.viewpoints
    assert (front.name, front.field_of_view) == ("front", 0.7)
    np.testing.assert_array_equal(front.X_MV.p, [1, 2, 3])
    np.testing.assert_allclose(front.X_MV.R, axis_angle_matrix((0, 0, 1), 0.5), atol=1e-15)
    assert (side.name, side.X_MV.p.tolist()) == ("SIDE", [0, 0, 10])  # VRML97's default
    assert "Shape is left out" in diagnostics.take("misplaced-node").message
    assert body.root.visual == ()


def test_a_link_frame_is_translation_then_rotation():
    link = link_of("translation 1 2 3 rotation 0 0 2 0.5")
    np.testing.assert_array_equal(link.X_PL.p, [1, 2, 3])
    np.testing.assert_allclose(link.X_PL.R, axis_angle_matrix((0, 0, 1), 0.5), atol=1e-15)
    assert str(link.at) == "m.wrl:1:40"


@all_cases(
    ("word", "joint_type"),
    [
        ("fixed", JointType.FIXED),
        ("rotate", JointType.REVOLUTE),
        ("slide", JointType.PRISMATIC),
        ("revolute", JointType.REVOLUTE),
        ("prismatic", JointType.PRISMATIC),
        ("crawler", JointType.TRACK),
        ("pseudoContinuousTrack", JointType.TRACK),
    ],
)
def test_joint_types(word, joint_type):
    assert joint_of(f'jointType "{word}"').type is joint_type


def test_what_floats_freely_collides_with_its_parent(diagnostics):
    body = robot('jointType "free" children DEF J Joint { jointType "free" }', diagnostics)
    assert not body.self_collision_disabled
    diagnostics.take("inner-free-joint")


STRING_AXIS = """PROTO Joint [ field MFNode children [] field SFString jointType ""
  field SFString jointAxis "Y" ] { } """


def test_limits_are_the_first_of_a_list_and_empty_means_none():
    joint = joint_of('jointType "rotate" llimit [-1 -2] ulimit 2 lvlimit [] uvlimit [3]')
    assert joint.position == (-1.0, 2.0)
    assert joint.velocity == (-inf, 3.0)
    assert joint.effort == (-inf, inf)


def test_the_motor_gives_effort_and_inertia():
    joint = joint_of(
        'jointType "rotate" climit [5] gearRatio -50 torqueConst 0.1 rotorInertia 0.001 jointId 7'
    )
    assert joint.effort == (-25.0, 25.0)
    assert joint.equivalent_rotor_inertia == pytest.approx(2.5)
    assert (joint.gear_ratio, joint.torque_const, joint.id) == (-50.0, 0.1, 7)
    assert joint_of('jointType "rotate" climit 1e308 gearRatio 100').effort == (-inf, inf)
    lossy = joint_of('jointType "rotate" climit 2 gearRatio 100 torqueConst 0.1 gearEfficiency 0.6')
    assert lossy.effort == pytest.approx((-12.0, 12.0))
    assert joint_of('jointType "rotate"').id is None


@pytest.mark.parametrize(
    ("written", "pulses"), [("1000", 1000.0), ("1", None), ("0", None), ("-5", -5.0)]
)
def test_the_default_and_zero_say_nothing_of_an_encoder(written, pulses):
    joint = joint_of(f'jointType "rotate" gearRatio 50 encoderPulse {written}')
    assert joint.encoder_pulse == pulses
    assert joint_of('jointType "rotate"').encoder_pulse is None


def test_what_else_a_joint_says_is_kept_as_information():
    link = link_of("rotorResistor 2 dh [1 2] jointValue 0.5 children DEF S1 Segment { }")
    assert link.info == {
        "rotorResistor": 2.0,
        "dh": [1.0, 2.0],
        "jointValue": 0.5,
        "segments": ["S1"],
    }
    assert link.joint.initial == 0.0


def test_segments_are_merged_with_their_transforms():
    ball = "mass 2 momentsOfInertia [1 0 0 0 2 0 0 0 3]"
    turned = f"Transform {{ translation 2 0 0 rotation 0 0 1 {pi / 2} children {segment(ball)} }}"
    link = link_of(f"children [ {segment(ball)} {turned} ]")
    assert link.mass == 4.0
    np.testing.assert_allclose(link.center_of_mass, [1, 0, 0], atol=1e-15)
    # Each part lies 1 m from the middle: 2 kg m^2 more about y and z, twice.
    np.testing.assert_allclose(link.inertia, np.diag([1 + 2, 2 + 1 + 4, 6 + 4]), atol=1e-12)


def inertia(numbers, diagnostics):
    return link_of(
        f"children {segment(f'mass 1 momentsOfInertia [{numbers}]')}", diagnostics
    ).inertia


def test_moments_of_inertia_come_by_rows(diagnostics):
    expected = [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
    assert inertia("1 2 3 2 4 5 3 5 6", diagnostics).tolist() == expected
    assert inertia("1 2 3 4 5 6", diagnostics).tolist() == expected
    diagnostics.take("short-inertia")
    assert not inertia("", diagnostics).any()
    assert not inertia("1 2 3", diagnostics).any()
    assert "there are 3" in diagnostics.take("bad-inertia").message


def test_an_asymmetric_inertia_becomes_its_mean(diagnostics):
    assert inertia("1 2 0 0 1 0 0 0 1", diagnostics)[0, 1] == 1.0
    diagnostics.take("asymmetric-inertia")
    assert inertia("1 1e-9 0 0 1 0 0 0 1", diagnostics)[1, 0] == 0.5e-9


def test_without_surfaces_what_is_drawn_also_touches():
    link = link_of(f"children {segment(f'children [ {BOX} ]')}")
    assert len(link.visual) == 1
    assert link.collision is link.visual


def test_one_surface_in_a_link_takes_over_what_touches():
    link = link_of(f"children {segment(f'children [ {BOX} Surface {{ }} ]')}")
    assert len(link.visual) == 1
    assert link.collision == ()


def test_surfaces_tell_what_touches_from_what_is_drawn():
    surface = f"Surface {{ visual {BOX} collision [ {BALL} ] }}"
    moved = f"Transform {{ translation 0 0 1 children {surface} }}"
    link = link_of(f"children {segment(f'children [ {moved} {BOX} ]')}")
    assert [type(s.geometry) for s in link.visual] == [Box, Box]
    assert [type(s.geometry) for s in link.collision] == [Sphere]
    assert link.collision[0].T_FG[:3, 3].tolist() == [0, 0, 1]


def test_the_authors_own_wrapper_may_turn_forth_and_back():
    wrapper = """PROTO W [ exposedField MFNode children [] ] {
      Transform { rotation 0 0 1 -1.5708 children [ DEF A CylinderSensor { } DEF B Transform {
        children Transform { rotation 0 0 1 1.5708 children IS children } } ] }
      ROUTE A.rotation_changed TO B.set_rotation } """
    inside = 'jointType "free" children W { children DEF J Joint { jointType "rotate" } }'
    assert robot(inside, above=wrapper).link("J").parent == "BASE"


def test_without_a_humanoid_a_file_is_one_fixed_link(diagnostics):
    body = body_of(f"Viewpoint {{ }} {BOX}", diagnostics, name="a/floor.wrl")
    assert body.name == "floor"
    assert body.root.name == "Root"
    assert body.is_static
    assert len(body.root.visual) == 1
    assert body.root.collision is body.root.visual
    assert body_of("# nothing", diagnostics) is None
    diagnostics.take("empty-file")


def test_a_part_may_bring_joints_and_sensors(tmp_path, diagnostics):
    path = write(
        tmp_path,
        m="""DEF R Humanoid { humanoidBody DEF BASE Joint { jointType "free" children [
          DEF S Segment { children Inline { url "shape.wrl" } } Inline { url "arm.wrl" } ] } }""",
        arm="""PROTO Joint [ field SFString jointAxis "X" field SFString jointType "rotate"
          field MFNode children [] ] { }
          DEF ARM Joint { children [ DEF G Gyro { } DEF S Segment { mass 4 } ] }""",
        shape=f"Transform {{ translation 1 0 0 children {BOX} }} DEF F ForceSensor {{ }}",
    )
    body = body_of(path.read_text(), diagnostics, path=path)
    assert [x.name for x in body.links] == ["BASE", "ARM"]
    assert body.link("ARM").joint.axis.tolist() == [1, 0, 0]
    assert body.link("ARM").mass == 4.0
    assert [(d.name, d.link) for d in body.devices] == [("F", "BASE"), ("G", "ARM")]
    assert body.root.visual[0].T_FG[:3, 3].tolist() == [1, 0, 0]


EXTRA = """DEF E ExtraJoint {{ link1Name "BASE" link2Name "{}" link1LocalPos 1 2 3
  link2LocalPos 4 5 6 jointType "{}" jointAxis 0 1 0 }} """


@all_cases(
    ("word", "extra_type"),
    [
        ("xyz", ExtraJointType.BALL),
        ("ball", ExtraJointType.BALL),
        ("xy", ExtraJointType.XY),
        ("z", ExtraJointType.Z),
        ("piston", ExtraJointType.PISTON),
        ("hinge", ExtraJointType.HINGE),
    ],
)
def test_extra_joints_close_loops(word, extra_type):
    inside = 'jointType "free" children DEF J Joint { jointType "rotate" }'
    (joint,) = robot(inside, above=EXTRA.format("J", word)).extra_joints
    assert (joint.type, joint.links, joint.name) == (extra_type, ("BASE", "J"), "E")
    assert joint.X_AJ.p.tolist() == [1, 2, 3]
    assert joint.X_BJ.p.tolist() == [4, 5, 6]
    assert joint.axis.tolist() == [0, 1, 0]


def test_a_value_of_the_wrong_kind_is_located(diagnostics):
    above = 'PROTO Segment [ field SFString mass "" ] { } '
    body = robot('jointType "free" children Segment { mass "5" }', diagnostics, above)
    assert body.root.mass == 0.0
    assert "'mass'" in diagnostics.take("wrong-value").message
    assert link_of("translation 0 nan 0", diagnostics).X_PL.p.tolist() == [0, 0, 0]
    diagnostics.take("wrong-value")


def test_a_part_may_be_a_mesh_of_another_format(tmp_path):
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    inline = 'Transform { translation 0 0 1 children Inline { url "part.obj" } }'
    text = f"""DEF R Humanoid {{ humanoidBody DEF B Joint {{ jointType "free" children
      {segment(f"children {inline}")} }} }}"""
    (shape,) = body_of(text, path=tmp_path / "m.wrl").root.visual
    assert len(shape.geometry.triangles) == 1
    assert shape.T_FG[:3, 3].tolist() == [0, 0, 1]
