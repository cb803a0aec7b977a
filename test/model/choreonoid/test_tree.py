"""The tree of links, included bodies, loops, collision rules, headers and wrappers."""

import numpy as np
import pytest
import reference_data
from body_tools import HEADER, read_file, read_text
from paths import SHARED, needs_shared
from reference_compare import compare

from hrp_model.body import ExtraJointType, JointType, link_pair

LINKS = """
links:
  - { name: R }
  - { name: A, parent: R }
  - { name: B, parent: A }
  - { name: C, parent: B }
"""


def names(body):
    return [link.name for link in body.links]


def pairs(*written):
    return {link_pair(*pair) for pair in written}


def test_a_parent_may_come_later(diagnostics):
    text = "links: [{name: R}, {name: B, parent: A}, {name: A, parent: R}, {name: C, parent: R}]"
    assert names(read_text(text, diagnostics)) == ["R", "A", "B", "C"]


def test_the_root_may_be_named(diagnostics):
    text = "root_link: R\nlinks: [{name: A, parent: R}, {name: R}]"
    assert names(read_text(text, diagnostics)) == ["R", "A"]


@pytest.mark.parametrize(
    ("links", "code", "place"),
    [
        ("[{name: R}, {name: A, parent: Q}]", "unknown-parent", "m.body:4:38"),
        ("[{name: R}, {name: A}]", "second-root", "m.body:4:27"),
        ("[{name: R}, {name: A, parent: B}, {name: B, parent: A}]", "link-cycle", "m.body:4:38"),
        ("[]", "no-links", "m.body:4:8"),
        ("[7]", "wrong-type", "m.body:4:9"),
        ("[{name: R, type: Lnik}]", "unknown-type", "m.body:4:25"),
    ],
)
def test_what_makes_no_tree_is_an_error(links, code, place, diagnostics):
    assert read_text(f"links: {links}", diagnostics) is None
    assert str(diagnostics.take(code).at) == place


def test_an_unknown_root_is_an_error(diagnostics):
    assert read_text("root_link: Q\nlinks: [{name: R}]", diagnostics) is None
    diagnostics.take("unknown-root")


def test_names_are_made_unique_with_warnings(diagnostics):
    text = "links: [{name: A}, {name: A, parent: A}, {parent: A}, {name: A_2, parent: A}]"
    body = read_text(text, diagnostics)
    assert names(body) == ["A", "A_3", "link2", "A_2"]
    assert [link.joint.name for link in body.links] == names(body)
    diagnostics.take("duplicate-link-name")
    diagnostics.take("unnamed-link")


def test_neighbours_do_not_collide(diagnostics):
    disabled = read_text(LINKS, diagnostics).self_collision_disabled
    assert disabled == pairs("RA", "AB", "BC")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("[{disabled_link_chain_level: 2}]", ("RA", "AB", "BC", "RB", "AC")),
        ("[{disabled_link_group: [R, C]}]", ("RC",)),
        ("[{disabled_links: [B]}]", ("RB", "AB", "BC")),
        ("[{disabled_links: all}, {enabled_links: [R, C]}]", ("RA", "RB", "AB", "AC", "BC")),
        ("[{disabled_link_chain_level: 1}, {enabled_link_group: [A, B]}]", ("RA", "BC")),
        ("[]", ()),
    ],
)
def test_collision_rules_apply_in_order(rules, expected, diagnostics):
    body = read_text(f"collision_detection_rules: {rules}{LINKS}", diagnostics)
    assert body.self_collision_disabled == pairs(*expected)


def test_the_older_collision_keys(diagnostics):
    old = (
        "{ excludeTreeDepth: 0, excludeLinks: [C], excludeLinkGroups: [{name: g, links: [R, B]}] }"
    )
    body = read_text(f"collisionDetection: {old}{LINKS}", diagnostics)
    assert body.self_collision_disabled == pairs("RB", "RC", "AC", "BC")


def test_a_rule_about_an_unknown_link_is_reported(diagnostics):
    read_text(f"collision_detection_rules: [{{disabled_links: [Q]}}]{LINKS}", diagnostics)
    diagnostics.take("unknown-link")


def test_what_floats_freely_collides_with_its_parent(diagnostics):
    loose = "{name: A, parent: R, joint_type: free, mass: 1, inertia: [1, 0, 0, 1, 0, 1]}"
    text = f"links: [{{name: R}}, {loose}]"
    assert read_text(text, diagnostics).self_collision_disabled == frozenset()


@pytest.mark.parametrize(
    "keys",
    [
        "link1_name: A, link2_name: B, joint_type: piston, axis: [0, 0, 2],"
        " translation_in_link1: [1, 0, 0], translation_in_link2: [0, 1, 0]",
        "link1Name: A, link2Name: B, jointType: piston, jointAxis: [0, 0, 2],"
        " link1LocalPos: [1, 0, 0], link2_local_pos: [0, 1, 0]",
    ],
)
def test_loops_in_every_spelling(keys, diagnostics):
    (joint,) = read_text(f"extraJoints: [{{{keys}}}]{LINKS}", diagnostics).extra_joints
    assert (joint.type, joint.links) == (ExtraJointType.PISTON, ("A", "B"))
    assert (joint.X_AJ.p.tolist(), joint.X_BJ.p.tolist()) == ([1, 0, 0], [0, 1, 0])
    assert joint.axis.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("link1_name: A, link2_name: Q, joint_type: ball", "unknown-link"),
        ("link1_name: A, link2_name: B, joint_type: bal", "unknown-joint-type"),
        ("link1_name: A, link2_name: B", "missing-key"),
    ],
)
def test_a_broken_loop_is_an_error(keys, code, diagnostics):
    assert read_text(f"extra_joints: [{{{keys}}}]{LINKS}", diagnostics).extra_joints == ()
    assert diagnostics.take(code).severity.value == "error"


SUB = """
name: SUB
links:
  - { name: BASE, joint_type: revolute, joint_id: 0, joint_range: [-10, 10], translation: [1, 0, 0],
      mass: 2, inertia: [1, 0, 0, 1, 0, 1] }
  - { name: TIP, parent: BASE, joint_type: revolute, joint_id: 1, mass: 1,
      inertia: [1, 0, 0, 1, 0, 1], elements: [{ type: ForceSensor, name: FS, id: 4 }] }
extra_joints: [{ link1_name: BASE, link2_name: TIP, joint_type: ball }]
"""


def test_an_included_body_is_renamed_and_placed(tmp_path, diagnostics):
    (tmp_path / "sub.body").write_text(HEADER.replace("name: T\n", "") + SUB)
    text = """
links:
  - { name: R }
  - { type: SubBody, uri: sub.body, prefix: L_, suffix: _X, parent: R, joint_id_offset: 2,
      translation: [0, 1, 0], elements: [{ type: Shape, geometry: { type: Box } }] }
"""
    body = read_text(text, diagnostics, tmp_path)
    assert names(body) == ["R", "L_BASE_X", "L_TIP_X"]
    base, tip = body.links[1:]
    assert (base.parent, tip.parent) == ("R", "L_BASE_X")
    assert (base.joint.id, tip.joint.id, base.mass) == (2, 3, 2.0)
    assert base.X_PL.p.tolist() == [0, 1, 0]
    # The original, too, forgets ranges that the including entry does not repeat.
    assert base.joint.position.upper == np.inf
    assert len(base.visual) == 1
    assert base.collision is base.visual
    assert [(d.name, d.link, d.id) for d in body.devices] == [("L_FS", "L_TIP_X", 4)]
    assert body.extra_joints[0].links == ("L_BASE_X", "L_TIP_X")


def test_a_body_that_includes_itself_is_an_error(tmp_path, diagnostics):
    path = tmp_path / "a.body"
    path.write_text(HEADER + "links: [{name: R}, {type: SubBody, uri: a.body, parent: R}]\n")
    read_file(path, diagnostics)
    assert "a.body -> a.body" in diagnostics.take("resource-cycle").message


def test_a_missing_body_is_an_error(tmp_path, diagnostics):
    read_text("links: [{name: R}, {type: SubBody, uri: no.body, parent: R}]", diagnostics, tmp_path)
    found = str(diagnostics.take("missing-resource"))
    assert "error: cannot use 'no.body': no such file" in found


def test_a_continuous_track_becomes_a_chain(diagnostics):
    text = """
links:
  - { name: R }
  - { type: ContinuousTrack, name: T, parent: R, numJoints: 3, jointOffset: [0.1, 0, 0],
      initialJointAngles: [90], jointAxis: Y, mass: 1, inertia: [1, 0, 0, 1, 0, 1] }
"""
    body = read_text(text, diagnostics)
    assert names(body) == ["R", "T0", "T1", "T2"]
    assert [link.parent for link in body.links] == [None, "R", "T0", "T1"]
    kinds = [link.joint.type for link in body.links[1:]]
    assert kinds == [JointType.FREE, JointType.REVOLUTE, JointType.REVOLUTE]
    assert body.links[2].joint.initial == pytest.approx(np.pi / 2)
    assert body.links[3].X_PL.p.tolist() == [0.1, 0, 0]
    assert body.links[1].info["isContinuousTrack"]


LIBRARY = """
nodes:
  - &BOX { type: Shape, geometry: { type: Box }, appearance: *PAINT }
  - &TWO { Group: { elements: [*BOX, *BOX] } }
"""


def test_nodes_come_from_a_library_that_sees_the_anchors_of_the_model(tmp_path, diagnostics):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "parts.yaml").write_text(LIBRARY)
    text = """
PAINT: &PAINT { material: { diffuse: [1, 0, 0] } }
links:
  - name: A
    elements:
      - { type: Resource, uri: lib/parts.yaml, node: TWO, translation: [0, 0, 1] }
"""
    shapes = read_text(text, diagnostics, tmp_path).root.visual
    assert [shape.material.diffuse for shape in shapes] == [(1, 0, 0)] * 2
    assert shapes[0].T_FG[2, 3] == 1.0


def test_a_library_without_the_node_is_reported(tmp_path, diagnostics):
    (tmp_path / "parts.yaml").write_text("a: &BOX { type: Group }\n")
    text = "links: [{name: A, elements: [{type: Resource, uri: parts.yaml, node: BOXX}]}]"
    read_text(text, diagnostics, tmp_path)
    assert "Did you mean 'BOX'?" in diagnostics.take("unknown-node").message


def test_libraries_that_include_each_other_are_an_error(tmp_path, diagnostics):
    (tmp_path / "a.yaml").write_text("[{type: Resource, uri: b.yaml}]")
    (tmp_path / "b.yaml").write_text("[{type: Resource, uri: a.yaml}]")
    read_text(
        "links: [{name: A, elements: [{type: Resource, uri: a.yaml}]}]", diagnostics, tmp_path
    )
    assert "a.yaml -> b.yaml -> a.yaml" in diagnostics.take("resource-cycle").message


SCENE = """#VRML V2.0 utf8
Transform { translation 5 0 0 rotation 0 0 1 1.5707963267948966 children [
  DEF ARM Transform { translation 0 7 0 scale 2 2 2 children [
    Shape { geometry Box { size 1 2 3 } }
    DEF HAND Transform { translation 0 0 1 children Shape { geometry Sphere { radius 1 } } }
  ] }
] }
"""


def resource(keys, tmp_path, diagnostics, more=""):
    (tmp_path / "part.wrl").write_text(SCENE)
    text = f"links: [{{name: A, elements: [{{type: Resource, uri: part.wrl, {keys}}}{more}]}}]"
    return read_text(text, diagnostics, tmp_path).root.visual


def test_a_whole_scene(tmp_path, diagnostics):
    box, sphere = resource("translation: [0, 0, 1]", tmp_path, diagnostics)
    np.testing.assert_allclose(box.T_FG[:3, 3], (5 - 7, 0, 1), atol=1e-12)
    np.testing.assert_allclose(sphere.T_FG[:3, 3], (5 - 7, 0, 3), atol=1e-12)


def test_a_picked_node_keeps_its_orientation_but_not_its_place(tmp_path, diagnostics):
    box, _ = resource("node: ARM, translation: [0, 0, 1]", tmp_path, diagnostics)
    np.testing.assert_allclose(box.T_FG[:3, 3], (0, 0, 1), atol=1e-12)
    np.testing.assert_allclose(box.T_FG[:3, 0], (0, 2, 0), atol=1e-12)


def test_a_node_picked_elsewhere_is_not_drawn_twice(tmp_path, diagnostics):
    more = ", {type: Resource, uri: part.wrl, node: HAND}"
    shapes = resource("node: ARM", tmp_path, diagnostics, more)
    assert [type(shape.geometry).__name__ for shape in shapes] == ["Box", "Sphere"]


@pytest.mark.parametrize(
    "metadata", ["{length_unit: millimeter, upper_axis: Y}", "millimeter y_upper"]
)
def test_unit_and_upper_axis_of_a_file(metadata, tmp_path, diagnostics):
    box, _ = resource(f"node: ARM, metadata: {metadata}", tmp_path, diagnostics)
    np.testing.assert_allclose(box.T_FG[:3, 0], (0, 0, 0.002), atol=1e-15)


def test_a_missing_node_or_file_is_left_out_with_a_warning(tmp_path, diagnostics):
    assert resource("node: LEG", tmp_path, diagnostics) == ()
    diagnostics.take("unknown-node")
    text = "links: [{name: A, elements: [{type: Resource, uri: no.stl}]}]"
    assert read_text(text, diagnostics, tmp_path).root.visual == ()
    diagnostics.take("missing-resource")


def test_a_resource_as_geometry_takes_the_outer_appearance(tmp_path, diagnostics):
    (tmp_path / "part.wrl").write_text(SCENE)
    text = """
links:
  - name: A
    elements:
      Shape:
        translation: [0, 0, 1]
        geometry: { type: Resource, uri: part.wrl, node: HAND }
        appearance: { material: { diffuse: [1, 0, 0] } }
"""
    (shape,) = read_text(text, diagnostics, tmp_path).root.visual
    assert shape.material.diffuse == (1, 0, 0)
    assert shape.T_FG[2, 3] == 1.0


def test_a_wrapper_names_the_model_and_adds_to_it(tmp_path, diagnostics):
    (tmp_path / "m.body").write_text(HEADER + "standardPose: [0]\nlinks: [{name: A, x: 1}]\n")
    path = tmp_path / "m.yaml"
    path.write_text("modelFile: m.body\nlinkInfo: {A: {y: 2}}\nlinkGroup: [A]\n")
    body = read_file(path, diagnostics)
    assert body.root.info == {"x": 1, "y": 2}
    assert body.info == {"standardPose": [0], "linkGroup": ["A"]}


@pytest.mark.parametrize("links", ["5", "", "word"])
def test_links_that_are_no_list_are_an_error(links, diagnostics):
    assert read_text(f"links: {links}\n", diagnostics) is None
    assert "expected a list of links" in diagnostics.take("wrong-type").message


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("format: ChoreonoidBdy\nformat_version: 1.0\n", "not-a-model"),
        ("name: x\n", "not-a-model"),
        ("format: ChoreonoidBody\nformat_version: 2.1\n", "unknown-version"),
        ("modelFile: none.wrl\n", "missing-resource"),
        ("- 1\n", "not-a-model"),
        ("", "not-a-model"),
    ],
)
def test_what_is_no_model_is_an_error(header, code, diagnostics):
    assert read_text("", diagnostics, header=header) is None
    assert diagnostics.take(code).severity.value == "error"
    diagnostics.found.clear()


def test_version_2_has_degrees_only(diagnostics):
    read_text("angle_unit: radian\nlinks: [{name: A}]", diagnostics)
    diagnostics.take("radian")


def test_a_version_is_expected(diagnostics):
    read_text("links: [{name: A}]", diagnostics, header="format: ChoreonoidBody\n")
    diagnostics.take("no-version")


def test_a_model_without_name_has_that_of_its_file(tmp_path, diagnostics):
    (tmp_path / "robot.body").write_text(
        "format: ChoreonoidBody\nformat_version: 2.0\nlinks: [{name: A}]\n"
    )
    assert read_file(tmp_path / "robot.body", diagnostics).name == "robot"


@needs_shared
@pytest.mark.parametrize(
    "path", sorted((SHARED / "reference" / "quirks").glob("b*.body")), ids=lambda p: p.stem
)
def test_quirks_agree_with_the_reference(path, diagnostics):
    body = read_file(path, diagnostics)
    assert not diagnostics.has_errors
    diagnostics.found.clear()
    found = compare(body, reference_data.load(f"{path}.json")).differences
    # The reference leaves axis vectors as long as they were written.
    others = [d for d in found if not (d.path.endswith("axis") and parallel(d.ours, d.theirs))]
    assert not others, "\n".join(map(str, others))


def parallel(ours, theirs):
    return np.allclose(ours, np.array(theirs) / np.linalg.norm(theirs), atol=1e-12)
