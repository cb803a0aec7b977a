"""What a model takes from other files: libraries of nodes, shapes, and the model of a wrapper."""

import numpy as np
import pytest
from body_tools import HEADER, read_file, read_text

from hrp_model.readers.choreonoid import scope

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


def test_libraries_that_multiply_nodes_are_refused(tmp_path, diagnostics, monkeypatch):
    monkeypatch.setattr(scope, "_MAX_LIBRARY_USES", 3)
    (tmp_path / "a.yaml").write_text(
        "[{type: Resource, uri: b.yaml}, {type: Resource, uri: b.yaml}]"
    )
    (tmp_path / "b.yaml").write_text("{type: Shape, geometry: {type: Box}}")
    once = "{type: Resource, uri: a.yaml}"
    for entries, shapes in ((once, 2), (f"{once}, {once}", 2)):
        text = f"links: [{{name: A, elements: [{entries}]}}]"
        assert len(read_text(text, diagnostics, tmp_path).root.visual) == shapes
    diagnostics.take("too-large")


def test_a_library_that_may_not_be_read_is_an_error(tmp_path, diagnostics, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.yaml").touch()
    monkeypatch.setattr(scope, "read_source", refuse)
    text = "links: [{name: A, elements: [{type: Resource, uri: a.yaml}]}]"
    assert read_text(text, diagnostics, tmp_path).root.visual == ()
    assert "Permission denied" in diagnostics.take("unreadable-file").message


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


def test_an_upper_axis_turns_all_axes_cyclically(tmp_path, diagnostics):
    """As in Choreonoid: (x, y, z) becomes (z, x, y)."""
    (tmp_path / "part.wrl").write_text("#VRML V2.0 utf8\nShape { geometry Box { size 1 2 3 } }\n")
    text = (
        "links: [{name: A, elements: [{type: Resource, uri: part.wrl, metadata: {upper_axis: Y}}]}]"
    )
    (box,) = read_text(text, diagnostics, tmp_path).root.visual
    np.testing.assert_array_equal(box.T_FG[:3, :3] @ (1, 2, 3), (3, 1, 2))


@pytest.mark.parametrize(
    ("one", "other", "drawn"),
    [
        ("", "metadata: {length_unit: millimeter}, ", ["Box", "Sphere", "Sphere"]),
        ("metadata: y_upper, ", "", ["Box", "Sphere", "Sphere"]),
        ("metadata: inch, ", "metadata: {lengthUnit: inch}, ", ["Box", "Sphere"]),
        ("crease_angle: 30, ", "", ["Box", "Sphere"]),
    ],
)
def test_only_resources_with_equal_metadata_share_picked_nodes(
    one, other, drawn, tmp_path, diagnostics
):
    more = f", {{type: Resource, uri: part.wrl, {other}node: HAND}}"
    shapes = resource(f"{one}node: ARM", tmp_path, diagnostics, more)
    assert [type(shape.geometry).__name__ for shape in shapes] == drawn


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


def test_a_wrapper_may_say_how_finely_circles_are_drawn(tmp_path, diagnostics):
    ball = "{type: Shape, geometry: {type: Sphere}}"
    pipe = "{type: Shape, geometry: {type: Cylinder, division_number: 8}}"
    (tmp_path / "m.body").write_text(f"{HEADER}links: [{{name: A, elements: [{ball}, {pipe}]}}]\n")
    path = tmp_path / "m.yaml"
    path.write_text("model_file: m.body\ngeometry: {divisionNumber: 12}\n")
    link = read_file(path, diagnostics).root
    assert [shape.geometry.divisions for shape in link.visual] == [12, 8]
    assert link.collision is link.visual


@pytest.mark.parametrize(
    ("keys", "code"),
    [("linkInfo: {B: {x: 1}}", "unknown-link"), ("linkInfo: {A: 1}", "wrong-type")],
)
def test_what_a_wrapper_says_of_no_link_is_reported(keys, code, tmp_path, diagnostics):
    (tmp_path / "m.body").write_text(HEADER + "links: [{name: A}]\n")
    path = tmp_path / "m.yaml"
    path.write_text(f"modelFile: m.body\n{keys}\n")
    assert read_file(path, diagnostics).root.info == {}
    assert diagnostics.take(code).severity.value == "warning"


def test_a_wrapper_names_the_model_and_adds_to_it(tmp_path, diagnostics):
    (tmp_path / "m.body").write_text(HEADER + "standardPose: [0]\nlinks: [{name: A, x: 1}]\n")
    path = tmp_path / "m.yaml"
    path.write_text("modelFile: m.body\nlinkInfo: {A: {y: 2}}\nlinkGroup: [A]\n")
    body = read_file(path, diagnostics)
    assert body.root.info == {"x": 1, "y": 2}
    assert body.info == {"standardPose": [0], "linkGroup": ["A"]}
