"""Shapes: transforms by formula, meshes by counting, looks by reading."""

from math import pi

import numpy as np
import pytest
from each_case import all_cases
from vrml_tools import body_of, shapes_of, write

from hrp_model.geometry import Box, Cone, Cylinder, Mesh, Sphere, Texture
from hrp_model.rigid import axis_angle_matrix
from hrp_model.shapes.measure import area, bounding_box, signed_volume
from hrp_model.shapes.tessellate import shape_mesh

CUBE = """coord Coordinate { point [ -1 -1 -1, 1 -1 -1, 1 1 -1, -1 1 -1,
                                     -1 -1 1, 1 -1 1, 1 1 1, -1 1 1 ] }
  coordIndex [ 0 3 2 1 -1, 4 5 6 7 -1, 0 1 5 4 -1, 2 3 7 6 -1, 1 2 6 5 -1, 0 4 7 3 ]"""


def geometry(text, diagnostics=None):
    (shape,) = shapes_of(f"Shape {{ geometry {text} }}", diagnostics)
    return shape.geometry


def mesh(fields, diagnostics=None):
    return geometry(f"IndexedFaceSet {{ {fields} }}", diagnostics)


def affine(linear=None, offset=(0, 0, 0)):
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if linear is None else linear
    T[:3, 3] = offset
    return T


def test_primitives_have_the_standards_defaults():
    assert geometry("Box { }").size.tolist() == [2, 2, 2]
    assert geometry("Sphere { }") == Sphere(1.0)
    assert geometry("Cylinder { }") == Cylinder(1.0, 2.0)
    assert geometry("Cone { }") == Cone(1.0, 2.0)


def test_faces_of_primitives_can_be_left_out():
    assert geometry("Cylinder { top FALSE side FALSE }") == Cylinder(1, 2, top=False, side=False)
    assert geometry("Cone { bottom FALSE height 3 bottomRadius 4 }") == Cone(4, 3, bottom=False)


@all_cases("seed", range(5))
def test_a_transform_is_the_standards_product(seed):
    rng = np.random.default_rng(seed)
    t, c, s, a, b = rng.uniform(-2, 2, (5, 3)).round(6)
    angle, tilt = rng.uniform(-3, 3, 2).round(6)
    numbers = {
        "translation": t,
        "center": c,
        "scale": s,
        "rotation": [*a, angle],
        "scaleOrientation": [*b, tilt],
    }
    fields = " ".join(f"{k} {' '.join(map(str, v))}" for k, v in numbers.items())
    (shape,) = shapes_of(f"Transform {{ {fields} children Shape {{ geometry Box {{ }} }} }}")
    C, R = affine(offset=c), affine(axis_angle_matrix(a / np.linalg.norm(a), angle))
    SR, S = affine(axis_angle_matrix(b / np.linalg.norm(b), tilt)), affine(np.diag(s))
    inverse = np.linalg.inv
    expected = affine(offset=t) @ C @ R @ SR @ S @ inverse(SR) @ inverse(C)
    np.testing.assert_allclose(shape.T_FG, expected, atol=1e-12)


def test_transforms_nest_from_outside_in():
    text = """Transform { translation 1 0 0 rotation 0 0 1 1.5707963267948966 children
      Transform { translation 2 0 0 children Shape { geometry Box { } } } }"""
    np.testing.assert_allclose(shapes_of(text)[0].T_FG[:3, 3], [1, 2, 0], atol=1e-12)


def test_switch_and_lod_show_one_of_their_nodes():
    box, ball = "Shape { geometry Box { } }", "Shape { geometry Sphere { } }"
    for number in ("", "whichChoice -1", "whichChoice 2"):
        (alone,) = shapes_of(f"{ball} Switch {{ {number} choice [ {box} {box} ] }}")
        assert isinstance(alone.geometry, Sphere)
    (chosen,) = shapes_of(f"Switch {{ whichChoice 1 choice [ {box} {ball} ] }}")
    assert isinstance(chosen.geometry, Sphere)
    (finest,) = shapes_of(f"LOD {{ level [ {box} {ball} ] range [ 1 ] }}")
    assert isinstance(finest.geometry, Box)


@all_cases("group", ["Group", "Anchor", "Billboard", "Collision", "CylinderSensorX"])
def test_groups_show_what_is_in_them(group):
    assert len(shapes_of(f"{group} {{ children Shape {{ geometry Box {{ }} }} }}")) == 1


def test_a_closed_face_set_encloses_its_volume():
    cube = mesh(CUBE)
    assert (len(cube.triangles), len(cube.vertices)) == (12, 8)
    assert signed_volume(cube) == pytest.approx(8.0)
    assert signed_volume(mesh(CUBE + " ccw FALSE")) == pytest.approx(-8.0)


def test_a_concave_polygon_is_cut_inside_itself():
    points = "0 0 0, 4 0 0, 4 4 0, 2 1 0, 0 4 0"
    face = mesh(f"coord Coordinate {{ point [ {points} ] }} coordIndex [ 0 1 2 3 4 -1 ]")
    assert area(face) == pytest.approx(10.0)
    a, b, c = (face.vertices[face.triangles[:, i]] for i in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()


def test_points_that_are_no_numbers_take_their_faces_with_them(diagnostics):
    text = "coord Coordinate { point [0 0 0 1 0 0 0 1 0 0 nan 0] } coordIndex [0 1 2 -1 0 1 3 -1]"
    made = mesh(text, diagnostics)
    assert len(made.triangles) == 1
    assert np.isfinite(made.vertices).all()
    diagnostics.take("not-finite")


TRIANGLES = """coord Coordinate { point [0 0 0 1 0 0 0 1 0 1 1 0] } coordIndex [0 1 2 -1 2 1 3 -1]
  color Color { color [ 1 0 0, 0 1 0, 0 0 1, 1 1 1 ] }"""


@all_cases(
    ("fields", "indices"),
    [
        ("", [[0, 1, 2], [2, 1, 3]]),
        ("colorIndex [3 2 1 -1 0 0 0 -1]", [[3, 2, 1], [0, 0, 0]]),
        ("colorIndex [3 2 1 -1 0 0 0]", [[3, 2, 1], [0, 0, 0]]),
        ("ccw FALSE colorIndex [3 2 1 -1 0 1 2 -1]", [[1, 2, 3], [2, 1, 0]]),
        ("colorPerVertex FALSE", [[0, 0, 0], [1, 1, 1]]),
        ("colorPerVertex FALSE colorIndex [2 3]", [[2, 2, 2], [3, 3, 3]]),
    ],
)
def test_colours_follow_the_corners_or_the_faces(fields, indices):
    colors = mesh(f"{TRIANGLES} {fields}").colors
    assert colors.indices.tolist() == indices
    assert colors.values.shape == (4, 3)


@pytest.mark.parametrize("per_vertex", ["TRUE", "FALSE"])
def test_a_single_colour_is_that_of_all_faces(per_vertex):
    color = f"colorPerVertex {per_vertex} color Color {{ color [ 0.2 0.4 0.6 ] }}"
    faces = mesh(f"{CUBE} {color}")
    np.testing.assert_array_equal(faces.colors.indices, np.zeros_like(faces.triangles))
    grid = geometry(f"ElevationGrid {{ xDimension 2 zDimension 2 height [0 0 0 0] {color} }}")
    np.testing.assert_array_equal(grid.colors.indices, np.zeros_like(grid.triangles))


def test_normals_without_indices_follow_the_points():
    normals = mesh(CUBE + " normal Normal { vector [" + " 0 0 1" * 8 + "] }").normals
    assert len(normals.values) == 8


def test_crease_angle_and_solid_are_kept():
    made = mesh(CUBE + " creaseAngle 0.5 solid FALSE")
    assert (made.crease_angle, made.solid) == (0.5, False)


def test_an_extrusion_is_a_cube_by_default():
    low, high = bounding_box(geometry("Extrusion { }"))
    assert (low.tolist(), high.tolist()) == ([-1, 0, -1], [1, 1, 1])


def test_an_extrusion_along_a_line_has_the_volume_of_its_section():
    section = "crossSection [ 1 1, 1 -1, -1 -1, -1 1, 1 1 ]"
    made = geometry(f"Extrusion {{ {section} spine [ 0 0 0, 0 0 3 ] scale 0.5 2 }}")
    assert abs(signed_volume(made)) == pytest.approx(12.0)


def test_an_elevation_grid_counts_x_fastest():
    grid = geometry("ElevationGrid { xDimension 2 zDimension 3 zSpacing 2 height [0 1 2 3 4 5] }")
    assert grid.vertices.tolist() == (
        [[0, 0, 0], [1, 1, 0], [0, 2, 2], [1, 3, 2], [0, 4, 4], [1, 5, 4]]
    )
    assert len(grid.triangles) == 4


def test_colours_of_an_elevation_grid_go_to_cells_or_points():
    text = """ElevationGrid {{ xDimension 3 zDimension 2 height [0 0 0 0 0 0] colorPerVertex {}
      color Color {{ color [ 1 0 0, 0 1 0, 0 0 1, 1 0 0, 0 1 0, 0 0 1 ] }} }}"""
    assert geometry(text.format("FALSE")).colors.indices[:, 0].tolist() == [0, 0, 1, 1]
    grid = geometry(text.format("TRUE"))
    np.testing.assert_array_equal(grid.colors.indices, grid.triangles)


def test_a_material_is_read_whole():
    text = """Shape { geometry Box { } appearance Appearance { material DEF STEEL Material {
      diffuseColor .1 .2 .3 specularColor .4 .5 .6 emissiveColor .7 .8 .9
      ambientIntensity .25 shininess .5 transparency .75 } } }"""
    material = shapes_of(text)[0].material
    assert material.name == "STEEL"
    assert material.diffuse == (0.1, 0.2, 0.3)
    assert material.specular == (0.4, 0.5, 0.6)
    assert material.emissive == (0.7, 0.8, 0.9)
    assert (material.ambient, material.shininess, material.transparency) == (0.25, 0.5, 0.75)


def test_a_texture_is_found_beside_its_file(tmp_path):
    (tmp_path / "b.png").write_bytes(b"")
    text = """Shape { geometry Box { } appearance Appearance {
      texture ImageTexture { url [ "b.png" ] repeatS FALSE }
      textureTransform TextureTransform { scale 2 3 rotation 1 center 4 5 translation 6 7 } } }"""
    (shape,) = body_of(text, path=tmp_path / "m.wrl").root.visual
    assert shape.material.texture == Texture(
        tmp_path / "b.png", (False, True), (4.0, 5.0), 1.0, (2.0, 3.0), (6.0, 7.0)
    )


def test_a_textured_face_set_gets_the_standards_coordinates(tmp_path):
    (tmp_path / "b.png").write_bytes(b"")
    looks = 'appearance Appearance { texture ImageTexture { url "b.png" } }'
    face = """geometry IndexedFaceSet { coord Coordinate { point [0 0 1 4 0 1 4 2 1 0 2 1] }
      coordIndex [0 1 2 3 -1] }"""
    (shape,) = body_of(f"Shape {{ {looks} {face} }}", path=tmp_path / "m.wrl").root.visual
    assert shape.geometry.tex_coords is None  # worked out when somebody draws it
    st = shape_mesh(shape).tex_coords
    assert st.values[st.indices].max(axis=(0, 1)).tolist() == [1.0, 0.5]


def test_an_extrusion_may_bend_and_close():
    angles = np.linspace(0, 2 * pi, 33)
    spine = ", ".join(f"{3 * np.cos(a):.12f} 0 {3 * np.sin(a):.12f}" for a in angles[:-1])
    circle = ", ".join(f"{np.cos(a):.12f} {np.sin(a):.12f}" for a in angles[:-1])
    text = f"Extrusion {{ spine [ {spine}, 3 0 0 ] crossSection [ {circle}, 1 0 ] }}"
    made = geometry(text)
    assert isinstance(made, Mesh)
    exact = 2 * pi**2 * 3  # Pappus; a ring of 32 x 32 flat pieces holds a little less
    assert 0.97 * exact < abs(signed_volume(made)) < exact


def test_shared_geometry_is_read_once(tmp_path):
    path = write(
        tmp_path,
        m='Inline { url "p.wrl" } Transform { translation 1 0 0 children Inline { url "p.wrl" } }',
        p=f"Shape {{ geometry IndexedFaceSet {{ {CUBE} }} }}",
    )
    first, second = body_of(path.read_text(), path=path).root.visual
    assert first.geometry is second.geometry


def test_a_short_file_does_not_make_a_huge_extrusion(diagnostics):
    lists = f"crossSection [{'0 1 ' * 3000}] spine [{'0 0 1 ' * 3000}]"
    assert shapes_of(f"Shape {{ geometry Extrusion {{ {lists} }} }}", diagnostics) == ()
    diagnostics.take("too-large")
