"""USE and PROTO: what the words stand for."""

import pytest
from vrml_tools import body_of, shapes_of

from hrp_model.readers.vrml import nodes

SIZED = """PROTO Sized [
  field SFVec3f size 1 1 1 field MFNode below [] exposedField SFColor col 1 0 0 ] {
  DEF INNER Transform { translation IS size children [
    Shape { appearance Appearance { material DEF M Material { diffuseColor IS col } }
            geometry Box { size IS size } }
    Shape { appearance Appearance { material USE M } geometry Sphere { } }
    Group { children IS below } ] } }
"""


def test_is_takes_the_instances_value_or_the_declared_default():
    shapes = shapes_of(SIZED + "Sized { size 1 2 3 col 0 0 1 } Sized { }")
    assert [s.geometry.size.tolist() for s in shapes[::2]] == [[1, 2, 3], [1, 1, 1]]
    assert shapes[0].T_FG[:3, 3].tolist() == [1, 2, 3]
    assert shapes[0].material.diffuse == (0.0, 0.0, 1.0)
    assert shapes[2].material.diffuse == (1.0, 0.0, 0.0)


def test_use_inside_a_proto_sees_the_instances_copy():
    shapes = shapes_of(SIZED + "Sized { col 0 1 0 } Sized { col 0 0 1 }")
    assert [s.material.diffuse for s in shapes[1::2]] == [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]


def test_protos_may_be_made_of_protos():
    outer = """PROTO Outer [ field SFVec3f s 4 5 6 ] {
      Sized { size IS s below [ Shape { geometry Cone { } } ] } }"""
    box, _, cone = shapes_of(SIZED + outer + "Outer { }")
    assert box.geometry.size.tolist() == [4, 5, 6]
    assert cone.T_FG[:3, 3].tolist() == [4, 5, 6]


def test_an_unknown_name_after_is_leaves_the_default(diagnostics):
    text = "PROTO P [ field SFVec3f s 1 1 1 ] { Shape { geometry Box { size IS z } } } P { }"
    (box,) = shapes_of(text, diagnostics)
    assert box.geometry.size.tolist() == [2, 2, 2]
    assert "'z'" in diagnostics.take("unknown-is").message


def test_use_shows_the_node_again():
    first, second = shapes_of("DEF A Shape { geometry Box { } } Transform { children USE A }")
    assert first.geometry is second.geometry


def test_the_latest_of_two_equal_names_counts(diagnostics):
    text = """DEF A Shape { geometry Box { } } DEF A Shape { geometry Sphere { } }
    USE A USE A"""
    names = [type(s.geometry).__name__ for s in shapes_of(text, diagnostics)]
    assert names == ["Box", "Sphere", "Sphere", "Sphere"]
    assert "at m.wrl:1:7 and m.wrl:1:40" in diagnostics.take("ambiguous-use").message


@pytest.mark.parametrize(
    "doubled", ["children [ USE {0} USE {0} ]", "children [ P{0} {{ }} P{0} {{ }} ]"]
)
def test_what_doubles_at_every_level_ends_in_an_error(doubled, diagnostics, monkeypatch):
    monkeypatch.setattr(nodes, "_MAX_NODES", 5000)  # the real limit takes seconds
    text = "DEF 0 Shape { geometry Box { } } PROTO P0 [] { Shape { geometry Box { } } } "
    for i in range(40):
        group = f"Group {{ {doubled.format(i)} }}"
        text += f"DEF {i + 1} {group} " if "USE" in doubled else f"PROTO P{i + 1} [] {{ {group} }} "
    assert body_of(text + "P40 { }" * ("USE" not in doubled), diagnostics) is None
    diagnostics.take("too-large")


def test_fields_of_an_unknown_kind_are_reported_and_harmless(diagnostics):
    proto = """EXTERNPROTO T [ field SFVec2f rotation field MFNode scale
      field SFVec3f translation field MFNode children ] "t.wrl" """
    use = """T { rotation 1 2 translation 1 0 0 scale Group { }
      children Shape { geometry Box { } } }"""
    (shape,) = shapes_of(proto + use, diagnostics)
    assert shape.T_FG[:3, 3].tolist() == [1, 0, 0]
    for code in ("externproto", "wrong-value", "wrong-value"):
        diagnostics.take(code)


def test_nodes_that_a_file_spells_out_are_as_many_as_they_may_be(diagnostics, monkeypatch):
    monkeypatch.setattr(nodes, "_MAX_NODES", 50)
    shapes = "Shape { geometry Box { } } " * 200
    assert len(shapes_of(f"Group {{ children [ {shapes} ] }}", diagnostics)) == 200


def test_a_plane_is_a_box_unless_its_file_says_otherwise():
    (plane,) = shapes_of("Shape { geometry Plane { size 3 4 0.1 } }")
    assert plane.geometry.size.tolist() == [3, 4, 0.1]
    own = "PROTO Plane [ field SFFloat r 2 ] { Sphere { radius IS r } } "
    (ball,) = shapes_of(own + "Shape { geometry Plane { } }")
    assert ball.geometry.radius == 2.0


def test_an_unknown_node_with_a_place_is_a_transform(diagnostics):
    box = "Shape { geometry Box { } }"
    (shape,) = shapes_of(f"Trafo {{ translation 1 2 3 children {box} }}", diagnostics)
    assert shape.T_FG[:3, 3].tolist() == [1, 2, 3]
    (shape,) = shapes_of(
        f"Trafo {{ translation 1 rotation nan 0 0 1 children {box} }}", diagnostics
    )
    assert not shape.T_FG[:3, 3].any()
    for _ in range(2):
        diagnostics.take("unknown-node")


def test_what_cannot_stand_in_a_group_is_reported_once(diagnostics):
    box = "Shape { geometry Box { } }"
    assert len(shapes_of(f"{box} Group {{ children Sphere {{ }} }}", diagnostics)) == 1
    assert "Sphere" in diagnostics.take("misplaced-node").message
    assert len(shapes_of(f"{box} Shape {{ geometry Sphre {{ }} }}", diagnostics)) == 1
    assert "'Sphere'" in diagnostics.take("unknown-node").message
    text = f"{box} Shape {{ geometry Box {{ }} appearance Material {{ }} }}"
    assert len(shapes_of(text, diagnostics)) == 2
    diagnostics.take("misplaced-node")
