"""Scene files: the same nodes as in links, but shapes alone, with names to pick them by."""

import numpy as np
import pytest
from body_tools import read_text

from hrp_model.geometry import Box, Cone, Sphere
from hrp_model.shapes.meshing import corner_normals
from hrp_model.shapes.tessellate import shape_mesh

BOX = "{ type: Shape, geometry: { type: Box, size: [1, 2, 3] } }"


@pytest.fixture
def shapes(tmp_path, diagnostics):
    """Return a function that reads the shapes a model takes from a scene with these nodes."""

    def read(scene, keys="", header="format: ChoreonoidScene\nformat_version: 1.0\n"):
        (tmp_path / "part.scen").write_text(f"{header}scene: {scene}\n", encoding="utf-8")
        resource = f"{{type: Resource, uri: part.scen, {keys}}}"
        body = read_text(f"links: [{{name: A, elements: [{resource}]}}]", diagnostics, tmp_path)
        return body.root.visual

    return read


@pytest.mark.parametrize(
    "scene",
    [
        f"[{BOX}]",
        BOX,
        "{Shape: {geometry: {type: Box, size: [1, 2, 3]}}}",
        f"[{{Group: {{elements: [{BOX}]}}}}]",
    ],
)
def test_all_forms_of_a_scene(scene, shapes):
    (shape,) = shapes(scene)
    assert isinstance(shape.geometry, Box)


@pytest.mark.parametrize(
    "header",
    [
        "format: choreonoid_scene\nformat_version: 1.0\n",
        "formatVersion: 2.0\nangleUnit: degree\n",
    ],
)
def test_the_format_goes_by_several_names(header, shapes):
    assert len(shapes(f"[{BOX}]", header=header)) == 1


def test_angles_are_in_the_unit_of_the_scene(shapes):
    turned = f"[{{type: Transform, rotation: [0, 0, 1, 1], elements: [{BOX}]}}]"
    header = "format: ChoreonoidScene\nformat_version: 1.0\nangle_unit: radian\n"
    (shape,) = shapes(turned, header=header)
    np.testing.assert_allclose(shape.T_FG[:2, 0], (np.cos(1.0), np.sin(1.0)))


def test_nodes_are_placed_one_in_another(shapes):
    scene = """
      [{type: Transform, translation: [1, 0, 0], rotation: [0, 0, 1, 90], scale: [2, 1, 1],
        elements: [{type: Shape, translation: [1, 0, 0], geometry: {type: Box}}]}]"""
    (shape,) = shapes(scene, "translation: [0, 0, 5]")
    np.testing.assert_allclose(shape.T_FG[:3, 3], (1, 2, 5), atol=1e-15)
    np.testing.assert_allclose(shape.T_FG[:3, 0], (0, 2, 0), atol=1e-15)


def test_a_scale_may_have_axes_of_its_own(shapes):
    scene = (
        "[{type: Transform, rotation: [0, 0, 1, 90], scale: [4, 1, 1],"
        f" scale_orientation: [0, 0, 1, 45], elements: [{BOX}]}}]"
    )
    (shape,) = shapes(scene)
    half = 0.5**0.5
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    # What lies along the diagonal becomes four times as long, what lies across stays.
    for v, factor in (((half, half, 0.0), 4.0), ((-half, half, 0.0), 1.0), ((0, 0, 1), 1.0)):
        np.testing.assert_allclose(shape.T_FG[:3, :3] @ v, turn @ v * factor, atol=1e-15)


NAMED = """
  - type: Transform
    name: ARM
    translation: [1, 2, 3]
    rotation: [0, 0, 1, 90]
    elements:
      - { type: Shape, name: HAND, translation: [0, 0, 1], geometry: { type: Sphere } }
      - { type: Shape, name: TIP, geometry: { type: Cone } }
"""


def test_a_picked_node_loses_its_place_but_not_its_orientation(shapes):
    sphere, cone = shapes(NAMED, "node: ARM")
    np.testing.assert_allclose(sphere.T_FG[:3, 3], (0, 0, 1))
    np.testing.assert_allclose(cone.T_FG[:3, 0], (0, 1, 0), atol=1e-15)
    (alone,) = shapes(NAMED, "node: HAND")
    assert isinstance(alone.geometry, Sphere)
    np.testing.assert_allclose(alone.T_FG[:3, 3], 0.0, atol=1e-15)


def test_metadata_hold_for_scenes_too(shapes):
    (shape,) = shapes(f"[{BOX}]", "metadata: millimeter y_upper")
    np.testing.assert_allclose(shape.T_FG[:3, 1], (0, 0, 0.001), atol=1e-18)


def test_scenes_draw_in_other_files_relative_to_themselves(tmp_path, shapes):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.scen").write_text(
        "format_version: 1.0\nscene: [{type: Resource, uri: c.yaml, node: C}]\n"
    )
    (tmp_path / "deep" / "c.yaml").write_text(
        "x: &C [{Shape: {geometry: {type: Cone}, appearance: *PAINT}}]"
    )
    (tmp_path / "deep" / "b.scen").write_text(
        "format_version: 1.0\nx: &PAINT {material: {diffuse: [1, 0, 0]}}\n"
        "scene: [{type: Resource, uri: c.yaml, node: C, translation: [0, 0, 1]}]\n"
    )
    (shape,) = shapes("[{type: Resource, uri: deep/b.scen, translation: [0, 1, 0]}]")
    assert isinstance(shape.geometry, Cone)
    assert shape.material.diffuse == (1, 0, 0)
    assert shape.T_FG[:3, 3].tolist() == [0, 1, 1]


def test_scenes_that_include_each_other_are_an_error(tmp_path, shapes, diagnostics):
    (tmp_path / "b.scen").write_text(
        "format_version: 1.0\nscene: [{type: Resource, uri: part.scen}]\n"
    )
    assert shapes("[{type: Resource, uri: b.scen}]") == ()
    assert "part.scen -> b.scen -> part.scen" in diagnostics.take("resource-cycle").message


def test_lights_and_cameras_of_a_scene_are_left_out_with_a_note(shapes, diagnostics):
    assert shapes("[{type: DirectionalLight}, {type: Text}, {type: PerspectiveCamera}]") == ()
    assert [diagnostics.take("left-out").severity.value for _ in range(3)] == ["note"] * 3


def test_of_an_unknown_node_the_elements_are_read(shapes, diagnostics):
    (shape,) = shapes(f"[{{type: Trnsform, translation: [1, 0, 0], elements: [{BOX}]}}]")
    assert shape.T_FG[0, 3] == 1.0
    assert "Did you mean 'Transform'?" in diagnostics.take("unknown-type").message


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("format: ChoreonoidBody\nformat_version: 1.0\n", "unreadable-resource"),
        ("- x\n", "yaml-syntax"),
        ("format_version: 3.0\n", "unknown-version"),
        ("", "no-version"),
        ("format_version: 1.0\nscen: 1\n", "unknown-key"),
    ],
)
def test_what_is_no_proper_scene_is_reported(header, code, shapes, diagnostics):
    shapes(f"[{BOX}]", header=header)
    diagnostics.take(code)
    diagnostics.found.clear()


def test_a_scene_file_without_scene_shows_nothing(tmp_path, diagnostics):
    (tmp_path / "part.scen").write_text("format_version: 1.0\n")
    text = "links: [{name: A, elements: [{type: Resource, uri: part.scen}]}]"
    assert read_text(text, diagnostics, tmp_path).root.visual == ()
    diagnostics.take("missing-key")


def test_a_crease_angle_replaces_the_normals_of_a_file(tmp_path, diagnostics):
    # Two triangles that meet at 90 degrees, with one normal for both.
    (tmp_path / "fold.scen").write_text("""
format_version: 1.0
scene:
  type: Shape
  geometry:
    type: TriangleMesh
    vertices: [0,0,0, 1,0,0, 0,1,0, 0,0,1]
    faces: [0,1,2, 0,3,1]
    normals: [0,0,1]
    normal_indices: [0,0,0, 0,0,0]
""")
    for crease, sharp in (("", False), ("creaseAngle: 45", True), ("creaseAngle: 100", False)):
        geometry = f"{{type: Resource, uri: fold.scen, {crease}}}"
        text = f"links: [{{name: A, elements: [{{type: Shape, geometry: {geometry}}}]}}]"
        (shape,) = read_text(text, diagnostics, tmp_path).root.visual
        at_the_edge = corner_normals(shape_mesh(shape)).reshape(-1, 3, 3)[:, 0]
        assert sharp == (np.abs(at_the_edge[0] - at_the_edge[1]).max() > 0.1)
