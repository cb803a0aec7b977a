"""Mesh files: materials, colours, textures and edges look as the model says."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from glb_tools import WEDGE, binary, gltf, only_file, vertex_bytes
from PIL import Image
from urdf_tools import file_of, parsed, with_visuals

from hrp_model.geometry import Attribute, Box, Cylinder, Material, Mesh, Shape, Sphere, Texture
from hrp_model.rigid import Pose, rpy_matrix
from hrp_model.urdf import Hardware, UrdfOptions, body_to_urdf, convert, write_meshes

TURNED = Pose(rpy_matrix(0.4, -1.1, 2.2), [0.5, -2.0, 1.5]).matrix()


def test_the_material_of_a_mesh_is_exact(tmp_path):
    material = Material(
        "glass", diffuse=(0.1, 0.2, 0.3), emissive=(0.4, 0.5, 0.6), transparency=0.3, shininess=0.5
    )
    write_meshes(with_visuals(Shape(WEDGE, material=material)), tmp_path)
    (look,) = gltf(only_file(tmp_path, ".glb"))["materials"]
    assert look["name"] == "glass"
    assert look["pbrMetallicRoughness"]["baseColorFactor"] == pytest.approx([0.1, 0.2, 0.3, 0.7])
    assert look["emissiveFactor"] == pytest.approx([0.4, 0.5, 0.6])
    assert look["alphaMode"] == "BLEND"
    assert look["doubleSided"] is False


def test_a_mesh_seen_from_both_sides_says_so(tmp_path):
    sheet = Mesh(WEDGE.vertices, WEDGE.triangles, solid=False)
    write_meshes(with_visuals(Shape(sheet)), tmp_path)
    assert gltf(only_file(tmp_path, ".glb"))["materials"][0]["doubleSided"] is True


def test_colours_of_vertices_replace_the_diffuse_colour(tmp_path):
    colors = Attribute(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 1, 2]] * 4))
    mesh = Mesh(WEDGE.vertices, WEDGE.triangles, colors=colors)
    looks = Material(diffuse=(0.1, 0.1, 0.1), transparency=0.4)
    body = with_visuals(Shape(mesh, material=looks))
    robot = parsed(body_to_urdf(body, write_meshes(body, tmp_path)))
    path = only_file(tmp_path, ".glb")
    assert gltf(path)["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]
    opaque = {b"\xff\0\0\x99", b"\0\xff\0\x99", b"\0\0\xff\x99"}
    assert set(vertex_bytes(path, "COLOR_0")) == opaque
    assert robot.links[0].visual.material is None  # a URDF colour could be laid over them


def test_colours_of_faces_are_materials(tmp_path):
    """RViz and Gazebo pass over colours of vertices."""
    values = np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])
    faces = np.array([1, 0, 1, 1])
    colors = Attribute(values, np.repeat(faces[:, None], 3, axis=1))
    mesh = Mesh(WEDGE.vertices, WEDGE.triangles, colors=colors)
    write_meshes(with_visuals(Shape(mesh, material=Material(transparency=0.5))), tmp_path)
    path = only_file(tmp_path, ".glb")
    tree = gltf(path)
    found = [m["pbrMetallicRoughness"]["baseColorFactor"] for m in tree["materials"]]
    assert found == [[0.1, 0.2, 0.3, 0.5], [0.9, 0.8, 0.7, 0.5]]
    parts = trimesh.load(path, process=False).geometry.values()
    assert [len(part.faces) for part in parts] == [1, 3]
    assert "COLOR_0" not in tree["meshes"][0]["primitives"][0]["attributes"]


def test_many_colours_of_faces_are_colours_of_vertices(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=1)
    values = np.random.default_rng(1).integers(0, 256, (len(ball.faces), 3)) / 255.0
    indices = np.repeat(np.arange(len(ball.faces))[:, None], 3, axis=1)
    mesh = Mesh(ball.vertices, ball.faces, colors=Attribute(values, indices))
    write_meshes(with_visuals(Shape(mesh)), tmp_path)
    found = vertex_bytes(only_file(tmp_path, ".glb"), "COLOR_0")
    assert set(found) == {bytes([*np.round(v * 255.0).astype(int), 255]) for v in values}


def test_a_highlight_is_as_strong_and_sharp_as_the_model_says(tmp_path):
    shiny = Material(specular=(0.4, 0.8, 0.2), shininess=0.5)
    for name, material in {"dull": Material(shininess=0.5), "shiny": shiny}.items():
        write_meshes(with_visuals(Shape(WEDGE, material=material)), tmp_path / name)
    dull, shiny = (gltf(only_file(tmp_path / n, ".glb")) for n in ("dull", "shiny"))
    assert dull["materials"][0]["extensions"] == {"KHR_materials_specular": {"specularFactor": 0.0}}
    assert dull["materials"][0]["pbrMetallicRoughness"]["roughnessFactor"] == 1.0
    highlight = shiny["materials"][0]["extensions"]["KHR_materials_specular"]
    assert highlight == {"specularFactor": 0.8, "specularColorFactor": [0.5, 1.0, 0.25]}
    roughness = shiny["materials"][0]["pbrMetallicRoughness"]["roughnessFactor"]
    assert 2 / roughness**4 - 2 == pytest.approx(64)
    assert shiny["extensionsUsed"] == ["KHR_materials_specular"]


def test_edges_sharper_than_the_crease_angle_stay_sharp(tmp_path):
    for angle, count in ((0.0, 12), (4.0, 4)):
        mesh = Mesh(WEDGE.vertices, WEDGE.triangles, crease_angle=angle)
        write_meshes(with_visuals(Shape(mesh)), tmp_path / str(angle))
        read = trimesh.load(only_file(tmp_path / str(angle), ".glb"), force="mesh", process=False)
        assert len(read.vertices) == count


def textured(path, tmp_path, **texture):
    uv = Attribute(np.array([[0, 0], [1, 0], [0, 1.0]]), np.array([[0, 1, 2]] * 4))
    mesh = Mesh(WEDGE.vertices, WEDGE.triangles, tex_coords=uv)
    return Shape(mesh, material=Material(diffuse=(0.5, 0.5, 0.5), texture=Texture(path, **texture)))


def picture(tmp_path, mode="RGB", color=(10, 20, 30)):
    path = tmp_path / "picture.png"
    image = Image.new(mode, (4, 2), color)
    image.save(path)
    return path


def test_a_texture_is_packed_into_the_mesh(tmp_path):
    shape = textured(picture(tmp_path), tmp_path, repeat=(False, True))
    write_meshes(with_visuals(shape), tmp_path / "out")
    path = only_file(tmp_path / "out", ".glb")
    tree = gltf(path)
    assert tree["samplers"] == [{"wrapS": 33071, "wrapT": 10497}]
    assert tree["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]
    read = trimesh.load(path, force="mesh", process=False)
    image = read.visual.material.baseColorTexture
    assert image.size == (4, 2)
    assert image.convert("RGB").getpixel((0, 0)) == (10, 20, 30)
    assert {tuple(uv) for uv in read.visual.uv.tolist()} == {(0, 0), (1, 0), (0, 1)}


@pytest.mark.parametrize(
    ("name", "mode", "kept"),
    [
        ("a.png", "RGB", True),
        ("a.png", "RGBA", True),
        ("a.jpg", "RGB", True),
        ("a.png", "P", False),
        ("a.png", "LA", False),
        ("a.jpg", "L", False),
        ("a.bmp", "RGB", False),
    ],
)
def test_the_pixels_of_a_texture_arrive(tmp_path, name, mode, kept):
    pixels = np.random.default_rng(2).integers(0, 256, (4, 6, 4), np.uint8)
    path = tmp_path / name
    Image.fromarray(pixels).convert("RGB" if mode == "P" else mode).convert(mode).save(path)
    write_meshes(with_visuals(textured(path, tmp_path)), tmp_path / "out")
    file = only_file(tmp_path / "out", ".glb")
    tree = gltf(file)
    packed = binary(file, tree["bufferViews"][tree["images"][0]["bufferView"]])
    assert (packed == path.read_bytes()) == kept
    seen = trimesh.load(file, force="mesh", process=False).visual.material.baseColorTexture
    expected = Image.open(path)
    np.testing.assert_array_equal(seen.convert("RGBA"), expected.convert("RGBA"))
    assert ("alphaMode" in tree["materials"][0]) == (mode in ("RGBA", "LA"))


@pytest.mark.parametrize(("mode", "color"), [("L", 128), ("RGB", (10, 20, 30))])
def test_a_grey_texture_is_multiplied_with_the_colours_of_a_mesh(tmp_path, mode, color):
    shape = textured(picture(tmp_path, mode, color), tmp_path)
    colors = Attribute(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 1, 2]] * 4))
    shape = replace(shape, geometry=replace(shape.geometry, colors=colors))
    write_meshes(with_visuals(shape), tmp_path / "out")
    tree = gltf(only_file(tmp_path / "out", ".glb"))
    assert tree["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]
    ((primitive,),) = (mesh["primitives"] for mesh in tree["meshes"])
    if mode == "RGB":  # it replaces them
        assert "COLOR_0" not in primitive["attributes"]
        return
    accessor = tree["accessors"][primitive["attributes"]["COLOR_0"]]
    file = only_file(tmp_path / "out", ".glb")
    data = binary(file, tree["bufferViews"][accessor["bufferView"]])
    rgba = np.frombuffer(data, np.uint8).reshape(-1, 4)
    assert {*map(tuple, rgba.tolist())} == {
        (255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255)
    }  # fmt: skip


def test_a_grey_texture_is_multiplied_with_the_colour(tmp_path):
    write_meshes(with_visuals(textured(picture(tmp_path, "L", 99), tmp_path)), tmp_path / "out")
    look = gltf(only_file(tmp_path / "out", ".glb"))["materials"][0]
    assert look["pbrMetallicRoughness"]["baseColorFactor"] == [0.5, 0.5, 0.5, 1]


def test_the_texture_transform_is_worked_into_the_coordinates(tmp_path):
    transform = {
        "center": (0.5, 0.5),
        "rotation": np.pi / 2,
        "scale": (2.0, 3.0),
        "translation": (0.1, 0.2),
    }
    write_meshes(with_visuals(textured(picture(tmp_path), tmp_path, **transform)), tmp_path / "out")
    read = trimesh.load(only_file(tmp_path / "out", ".glb"), force="mesh", process=False)
    # (u, v): moved to (u + .6, v + .7), turned to (-v - .7, u + .6), scaled, moved back.
    expected = {(2 * (-v - 0.7) - 0.5, 3 * (u + 0.6) - 0.5) for u, v in ((0, 0), (1, 0), (0, 1))}
    seen = {tuple(np.round(uv, 5)) for uv in read.visual.uv.tolist()}
    assert seen == {tuple(np.round(uv, 5)) for uv in expected}


def test_a_texture_that_is_no_picture_is_left_out_aloud(tmp_path, diagnostics):
    path = tmp_path / "broken.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n nonsense")
    body = with_visuals(textured(path, tmp_path))
    write_meshes(body, tmp_path / "out", diagnostics=diagnostics)
    assert "broken.png" in diagnostics.take("unreadable-texture").message
    assert "textures" not in gltf(only_file(tmp_path / "out", ".glb"))


def test_a_texture_on_a_primitive_needs_a_mesh(tmp_path):
    """How an image lies on a URDF primitive is said nowhere."""
    pixels = np.array([[[255, 0, 0], [0, 255, 0]]], np.uint8)
    box = Shape(Box([1, 2, 3]), TURNED, Material(texture=Texture(image=pixels)))
    body = with_visuals(box)
    uris = write_meshes(body, tmp_path)
    read = trimesh.load(only_file(tmp_path, ".glb"), force="mesh", process=False)
    np.testing.assert_array_equal(read.visual.material.baseColorTexture, pixels)
    assert len(read.visual.uv) == len(read.vertices) == 24
    (visual,) = parsed(body_to_urdf(body, uris)).links[0].visuals
    assert visual.material is None  # a colour might be laid over the image
    # Without files, the box at least has its size and colour.
    robot = parsed(body_to_urdf(body))
    (visual,) = robot.links[0].visuals
    assert visual.geometry.size == [1, 2, 3]
    (material,) = robot.materials
    assert (visual.material.name, material.color.rgba) == (material.name, [0.8, 0.8, 0.8, 1.0])


RED, GREEN = Material("red", diffuse=(1.0, 0.0, 0.0)), Material("green", diffuse=(0.0, 0.5, 0.0))
GLASS = replace(RED, transparency=0.5)


def test_each_visual_of_a_link_with_several_colours_has_its_own_material(tmp_path):
    """RViz draws all primitives of a link, later all visuals, in the <material> of the first."""
    looks = [RED, GREEN, replace(GREEN, emissive=(0.2, 0.0, 0.0)), GLASS]
    geometries = [Box([1, 2, 3]), Cylinder(0.5, 2.0), Sphere(0.5), WEDGE]
    shapes = [Shape(g, TURNED, m) for g, m in zip(geometries, looks, strict=True)]
    body = with_visuals(*shapes, collision=shapes[:3])
    link = parsed(convert(body, tmp_path).urdf).links[0]
    for visual, look in zip(link.visuals, looks, strict=True):
        assert visual.material is None
        (material,) = gltf(file_of(visual.geometry.filename))["materials"]
        rgba = [*look.diffuse, 1.0 - look.transparency]
        assert material["pbrMetallicRoughness"]["baseColorFactor"] == rgba
        assert material["emissiveFactor"] == list(look.emissive)
    kinds = [type(collision.geometry).__name__ for collision in link.collisions]
    assert kinds == ["Box", "Cylinder", "Sphere"]
    assert {path.suffix for path in tmp_path.iterdir()} == {".glb"}


def test_a_plain_box_beside_a_textured_one_has_its_own_material(tmp_path):
    shapes = [Shape(Box([1, 2, 3]), material=RED), textured(picture(tmp_path), tmp_path)]
    link = parsed(convert(with_visuals(*shapes), tmp_path / "out").urdf).links[0]
    assert [visual.material for visual in link.visuals] == [None, None]


@pytest.mark.parametrize("look", [RED, GLASS])
def test_primitives_of_one_colour_stay_primitives(tmp_path, look):
    same = replace(look, name="other", shininess=0.9)
    shapes = [Shape(Box([1, 2, 3]), material=look), Shape(Sphere(1.0), material=same)]
    visuals = parsed(convert(with_visuals(*shapes, Shape(WEDGE, material=look)), tmp_path).urdf)
    kinds = [type(visual.geometry).__name__ for visual in visuals.links[0].visuals]
    assert kinds == ["Box", "Sphere", "Mesh"]
    colors = {material.name: material.color.rgba for material in visuals.materials}
    rgba = [*look.diffuse, 1.0 - look.transparency]
    assert [colors[v.material.name] for v in visuals.links[0].visuals] == [rgba] * 3


def test_equal_parts_share_a_file(tmp_path):
    parts = [
        Shape(Box([1, 2, 3]), Pose(p=[0, 0, z]).matrix(), (RED, GREEN)[z % 2]) for z in range(40)
    ]
    convert(with_visuals(*parts), tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_without_glb_files_primitives_keep_their_materials(tmp_path):
    body = with_visuals(Shape(Sphere(1.0), material=RED), Shape(Sphere(2.0), material=GREEN))
    mujoco = convert(body, tmp_path, options=UrdfOptions(ros2_control=Hardware.MUJOCO)).urdf
    for text in (mujoco, body_to_urdf(body)):
        visuals = parsed(text).links[0].visuals
        assert [visual.geometry.radius for visual in visuals] == [1.0, 2.0]
        assert [visual.material.name for visual in visuals] == ["red", "green"]
