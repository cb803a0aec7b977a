"""Elements: three ways to write them, transforms, and what belongs to eye or touch."""

import numpy as np
import pytest
from body_tools import read_link, read_text
from each_case import all_cases

from hrp_model.geometry import Capsule, Cone, Cylinder, Mesh, Sphere
from hrp_model.shapes.measure import area, signed_volume
from hrp_model.shapes.tessellate import shape_mesh

BOX = "{ type: Box, size: [1, 2, 3] }"
BOX_SHAPE = "{ type: Shape, geometry: " + BOX + " }"


def link_of(elements, diagnostics):
    return read_text(f"links: [{{name: A, elements: {elements}}}]", diagnostics).root


def geometry(written, diagnostics):
    (shape,) = link_of(f"[{{type: Shape, geometry: {{{written}}}}}]", diagnostics).visual
    return shape.geometry


def test_aliases_share_one_mesh_and_one_material(diagnostics):
    text = """
M: &M { type: TriangleMesh, vertices: [0,0,0, 1,0,0, 0,1,0], faces: [0,1,2] }
P: &P { material: { diffuse: [1, 0, 0] } }
links:
  - { name: A, elements: [{ type: Shape, geometry: *M, appearance: *P }] }
  - { name: B, parent: A, elements: [{ type: Shape, geometry: *M, appearance: *P }] }
"""
    a, b = (link.visual[0] for link in read_text(text, diagnostics).links)
    assert a.geometry is b.geometry
    assert a.material is b.material


def test_transforms_apply_translation_rotation_scale(diagnostics):
    link = read_link(
        """
        elements:
          - type: Transform
            translation: [1, 0, 0]
            rotation: [0, 0, 1, 90]
            scale: [2, 3, 4]
            elements:
              - { type: Shape, translation: [1, 1, 1], geometry: { type: Box } }
              - { type: AccelerationSensor, name: a, translation: [1, 1, 1] }
              - { type: RigidBody, mass: 1, center_of_mass: [1, 1, 1] }
        """.replace("        ", ""),
        diagnostics,
    )
    np.testing.assert_allclose(link.visual[0].T_FG[:3, 3], (1 - 3, 2, 4), atol=1e-15)
    np.testing.assert_allclose(link.visual[0].T_FG[:3, 0], (0, 2, 0), atol=1e-15)
    np.testing.assert_allclose(link.center_of_mass, (-2, 2, 4), atol=1e-15)


def test_scale_moves_a_device_but_does_not_stretch_its_axes(diagnostics):
    text = (
        "links: [{name: A, elements: [{type: Transform, scale: [2, 3, 4], rotation: [0,0,1,90],"
        " elements: [{type: ForceSensor, name: f, translation: [1, 0, 0]}]}]}]"
    )
    (device,) = read_text(text, diagnostics).devices
    np.testing.assert_allclose(device.X_LS.p, (0, 2, 0), atol=1e-15)
    np.testing.assert_allclose(device.X_LS.R[:, 0], (0, 1, 0), atol=1e-15)


def test_an_empty_visual_makes_no_difference(diagnostics):
    link = link_of(f"[{{ type: Visual }}, {BOX_SHAPE}]", diagnostics)
    assert link.collision is link.visual


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("type: Sphere", Sphere(1.0)),
        ("type: Cylinder, radius: 2, top: off", Cylinder(2.0, 1.0, top=False)),
        ("type: Capsule, height: 0", Capsule(1.0, 0.0)),
        ("type: Cone, bottom: false, divisionNumber: 8", Cone(1.0, 1.0, bottom=False, divisions=8)),
    ],
)
def test_primitives_and_their_defaults(written, expected, diagnostics):
    assert geometry(written, diagnostics) == expected


def test_a_box_is_a_metre_wide_by_default(diagnostics):
    assert geometry("type: Box", diagnostics).size.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "written",
    [
        "type: IndexedFaceSet, vertices: V, faces: [0, 1, 2, 3, -1]",
        "type: IndexedFaceSet, coordinate: V, coordIndex: [0, 1, 2, 3]",
        "type: TriangleMesh, vertices: V, faces: [0, 1, 2, 0, 2, 3]",
    ],
)
def test_face_sets(written, diagnostics):
    vertices = "[0,0,0, 1,0,0, 1,1,0, 0,1,0]"
    mesh = geometry(written.replace("V", vertices), diagnostics)
    assert area(mesh) == pytest.approx(1.0)
    assert len(mesh.triangles) == 2


def test_normals_and_texture_coordinates_follow_the_faces(diagnostics):
    mesh = geometry(
        "type: TriangleMesh, vertices: [0,0,0, 1,0,0, 0,1,0], faces: [0,1,2], normals: [0,0,1],"
        " normal_indices: [0,0,0], texCoord: [0,0, 1,0, 0,1]",
        diagnostics,
    )
    assert mesh.normals.indices.tolist() == [[0, 0, 0]]
    assert mesh.tex_coords.indices.tolist() == [[0, 1, 2]]


def test_an_extrusion_uses_the_unit_of_angles(diagnostics):
    mesh = geometry(
        "type: Extrusion, crossSection: [1,1, -1,1, -1,-1, 1,-1, 1,1], spine: [0,0,0, 0,1,0],"
        " orientation: [0, 1, 0, 45], creaseAngle: 180",
        diagnostics,
    )
    assert isinstance(mesh, Mesh)
    assert signed_volume(mesh) == pytest.approx(4.0)
    assert mesh.vertices[:, 0].max() == pytest.approx(2**0.5)
    assert mesh.crease_angle == pytest.approx(np.pi)


def test_a_height_field(diagnostics):
    mesh = geometry(
        "type: ElevationGrid, x_dimension: 2, zDimension: 2, height: [0, 0, 0, 0]", diagnostics
    )
    assert area(mesh) == pytest.approx(1.0)


def test_a_height_field_may_say_where_an_image_lies(diagnostics):
    written = "type: ElevationGrid, xDimension: 2, zDimension: 2, height: [0, 0, 0, 0]"
    coords = "0,0, 1,0, 0,1, 1,1"
    mesh = geometry(f"{written}, texCoord: [{coords}]", diagnostics)
    # Both axes run with the grid, so that each corner's coordinates are its place.
    st = mesh.tex_coords.values[mesh.tex_coords.indices]
    np.testing.assert_array_equal(st, mesh.vertices[mesh.triangles][..., (0, 2)])
    assert geometry(f"{written}, tex_coord: [0, 1]", diagnostics).tex_coords is None
    diagnostics.take("bad-attribute")


def test_without_a_material_shapes_are_white(diagnostics):
    material = link_of(f"[{BOX_SHAPE}]", diagnostics).visual[0].material
    assert (material.diffuse, material.shininess * 128) == ((1, 1, 1), 25)


def test_a_texture_gives_a_mesh_coordinates(tmp_path, diagnostics):
    (tmp_path / "wood.png").write_bytes(b"png")
    link = read_link(
        """
        elements:
          Shape:
            geometry: { type: TriangleMesh, vertices: [0,0,0, 2,0,0, 0,1,0], faces: [0,1,2] }
            appearance:
              texture: { url: wood.png, repeat: [on, off] }
              textureTransform: { rotation: 90, scale: [2, 3] }
        """.replace("        ", ""),
        diagnostics,
        tmp_path,
    )
    texture = link.visual[0].material.texture
    assert texture.path == tmp_path / "wood.png"
    assert (texture.repeat, texture.scale) == ((True, False), (2.0, 3.0))
    assert texture.rotation == pytest.approx(np.pi / 2)
    assert shape_mesh(link.visual[0]).tex_coords.values.max() == 1.0


def test_a_texture_may_be_turned_about_an_axis(tmp_path, diagnostics):
    (tmp_path / "wood.png").write_bytes(b"png")
    link = read_link(
        """
        elements:
          Shape:
            geometry: { type: Box }
            appearance:
              texture: { uri: wood.png }
              texture_transform: { rotation: [ 0, 0, -1, 90 ] }
        """.replace("        ", ""),
        diagnostics,
        tmp_path,
    )
    assert link.visual[0].material.texture.rotation == pytest.approx(-np.pi / 2)


def test_a_node_that_may_be_skipped_is_kept_with_no_more_than_a_note(diagnostics):
    text = "links: [{name: A, elements: {Gadget: {isOptional: true, x: 1}}}]"
    (device,) = read_text(text, diagnostics).devices
    assert (device.type_name, device.info["x"]) == ("Gadget", 1)
    assert diagnostics.take("unknown-type").severity.value == "note"


def test_a_scale_above_a_rigid_body_stretches_its_inertia(diagnostics):
    inner = "RigidBody: {mass: 2, center_of_mass: [1, 0, 0], inertia: [1, 0, 0, 2, 0, 3]}"
    link = link_of(f"{{Transform: {{scale: [2, 2, 2], elements: {{{inner}}}}}}}", diagnostics)
    # A body twice as long with the same mass has four times the inertia.
    assert link.mass == 2.0
    np.testing.assert_allclose(link.center_of_mass, (2, 0, 0))
    np.testing.assert_allclose(link.inertia, 4.0 * np.diag([1.0, 2.0, 3.0]))


def test_what_is_skipped_is_skipped_with_its_contents(diagnostics):
    assert link_of("{ Skip: { elements: [{ type: Nonsense }] } }", diagnostics).visual == ()


@all_cases(
    ("elements", "code"),
    [
        ("7", "wrong-type"),
        ("[7]", "wrong-type"),
        ("[{translation: [0, 0, 0]}]", "wrong-type"),
        ("{Shape: 3}", "wrong-type"),
        ("{Shape: {type: Group, geometry: {type: Box}}}", "type-mismatch"),
        ("{Shape: {geometry: {size: [1, 1, 1]}}}", "missing-key"),
        ("{RigidBody: {inertia: [1, 2]}}", "wrong-count"),
    ],
)
def test_what_is_no_element_is_an_error(elements, code, diagnostics):
    link_of(elements, diagnostics)
    assert diagnostics.take(code).severity.value == "error"


def test_an_appearance_is_no_geometry_wherever_an_alias_puts_it(diagnostics):
    shape = "{ type: Shape, appearance: &a { material: {} }, geometry: *a }"
    assert not link_of(f"[ {shape} ]", diagnostics).visual
    diagnostics.take("missing-key")


@pytest.mark.parametrize(
    "written", ["type: Sphere, radius: 0", "type: Box, size: [1, -1, 1]", "type: Cone, height: -2"]
)
def test_a_shape_without_extent_is_left_out(written, diagnostics):
    assert link_of(f"[{{type: Shape, geometry: {{{written}}}}}]", diagnostics).visual == ()
    diagnostics.take("bad-size")
